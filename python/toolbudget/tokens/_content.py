"""From the content of a message to its estimated tokens."""

from __future__ import annotations

from toolbudget.tokens.messages import (
    pieces_of_block,
    pieces_of_content,
    pieces_of_json,
    tokens_of_pieces,
)

__all__ = ["block_tokens", "content_tokens", "json_tokens"]


def content_tokens(content: object) -> int:
    """Estimate the tokens of a content: text, or a list of blocks."""
    return tokens_of_pieces(pieces_of_content(content))


def block_tokens(block: object) -> int:
    """Estimate the tokens of one block, a dict or an SDK object."""
    return tokens_of_pieces(pieces_of_block(block))


def json_tokens(value: object) -> int:
    """Estimate the tokens of a value as JSON."""
    return tokens_of_pieces(pieces_of_json(value))
