"""Where previews of source code come from: a package that need not be installed."""

from __future__ import annotations

import importlib
import logging
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, cast

from toolbudget._display import shown
from toolbudget.errors import ConfigError

if TYPE_CHECKING:
    from toolbudget._core.pure import OutlinePreview, PreviewStyle

__all__ = ["has_outlines", "outline_for"]

logger = logging.getLogger("toolbudget")

_PARSER: Final = "tree_sitter"


def outline_for(style: PreviewStyle) -> OutlinePreview | None:
    """Return what outlines source code for a style; ``None`` if the style never asks for it.

    For ``auto``, code that cannot be outlined is shown like any other text.

    Raises:
        ConfigError: The style is ``outline``, and the packages of the extra are not installed.

    Example:
        >>> outline_for("salient") is None
        True
    """
    if style not in {"outline", "auto"}:
        return None
    if has_outlines():
        return _outline
    if style == "outline":
        problem = "needs the packages of the extra 'code' (pip install 'toolbudget[code]')"
        raise ConfigError(f"preview_style {problem}: {shown(style)}")
    return None


@cache
def has_outlines() -> bool:
    """Tell whether the packages are installed that outline source code."""
    return find_spec(_PARSER) is not None and find_spec("toolbudget.pruning") is not None


def _outline(text: str, max_bytes: int) -> tuple[str, bool] | None:
    try:
        # Loaded with the first text: its grammars are large.
        pruning = importlib.import_module("toolbudget.pruning")
        made = pruning.outline_preview(text, max_bytes)
    except Exception:  # a parser is foreign code, and a preview must not cost the request
        logger.warning("source code could not be outlined", exc_info=True)
        return None
    return cast("tuple[str, bool] | None", made)
