"""The pure-Python core: the oracle that the native one is compared with, written to be read.

It is total on odd input and touches no file, clock, environment or random source.
"""

from __future__ import annotations

from toolbudget._core.pure.body import (
    JsonScan,
    plan_json,
    rewrite_json,
    rewrite_json_segments,
    scan_json,
)
from toolbudget._core.pure.candidate import Candidate
from toolbudget._core.pure.choose import Choice, Fresh, GroupTotals, Prepared, totals_over
from toolbudget._core.pure.collect import Survey, collect
from toolbudget._core.pure.columns import Columns, Standing, columns
from toolbudget._core.pure.decision import (
    Accounting,
    Adoption,
    Fingerprints,
    Key,
    Known,
    PlanOptions,
    Rule,
)
from toolbudget._core.pure.decision_table import DecisionTable
from toolbudget._core.pure.fingerprint import Fingerprint, FingerprintCache, fingerprint
from toolbudget._core.pure.kept_json import kept_json
from toolbudget._core.pure.outline import Outline, begins_with, outline
from toolbudget._core.pure.past import Past, Sums, plan_rest
from toolbudget._core.pure.plan import Plan, plan
from toolbudget._core.pure.preview import cut_preview
from toolbudget._core.pure.replacement import (
    REFERENCE_MAX_CHARS,
    build_replacement,
    is_framed_reference,
)
from toolbudget._core.pure.rewrite import Change, replace_content, rewrite, rewrite_again
from toolbudget._core.pure.select import select_largest
from toolbudget._core.pure.shown import (
    STYLE_VERSIONS,
    OutlinePreview,
    PreviewStyle,
    Shown,
    show_preview,
)
from toolbudget._core.pure.size import utf8_length
from toolbudget._core.pure.styles import (
    HEAD_TAIL_VERSION,
    JSON_VERSION,
    OUTLINE_VERSION,
    SALIENT_VERSION,
    TABLE_VERSION,
    head_tail_preview,
    json_preview,
    salient_preview,
    table_preview,
)
from toolbudget._core.pure.tokens import estimate_tokens
from toolbudget._core.pure.unit import Unit, measure

__all__ = [
    "HEAD_TAIL_VERSION",
    "JSON_VERSION",
    "OUTLINE_VERSION",
    "REFERENCE_MAX_CHARS",
    "SALIENT_VERSION",
    "STYLE_VERSIONS",
    "TABLE_VERSION",
    "Accounting",
    "Adoption",
    "Candidate",
    "Change",
    "Choice",
    "Columns",
    "DecisionTable",
    "Fingerprint",
    "FingerprintCache",
    "Fingerprints",
    "Fresh",
    "GroupTotals",
    "JsonScan",
    "Key",
    "Known",
    "Outline",
    "OutlinePreview",
    "Past",
    "Plan",
    "PlanOptions",
    "Prepared",
    "PreviewStyle",
    "Rule",
    "Shown",
    "Standing",
    "Sums",
    "Survey",
    "Unit",
    "begins_with",
    "build_replacement",
    "collect",
    "columns",
    "cut_preview",
    "estimate_tokens",
    "fingerprint",
    "head_tail_preview",
    "is_framed_reference",
    "json_preview",
    "kept_json",
    "measure",
    "outline",
    "plan",
    "plan_json",
    "plan_rest",
    "replace_content",
    "rewrite",
    "rewrite_again",
    "rewrite_json",
    "rewrite_json_segments",
    "salient_preview",
    "scan_json",
    "select_largest",
    "show_preview",
    "table_preview",
    "totals_over",
    "utf8_length",
]
