"""Clearing old results of tools whose results can be had again (Q2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from toolbudget import _core as core
from toolbudget._core.pure import Change
from toolbudget._display import shown
from toolbudget.budget.clearing import OldResult, is_cleared_text
from toolbudget.errors import ConfigError
from toolbudget.pipeline.checks import check_count, check_seconds
from toolbudget.pipeline.difference import sent_messages
from toolbudget.pipeline.stage import StageResult
from toolbudget.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from toolbudget._core.pure import Candidate
    from toolbudget.pipeline.stage import StageName, TurnContext

__all__ = [
    "COMPACTABLE_TOOLS",
    "CONTEXT_MANAGEMENT_BETA",
    "DEFAULT_IDLE_S",
    "DEFAULT_KEEP_RESULTS",
    "Microcompact",
]

COMPACTABLE_TOOLS: Final = frozenset(
    {
        *("Bash", "Edit", "Glob", "Grep", "Read", "WebFetch", "WebSearch", "Write"),
        *("bash", "edit", "glob", "grep", "read_file", "web_fetch", "web_search", "write_file"),
        *("read_result", "search_results"),
    }
)
"""Tools whose results can be had again, by running or reading again: shell, file and search tools
by the names that Claude Code and this library give them."""
DEFAULT_KEEP_RESULTS: Final = 3
"""As many as the provider's own ``clear_tool_uses_20250919`` keeps by default."""
DEFAULT_IDLE_S: Final = 3_600.0
"""The longest life of the provider's prompt cache: behind it there is no prefix left to break."""
DEFAULT_CLEAR_AT_LEAST_TOKENS: Final = 5_000
"""Less is not worth that all behind the first cleared result is read again without a cache."""
CONTEXT_MANAGEMENT_BETA: Final = "context-management-2025-06-27"
"""The ``anthropic-beta`` that a request with :meth:`Microcompact.api_edits` needs."""
# The default of the provider for the same edit.
_API_TRIGGER_TOKENS: Final = 100_000
# What is cleared in one turn stands in one record, which is there whole or not at all.
_MAX_CLEARED: Final = 2_000


class Microcompact:
    """Clears old results, all but the newest, when that is worth breaking the cached prefix.

    There are three occasions: the conversation has rested so long that nothing is cached any more;
    there are too many results; the window is nearly full. A result that the model has not seen yet
    is never cleared, nor one of the exempt kinds (memory, toolset members, results for running
    code), nor one that holds more than text.

    A cleared result becomes one line that names the file with its full text; what was never stored
    is stored first. This is recorded, so that every later turn sends the same line.

    Args:
        keep: How many of the newest results of ``tools`` stay.
        tools: The tools whose results may go.
        idle_s: Clear if the last request is so many seconds ago; ``None``: never for that.
        trigger_results: Clear if there are more uncleared results than that; ``None``: never for
            that.
        on_pressure: Clear if the window is ``near`` or ``over``.
        clear_at_least_tokens: Do nothing for fewer estimated tokens, unless the cache is cold.

    Raises:
        ConfigError: An argument cannot be used.

    Example:
        >>> import tempfile
        >>> from toolbudget import Session
        >>> from toolbudget.pipeline import Budget, Microcompact, Pipeline
        >>> history = [{"role": "user", "content": "Look."}]
        >>> for name in ("t1", "t2"):
        ...     call = {"type": "tool_use", "id": name, "name": "Bash", "input": {}}
        ...     output = {"type": "tool_result", "tool_use_id": name, "content": "x" * 900}
        ...     history += [
        ...         {"role": "assistant", "content": [call]},
        ...         {"role": "user", "content": [output]},
        ...     ]
        >>> session = Session.open(tempfile.mkdtemp(), "demo")
        >>> pipeline = Pipeline([Budget(), Microcompact(keep=1)], session=session)
        >>> result = pipeline.run(history, idle_s=7_200)
        >>> print(result.report("microcompact"))
        microcompact: changed, 1 result cleared (idle), ... cached prefix ends before message 2
    """

    name: Final[StageName] = "microcompact"

    def __init__(
        self,
        *,
        keep: int = DEFAULT_KEEP_RESULTS,
        tools: Iterable[str] = COMPACTABLE_TOOLS,
        idle_s: float | None = DEFAULT_IDLE_S,
        trigger_results: int | None = None,
        on_pressure: bool = True,
        clear_at_least_tokens: int = DEFAULT_CLEAR_AT_LEAST_TOKENS,
    ) -> None:
        check_count("keep", keep)
        if isinstance(tools, str) or not isinstance(tools, Iterable):
            raise ConfigError(f"tools (argument) must be a set of names: {shown(tools)}")
        if idle_s is not None:
            check_seconds("idle_s", idle_s)
        if trigger_results is not None:
            check_count("trigger_results", trigger_results)
        check_count("clear_at_least_tokens", clear_at_least_tokens)
        self.keep: Final = keep
        self.tools: Final = frozenset(tools)
        self.idle_s: Final = idle_s
        self.trigger_results: Final = trigger_results
        self.on_pressure: Final = on_pressure
        self.clear_at_least_tokens: Final = clear_at_least_tokens

    def run(self, context: TurnContext) -> StageResult | None:
        """Clear what is old, on one of the three occasions."""
        uncleared = self._uncleared(context.messages)
        occasion = self._occasion(context, len(uncleared))
        if occasion is None:
            return None
        least_tokens = 0 if occasion == "idle" else self.clear_at_least_tokens
        return self._clear(context, uncleared, occasion, least_tokens)

    def recover_from_overflow(self, context: TurnContext) -> StageResult | None:
        """Clear all that may be cleared."""
        return self._clear(context, self._uncleared(context.messages), "overflow", 0)

    def api_edits(
        self,
        messages: Sequence[Any],
        *,
        trigger_tokens: int = _API_TRIGGER_TOKENS,
    ) -> dict[str, Any]:
        """Return the ``context_management`` of a request, by which the provider clears results.

        The history stays whole then, and this stage need not be in the pipeline. The provider tells
        results apart by their tools only: so tools are excluded that are not among ``tools``, and
        those of which a result is a reference already, whose path would be lost to the model.

        Args:
            messages: What is sent, as :meth:`Pipeline.run` gave it.
            trigger_tokens: Input tokens from which the provider clears.

        Example:
            >>> Microcompact(keep=5).api_edits([])["edits"][0]["keep"]
            {'type': 'tool_uses', 'value': 5}
        """
        check_count("trigger_tokens", trigger_tokens, at_least=1)
        excluded = {
            result.tool_name
            for result in _results(messages)
            if result.tool_name is not None
            and (
                result.tool_name not in self.tools
                or result.is_exempt
                or core.is_framed_reference(result.text[: core.REFERENCE_MAX_CHARS + 1])
            )
        }
        edit: dict[str, Any] = {
            "type": "clear_tool_uses_20250919",
            "trigger": {"type": "input_tokens", "value": trigger_tokens},
            "keep": {"type": "tool_uses", "value": self.keep},
        }
        if self.clear_at_least_tokens:
            edit["clear_at_least"] = {"type": "input_tokens", "value": self.clear_at_least_tokens}
        if excluded:
            edit["exclude_tools"] = sorted(excluded)
        return {"edits": [edit]}

    def _occasion(self, context: TurnContext, uncleared: int) -> str | None:
        if self.idle_s is not None and context.idle_s is not None and context.idle_s >= self.idle_s:
            return "idle"
        if self.trigger_results is not None and uncleared > self.trigger_results:
            return "count"
        check = context.check
        if self.on_pressure and check is not None and check.state != "ok":
            return "pressure"
        return None

    def _uncleared(self, messages: Sequence[Any]) -> list[Candidate]:
        return [
            result
            for result in _results(messages)
            if self._may_clear(result) and not is_cleared_text(result.text)
        ]

    def _may_clear(self, result: Candidate) -> bool:
        return result.tool_name in self.tools and not result.is_exempt

    def _clear(
        self,
        context: TurnContext,
        uncleared: Sequence[Candidate],
        occasion: str,
        least_tokens: int,
    ) -> StageResult | None:
        session = context.session
        old = _with_every_copy(self._old(context.messages, uncleared), _MAX_CLEARED)
        if session is None or not old:
            return None
        if sum(estimate_tokens(result.text) for result in old) < least_tokens:
            return None
        cleared = session.clear_results(
            [OldResult(result.tool_use_id, result.content) for result in old]
        )
        changes = [
            Change(old[index].message_index, old[index].block_index, text)
            for index, text in cleared.texts.items()
        ]
        if not changes:
            if cleared.failures:
                raise cleared.failures[0].error
            return None
        results = "result" if len(changes) == 1 else "results"
        failed = f", {len(cleared.failures)} could not be stored" if cleared.failures else ""
        return StageResult(
            messages=core.rewrite(context.messages, changes),
            changed=len(changes),
            detail=f"{len(changes)} {results} cleared ({occasion}){failed}",
        )

    def _old(self, messages: Sequence[Any], uncleared: Sequence[Candidate]) -> list[Candidate]:
        """Return what the model has seen and is not among the newest, nor may be one of them."""
        seen = sent_messages(messages)
        kept = uncleared[len(uncleared) - self.keep :] if self.keep else []
        stays: dict[str, set[str | None]] = {}
        for result in (*kept, *(one for one in uncleared if one.message_index >= seen)):
            stays.setdefault(result.tool_use_id, set()).add(_own_text(result))
        names = {result.tool_use_id for result in uncleared}
        # The same id with the same text is the same decision, whichever tool gave it.
        others = {
            (result.tool_use_id, result.text)
            for result in _results(messages)
            if result.tool_use_id in names and not self._may_clear(result)
        }
        return [
            result
            for result in uncleared
            if not _is_among(result, stays) and (result.tool_use_id, result.text) not in others
        ]


def _with_every_copy(old: Sequence[Candidate], most: int) -> list[Candidate]:
    """Return so many results, and those behind them that stand for the same decisions.

    A copy that was left would change in the next turn, without a word.
    """
    taken = {(result.tool_use_id, result.text) for result in old[:most]}
    rest = (result for result in old[most:] if (result.tool_use_id, result.text) in taken)
    return [*old[:most], *rest]


def _is_among(result: Candidate, stays: Mapping[str, AbstractSet[str | None]]) -> bool:
    """Tell whether a result may be one of some: some servers reuse ids, and the text decides."""
    texts = stays.get(result.tool_use_id)
    own_text = _own_text(result)
    return texts is not None and (own_text is None or None in texts or own_text in texts)


def _own_text(result: Candidate) -> str | None:
    """Return a result's text; ``None`` for a reference, which stands for a text unknown here."""
    is_reference = core.is_framed_reference(result.text[: core.REFERENCE_MAX_CHARS + 1])
    return None if is_reference else result.text


def _results(messages: Sequence[Any]) -> list[Candidate]:
    survey = core.collect(messages, _is_never_exempt)
    results = [result for group in survey.groups for result in group.candidates]
    return sorted(results, key=lambda result: (result.message_index, result.block_index))


def _is_never_exempt(_tool_name: str) -> bool:
    """Exempt from limits is not exempt from ageing; what is exempt by its kind stays so."""
    return False
