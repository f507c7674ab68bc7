"""A small conversation whose responses say what they used."""

from __future__ import annotations

from typing import Any

from tests.builders import call, res
from tests.layer.cli.transcripts import assistant, user

__all__ = ["TALK", "said", "used"]


def used(read: int, new: int, output: int) -> dict[str, object]:
    """Make the usage of a response; a part of what is new goes to the cache."""
    return {
        "input_tokens": new // 2,
        "cache_creation_input_tokens": new - new // 2,
        "cache_read_input_tokens": read,
        "output_tokens": output,
    }


def said(message_id: str, usage: object, *blocks: Any, **keys: object) -> dict[str, Any]:  # noqa: ANN401
    """Make an assistant's record with a usage."""
    record = assistant(message_id, *blocks, **keys)
    record["message"]["usage"] = usage
    return record


TALK = [
    user({"type": "text", "text": "x" * 40}),
    said("m1", used(0, 100, 5), call("t1", "Read")),
    user(res("t1", "x" * 800)),
    said("m1", used(0, 100, 10), call("t2", "Bash")),
    user(res("t2", "x" * 80)),
    said("m2", used(100, 300, 20), {"type": "text", "text": "x" * 12}),
]
