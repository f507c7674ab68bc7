"""Bugs in the handling of failures, to be seeded for the length of a test."""

# ruff: noqa: ANN401 - what is patched is private, and is taken as it comes

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from toolbudget.budget import journal, storing
from toolbudget.storage._batch import Batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

__all__ = ["OWN_BUGS", "own_bug"]


def _silent() -> AbstractContextManager[object]:
    """Keep a result that could not be stored, and say nothing."""
    store: Callable[..., Any] = storing.store_choices

    def store_silently(*arguments: Any) -> Any:
        outcome = store(*arguments)
        outcome.failures.clear()
        return outcome

    return mock.patch.object(journal, "store_choices", store_silently)


def _resync() -> AbstractContextManager[object]:
    """Try a failed sync again, which a kernel that has dropped the bytes will praise."""
    sync = Batch._sync_file

    def sync_twice(batch: Batch, handle: int) -> None:
        with suppress(OSError):
            return sync(batch, handle)
        return sync(batch, handle)

    return mock.patch.object(Batch, "_sync_file", sync_twice)


_SEEDS: Final[dict[str, Callable[[], AbstractContextManager[object]]]] = {
    "silent": _silent,
    "resync": _resync,
}

OWN_BUGS: Final = tuple(_SEEDS)


@contextmanager
def own_bug(bug: str | None) -> Iterator[None]:
    """Have one of these for a while."""
    if bug is None:
        yield
        return
    with _SEEDS[bug]():
        yield
