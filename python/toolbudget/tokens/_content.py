"""From the content of a message to its estimated tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolbudget.tokens.estimate import estimate_tokens
from toolbudget.tokens.messages import pieces_of_block, pieces_of_content, pieces_of_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolbudget.tokens.messages import Piece

__all__ = ["block_tokens", "content_tokens", "json_tokens"]


def content_tokens(content: object) -> int:
    """Estimate the tokens of a content: text, or a list of blocks."""
    return _sum(pieces_of_content(content))


def block_tokens(block: object) -> int:
    """Estimate the tokens of one block, a dict or an SDK object."""
    return _sum(pieces_of_block(block))


def json_tokens(value: object) -> int:
    """Estimate the tokens of a value as JSON."""
    return _sum(pieces_of_json(value))


def _sum(pieces: Iterable[Piece]) -> int:
    return sum(estimate_tokens(piece) if isinstance(piece, str) else piece for piece in pieces)
