"""Calls every function of the native core with objects that nobody planned for.

``python -m tests.faults.native_fuzz CALLS`` prints a line for each call that ended in anything but
a result or an ordinary exception. It may be ended by the core itself: its parent looks at that.
"""

from __future__ import annotations

import faulthandler
import itertools
import json
import math
import resource
import sys
from random import Random
from typing import TYPE_CHECKING, Any, Final

from tests.builders import answer, call, msg, res
from tests.strategies import SdkObject, Text
from toolbudget._core import _native
from toolbudget._core.pure import Change, Fingerprint, GroupTotals, Key, Known, PlanOptions

if TYPE_CHECKING:
    from collections.abc import Callable

_TAKEN_OVER: Final = "a later scan has taken this one over"
_MEMORY_BYTES: Final = 4 << 30
_DEPTH: Final = 50_000
_TEXTS: Final = (
    "",
    "x",
    "line\n" * 200,
    "\u00e9\u65e5\U0001f600" * 90,
    "\ud800\0\udfff" * 60,
    "</persisted-output>" * 30,
    "<persisted-output>\nsaved\n</persisted-output>",
    Text("t1" * 400),
)
_KEY: Final = Key("t1", Fingerprint(3, "0" * 32))
_STYLES: Final = ("head", "head_tail", "salient", "json", "outline", "auto")
_IDS: Final = ("t1", "t1", "t2", "", "\ud800", Text("t1"))
_NUMBERS: Final = (0, 1, -1, 100, 2**31, 2**63, 2**64, -(2**127), 2**200, True, 0.5, math.inf)
_BODIES: Final = tuple(
    json.dumps(
        {"model": "m", "messages": [answer(call(name, "Fetch")), msg(res(name, text))]}
    ).encode()
    for name, text in itertools.product(("t1", "t2"), ("", "line\n" * 200, "\ud800\0" * 60))
)
FUNCTIONS: Final = tuple(
    name for name in _native.__all__ if not isinstance(getattr(_native, name), type)
)
"""What of the native core can be called; its classes are what plans are made of."""


class _Hostile:
    """Answers whatever is asked with something else each time, or not at all."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def _answer(self, *usual: object) -> Any:  # noqa: ANN401
        if self._random.random() < 0.4:
            raise self._random.choice((ValueError, TypeError, RecursionError, StopIteration))
        return self._random.choice(usual)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._answer("tool_result", "user", None, [], self)

    def __len__(self) -> int:
        return int(self._answer(0, 3, 2**62))

    def __iter__(self) -> object:
        return self._answer(iter([1, "x", self]), iter(()), 7)

    def __getitem__(self, key: object) -> object:
        return self._answer(key, "text", self)

    def __eq__(self, other: object) -> bool:
        return bool(self._answer(0, 1))

    def __hash__(self) -> int:
        return int(self._answer(0, 1, -2))

    def __index__(self) -> int:
        return int(self._answer(0, 7, 2**70))

    def __bool__(self) -> bool:
        return bool(self._answer(0, 1))

    def __repr__(self) -> str:
        return str(self._answer("hostile", "\ud800"))

    def __call__(self, *arguments: object, **_options: object) -> object:
        return self._answer("path", None, 5, arguments)


class _Maker:
    """Makes values: half of them as they should be, the other half odd."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - what is tried is to be tried again
        self._deep: list[Any] = []
        for _ in range(_DEPTH):
            self._deep = [self._deep]
        self._messages: list[Any] = []
        self._scan: Any = None
        self._past: Any = _native.Past()

    def odd(self) -> Any:  # noqa: ANN401
        """Make anything."""
        circle: list[Any] = []
        circle.append(circle)
        hostile = _Hostile(self._random)
        values: tuple[Any, ...] = (
            *(None, b"x", object(), int, iter("ab"), {}, (), math.nan, {"type": hostile}),
            *(hostile, self._deep, circle, SdkObject(role="user", content=[hostile])),
            *(self.text(), self.number(), self._messages),
        )
        return self._random.choice(values)

    def rarely_odd(self, value: object) -> Any:  # noqa: ANN401
        """Make something odd one time in ten."""
        return self.odd() if self._random.random() < 0.1 else value

    def text(self) -> str:
        """Make a text."""
        return self._random.choice(_TEXTS)

    def number(self) -> float:
        """Make a number."""
        return self._random.choice(_NUMBERS)

    def content(self) -> object:
        """Make the content of a result."""
        if self._random.random() < 0.5:
            return self.rarely_odd(self.text())
        texts = [{"type": "text", "text": self.rarely_odd(self.text())} for _ in range(3)]
        return self._random.choice((list, tuple))(map(self.rarely_odd, texts))

    def messages(self) -> list[Any]:
        """Make a message list, which callbacks may change while it is read."""
        if self._random.random() < 0.3:
            return self._messages
        made: list[Any] = []
        for _ in range(self._random.randrange(4)):
            name = self.rarely_odd(self._random.choice(_IDS))
            made.append(self.rarely_odd(answer(self.rarely_odd(call(name, "Fetch")))))
            result = res(self.rarely_odd(self._random.choice(_IDS)), self.content())
            made.append(self.rarely_odd(msg(self.rarely_odd(result))))
        self._messages = made
        return made

    def callback(self, usual: object) -> Callable[..., Any]:
        """Make a function for the core to ask: it answers oddly, or changes what is being read."""
        messages = self._messages

        def ask(*_arguments: object) -> Any:  # noqa: ANN401
            if self._random.random() < 0.05:
                messages.clear()
            if self._random.random() < 0.05 and messages:
                messages[0] = self.odd()
            if self._random.random() < 0.05:
                raise ValueError("of the host")
            return self.rarely_odd(usual)

        return ask

    def known(self) -> Any:  # noqa: ANN401
        """Make what was decided before."""
        fingerprint = Fingerprint(self.rarely_odd(900), self.rarely_odd("0" * 32))
        try:
            decisions: Any = {"t1": self.rarely_odd({fingerprint: self.rarely_odd("short")})}
            if self._random.random() < 0.3:
                key = self.rarely_odd(Key("t1", fingerprint))
                decisions = _native.DecisionTable([(key, self.rarely_odd("short"))])
        except Exception:  # noqa: BLE001 - not every odd value can be a key
            decisions = self.odd()
        replacements: Any = {5: self.rarely_odd({"short"})}
        unapplied: Any = {"t2": self.rarely_odd("foreign")}
        odd = self.rarely_odd
        return Known(odd(decisions), odd(replacements), odd(unapplied), odd({}))

    def kept(self) -> Any:  # noqa: ANN401
        """Make a list of results, or the kept ones of a plan."""
        if self._random.random() < 0.5:
            return [self.rarely_odd(_KEY) for _ in range(self._random.randrange(4))]
        try:
            return _native.plan(self.messages(), Known({}, {}), self.options()).kept
        except Exception:  # noqa: BLE001 - nothing can be planned for odd messages
            return self.odd()

    def options(self) -> Any:  # noqa: ANN401
        """Make limits and callbacks."""
        odd = self.rarely_odd
        return PlanOptions(
            limit=odd(self._random.choice((1, 500, math.inf))),
            preview_bytes=odd(self._random.choice((0, 1, 100))),
            expected_path=odd(self.callback("/s/t.txt")),
            is_stored_as_json=odd(self.callback(usual=False)),
            is_exempt_tool=odd(self.callback(usual=False)),
            accounting=odd("visible"),
            reader_hint=odd(None),
            redact=odd(self._random.choice((None, self.callback("redacted")))),
            rule=odd("running"),
            preview_style=odd(self._random.choice(_STYLES)),
            outline=odd(self._random.choice((None, self.callback(("outline", True))))),
        )

    def changes(self) -> list[Any]:
        """Make changes, in places that need not exist."""
        odd, random = self.rarely_odd, self._random
        places = [(1, 0), (random.randrange(-1, 4), random.randrange(-1, 3))]
        places = random.sample(places, random.randrange(3))
        return [odd(Change(odd(one), odd(two), odd("short"))) for one, two in places]

    def body(self) -> bytes:
        """Make a body, whole or cut somewhere."""
        whole = self._random.choice(_BODIES)
        return whole if self._random.random() < 0.7 else whole[: self._random.randrange(len(whole))]

    def scan(self) -> Any:  # noqa: ANN401
        """Make a scan: of a body as it should be, or one that has been taken over already."""
        if self._random.random() < 0.5 or self._scan is None:
            self._scan = _native.scan_json(self._random.choice(_BODIES))
        return self._scan

    def past(self) -> Any:  # noqa: ANN401
        """Make a past: an empty one, or the one of before, which may have grown."""
        if self._random.random() < 0.5:
            self._past = _native.Past()
        return self._past

    def arguments_of(self, name: str) -> tuple[list[Any], dict[str, Any]]:
        """Make what a function is called with."""
        odd = self.rarely_odd
        messages = odd(self.messages())
        preview: dict[str, Any] = {"preview_bytes": odd(100), "reader_hint": odd(None)}
        made: dict[str, Callable[[], tuple[list[Any], dict[str, Any]]]] = {
            "build_replacement": lambda: ([odd(self.text()), odd("/s/t.txt")], preview),
            "collect": lambda: ([messages, odd(self.callback(usual=False))], {}),
            "columns": lambda: (
                [messages, odd(self.known()), odd(self.callback(usual=False))],
                {},
            ),
            "cut_preview": lambda: ([odd(self.text()), odd(self.number())], {}),
            "estimate_tokens": lambda: ([odd([odd(self.text()), odd(self.text())])], {}),
            "fingerprint": lambda: ([odd([odd(self.text()), odd(self.text())])], {}),
            "head_tail_preview": lambda: ([odd(self.text()), odd(self.number())], {}),
            "is_framed_reference": lambda: ([odd(self.text())], {}),
            "json_preview": lambda: ([odd(self.text()), odd(self.number())], {}),
            "kept_json": lambda: (
                [odd(self.kept()), odd([odd(_KEY)])],
                {"max_id_bytes": odd(99), "max_part_chars": odd(33)},
            ),
            "measure": lambda: (
                [odd([odd(self.text()), odd(self.text())]), odd("tokens")],
                {},
            ),
            "plan": lambda: ([messages, odd(self.known()), odd(self.options())], {}),
            "plan_rest": lambda: (
                [
                    odd(self.past()),
                    messages,
                    odd(self.known()),
                    odd(self.options()),
                    odd([odd(1) for _ in range(self._random.randrange(6))]),
                ],
                {},
            ),
            "begins_with": lambda: ([messages, odd(self.messages())], {}),
            "outline": lambda: ([messages], {}),
            "rewrite_again": lambda: (
                [
                    messages,
                    odd(self.changes()),
                    odd([odd(1) for _ in range(self._random.randrange(6))]),
                ],
                {},
            ),
            "replace_content": lambda: ([odd(self.content()), odd("short")], {}),
            "rewrite": lambda: ([messages, odd(self.changes())], {}),
            "salient_preview": lambda: ([odd(self.text()), odd(self.number())], {}),
            "select_largest": lambda: (
                [odd([self.number(), odd(3)]), odd(self.number()), odd(self.number())],
                {},
            ),
            "show_preview": lambda: (
                [
                    odd([odd(self.text()), odd(self.text())]),
                    odd(self.number()),
                    odd(self._random.choice(_STYLES)),
                    odd(self._random.choice([None, lambda text, size: (text[:size], True)])),
                ],
                {},
            ),
            "table_preview": lambda: ([odd(self.text()), odd(self.number())], {}),
            "utf8_length": lambda: ([odd(self.text())], {}),
            "totals_over": lambda: (
                [odd([odd(GroupTotals(*(odd(n) for n in range(4))))]), odd(1.0), odd("visible")],
                {},
            ),
            "scan_json": lambda: ([odd(self.body()), odd(self.scan())], {}),
            "plan_json": lambda: ([odd(self.scan()), odd(self.known()), odd(self.options())], {}),
            "rewrite_json": lambda: ([odd(self.scan()), odd(self.changes())], {}),
            "rewrite_json_segments": lambda: ([odd(self.scan()), odd(self.changes())], {}),
        }
        return made[name]()


def _main() -> None:
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    maker = _Maker(seed=1)
    names = FUNCTIONS
    for number in range(int(sys.argv[1])):
        name = names[number % len(names)]
        arguments, options = maker.arguments_of(name)
        problem = None
        try:
            getattr(_native, name)(*arguments, **options)
        except Exception as error:  # noqa: BLE001 - any ordinary exception is a good end
            # That a scan was taken over is said in the same words, and is no panic.
            text = repr(error)
            if "internal error in the native core" in text and _TAKEN_OVER not in text:
                problem = f"panicked: {error!r:.200}"
        except BaseException as error:  # noqa: BLE001 - that it is none is what is tested
            problem = f"raised {type(error).__name__}"
        if problem is not None:
            sys.stdout.write(f"{name}, fuzzed call {number}: {problem}\n")


if __name__ == "__main__":
    _main()
