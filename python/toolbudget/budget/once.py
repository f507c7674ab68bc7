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
        # By text: what a body holds is another object each time that it is read there.
        self._answers: dict[str, tuple[str | None, Exception | None]] = {}

    def __call__(self, text: str) -> str:
        """Return what the hook made of this text, or raise what it raised."""
        # A class of the host's own may compare in its own way.
        plain = str.__str__(text)
        known = self._answers.get(plain)
        if known is None:
            known = self._answers[plain] = self._ask(text)
        answer, error = known
        if error is not None:
            raise error
        return answer  # type: ignore[return-value]  # whoever asked checks what a hook returns

    def _ask(self, text: str) -> tuple[str | None, Exception | None]:
        try:
            return self._hook(text), None
        except Exception as error:  # noqa: BLE001 - a host's hook may raise anything
            return None, error
