"""What is to be known of a grammar to outline its language: which kinds of nodes say what."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tree_sitter import Node

__all__ = ["HEAD_BYTES", "Grammar", "Kind", "Rule", "matching", "names", "rules_for"]

Kind: TypeAlias = Literal["module", "import", "export", "type", "function", "constant"]

# What a pattern sees of a node, so that a node of any size costs the same.
HEAD_BYTES: Final = 400


class Rule(NamedTuple):
    """What a node is in an outline.

    Attributes:
        kind: What the line of the outline stands for. A ``type`` shows what is inside of it too.
        prefix: The key word that the node's own text lacks, since it stands once for a group.
        applies: Whether it holds for one node, from the node and the beginning of its text.
        is_only_top_level: Whether it holds outside of types only.
    """

    kind: Kind
    prefix: str = ""
    applies: Callable[[Node, bytes], bool] | None = None
    is_only_top_level: bool = False


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """How the syntax tree of one language is read.

    Attributes:
        package: The importable package with the compiled grammar.
        entry_point: Its function that gives the grammar.
        comment: What a comment of one line begins with.
        rules: What nodes of a type are; the first rule that applies holds.
        passed_through: Types of nodes that are looked into and say nothing themselves.
        wrappers: Types of nodes around a declaration, which the outline shows with it.
        bodies: Types of nodes that are bodies, where the grammar names no field for them.
        named_bodies: Bodies that begin with a key word, which belongs to the signature.
        between: Types of nodes that may stand between a comment and what it is about.
        closing_word: What a declaration without a body ends with.
        has_docstrings: Whether the first string of a body is its documentation.
    """

    package: str
    comment: str
    rules: Mapping[str, tuple[Rule, ...]]
    entry_point: str = "language"
    passed_through: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    bodies: frozenset[str] = frozenset()
    named_bodies: frozenset[str] = frozenset()
    between: frozenset[str] = frozenset()
    closing_word: str = ""
    has_docstrings: bool = False


def names(text: str) -> frozenset[str]:
    """Take a text of names apart.

    Example:
        >>> sorted(names("class_body block"))
        ['block', 'class_body']
    """
    return frozenset(text.split())


def rules_for(kinds: Mapping[Kind, str]) -> dict[str, tuple[Rule, ...]]:
    """Make the rules of types of nodes that are always the same, from their names by kind.

    Example:
        >>> rules_for({"import": "use_item extern_item"})["use_item"][0].kind
        'import'
    """
    return {name: (Rule(kind),) for kind, types in kinds.items() for name in types.split()}


def matching(pattern: str) -> Callable[[Node, bytes], bool]:
    """Make a condition: the text of the node begins as the pattern says."""
    compiled = re.compile(pattern.encode())
    return lambda _node, head: compiled.match(head) is not None
