from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.core.group_oracle import identity_of
from tests.core.harness import (
    BIG,
    FRAME,
    State,
    ask,
    assistant,
    content_at,
    decided,
    enforce,
    kept,
    never,
    plan_options,
    result,
    taken,
    text_block,
    user,
)
from tests.core.text_oracle import replacement
from tests.strategies import Text

if TYPE_CHECKING:
    from types import ModuleType


def test_lengths_and_sizes_come_from_the_redacted_text(core: ModuleType) -> None:
    """Preview, shown size and length are those of what is stored; identity is not (F5)."""
    text = "secret " * 300
    done = enforce(
        core,
        [user(result("t1", text))],
        plan_options(core, redact=lambda given: given.replace("secret", "[redacted]")),
    )
    expected = replacement("[redacted] " * 300, "/s/t1-2.txt", 100)
    assert content_at(done.messages, 0) == expected
    assert "3.2KB" in expected
    assert list(done.new) == [identity_of("t1", text)]


def test_the_hook_is_called_once_per_text_block(core: ModuleType) -> None:
    """Once, before the choice, however many steps are tried and copies stand there (F5)."""
    heard: list[str] = []

    def redact(text: str) -> str:
        heard.append(text)
        return text

    blocks = [text_block("a" * 900), text_block(""), text_block("b" * 900)]
    messages = [user(result("t1", blocks), result("t2", "c" * 900), result("t1", blocks))]
    enforce(core, messages, plan_options(core, limit=1, redact=redact, preview_bytes=800))
    assert sorted(heard) == ["", "a" * 900, "b" * 900, "c" * 900]


def test_the_hook_is_not_called_where_nothing_is_stored(core: ModuleType) -> None:
    """Groups within the limit, decided, exempt and reference results need no redaction (B5)."""
    messages = [
        ask("t0", name="Read"),
        user(result("t0", BIG), result("t1", BIG), result("t2", FRAME + "\n</persisted-output>")),
        assistant(None),
        user(result("t3", "exactly at the limit".ljust(1_000))),
    ]
    state = decided(("t1", BIG, None))
    done = enforce(core, messages, plan_options(core, redact=never), state)
    assert (taken(done), done.plan.redaction_failures) == ([], [])


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(ValueError("cannot"), ValueError), (None, TypeError), (b"bytes", TypeError), (7, TypeError)],
    ids=["raises", "nothing", "bytes", "number"],
)
def test_what_the_hook_cannot_do_is_kept(
    core: ModuleType, answer: object, kind: type[Exception]
) -> None:
    """The result is passed over in the choice and kept, the next one is taken (F5)."""

    def redact(text: str) -> Any:  # noqa: ANN401  # a host's mistake
        if not text.startswith("x"):
            return text
        if isinstance(answer, Exception):
            raise answer
        return answer

    messages = [user(result("t1", BIG), result("t2", "y" * 900))]
    done = enforce(core, messages, plan_options(core, redact=redact))
    assert (taken(done), kept(done)) == (["t2"], ["t1"])
    [(tool_use_id, error)] = done.plan.redaction_failures
    assert (tool_use_id, type(error)) == ("t1", kind)
    assert done.visible == [2_000 + len(done.plan.choices[0].replacement)]


def test_one_bad_block_keeps_the_whole_result(core: ModuleType) -> None:
    """A result is redacted as a whole or not at all (F5)."""

    def redact(text: str) -> str:
        if "y" in text:
            raise LookupError(text[:3])
        return text

    content = [text_block(BIG), text_block("y" * 900)]
    done = enforce(core, [user(result("t1", content))], plan_options(core, redact=redact))
    assert (taken(done), kept(done)) == ([], ["t1"])
    assert len(done.plan.redaction_failures) == 1


def test_a_stop_is_not_taken_for_a_failure(core: ModuleType) -> None:
    """Ctrl-C inside the hook ends the call; nothing is decided."""

    def redact(_text: str) -> str:
        raise KeyboardInterrupt

    state = State()
    with pytest.raises(KeyboardInterrupt):
        enforce(core, [user(result("t1", BIG))], plan_options(core, redact=redact), state)
    assert state == State()


def test_redacted_text_may_be_a_subclass_or_longer(core: ModuleType) -> None:
    """A str subclass is a text; a longer text is replaced if its replacement is shorter (G7)."""
    options = plan_options(core, redact=lambda text: Text(text * 3))
    done = enforce(core, [user(result("t1", BIG))], options)
    assert content_at(done.messages, 0) == replacement(BIG * 3, "/s/t1-2.txt", 100)


def test_a_redacted_text_can_gain_nothing(core: ModuleType) -> None:
    """G7 compares the replacement of the redacted text with the text as given."""
    options = plan_options(core, limit=10, redact=lambda _text: "r" * 500)
    done = enforce(core, [user(result("t1", "x" * 90))], options)
    assert (taken(done), kept(done)) == ([], ["t1"])
