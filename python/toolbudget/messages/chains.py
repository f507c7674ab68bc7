"""Chains: the main conversation and those of sub-agents, which one list may hold together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from toolbudget._core.pure.shape import Chain, check_sequence, field, read_message, text_field
from toolbudget.errors import InvalidMessageError
from toolbudget.messages.plain import Block, clone, content_blocks, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Spoken", "chain_of", "read_one_chain", "split_chains"]


Element = TypeVar("Element")

_MAIN_CHAIN: Final = Chain(is_sidechain=False, agent_id=None)
# So many stand in a message: there may be thousands.
_NAMED_CHAINS: Final = 5


class Spoken(NamedTuple):
    """One message that belongs into a request, its blocks as copies of our own."""

    role: str
    id: str | None
    blocks: list[Block]
    content: object  # of a `system` message, which keeps its form


def chain_of(element: object) -> Chain:
    """Tell which conversation an element of a message list belongs to."""
    return Chain(
        is_sidechain=field(element, "isSidechain") is True,
        agent_id=text_field(element, "agentId"),
    )


def split_chains(messages: Sequence[Element]) -> list[list[Element]]:
    """Split a list into its chains, the main one first, the others as they begin.

    Every element stays, in its order, in the chain that its ``isSidechain`` and ``agentId`` name;
    API messages, which have neither, are the main chain's.

    Raises:
        InvalidMessageError: ``messages`` cannot be a message list.

    Example:
        >>> from toolbudget import messages
        >>> main = messages.create_user_message("Find the bug.")
        >>> side = {**messages.create_user_message("Search."), "isSidechain": True, "agentId": "a"}
        >>> [len(chain) for chain in messages.split_chains([side, main, side])]
        [1, 2]
    """
    check_sequence(messages)
    chains: dict[Chain, list[Element]] = {_MAIN_CHAIN: []}
    for index, element in enumerate(messages):
        read_message(element, index)  # it may be no message at all
        chains.setdefault(chain_of(element), []).append(element)
    return [chain for chain in chains.values() if chain]


def read_one_chain(messages: object) -> list[Spoken]:
    """Read the messages of the main chain, or of the only one.

    Raises:
        InvalidMessageError: ``messages`` cannot be a message list, holds something that no request
            can hold, or several chains of which none is the main one.
    """
    chains: dict[Chain, list[Spoken]] = {}
    for index, element in enumerate(check_sequence(messages)):
        message = read_message(element, index)
        if message is None:
            system = _system_message(element, index)
            if system is not None:
                chains.setdefault(chain_of(element), []).append(system)
            continue
        if field(element, "isVirtual") is True:
            continue
        blocks = content_blocks(message.content, f"message {index}")
        spoken = Spoken(message.role, message.id, blocks, None)
        chains.setdefault(message.chain, []).append(spoken)
    return _chosen(chains)


def _chosen(chains: dict[Chain, list[Spoken]]) -> list[Spoken]:
    candidates = [chain for chain in chains if not chain.is_sidechain] or list(chains)
    if not candidates:
        return []
    if len(candidates) > 1:
        names = ", ".join(shown(chain.agent_id) for chain in candidates[:_NAMED_CHAINS])
        names += ", …" if len(candidates) > _NAMED_CHAINS else ""
        problem = f"messages hold {len(candidates)} chains, a request is made of one"
        raise InvalidMessageError(f"{problem} (see split_chains): agents {names}")
    return chains[candidates[0]]


def _system_message(element: object, index: int) -> Spoken | None:
    """Read what is neither the user's nor the assistant's; ``None`` for a host's own record."""
    kind = text_field(element, "type")
    role = field(element, "role")
    if text_field(element, "role") == "system":
        return Spoken("system", None, [], clone(field(element, "content")))
    if kind in {"user", "assistant"}:
        problem = f"message {index} is a record without a message of a user or assistant"
        raise InvalidMessageError(f"{problem}: {shown(element)}")
    if kind in {None, "message"} and (role is not None or field(element, "content") is not None):
        raise InvalidMessageError(f"message {index} has no role that the API knows: {shown(role)}")
    return None
