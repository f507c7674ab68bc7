"""Keeps large tool results from flooding the context of an LLM agent.

Each oversized result is stored in full on disk; the conversation keeps a short preview with the
path, and once the model has seen a result, its form never changes again.

Example:
    >>> import tempfile, toolbudget
    >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo")
    >>> session.enforce([{"role": "user", "content": "hello"}])
    [{'role': 'user', 'content': 'hello'}]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolbudget import (
        continuation,
        errors,
        limits,
        loop,
        messages,
        pipeline,
        pruning,
        tokens,
        tools,
    )
    from toolbudget._core.pure import Candidate, Fingerprint, Standing
    from toolbudget.budget.columns import CandidateColumns, collect
    from toolbudget.budget.functions import (
        Enforcement,
        Partition,
        apply_tool_result_budget,
        collect_candidates_by_message,
        enforce_tool_result_budget,
        maybe_persist_large_tool_result,
        partition_by_prior_decision,
        select_fresh_to_replace,
    )
    from toolbudget.budget.prefix_finding import PrefixFinding
    from toolbudget.budget.prefix_guard import PrefixGuard
    from toolbudget.budget.preview import Preview, build_replacement, generate_preview
    from toolbudget.budget.reconstruct import (
        provision_content_replacement_state,
        reconstruct_content_replacement_state,
        reconstruct_for_subagent_resume,
    )
    from toolbudget.budget.report import EnforcementReport, Event, Failure
    from toolbudget.budget.session import Session
    from toolbudget.budget.state import (
        ContentReplacementState,
        clone_content_replacement_state,
        create_content_replacement_state,
    )
    from toolbudget.budget.what_if import WhatIf
    from toolbudget.errors import (
        ConfigError,
        InvalidMessageError,
        StoreError,
        StoreQuotaError,
        ToolBudgetError,
        ToolError,
        ToolInputError,
        TranscriptError,
    )
    from toolbudget.limits import (
        DEFAULT_MAX_RESULT_SIZE_CHARS,
        MAX_TOOL_RESULTS_PER_MESSAGE_CHARS,
        PREVIEW_SIZE_BYTES,
        Limits,
    )
    from toolbudget.loop.agent import AgentLoop
    from toolbudget.storage.records import ContentReplacementRecord
    from toolbudget.storage.store import (
        DirectoryStore,
        MemoryStore,
        ResultStore,
        StoredResult,
        get_tool_result_path,
        persist_tool_result,
    )
    from toolbudget.storage.transcript import Transcript
    from toolbudget.tokens.counting import acount_tokens, count_tokens
    from toolbudget.tokens.window import ContextWindow

    __version__: str

# Loaded on first use: a host that only asks for a name should not pay for all of them.
_HOMES = {
    "_core.pure": ("Candidate", "Fingerprint", "Standing"),
    "budget.columns": ("CandidateColumns", "collect"),
    "budget.functions": (
        "Enforcement",
        "Partition",
        "apply_tool_result_budget",
        "collect_candidates_by_message",
        "enforce_tool_result_budget",
        "maybe_persist_large_tool_result",
        "partition_by_prior_decision",
        "select_fresh_to_replace",
    ),
    "budget.prefix_finding": ("PrefixFinding",),
    "budget.prefix_guard": ("PrefixGuard",),
    "budget.preview": ("Preview", "build_replacement", "generate_preview"),
    "budget.reconstruct": (
        "provision_content_replacement_state",
        "reconstruct_content_replacement_state",
        "reconstruct_for_subagent_resume",
    ),
    "budget.report": ("EnforcementReport", "Event", "Failure"),
    "budget.session": ("Session",),
    "budget.state": (
        "ContentReplacementState",
        "clone_content_replacement_state",
        "create_content_replacement_state",
    ),
    "budget.what_if": ("WhatIf",),
    "errors": (
        "ConfigError",
        "InvalidMessageError",
        "StoreError",
        "StoreQuotaError",
        "ToolBudgetError",
        "ToolError",
        "ToolInputError",
        "TranscriptError",
    ),
    "limits": (
        "DEFAULT_MAX_RESULT_SIZE_CHARS",
        "MAX_TOOL_RESULTS_PER_MESSAGE_CHARS",
        "PREVIEW_SIZE_BYTES",
        "Limits",
    ),
    "loop.agent": ("AgentLoop",),
    "storage.records": ("ContentReplacementRecord",),
    "storage.store": (
        "DirectoryStore",
        "MemoryStore",
        "ResultStore",
        "StoredResult",
        "get_tool_result_path",
        "persist_tool_result",
    ),
    "storage.transcript": ("Transcript",),
    "tokens.counting": ("acount_tokens", "count_tokens"),
    "tokens.window": ("ContextWindow",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_SUBMODULES = (
    "continuation",
    "errors",
    "limits",
    "loop",
    "messages",
    "pipeline",
    "pruning",
    "tokens",
    "tools",
)

__all__ = [
    "DEFAULT_MAX_RESULT_SIZE_CHARS",
    "MAX_TOOL_RESULTS_PER_MESSAGE_CHARS",
    "PREVIEW_SIZE_BYTES",
    "AgentLoop",
    "Candidate",
    "CandidateColumns",
    "ConfigError",
    "ContentReplacementRecord",
    "ContentReplacementState",
    "ContextWindow",
    "DirectoryStore",
    "Enforcement",
    "EnforcementReport",
    "Event",
    "Failure",
    "Fingerprint",
    "InvalidMessageError",
    "Limits",
    "MemoryStore",
    "Partition",
    "PrefixFinding",
    "PrefixGuard",
    "Preview",
    "ResultStore",
    "Session",
    "Standing",
    "StoreError",
    "StoreQuotaError",
    "StoredResult",
    "ToolBudgetError",
    "ToolError",
    "ToolInputError",
    "Transcript",
    "TranscriptError",
    "WhatIf",
    "__version__",
    "acount_tokens",
    "apply_tool_result_budget",
    "build_replacement",
    "clone_content_replacement_state",
    "collect",
    "collect_candidates_by_message",
    "continuation",
    "count_tokens",
    "create_content_replacement_state",
    "enforce_tool_result_budget",
    "errors",
    "generate_preview",
    "get_tool_result_path",
    "limits",
    "loop",
    "maybe_persist_large_tool_result",
    "messages",
    "partition_by_prior_decision",
    "persist_tool_result",
    "pipeline",
    "provision_content_replacement_state",
    "pruning",
    "reconstruct_content_replacement_state",
    "reconstruct_for_subagent_resume",
    "select_fresh_to_replace",
    "tokens",
    "tools",
]


def __getattr__(name: str) -> object:
    """Load a public name, or a public submodule, when it is first asked for."""
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("toolbudget")
    elif name in _HOME_OF:
        value = getattr(importlib.import_module(f"toolbudget.{_HOME_OF[name]}"), name)
    elif name in _SUBMODULES:
        return importlib.import_module(f"toolbudget.{name}")
    else:
        raise AttributeError(f"module 'toolbudget' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__, *_SUBMODULES})
