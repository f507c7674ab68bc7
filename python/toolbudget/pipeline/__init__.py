"""The pipeline after the budget: clearing, snipping, folding and summarising, in a fixed order.

Example:
    >>> import tempfile
    >>> from toolbudget import Session
    >>> from toolbudget.pipeline import Budget, Microcompact, Pipeline
    >>> session = Session.open(tempfile.mkdtemp(), "demo")
    >>> pipeline = Pipeline([Budget(), Microcompact()], session=session)
    >>> pipeline.run([{"role": "user", "content": "hello"}]).messages
    [{'role': 'user', 'content': 'hello'}]
"""

from __future__ import annotations

from toolbudget.budget.clearing import ClearedResults, OldResult
from toolbudget.budget.context_edits import ContextEdit
from toolbudget.pipeline.autocompact import Autocompact, SummaryError
from toolbudget.pipeline.budget_stage import Budget
from toolbudget.pipeline.collapse import (
    Collapse,
    CollapseCommit,
    CollapseStatistics,
    ContextCollapse,
)
from toolbudget.pipeline.finished_tasks import FinishedTasks
from toolbudget.pipeline.microcompact import (
    COMPACTABLE_TOOLS,
    CONTEXT_MANAGEMENT_BETA,
    DEFAULT_IDLE_S,
    DEFAULT_KEEP_RESULTS,
    Microcompact,
)
from toolbudget.pipeline.overflow import Overflow, read_overflow
from toolbudget.pipeline.pipeline import Pipeline
from toolbudget.pipeline.report import PipelineResult, StageReport, StageStatus
from toolbudget.pipeline.snip import HistorySnip
from toolbudget.pipeline.stage import (
    STAGE_ORDER,
    AsyncStage,
    RecoveringStage,
    Stage,
    StageName,
    StageResult,
    TurnContext,
)
from toolbudget.pipeline.validity import RefusedStageError

__all__ = [
    "COMPACTABLE_TOOLS",
    "CONTEXT_MANAGEMENT_BETA",
    "DEFAULT_IDLE_S",
    "DEFAULT_KEEP_RESULTS",
    "STAGE_ORDER",
    "AsyncStage",
    "Autocompact",
    "Budget",
    "ClearedResults",
    "Collapse",
    "CollapseCommit",
    "CollapseStatistics",
    "ContextCollapse",
    "ContextEdit",
    "FinishedTasks",
    "HistorySnip",
    "Microcompact",
    "OldResult",
    "Overflow",
    "Pipeline",
    "PipelineResult",
    "RecoveringStage",
    "RefusedStageError",
    "Stage",
    "StageName",
    "StageReport",
    "StageResult",
    "StageStatus",
    "SummaryError",
    "TurnContext",
    "read_overflow",
]
