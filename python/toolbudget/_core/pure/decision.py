"""Decisions: what identifies one, what was decided before, and by which limits to decide."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from toolbudget._core.pure.fingerprint import FingerprintCache

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet

    from toolbudget._core.pure.fingerprint import Fingerprint
    from toolbudget._core.pure.shown import OutlinePreview, PreviewStyle
    from toolbudget._core.pure.unit import Unit

__all__ = ["Accounting", "Adoption", "Fingerprints", "Key", "Known", "PlanOptions", "Rule"]

Accounting: TypeAlias = Literal["visible", "originals"]
Rule: TypeAlias = Literal["running", "resumed", "seen"]


class Key(NamedTuple):
    """Identity of a decision: which id, and which text."""

    tool_use_id: str
    fingerprint: Fingerprint


class Fingerprints(Protocol):
    """What a core remembers about texts from call to call."""

    def find(self, texts: tuple[object, ...], /) -> Fingerprint | None:
        """Return the fingerprint of a text, given as the objects that hold it."""

    def __len__(self) -> int:
        """Count the texts."""


@dataclass(slots=True)
class Known:
    """What was decided before this call.

    Attributes:
        decisions: By id and fingerprint: the replacement, or ``None`` for a result that was kept.
        replacements: Every replacement this session or a parent made, by its length: references are
            known from facts.
        unapplied: Replacements by id that another program recorded without a fingerprint.
        fingerprints: What the call before remembered about texts. A core uses its own kind only.
        epoch: A token, another one from the moment that a decision is taken back. As long as it is
            the very same object, a core may answer from memory what it has read from ``decisions``;
            ``None`` has every one read anew.
        is_part: The messages are a part of a conversation: a core need not keep anything for a call
            with the same ones and more.
    """

    decisions: Mapping[str, Mapping[Fingerprint, str | None]]
    replacements: Mapping[int, AbstractSet[str]]
    unapplied: Mapping[str, str] = field(default_factory=dict)
    fingerprints: Fingerprints = field(default_factory=FingerprintCache)
    epoch: object = None
    is_part: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """Limits and callbacks of one call.

    Attributes:
        limit: The largest size of a group, in the unit; may be infinite.
        preview_bytes: Size of a preview before any shrinking.
        unit: What the limit and the totals count; order of choice and gain stay in characters.
        accounting: ``visible`` counts previews and standing replacements, ``originals`` does not.
        reader_hint: A line about the host's own reader.
        expected_path: Path to show for an id, before any name collision; told if it is a JSON file.
        is_stored_as_json: Tells whether a list of text blocks is stored as a JSON list; a text
            never is.
        is_exempt_tool: Tells by name whether a tool's limit is infinite.
        redact: Changes a text before it is stored or previewed.
        rule: What an undecided result is: fresh (``running``), kept if a later group follows
            (``resumed``), kept wherever it stands (``seen``).
        leaves_fresh: Decide nothing about fresh results: only what the rule settles.
        preview_style: How the previews of what is replaced are chosen.
        outline: Shows the outline of source code, for the styles that do.
        is_limit_overridden: Whether a provider of overrides gave the limit; only for the report.
        path_prefix: What ``expected_path`` puts before the name and extension of a file, if it
            does nothing else: a core need not ask it for an id that is its own file name.
    """

    limit: float
    preview_bytes: int
    expected_path: Callable[[str, bool], str]
    is_stored_as_json: Callable[[object], bool]
    is_exempt_tool: Callable[[str], bool]
    unit: Unit = "chars"
    accounting: Accounting = "visible"
    reader_hint: str | None = None
    redact: Callable[[str], str] | None = None
    rule: Rule = "running"
    leaves_fresh: bool = False
    preview_style: PreviewStyle = "head"
    outline: OutlinePreview | None = None
    is_limit_overridden: bool = False
    path_prefix: str | None = None


class Adoption(NamedTuple):
    """Another program's decision, now bound to the text it was first applied to."""

    key: Key
    replacement: str
