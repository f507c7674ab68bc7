from __future__ import annotations

from typing import TYPE_CHECKING

from tests.builders import res
from tests.layer.cli.transcripts import to_lines, user, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.layer.cli.transcripts import Ran


def test_limits_in_another_unit(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """``--unit`` has limits and their defaults count tokens or bytes, and the report says so."""
    text = "\u6d4b\u8bd5" * 10_000  # 20,000 characters, 60,000 bytes, 32,000 tokens
    path = write(tmp_path / "in.jsonl", to_lines(user(res("t1", text))))
    for unit, is_replaced in (("chars", False), ("tokens", True), ("bytes", True)):
        ran = apply(path, "--unit", unit, "--root", str(tmp_path / unit))
        assert (ran.report["limit_unit"], len(ran.report["replaced"])) == (
            unit,
            is_replaced,
        )


def test_what_is_over_is_shown_in_the_unit(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """A short result over the limit gains nothing: what it is over is in the unit."""
    path = write(tmp_path / "in.jsonl", to_lines(user(res("t1", "\u6d4b" * 100))))
    ran = apply(path, "--unit", "bytes", "--max-message-chars", "100")
    assert ran.report["over_limit_chars"] == 200
