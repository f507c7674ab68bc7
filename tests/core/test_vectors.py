"""The cases that Rust and Python both read; the expected values follow from the rules."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.core import text_oracle
from tests.core.group_oracle import identity_of

if TYPE_CHECKING:
    from types import ModuleType

FOLDER: Final = Path(__file__).parent.parent / "vectors"


def cases(name: str) -> list[Any]:
    """Read the cases of one file, each under its name."""
    document = json.loads((FOLDER / name).read_bytes())
    return [pytest.param(case, id=case["name"]) for case in document["cases"]]


def text_of(pieces: list[Any]) -> str:
    """Put a text together from its pieces."""
    return "".join(map(_piece, pieces))


def _piece(piece: Any) -> str:  # noqa: ANN401  # as JSON has it
    if isinstance(piece, str):
        return piece
    if "repeat" in piece:
        return str(piece["repeat"]) * int(piece["times"])
    return chr(piece["code_point"])


@pytest.mark.parametrize("case", cases("preview.json"))
def test_preview(core: ModuleType, case: dict[str, Any]) -> None:
    """Both cores and the rules give this preview."""
    expected = (text_of(case["preview"]), case["has_more"])
    arguments = (text_of(case["text"]), case["max_bytes"])
    assert expected == core.cut_preview(*arguments)
    assert expected == text_oracle.preview(*arguments)


@pytest.mark.parametrize("case", cases("select.json"))
def test_select(core: ModuleType, case: dict[str, Any]) -> None:
    """Both cores take these in this order."""
    limit = math.inf if case["limit"] is None else case["limit"]
    assert case["taken"] == core.select_largest(case["sizes"], case["total"], limit)


@pytest.mark.parametrize("case", cases("size_label.json"))
def test_size_label(core: ModuleType, case: dict[str, Any]) -> None:
    """Both cores and the rules write this label."""
    built = core.build_replacement("", "/t", preview_bytes=0, size_bytes=case["size_bytes"])
    assert f"({case['label']})" in built
    assert case["label"] == text_oracle.label(case["size_bytes"])


@pytest.mark.parametrize("case", cases("replacement.json"))
def test_replacement(core: ModuleType, case: dict[str, Any]) -> None:
    """Both cores and the rules build this text."""
    expected = text_of(case["replacement"])
    text, path, hint = text_of(case["text"]), case["path"], case["reader_hint"]
    preview_bytes = case["preview_bytes"]
    assert expected == text_oracle.replacement(text, path, preview_bytes, hint)
    assert expected == core.build_replacement(
        text, path, preview_bytes=preview_bytes, reader_hint=hint
    )


@pytest.mark.parametrize("case", cases("fingerprint.json"))
def test_fingerprint(core: ModuleType, case: dict[str, Any]) -> None:
    """Both cores and the algorithm give this fingerprint."""
    text = text_of(case["text"])
    expected = (case["size_chars"], case["hash"])
    assert expected == core.fingerprint([text])
    assert expected == identity_of("t1", text)[1:]


@pytest.mark.parametrize("case", cases("reference.json"))
def test_reference(core: ModuleType, case: dict[str, Any]) -> None:
    """Both cores and the rules know a frame, and what only looks like one."""
    text = text_of(case["text"])
    assert case["is_reference"] is core.is_framed_reference(text)
    assert case["is_reference"] is text_oracle.is_frame(text)
