"""Driving a core through whole calls, and building the messages for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.core.group_oracle import Identity, get, identity_of
from toolbudget._core.pure import FingerprintCache

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from tests.core.oracle import Decision, Past, Settings
    from toolbudget._core.pure import Fingerprints, Key, Known, Plan, PlanOptions

__all__ = [
    "BIG",
    "FRAME",
    "RECORDED",
    "Block",
    "Done",
    "State",
    "ask",
    "assistant",
    "canonical",
    "content_at",
    "decided",
    "enforce",
    "is_json",
    "kept",
    "never",
    "options_for",
    "path_for",
    "plan_options",
    "record",
    "result",
    "sized",
    "taken",
    "text_block",
    "tool_use",
    "user",
]

Block: TypeAlias = dict[str, Any]


BIG = "x" * 2_000
RECORDED = "[2000 characters were here]"
FRAME = "<persisted-output>\nOutput too large (9KB). Full output saved to: /s/x.txt\n"

# --- messages -------------------------------------------------------------------------------------


def text_block(text: str, **more: object) -> Block:
    """Make a text block."""
    return {"type": "text", "text": text, **more}


def result(tool_use_id: object, content: object, **more: object) -> Block:
    """Make a tool result."""
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content, **more}


def tool_use(tool_use_id: object, name: object = "Bash", **more: object) -> Block:
    """Make a call."""
    return {"type": "tool_use", "id": tool_use_id, "name": name, "input": {}, **more}


def user(*blocks: object) -> Block:
    """Make a user message."""
    return {"role": "user", "content": list(blocks)}


def assistant(message_id: object, *blocks: object) -> Block:
    """Make an assistant message; the id ``None`` leaves the key out."""
    message = {"role": "assistant", "content": list(blocks)}
    return message if message_id is None else {"id": message_id, **message}


def ask(*tool_use_ids: str, name: str = "Bash", message_id: str | None = None) -> Block:
    """Make an assistant message that calls a tool once for each id."""
    return assistant(message_id, *(tool_use(tool_use_id, name) for tool_use_id in tool_use_ids))


def record(message: object, **more: object) -> Block:
    """Wrap a message in a transcript record."""
    return {"type": get(message, "role"), "message": message, "uuid": "u-1", **more}


def sized(*sizes_chars: int) -> list[Block]:
    """Make one group of results ``t0``, ``t1`` … of so many characters each."""
    ids = [f"t{index}" for index in range(len(sizes_chars))]
    texts = [chr(ord("a") + index) * size for index, size in enumerate(sizes_chars)]
    return [ask(*ids), user(*map(result, ids, texts))]


# --- options --------------------------------------------------------------------------------------


def path_for(tool_use_id: str, is_json_file: bool) -> str:  # noqa: FBT001  # the protocol's shape
    """Name a file for an id; like a store's names, it is safe in a line of text."""
    letters = "".join(filter(str.isalnum, tool_use_id.encode("ascii", "ignore").decode()))
    return f"/s/{letters[:9]}-{len(tool_use_id)}.{'json' if is_json_file else 'txt'}"


def is_json(content: object) -> bool:
    """Tell by rule S1 whether a file holds JSON."""
    if not isinstance(content, (list, tuple)):
        return False
    return len(content) > 1 or any(
        set(block) - {"type", "text", "cache_control"} for block in content
    )


def plan_options(core: ModuleType, *, limit: float = 1_000, **changes: object) -> PlanOptions:
    """Make the options of a call: the tool ``Read`` is exempt, paths are short."""
    defaults: dict[str, object] = {
        "limit": limit,
        "preview_bytes": 100,
        "expected_path": path_for,
        "is_stored_as_json": is_json,
        "is_exempt_tool": "Read".__eq__,
    }
    options: PlanOptions = core.PlanOptions(**{**defaults, **changes})
    return options


def options_for(core: ModuleType, settings: Settings) -> PlanOptions:
    """Make a core's options of the oracle's."""
    options: PlanOptions = core.PlanOptions(**vars(settings))
    return options


# --- calls ----------------------------------------------------------------------------------------


@dataclass
class State:
    """What a host's session would keep between two calls."""

    decisions: dict[Identity, Decision] = field(default_factory=dict)
    facts: set[str] = field(default_factory=set)
    unapplied: dict[str, str] = field(default_factory=dict)
    fingerprints: Fingerprints = field(default_factory=FingerprintCache, compare=False)
    epoch: object = field(default_factory=object, compare=False)

    @classmethod
    def of(cls, past: Past) -> State:
        """Take over what the oracle knows."""
        return cls(dict(past.decisions), set(past.replacements), dict(past.unapplied))

    def known(self, core: ModuleType) -> Known:
        """Give it in a core's form."""
        by_id: dict[str, dict[object, Decision]] = {}
        for (tool_use_id, size_chars, digest), decision in self.decisions.items():
            by_id.setdefault(tool_use_id, {})[core.Fingerprint(size_chars, digest)] = decision
        by_length: dict[int, set[str]] = {}
        for text in (*self.facts, *filter(None, self.decisions.values())):
            by_length.setdefault(len(text), set()).add(text)
        known: Known = core.Known(
            by_id, by_length, dict(self.unapplied), self.fingerprints, self.epoch
        )
        return known


@dataclass
class Done:
    """One finished call, every store of which succeeded."""

    messages: Sequence[Any]
    plan: Plan
    new: dict[Identity, Decision]
    adopted: dict[Identity, str]
    visible: list[int]
    over_limit_chars: float


def enforce(
    core: ModuleType,
    messages: Sequence[object],
    options: PlanOptions,
    state: State | None = None,
) -> Done:
    """Plan, rewrite, and take the decisions over into ``state``."""
    state = State() if state is None else state
    plan: Plan = core.plan(messages, state.known(core), options)
    changes = list(plan.changes)
    for choice in plan.choices:
        places = [*choice.occurrences, *(candidate for candidate, _ in choice.followers)]
        changes += [
            core.Change(place.message_index, place.block_index, choice.replacement)
            for place in places
        ]
    new: dict[Identity, Decision] = {_identity(key): None for key in plan.kept}
    new.update({_identity(choice.key): choice.replacement for choice in plan.choices})
    adopted = {_identity(adoption.key): adoption.replacement for adoption in plan.adoptions}
    assert len(new) == len(plan.kept) + len(plan.choices), "a result is decided once"
    state.decisions |= new | adopted
    for tool_use_id, *_ in adopted:
        del state.unapplied[tool_use_id]
    state.fingerprints = plan.fingerprints
    visible = [totals.visible(options.accounting) for totals in plan.totals]
    over_limit_chars = sum(max(0, chars - options.limit) for chars in visible)
    output = core.rewrite(messages, changes)
    return Done(output, plan, new, adopted, visible, over_limit_chars)


def _identity(key: Key) -> Identity:
    return (key.tool_use_id, *key.fingerprint)


def content_at(messages: Sequence[Any], message_index: int, block_index: int = 0) -> Any:  # noqa: ANN401
    """Look up the content of a result, in a message or a record."""
    element = messages[message_index]
    message = element.get("message", element)
    return message["content"][block_index]["content"]


def decided(*decisions: tuple[str, str, str | None]) -> State:
    """Make a state in which each (id, text) has been decided."""
    return State({identity_of(name, text): decision for name, text, decision in decisions})


def taken(done: Done) -> list[str]:
    """Give the ids of what is to be replaced, in the order taken."""
    return [choice.key.tool_use_id for choice in done.plan.choices]


def kept(done: Done) -> list[str]:
    """Give the ids of what was decided to be kept."""
    return sorted(key.tool_use_id for key in done.plan.kept)


def never(*_arguments: object) -> Any:  # noqa: ANN401  # stands for several callbacks
    """Fail: what was decided needs no path, no file, no limit."""
    raise AssertionError(_arguments)


# --- comparing ------------------------------------------------------------------------------------


def canonical(value: object) -> object:
    """Give a form of any value that is equal only for the same types, keys, order and texts."""
    kind = type(value).__qualname__
    if isinstance(value, Mapping):
        return (kind, [(canonical(key), canonical(value[key])) for key in value])
    if isinstance(value, (list, tuple)):
        return (kind, [canonical(item) for item in value])
    if isinstance(value, str):
        return (kind, str.__str__(value))
    if hasattr(value, "__dict__"):
        return (kind, canonical(vars(value)))
    return (kind, value.hex() if isinstance(value, float) else value)
