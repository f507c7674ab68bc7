"""Message lists as bytes, in every form that a JSON writer may give them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st

from tests.strategies.messages import message_lists

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["bodies", "broken_bodies", "json_lists", "plain"]

# Values that nothing here may look into, whatever they are.
_RAW: Final = (
    "1e400",
    "-0",
    "-0.0",
    "1" * 5_000,
    "1.10000000000000000000000001",
    "[[[[]]]]",
    '{"a":{"a":[{}]},"a":null}',
    '"\\ud83d"',
    '"\\/\\b\\f\\u00e9"',
    "true",
)
_BROKEN: Final = (
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xc3",
    b",",
    b"]",
    b"}",
    b"{",
    b"[",
    b'"',
    b"\\",
    b"\\x",
    b"\\u12",
    b"\x00",
    b"\n",
    b":",
    b"01",
    b"1.",
    b"tru",
    b" ",
)


def plain(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Give what is left of a value in JSON; an object that has no form there becomes a number."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in value}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int)) else 5


def json_lists() -> st.SearchStrategy[list[Any]]:
    """Give message lists of objects, as they come out of a JSON parser."""
    # Two surrogates that make one character are one behind a parser.
    lists = message_lists().map(lambda elements: json.loads(json.dumps(plain(elements))))
    return lists.map(lambda elements: [item for item in elements if isinstance(item, dict)])


@st.composite
def _writers(draw: st.DrawFn) -> Callable[[object], str]:
    """Give a function that writes JSON in some form, now and then with names twice."""
    indent = draw(st.sampled_from([None, None, 1, "\t"]))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\r\n", " :\t")]))
    ascii_only = draw(st.booleans())
    sorts_keys = draw(st.booleans())
    escapes_names = draw(st.booleans())
    doubles = draw(st.sampled_from([None, None, "content", "type", "role", "message", "text"]))
    extra = draw(st.sampled_from([None, *_RAW]))

    def write(value: object) -> str:
        text = json.dumps(
            _doubled(value, doubles),
            indent=indent,
            separators=separators,
            ensure_ascii=ascii_only,
            sort_keys=sorts_keys,
        )
        if not ascii_only:
            text = "".join(
                f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char for char in text
            )
        text = text.replace(f'"{_TWICE}', '"')
        if extra is not None:
            text = text.replace('"uuid"', f'"extra"{separators[1]}{extra}{separators[0]}"uuid"')
        if escapes_names:
            text = text.replace('"content"', '"c\\u006fntent"').replace('"t1"', '"\\u0074\\u0031"')
        return text

    return write


_TWICE: Final = "twice-"


def _doubled(value: object, name: str | None) -> object:
    """Put another member of the same name in front of each ``name``, to be overridden by it."""
    if isinstance(value, list):
        return [_doubled(item, name) for item in value]
    if not isinstance(value, dict):
        return value
    copy: dict[str, object] = {}
    for key in value:
        if key == name:
            copy[_TWICE + key] = [{"type": "tool_result", "content": [{"type": "text"}]}]
        copy[key] = _doubled(value[key], name)
    return copy


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Give a body in one of the forms: a request, a list, records."""
    messages = draw(json_lists())
    write = draw(_writers())
    form = draw(st.sampled_from(["body", "body", "last", "twice", "list", "records"]))
    if form == "list":
        return write(messages).encode()
    if form == "records":
        blank = draw(st.sampled_from(["\n", "\r\n", "\n\n", " "]))
        return blank.join([*map(write, messages or [{}]), ""]).encode()
    body: dict[str, object] = {"model": "m", "messages": messages, "max_tokens": 1}
    if form == "last":
        body = {"system": [{"type": "text", "text": "s" * 70}], "messages": messages}
    text = write(body)
    if form == "twice":
        text = '{"messages":[{"role":"user","content":[]}, 3],' + text.lstrip()[1:]
    return text.encode()


@st.composite
def broken_bodies(draw: st.DrawFn) -> bytes:
    """Give a body with a few bytes put in, taken out or cut off."""
    body = draw(bodies())
    place = draw(st.integers(0, len(body)))
    taken = draw(st.sampled_from([0, 0, 1, 3, len(body)]))
    put_in = draw(st.sampled_from([b"", *_BROKEN]))
    return body[:place] + put_in + body[place + taken :]
