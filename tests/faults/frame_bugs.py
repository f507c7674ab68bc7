"""Mistakes in framing, put into the pure core for the length of a test."""

# ruff: noqa: ANN401 - what is patched is private, and is taken as it comes

from __future__ import annotations

import re
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from toolbudget._core.pure import preview
from toolbudget._core.pure.plan import _Planner
from toolbudget.budget import gate

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FRAME_BUGS", "framing_badly"]

_UNCARRIED: Final = re.compile("[\x00\ud800-\udfff]")


def _escape_nothing(text: str) -> str:
    return _UNCARRIED.sub("\ufffd", text)


def _escape_lower_case(text: str) -> str:
    return re.sub("<(?=/?persisted-output)", "&lt;", _escape_nothing(text))


def _escape_too_early(text: str) -> str:
    """Look for tags, and only then take away what stands inside them."""
    return _UNCARRIED.sub("", re.sub("(?i)<(?=/?persisted-output)", "&lt;", text))


def _sniff(_planner: Any, candidate: Any) -> bool:
    return bool(candidate.text.startswith("<persisted-output>"))


_ESCAPING: Final = {
    "unescaped": _escape_nothing,
    "lower-case": _escape_lower_case,
    "escaped-first": _escape_too_early,
}

FRAME_BUGS: Final = (*_ESCAPING, "sniffing")


@contextmanager
def framing_badly(bug: str) -> Iterator[None]:
    """Have the pure core make a mistake."""
    with ExitStack() as stack:
        if bug == "sniffing":
            stack.enter_context(mock.patch.object(_Planner, "_is_reference", _sniff))
            stack.enter_context(
                mock.patch.object(gate, "_is_reference", lambda found, _: _sniff(None, found))
            )
        else:
            stack.enter_context(mock.patch.object(preview, "make_wire_safe", _ESCAPING[bug]))
        yield
