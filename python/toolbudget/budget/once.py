"""Calling a host's hook once for each text, however often a plan is made anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OncePerText"]


class OncePerText:
    """A ``redact`` hook that remembers, for the length of one call, what it gave or raised."""

    __slots__ = ("_answers", "_hook")

    def __init__(self, hook: Callable[[str], str]) -> None:
        """Wrap a hook."""
        self._hook = hook
        # The text is kept beside the answer, so that its `id()` stays its own.
        self._answers: dict[int, tuple[str, str | None, Exception | None]] = {}

    def __call__(self, text: str) -> str:
        """Return what the hook made of this text object, or raise what it raised."""
        known = self._answers.get(id(text))
        if known is None:
            known = self._ask(text)
            self._answers[id(text)] = known
        _, answer, error = known
        if error is not None:
            raise error
        return answer  # type: ignore[return-value]  # whoever asked checks what a hook returns

    def _ask(self, text: str) -> tuple[str, str | None, Exception | None]:
        try:
            return text, self._hook(text), None
        except Exception as error:  # noqa: BLE001 - a host's hook may raise anything
            return text, None, error
