"""Which core every layer above uses."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING
from unittest import mock

from toolbudget import _core

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

__all__ = ["running_on"]


@contextmanager
def running_on(core: ModuleType) -> Iterator[None]:
    """Let every layer above use one core."""
    with ExitStack() as stack:
        for name in _core.pure.__all__:
            stack.enter_context(mock.patch.object(_core, name, getattr(core, name)))
        yield
