"""From a conversation as the host holds it to messages as the API accepts them (M4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolbudget._core.pure.shape import plain_text
from toolbudget.messages.chains import read_one_chain
from toolbudget.messages.create import NO_CONTENT
from toolbudget.messages.marks import acceptable_blocks
from toolbudget.messages.pairing import CallLedger, pair, without_repeated_calls
from toolbudget.messages.plain import is_empty_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.messages.chains import Spoken
    from toolbudget.messages.plain import Block
    from toolbudget.messages.types import MessageParam

__all__ = ["held_back_content", "normalize_messages_for_api"]


def normalize_messages_for_api(messages: Sequence[object]) -> list[MessageParam]:
    """Make the messages of a request: alternating roles, results first, every call answered.

    An answer that was streamed as several records of one ``message.id`` is one message again, with
    all its results in the next one, wherever the records stood. What the API would refuse is put
    into a form that it takes: a result without its call becomes text, a call without its result
    gets an error result that says so. Left out are only texts that are empty or white space, and a
    call that its answer holds a second time. Breakpoints on thinking or an empty text move to the
    block before.

    Earlier messages never change when records are appended: an assistant message and the results
    behind it are final once another answer has begun.

    Args:
        messages: Transcript records, API messages or SDK objects, in order. Records that are no
            messages (progress, attachments, the host's notices) and virtual ones are not sent; of
            several chains the main one is.

    Returns:
        New messages that share nothing mutable with the input: ``role`` and a list of blocks, and
        no other key.

    Raises:
        InvalidMessageError: ``messages`` cannot be a message list, or holds something that no
            request can hold; the error names the index and the value.

    Example:
        >>> from toolbudget import messages
        >>> call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
        >>> result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
        >>> request = messages.normalize_messages_for_api(
        ...     [
        ...         {"role": "assistant", "content": [call]},
        ...         {"role": "user", "content": "And then?"},
        ...         {"role": "user", "content": [result]},
        ...     ]
        ... )
        >>> [block["type"] for block in request[1]["content"]]
        ['tool_result', 'text']
    """
    return _assemble(messages).sent


def held_back_content(messages: Sequence[object]) -> list[Block]:
    """Give the blocks that :func:`normalize_messages_for_api` keeps for a later request.

    While a tool that the provider runs, or a call that came from code, waits for its result, the
    API takes results only. What else the user said meanwhile goes into the user message after the
    next answer; until there is one, it is here.

    Raises:
        InvalidMessageError: As :func:`normalize_messages_for_api` does.

    Example:
        >>> from toolbudget import messages
        >>> caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
        >>> call = {"type": "tool_use", "id": "t1", "name": "Query", "input": {}, "caller": caller}
        >>> result = {"type": "tool_result", "tool_use_id": "t1", "content": "[]"}
        >>> conversation = [
        ...     {"role": "assistant", "content": [call]},
        ...     {"role": "user", "content": [result, {"type": "text", "text": "Faster!"}]},
        ... ]
        >>> messages.held_back_content(conversation)
        [{'type': 'text', 'text': 'Faster!'}]
    """
    return _assemble(messages).held


@dataclass(slots=True)
class _Turn:
    """One answer and all that the user's side says until the next one."""

    answer: list[Block] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    systems: list[MessageParam] = field(default_factory=list)
    calls: CallLedger = field(default_factory=CallLedger)
    has_answer: bool = False
    has_user_record: bool = False
    has_user_content: bool = False


@dataclass(slots=True)
class _Assembly:
    sent: list[MessageParam] = field(default_factory=list)
    held: list[Block] = field(default_factory=list)
    turn: _Turn = field(default_factory=_Turn)
    seen_message_ids: set[str] = field(default_factory=set)

    def add(self, message: Spoken) -> None:
        turn = self.turn
        if message.role == "system":
            content = _system_content(message.content)
            if content:
                turn.systems.append({"role": "system", "content": content})
        elif message.role == "user":
            turn.blocks.extend(message.blocks)
            turn.has_user_record = True
            has_content = not all(map(is_empty_text, message.blocks))
            turn.has_user_content = turn.has_user_content or has_content
        else:
            if self._starts_turn(message):
                self.end_turn()
            self.turn.answer.extend(message.blocks)
            self.turn.calls.note(message.blocks)
            self.turn.has_answer = True

    def end_turn(self) -> None:
        turn, self.turn = self.turn, _Turn()
        answer = acceptable_blocks(without_repeated_calls(turn.answer))
        if turn.has_answer:
            # An answer without content still stands between what the user said before and after.
            content = answer or [{"type": "text", "text": NO_CONTENT}]
            self.sent.append({"role": "assistant", "content": content})
        results, others = pair(answer, turn.blocks)
        if turn.calls.takes_results_only:
            self.held.extend(acceptable_blocks(others))
            blocks = results
        else:
            blocks = acceptable_blocks([*results, *self.held, *others])
            self.held = []
        if blocks:
            self.sent.append({"role": "user", "content": blocks})
        self.sent.extend(turn.systems)

    def _starts_turn(self, message: Spoken) -> bool:
        """Tell whether an answer is another one than the records before it belong to.

        Groups of the budget begin by the same rule: at an id that has not occurred. Answers without
        anything of the user's between them are one message.
        """
        if message.id is not None:
            if message.id in self.seen_message_ids:
                return False
            self.seen_message_ids.add(message.id)
        turn = self.turn
        if turn.calls.takes_results_only and not turn.calls.has_calls:
            return False  # nothing could be sent between: the provider's tool goes on
        if turn.has_user_content or (turn.has_user_record and turn.calls.has_calls):
            return (
                True  # also a blank one: a request was sent with a result that says it is missing
            )
        if turn.systems and not turn.has_answer:
            return True  # else they would stand between two answers, with nothing of the user's
        return bool(self.held) and not turn.calls.has_calls


def _system_content(content: Any) -> Any:  # noqa: ANN401 - a text or blocks
    """Give the content of a system message in its form; nothing if there is no text in it."""
    text = plain_text(content)
    if text is not None:
        return text if text.strip() else None
    is_list_of_blocks = isinstance(content, list) and all(
        isinstance(part, dict) for part in content
    )
    return acceptable_blocks(content) if is_list_of_blocks else content


def _assemble(messages: object) -> _Assembly:
    assembly = _Assembly()
    for message in read_one_chain(messages):
        assembly.add(message)
    assembly.end_turn()
    return assembly
