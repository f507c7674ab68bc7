"""From a syntax tree to the entries of an outline; nothing here recurses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget.pruning._entry import Entry, body_of, comment_line, end_line, signature
from toolbudget.pruning._grammar import HEAD_BYTES

if TYPE_CHECKING:
    from tree_sitter import Node

    from toolbudget.pruning._grammar import Grammar, Rule
    from toolbudget.pruning._syntax import Syntax

__all__ = ["Outlined", "outlined"]

_MAX_DEPTH: Final = 8
_MAX_ERRORS: Final = 100
_COMMENTS: Final = frozenset({"comment", "line_comment", "block_comment", "multiline_comment"})
_ROOT: Final = -1


class Outlined(NamedTuple):
    """What a syntax tree comes to.

    Attributes:
        entries: The declarations, in the order of the text.
        title: The first line of what the text says about itself; may be empty.
        error_lines: Numbers of lines where the parser did not understand the text, the first ones.
    """

    entries: list[Entry]
    title: str
    error_lines: list[int]


class _Place(NamedTuple):
    """A node to look at.

    Attributes:
        node: The node.
        depth: How many declarations it is inside of.
        parent: Index of the entry it is inside of.
        comment: The comment before it.
        start: The outermost wrapper around it, or itself.
    """

    node: Node
    depth: int
    parent: int
    comment: str
    start: Node


def outlined(syntax: Syntax, grammar: Grammar) -> Outlined:
    """Collect the declarations of a syntax tree, in the order of the text."""
    walk = _Walk(syntax.source, grammar)
    root = syntax.tree.root_node
    walk.run(root)
    return Outlined(walk.entries, walk.title(root), _error_lines(root))


class _Walk:
    """The way through one tree: a stack of nodes to look at, in reverse order."""

    def __init__(self, source: bytes, grammar: Grammar) -> None:
        self.entries: list[Entry] = []
        self._source = source
        self._grammar = grammar
        self._stack: list[_Place] = []
        self._looked_into = {*grammar.rules, *grammar.passed_through, *grammar.wrappers, "ERROR"}

    def run(self, root: Node) -> None:
        self._push_children(root, 0, _ROOT)
        while self._stack:
            self._look_at(self._stack.pop())

    def title(self, root: Node) -> str:
        """Give the first line of the module's own documentation."""
        if self._grammar.has_docstrings:
            return self._docstring(root)
        first = root.named_child(0) if root.named_child_count else None
        if first is None or not self._source.startswith(b"//!", first.start_byte):
            return ""
        return comment_line(self._text(first))

    def _text(self, node: Node) -> bytes:
        return self._source[node.start_byte : min(node.end_byte, node.start_byte + 2_000)]

    def _look_at(self, place: _Place) -> None:
        node = place.node
        rule = self._rule(node, place.depth)
        if node.type in self._grammar.wrappers:
            inner = self._wrapped(node)
            if inner is not None:
                self._stack.append(place._replace(node=inner))
                return
        if rule is not None:
            self._add(place, rule)
        elif node.type not in self._grammar.rules or node.type in self._grammar.passed_through:
            self._push_children(node, place.depth, place.parent, place.comment)

    def _rule(self, node: Node, depth: int) -> Rule | None:
        head = self._source[node.start_byte : min(node.end_byte, node.start_byte + HEAD_BYTES)]
        for rule in self._grammar.rules.get(node.type, ()):
            if depth and rule.is_only_top_level:
                continue
            if rule.applies is None or rule.applies(node, head):
                return rule
        return None

    def _wrapped(self, node: Node) -> Node | None:
        """Find the declaration inside of a wrapper: its last child that is one."""
        for child in reversed(node.named_children):
            if child.type in self._grammar.wrappers or self._rule(child, 0) is not None:
                return child
        return None

    def _add(self, place: _Place, rule: Rule) -> None:
        node, start = place.node, place.start
        body = body_of(node, self._grammar)
        if rule.kind not in {"type", "function"}:
            body = None
        comment = "" if rule.kind == "import" else place.comment
        if body is not None and self._grammar.has_docstrings:
            comment = self._docstring(body) or comment
        if place.depth <= _MAX_DEPTH:
            is_named = body is not None and body.type in self._grammar.named_bodies
            text = signature(
                self._source, start.start_byte, node, body, kind=rule.kind, is_named=is_named
            )
            if body is None and self._grammar.closing_word:
                text = text.removesuffix(self._grammar.closing_word).rstrip(" ;")
            lines = start.start_point[0] + 1, max(end_line(node), end_line(start))
            self.entries.append(
                Entry(*lines, place.depth, rule.kind, rule.prefix + text, comment, place.parent)
            )
        if rule.kind == "type" and body is not None and place.depth < _MAX_DEPTH:
            # A comment may stand before the body and be about what the body begins with.
            inside = node if body.type in self._grammar.passed_through else body
            self._push_children(inside, place.depth + 1, len(self.entries) - 1)

    def _docstring(self, body: Node) -> str:
        first = body.named_child(0) if body.named_child_count else None
        if first is None or first.type != "expression_statement" or not first.named_child_count:
            return ""
        string = first.named_child(0)
        if string.type not in {"string", "concatenated_string"}:
            return ""
        return comment_line(self._text(string), is_string=True)

    def _push_children(self, node: Node, depth: int, parent: int, before: str = "") -> None:
        """Put the children that may say something on the stack, each with its comment.

        The comment before the node is about its first child.
        """
        found: list[_Place] = []
        comment: tuple[int, int] | None = None  # where it begins, and the line behind it
        last_line = 0
        for child in node.children:
            kind = child.type
            if kind in _COMMENTS:
                first_line = child.start_point[0] + 1
                if comment is None or first_line != comment[1]:
                    # Behind code in the same line it is about that code.
                    comment = (child.start_byte, 0) if first_line > last_line else None
                if comment is not None:
                    comment = comment[0], end_line(child) + 1
                continue
            if child.is_named and kind in self._looked_into:  # key words have types too
                about, before = before, ""
                if comment is not None and comment[1] == child.start_point[0] + 1:
                    about = comment_line(self._source[comment[0] : child.start_byte][:2_000])
                found.append(_Place(child, depth, parent, about, child))
            if kind not in self._grammar.between:
                comment = None
            elif comment is not None:
                comment = comment[0], end_line(child) + 1
            last_line = end_line(child)
        self._stack.extend(reversed(found))


def _error_lines(root: Node) -> list[int]:
    """Find the first places that the parser did not understand."""
    lines: list[int] = []
    stack = [root] if root.has_error else []
    while stack and len(lines) < _MAX_ERRORS:
        node = stack.pop()
        if node.is_error or node.is_missing:
            lines.append(node.start_point[0] + 1)
        elif node.has_error:
            stack.extend(child for child in reversed(node.children) if child.has_error)
    return lines
