"""A small agent loop: model, tools, gate, pipeline, model …; offline with a scripted model.

Example:
    >>> from toolbudget.loop import AgentLoop, ScriptedModel
    >>> AgentLoop(ScriptedModel(["Hello!"])).run("Say hello.").text
    'Hello!'
"""

from __future__ import annotations

from toolbudget.loop.agent import DEFAULT_MAX_PARALLEL_CALLS, DEFAULT_MAX_TURNS, AgentLoop
from toolbudget.loop.anthropic_model import AnthropicModel, AsyncAnthropicModel
from toolbudget.loop.calls import AgentTool, ToolOutput
from toolbudget.loop.events import (
    Continued,
    Ended,
    EndReason,
    LoopEvent,
    LoopResult,
    Overflowed,
    RequestReady,
    Responded,
    TextPiece,
    ToolCalled,
    ToolFinished,
    Transition,
    Unrecorded,
)
from toolbudget.loop.model import Model, ModelReply, ModelRequest, ModelResponse
from toolbudget.loop.scripted import ScriptedModel
from toolbudget.loop.usage import TokenUsage

__all__ = [
    "DEFAULT_MAX_PARALLEL_CALLS",
    "DEFAULT_MAX_TURNS",
    "AgentLoop",
    "AgentTool",
    "AnthropicModel",
    "AsyncAnthropicModel",
    "Continued",
    "EndReason",
    "Ended",
    "LoopEvent",
    "LoopResult",
    "Model",
    "ModelReply",
    "ModelRequest",
    "ModelResponse",
    "Overflowed",
    "RequestReady",
    "Responded",
    "ScriptedModel",
    "TextPiece",
    "TokenUsage",
    "ToolCalled",
    "ToolFinished",
    "ToolOutput",
    "Transition",
    "Unrecorded",
]
