"""Turns of a conversation and terms of a session, as a test draws them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from hypothesis import strategies as st

from tests.builders import answer, call, msg, res
from tests.scenarios.conversation_process import EXEMPT_TOOL, REDACTIONS, Terms
from toolbudget import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.builders import Block, Message

__all__ = ["SPECS", "TERMS", "Spec", "made_turn"]

# Few ids and few texts, so that the same result, or nearly the same one, comes again and again.
_IDS: Final = ("call_0", "call_1", "a/../b", "é", "t5", "t6", "t7")
_TOOLS: Final = ("Fetch", "Fetch", "Fetch", EXEMPT_TOOL, "Stream")
_SIZES_CHARS: Final = (0, 1, 90, 250, 420, 700, 700, 1_500, 2_500)
_PATTERNS: Final = ("line of text\n", "é\U0001f600", "\ud800x\0", "<persisted-output>\n", " ")


class Spec(NamedTuple):
    """A result as it is drawn.

    Attributes:
        tool_use_id: One of few.
        tool_name: One of few.
        size_chars: From nothing to more than all limits.
        pattern: What its text repeats.
        variant: Tells texts of one size apart, at their end only.
        form: ``str``, ``list``, or ``marked``: a list of two with a cache mark and another key.
        gated: The limit that its tool declares if it goes through the gate; 0 if it does not.
    """

    tool_use_id: str
    tool_name: str
    size_chars: int
    pattern: str
    variant: str
    form: str
    gated: float | None

    @property
    def text(self) -> str:
        """The text."""
        repeated = self.pattern * (self.size_chars // len(self.pattern) + 1)
        return repeated[: self.size_chars - 1] + self.variant if self.size_chars else ""

    @property
    def block(self) -> Block:
        """A new result block."""
        text = self.text
        if self.form == "str":
            return res(self.tool_use_id, text)
        first: Block = {"type": "text", "text": text}
        if self.form == "list":
            return res(self.tool_use_id, [first], is_error=False)
        half = len(text) // 2
        first = {"type": "text", "text": text[:half], "cache_control": {"type": "ephemeral"}}
        return res(self.tool_use_id, [first, {"type": "text", "text": text[half:], "mark": 1}])


SPECS: Final = st.builds(
    Spec,
    tool_use_id=st.sampled_from(_IDS),
    tool_name=st.sampled_from(_TOOLS),
    size_chars=st.sampled_from(_SIZES_CHARS),
    pattern=st.sampled_from(_PATTERNS),
    variant=st.sampled_from("AB"),
    form=st.sampled_from(["str", "str", "list", "marked"]),
    gated=st.sampled_from([0, 0, 0, None, 300, math.inf]),
)
TERMS: Final = st.builds(
    Terms,
    limits=st.builds(
        Limits,
        max_result_chars=st.sampled_from([400, 1_000]),
        max_message_chars=st.sampled_from([600, 1_200, math.inf]),
        preview_bytes=st.sampled_from([64, 1, 200]),
        reader_hint=st.sampled_from([None, "Use read_result to see more"]),
        tools=st.sampled_from([{}, {}, {EXEMPT_TOOL: 500}]),
    ),
    redaction=st.sampled_from(["none", "none", *REDACTIONS]),
)


def made_turn(
    specs: Sequence[Spec], blocks: Sequence[Block], message_id: str, *, is_streamed: bool
) -> list[Message]:
    """Make the calls and results of a turn; streamed, every call stands by itself."""
    calls = [call(spec.tool_use_id, spec.tool_name) for spec in specs]
    if not is_streamed:
        return [answer(*calls, message_id=message_id), msg(*blocks)]
    pairs = zip(calls, blocks, strict=True)
    parts = [(answer(made, message_id=message_id), msg(block)) for made, block in pairs]
    return [message for part in parts for message in part]
