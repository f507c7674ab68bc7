"""The settings of a session, checked once and shared with its forks and sub-agents."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from toolbudget._display import shown
from toolbudget.budget.history import HISTORY_MODES
from toolbudget.budget.outlines import outline_for
from toolbudget.errors import ConfigError, InvalidMessageError
from toolbudget.limits import Limits
from toolbudget.limits.validation import choice
from toolbudget.storage.json_lines import survives_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toolbudget.budget.history import HistoryMode
    from toolbudget.budget.policy import Policy
    from toolbudget.budget.report import Event
    from toolbudget.storage._files import Durability
    from toolbudget.storage.store import ResultStore

__all__ = [
    "Settings",
    "Unrecorded",
    "check_id",
    "check_store",
    "check_text",
    "exemption_of",
    "plain_body",
]

Unrecorded: TypeAlias = Literal["history", "fresh"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What :meth:`Session.open` was given, beside where and which conversation."""

    policy: Policy
    durability: Durability
    is_ephemeral: bool = False
    uses_sidecar: bool = False
    store: ResultStore | None = None
    display_path: Callable[[Path], str] | None = None
    on_event: Callable[[Event], object] | None = None
    is_strict: bool = False
    max_stored_bytes: float = math.inf
    unrecorded: Unrecorded = "history"
    history: HistoryMode = "verified"

    def __post_init__(self) -> None:
        """Refuse what could only fail later, in the middle of a conversation.

        Raises:
            ConfigError: A hook or store cannot be called, a choice is unknown, or a preview style
                needs packages that are not installed.
        """
        if not isinstance(self.policy.limits, Limits):
            raise ConfigError(f"limits (argument) must be Limits: {shown(self.policy.limits)}")
        outline_for(self.policy.limits.preview_style)
        if self.store is not None:
            check_store(self.store)
        _check_hook("redact", self.policy.redact)
        _check_hook("on_event", self.on_event)
        choice(self.unrecorded, "unrecorded", ("history", "fresh"))
        choice(self.history, "history", HISTORY_MODES)

    def for_child(self, *, is_ephemeral: bool) -> Settings:
        """Return the same settings for a fork or sub-agent, whose tools may declare their own."""
        return replace(
            self, policy=self.policy.copy(), is_ephemeral=is_ephemeral, uses_sidecar=False
        )


def _check_hook(name: str, value: object) -> None:
    """Refuse an argument that is neither ``None`` nor callable.

    Raises:
        ConfigError: It is something else.
    """
    if value is not None and not callable(value):
        raise ConfigError(f"{name} (argument) must be callable: {shown(value)}")


def check_store(store: object) -> None:
    """Refuse a store that cannot store: every result would count as failed, and be kept for good.

    Raises:
        ConfigError: It has no method ``put``.
    """
    if not callable(getattr(store, "put", None)):
        raise ConfigError(f"store.put (argument) must be callable: {shown(store)}")


def exemption_of(exempt_tools: Collection[str]) -> Callable[[str], bool]:
    """Return what tells whether a tool is exempt.

    Raises:
        ConfigError: They are no collection; a text is one of its characters, not of a name.
    """
    if isinstance(exempt_tools, str | bytes) or not isinstance(exempt_tools, Collection):
        raise ConfigError(f"exempt_tools (argument) must be a collection: {shown(exempt_tools)}")
    return exempt_tools.__contains__


def check_text(name: str, value: object) -> None:
    """Refuse an argument that is no text.

    Raises:
        ConfigError: It is something else.
    """
    if not isinstance(value, str):
        raise ConfigError(f"{name} (argument) must be text: {shown(value)}")


def plain_body(body: object) -> bytes:
    """Return a body as plain bytes; refuse what may change while it is read.

    Raises:
        InvalidMessageError: It is something else than bytes.
    """
    if type(body) is bytes:
        return body
    if not isinstance(body, bytes):
        problem = f"body must be bytes, not {type(body).__name__}"
        raise InvalidMessageError(f"{problem}: {shown(body)}")
    # What a subclass says of itself takes no part.
    return bytes.__getitem__(body, slice(None))


def check_id(name: str, value: object) -> str:
    """Return an id as plain text; refuse one that no record could name.

    Raises:
        ConfigError: It is no text, or one that JSON gives back as another one.
    """
    check_text(name, value)
    # What a subclass says of itself, an enumeration say, takes no part.
    plain = str.__str__(value)
    if not survives_json(plain):
        raise ConfigError(f"{name} (argument) holds a character as two surrogates: {shown(value)}")
    return plain
