"""Ids that no file should be called: fixed ones, and as many more as wanted, from a seed."""

# ruff: noqa: RUF001 - characters that look alike are what this is about

from __future__ import annotations

import random
import string
import unicodedata
import uuid
from collections import deque
from typing import TYPE_CHECKING, Final

from toolbudget.storage.names import result_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["DEVICES", "FIXED", "hostile_ids"]

_PORTS: Final = tuple(f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³")
DEVICES: Final = ("con", "prn", "aux", "nul", "conin$", "conout$", "clock$", *_PORTS)

_ODD: Final = (
    *("/", "\\", ":", "\0", "\n", "\r", "\t", "\x1b", "\x7f", " ", ".", "..", "-", "_", "~", "$"),
    *("%2e", "%00", "*", "?", '"', "<", ">", "|", "'", "`", ";", "&", "#", "@", "=", "+", ","),
    *("é", "e\u0301", "\u212b", "å", "ß", "ẞ", "ı", "İ", "ſ", "\u212a", "ﬁ", "Ǆ", "σ", "ς"),
    *("\u202e", "\u200f", "\u200b", "\u200d", "\u2028", "\u0085", "\ufeff", "\u3000", "\u00a0"),
    *("\ud800", "\udc00", "\udfff", "\U0001f4a3", "\U0001f468\u200d\U0001f469", "\U000e0041"),
    *("．", "／", "Ａ", "ｃ", "𝐜", "①", "文", "한", "\u1112\u1161\u11ab", "ไทย", "नि"),
)
_PLAIN: Final = string.ascii_letters + string.digits + "_-"

FIXED: Final = (
    *("", ".", "..", "...", "/", "//", "\\", "../../x", "..\\..\\x", "/etc/passwd", "C:\\x", "C:x"),
    *(
        "a/../../b",
        "....//",
        "..;/",
        "./x",
        "x/",
        "x.",
        "x ",
        " x",
        ".hidden",
        "-rf",
        "--help",
        "~",
    ),
    *("a\0b", "\0", "a\nb", "\n", "a\x1b[31m", "a:b", "a::$DATA", "$(id)", "`id`", "%2e%2e%2f"),
    *("é", "e\u0301", "ﬁ", "\u202egpj.exe", "\ud800", "\udfff\ud800", "💣", "\u200f", "\ufeffx"),
    *("ｃｏｎ", "ＡＢＣ", "．．／", "abc", "ABC", "aBc", "toolu_01A", "TOOLU_01a", "K", "\u212a"),
    *("x" * 99, "x" * 100, "x" * 101, "x" * 300, "é" * 300, "." * 300, "_" * 100, "-" * 50),
    *("functions.bash:0", "session.lock", "tool-results", "content-replacements.jsonl"),
    *("subagents", "a.jsonl", "a.txt", "a.json", "id", "_", "0"),
    *DEVICES,
    *(device.upper() for device in DEVICES),
    *(f"{device}.txt" for device in DEVICES),
    *(f"{device}{end}" for device in DEVICES[:4] for end in (".", " ", ":", ".tar.gz", "-1", "\0")),
)

_WINDOW: Final = 64


def hostile_ids(count: int, seed: int) -> Iterator[str]:
    """Yield ids, the fixed ones first; many are twins of another one not far before."""
    chance = random.Random(seed)  # noqa: S311 - the same ids in every run
    recent: deque[str] = deque(FIXED, _WINDOW)
    yield from FIXED[:count]
    makers = (*_NEW, *_TWINS)
    for _ in range(count - len(FIXED)):
        tool_use_id = chance.choice(makers)(chance, chance.choice(recent))
        recent.append(tool_use_id)
        yield tool_use_id


def _ordinary(chance: random.Random, _other: str) -> str:
    """Make one as providers do."""
    kind = chance.randrange(4)
    if kind == 0:
        return str(uuid.UUID(int=chance.getrandbits(128), version=4))
    if kind == 1:
        return f"chatcmpl-tool-{chance.getrandbits(128):032x}"
    letters = "".join(chance.choices(string.ascii_letters + string.digits, k=24))
    return ("toolu_01" if kind == 2 else "call_") + letters


def _plain(chance: random.Random, _other: str) -> str:
    """Make a short one of ordinary characters, which soon meets another's case twin."""
    return "".join(chance.choices("aAbBcC_-0", k=chance.randint(1, 12)))


def _odd(chance: random.Random, _other: str) -> str:
    length = chance.choice((1, 2, 3, 8, 20, 80, 300))
    parts = _ODD if chance.random() < 0.5 else (*_ODD, *_PLAIN)
    return "".join(chance.choices(parts, k=length))[:300]


def _any_characters(chance: random.Random, _other: str) -> str:
    top = chance.choice((0x80, 0x300, 0x3000, 0x1_0000, 0x11_0000))
    return "".join(chr(chance.randrange(top)) for _ in range(chance.randint(1, 40)))


def _device(chance: random.Random, _other: str) -> str:
    name = "".join(chance.choice((c, c.upper())) for c in chance.choice(DEVICES))
    return name + chance.choice(("", ".txt", ".", " ", "..", ":", "-", "_", "\0", "/x", ".a.b"))


def _path(chance: random.Random, other: str) -> str:
    return chance.choice(("../", "/", "./", "..\\", "a/", "~/", "-", ".")) + other[:200]


def _case_twin(chance: random.Random, other: str) -> str:
    return chance.choice((other.swapcase(), other.upper(), other.lower(), other.title()))


def _form_twin(chance: random.Random, other: str) -> str:
    forms: tuple[Callable[[str], str], ...] = (
        lambda text: unicodedata.normalize("NFC", text),
        lambda text: unicodedata.normalize("NFD", text),
        lambda text: unicodedata.normalize("NFKC", text),
        _full_width,
    )
    return chance.choice(forms)(other)[:300]


def _full_width(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def _near_twin(chance: random.Random, other: str) -> str:
    """Change one character, or add one."""
    place = chance.randint(0, len(other))
    return (other[:place] + chance.choice(_ODD) + other[place + chance.randint(0, 1) :])[:300]


def _look_alike(chance: random.Random, other: str) -> str:
    """Make one that equals the file name of another, in its own case or not."""
    name = result_name(other)
    return chance.choice((name, name, name.upper(), f"{name}-{chance.getrandbits(128):032x}"))[:300]


_NEW: Final = (_ordinary, _ordinary, _plain, _odd, _odd, _any_characters, _device)
_TWINS: Final = (_path, _case_twin, _case_twin, _form_twin, _near_twin, _look_alike)
