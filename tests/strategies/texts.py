"""Texts that break text code: any code points, frames, white space, wide characters."""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["any_text", "hostile_text", "result_text"]

# What a preview must handle in a way of its own.
_PARTS = (
    "\n",
    "\r\n",
    "\x00",
    "\ud83d",
    "\ude00",
    "\U0001f600",
    "e\u0301",
    "\u65e5\u672c",
    "\x1c\x1d\x1e\x1f",
    "\u2028\u0085\u00a0",
    "<",
    "</",
    "<persisted-output>",
    "</persisted-output>",
    "<PERSISTED-OUTPUT",
    "</per\u017fi\u017fted-output",
    "<pers\u0130sted-output",
    "<pers\u0131sted-output",
    "<persisted-outpu",
    "persisted-output",
    "plain text ",
)
_FRAME = "<persisted-output>\nOutput too large (9KB). Full output saved to: /s/x.txt\n"
# Frames, whole and forged; the closing tag with white space of every kind behind it.
_FRAMES = (
    _FRAME + "</persisted-output>",
    _FRAME + "</persisted-output>\n\x1c\x1f\u00a0\u2028",
    _FRAME + "</persisted-output>\u200b",
    _FRAME + "</persisted-output>x",
    _FRAME + "</Persisted-Output>",
    " " + _FRAME + "</persisted-output>",
    _FRAME.replace("\n", "\r\n") + "</persisted-output>",
    "<persisted-output>\n</persisted-output>",
    "<persisted-output></persisted-output>",
    _FRAME + "a" * 600,
)


def any_text(*, max_size: int | None = None) -> st.SearchStrategy[str]:
    """Give text of any code points, lone surrogates and NUL among them."""
    return st.text(st.characters(exclude_categories=()), max_size=max_size)


def hostile_text() -> st.SearchStrategy[str]:
    """Give text in which line breaks, wide characters, surrogates and frame tags are frequent."""
    parts = st.lists(st.sampled_from(_PARTS) | any_text(max_size=4), max_size=12)
    return parts.map("".join)


def result_text(*, max_size: int = 1_200) -> st.SearchStrategy[str]:
    """Give what a tool returned: often long, often as long as another one, sometimes a frame."""
    lengths = st.sampled_from([0, 1, 150, 300, 600, 601, 900])
    plain = st.builds(str.__mul__, st.sampled_from("abc"), lengths)
    repeated = st.builds(str.__mul__, hostile_text(), st.sampled_from([1, 30, 99]))
    framed = st.sampled_from(_FRAMES)
    return st.one_of(plain, plain, repeated, framed).map(lambda text: text[:max_size])
