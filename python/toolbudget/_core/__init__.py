"""The core: one set of names, from Rust where it is built, else from Python.

Both give the same results; :mod:`toolbudget._core.pure` is the reference. The environment variable
``TOOLBUDGET_CORE`` chooses strictly (``python`` or ``native``): what cannot be had is an error.
Without it the native core is taken if it can be imported. :data:`NAME` tells which one is active.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import Final, Literal, TypeAlias

from toolbudget._core import pure
from toolbudget._core.pure import *  # noqa: F403  # every name of the reference
from toolbudget.errors import ConfigError

__all__ = ["NAME", "load"]
__all__ += pure.__all__

CoreName: TypeAlias = Literal["python", "native"]

_VARIABLE: Final = "TOOLBUDGET_CORE"


def load(name: CoreName) -> ModuleType:
    """Give one core by name, whichever is active, as a module with the names of both.

    What the native core does not have yet stands in its module as the pure function.

    Raises:
        ImportError: The native core is asked for and is not built.

    Example:
        >>> load("python").cut_preview("abc", 2)
        ('ab', True)
    """
    if name == "python":
        return pure
    from toolbudget._core import _native

    native = ModuleType("toolbudget._core.native", _native.__doc__)
    vars(native).update({public: getattr(pure, public) for public in pure.__all__})
    vars(native).update({public: getattr(_native, public) for public in _native.__all__})
    return native


def _choose() -> CoreName:
    wanted = os.environ.get(_VARIABLE)
    if wanted == "python":
        return "python"
    if wanted not in {None, "native"}:
        raise ConfigError(f"{_VARIABLE} (environment) must be 'python' or 'native': {wanted!r}")
    try:
        load("native")
    except ImportError as error:
        if wanted is None:
            return "python"
        problem = f"{_VARIABLE} (environment) asks for a core that cannot be imported ({error})"
        raise ImportError(f"{problem}: {wanted!r}") from error
    return "native"


NAME: Final[CoreName] = _choose()
"""Which core is active."""

if NAME == "native":
    # In the place of the pure ones: a class of the native core is of another type than theirs.
    from toolbudget._core._native import *  # type: ignore[assignment]  # noqa: F403
