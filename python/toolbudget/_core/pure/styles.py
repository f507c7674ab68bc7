"""The styles of previews beside the beginning of a text, which :mod:`preview` cuts."""

from __future__ import annotations

from typing import Final

from toolbudget._core.pure.head_tail import head_tail_preview

__all__ = [
    "HEAD_TAIL_VERSION",
    "JSON_VERSION",
    "OUTLINE_VERSION",
    "SALIENT_VERSION",
    "TABLE_VERSION",
    "head_tail_preview",
    "json_preview",
    "salient_preview",
    "table_preview",
]

# Each changes whenever the same text and limit would give other bytes.
HEAD_TAIL_VERSION: Final = 1
JSON_VERSION: Final = 1
OUTLINE_VERSION: Final = 1
SALIENT_VERSION: Final = 1
TABLE_VERSION: Final = 1


def json_preview(text: str, max_bytes: int) -> tuple[str, bool]:
    """Show what a JSON text is made of, with parts of it as examples.

    Its regular expressions are compiled when it is called first, as those of the other style are.

    Args:
        text: The whole text.
        max_bytes: UTF-8 bytes that the preview may take, its own note included.

    Returns:
        The preview, and whether anything was left out.

    Example:
        >>> json_preview("[1, 2]", 240)
        ('[1, 2]', False)
    """
    from toolbudget._core.pure import json_style

    return json_style.json_preview(text, max_bytes)


def salient_preview(text: str, max_bytes: int) -> tuple[str, bool]:
    r"""Show the lines of a log or of a command's output that matter most.

    Its regular expressions are compiled when it is called first: most programs never ask for it,
    and the import would take ten milliseconds longer.

    Args:
        text: The whole text.
        max_bytes: UTF-8 bytes that the preview may take, its own note included.

    Returns:
        The preview, and whether anything was left out.

    Example:
        >>> salient_preview("one\ntwo", 240)
        ('one\ntwo', False)
    """
    from toolbudget._core.pure import salient

    return salient.salient_preview(text, max_bytes)


def table_preview(text: str, max_bytes: int) -> tuple[str, bool]:
    r"""Show the header, the first and the last rows of a table, with a note on its size.

    Its regular expressions are compiled when it is called first, as those of the other styles are.

    Args:
        text: The whole text.
        max_bytes: UTF-8 bytes that the preview may take, its notes included.

    Returns:
        The preview, and whether anything was left out.

    Example:
        >>> table_preview("id,name\n1,Ann\n", 240)
        ('id,name\n1,Ann\n', False)
    """
    from toolbudget._core.pure import table

    return table.table_preview(text, max_bytes)
