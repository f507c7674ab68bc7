"""Tool results as columns, for audits of millions of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from toolbudget import _core as core
from toolbudget._display import shown
from toolbudget.budget.read_only import ReadOnlyDict
from toolbudget.budget.settings import exemption_of
from toolbudget.budget.state import ContentReplacementState
from toolbudget.budget.what_if import USUAL_PATH_CHARS, WhatIf, what_if
from toolbudget.errors import ConfigError
from toolbudget.limits import PREVIEW_SIZE_BYTES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from toolbudget._core.pure import Accounting, Columns

__all__ = ["CandidateColumns", "collect"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CandidateColumns:
    """The text results of a message list as numpy arrays: one row each, in the order of the list.

    All arrays are read-only. ``messages[columns.message[row]]`` is the message of a row, and
    ``columns.block[row]`` the position of its block in that message's content; there stand the id
    and the text, so that no object is needed for a row.

    Attributes:
        group: ``int32``: the API user message that the row belongs to, numbered from 0 in the order
            in which they begin.
        message: ``int32``: position of the message in the list.
        block: ``int32``: position of the block in the message's content.
        size: ``int64``: characters of the text as given.
        shown: ``int64``: characters that the model sees of it: ``size``, or for replaced rows the
            length of the recorded replacement.
        tool: ``int32``: the tool that was called, an index into ``tool_names``; -1 if its chain has
            no such call, or one that names no tool.
        decision: ``int8``: a :class:`toolbudget.Standing`.
        is_followed: ``bool``, by group: whether an assistant message that starts a later group of
            the same chain follows, so that the model has seen it.
        tool_names: Names, in the order in which the rows have them first.
        skipped: Results without a row by reason: empty, not all text, in objects, without an id.

    Example:
        >>> import toolbudget
        >>> result = {"type": "tool_result", "tool_use_id": "t1", "content": "text"}
        >>> columns = toolbudget.collect([{"role": "user", "content": [result]}])
        >>> columns, columns.size.tolist()
        (CandidateColumns(1 results, 1 groups), [4])
    """

    group: NDArray[np.int32]
    message: NDArray[np.int32]
    block: NDArray[np.int32]
    size: NDArray[np.int64]
    shown: NDArray[np.int64]
    tool: NDArray[np.int32]
    decision: NDArray[np.int8]
    is_followed: NDArray[np.bool_]
    tool_names: tuple[str, ...]
    skipped: Mapping[str, int] = field(default_factory=ReadOnlyDict)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.group)

    def __repr__(self) -> str:
        """Name the counts."""
        name = type(self).__name__
        return f"{name}({len(self)} results, {len(self.is_followed)} groups)"

    def what_if(
        self,
        limits: Iterable[float] | NDArray[Any],
        *,
        preview_bytes: int = PREVIEW_SIZE_BYTES,
        path_chars: int | NDArray[Any] = USUAL_PATH_CHARS,
        accounting: Accounting = "visible",
    ) -> WhatIf:
        """Tell what each of many limits of a message would do to these results.

        The choice is that of ``enforce_tool_result_budget`` with the state that the columns were
        collected with: among the fresh rows of each group the largest first, previews counted,
        shrinking where they must. Only the lengths of the replacements are assumed. The numbers are
        those of a real call if all of this holds:

        - The texts of fresh rows are ASCII without a line break in the part that a preview shows,
          and hold no frame tag. Other text has a shorter preview than is reckoned with, and a size
          in bytes that may be written with more or fewer digits. The style is ``head``: previews of
          the others are no larger, but for the words that name the style (31 characters at most).
        - The path shown has ``path_chars`` characters; a reader hint counts to it with one more.
        - No id stands twice with the same text: here each row is judged by itself, there the second
          one in a group is taken with the first, and one in a later group follows it.
        - Every store succeeds, and no hook changes a text.

        Args:
            limits: Characters that one API user message may show, in any order; ``math.inf`` is
                off.
            preview_bytes: Size of a preview in UTF-8 bytes, at least 1.
            path_chars: Characters of the path that a replacement shows; one number, or one for each
                row.
            accounting: ``visible`` counts previews; ``originals`` does not.

        Raises:
            ConfigError: A limit, size or length cannot be used.

        Example:
            >>> import toolbudget
            >>> results = [
            ...     {"type": "tool_result", "tool_use_id": f"t{number}", "content": "x" * size}
            ...     for number, size in enumerate([90_000, 70_000, 60_000])
            ... ]
            >>> columns = toolbudget.collect([{"role": "user", "content": results}])
            >>> answer = columns.what_if([100_000, 150_000, 250_000])
            >>> answer.replaced.tolist(), answer.chars_after.tolist()
            ([2, 1, 0], [64430, 132215, 220000])
        """
        return what_if(
            self,
            limits,
            preview_bytes=preview_bytes,
            path_chars=path_chars,
            accounting=accounting,
        )


def collect(
    messages: Sequence[Any],
    *,
    state: ContentReplacementState | None = None,
    exempt_tools: Collection[str] = frozenset(),
) -> CandidateColumns:
    """List the text results of a message list as columns, for audits; nothing is changed.

    Args:
        messages: API messages, transcript records or message objects.
        state: Earlier decisions. A text is hashed only if something is known about its id. Without
            a state every result is fresh, if it is not exempt or framed as a reference.
        exempt_tools: Tools that the limit does not touch; none by default, while a session exempts
            some (``Read`` for instance).

    Raises:
        ConfigError: ``state`` or ``exempt_tools`` cannot be used.
        InvalidMessageError: ``messages`` cannot be a message list.

    Example:
        >>> import toolbudget
        >>> calls = [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]
        >>> block = {"type": "tool_result", "tool_use_id": "t1", "content": "four"}
        >>> columns = toolbudget.collect(
        ...     [{"role": "assistant", "content": calls}, {"role": "user", "content": [block]}]
        ... )
        >>> columns.size.tolist(), columns.tool_names[columns.tool[0]]
        ([4], 'Bash')
        >>> (columns.decision == toolbudget.Standing.FRESH).sum().item()
        1
    """
    is_exempt = exemption_of(exempt_tools)
    if state is not None and not isinstance(state, ContentReplacementState):
        raise ConfigError(f"state (argument) must be a ContentReplacementState: {shown(state)}")
    known = None if state is None else state.known()
    return _arrays(core.columns(messages, known, is_exempt))


def _arrays(columns: Columns) -> CandidateColumns:
    size = np.frombuffer(columns.size, np.int64)
    return CandidateColumns(
        group=np.frombuffer(columns.group, np.int32),
        message=np.frombuffer(columns.message, np.int32),
        block=np.frombuffer(columns.block, np.int32),
        size=size,
        shown=_shown(size, columns),
        tool=np.frombuffer(columns.tool, np.int32),
        decision=np.frombuffer(columns.standing, np.int8),
        is_followed=np.frombuffer(columns.is_followed, np.bool_),
        tool_names=columns.tool_names,
        skipped=ReadOnlyDict({str(reason): count for reason, count in columns.skipped.items()}),
    )


def _shown(size: NDArray[np.int64], columns: Columns) -> NDArray[np.int64]:
    if not columns.replaced:
        return size
    shown = size.copy()
    rows = np.frombuffer(columns.replaced, np.int32)
    shown[rows] = np.frombuffer(columns.replacement_size, np.int64)
    shown.flags.writeable = False
    return shown
