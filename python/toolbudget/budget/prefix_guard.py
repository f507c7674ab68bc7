"""The check that what is handed out begins with what was handed out before."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from toolbudget._display import shown
from toolbudget._mutex import Mutex
from toolbudget.budget.events import tell
from toolbudget.budget.prefix_compare import (
    Difference,
    Place,
    compare,
    difference_at,
    excerpt,
    path_of,
    value_at,
)
from toolbudget.budget.prefix_finding import PrefixFinding, kind_of, token_counts
from toolbudget.budget.prefix_json import as_plain, json_text, leaves
from toolbudget.budget.prefix_marks import (
    Mark,
    Part,
    PartMarks,
    Snapshot,
    as_parameter,
    items_of,
    leaf_digest,
    sent_message,
    split_request,
    take_snapshot,
)
from toolbudget.budget.report import Event
from toolbudget.errors import InvalidMessageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from toolbudget.budget.prefix_compare import Comparison
    from toolbudget.budget.prefix_finding import ChangedBy
    from toolbudget.budget.prefix_json import Path

__all__ = ["PrefixGuard"]


class _View(NamedTuple):
    """What is being checked; it is forgotten when the check is over."""

    parameters: Mapping[str, object]
    messages: tuple[object, ...]
    prefix: Path

    def part_at(self, key: str | int) -> Part | None:
        """Return a parameter by its name or a message by its index; ``None`` if there is none."""
        if isinstance(key, str):
            return as_parameter(self.parameters[key]) if key in self.parameters else None
        return sent_message(self.messages[key]) if key < len(self.messages) else None

    def texts(self) -> dict[str | int, str]:
        """Return the JSON form of every parameter and message."""
        return {key: json_text(self.part_at(key)) for key in self._keys()}

    def _keys(self) -> Iterator[str | int]:
        yield from self.parameters
        yield from range(len(self.messages))


class _Memory(NamedTuple):
    """What is remembered of a check."""

    handed: Snapshot
    given: Snapshot | None
    texts: Mapping[str | int, str] | None


class PrefixGuard:
    r"""Tells whether each request begins with the one before it, and who is to blame if not.

    A provider's prompt cache serves the part of a request that is the same as before; one changed
    byte loses all that follows. Wrap the guard around what is sent, one guard for each
    conversation: a finding names the first message and block that differ, and whether the host or
    the library changed them.

    It remembers digests, some dozen bytes for each block, so that changes in place are found too.
    It never raises for what a message in a list is, and changes nothing. It is safe to use from
    many threads.

    What counts: of a transcript record the message in it, of an SDK object its JSON form, the order
    of keys, and the difference of ``1`` and ``1.0``. Parameters come before messages, in the order
    ``model``, ``tools``, ``system``, then the others by name; those that are no part of the prompt
    (``max_tokens``, ``stream``, ``temperature``, ``metadata`` …) are not looked at. A text and a
    list of one text block are the same to the provider: the change from one to the other is of the
    kind ``form``, or, since it mostly comes with a marker, a moved marker. A last message with more
    blocks than before is a continuation.

    Args:
        keeps_text: Keep the JSON text of the last request, to find the very character that differs
            and show what stood there. It costs as much memory as the request has.
        on_event: Told of each finding that is not intact, as of a session's events.

    Example:
        >>> import toolbudget
        >>> guard = toolbudget.PrefixGuard()
        >>> history = [{"role": "user", "content": "It is 10:41. Go on."}]
        >>> guard.check(history, given=history).kind
        'first'
        >>> history[0]["content"] = "It is 10:42. Go on."
        >>> print(guard.check(history, given=history))
        changed at message 0, block 0 ([0].content) by host, about 11 of 18 tokens lost
    """

    def __init__(
        self, *, keeps_text: bool = False, on_event: Callable[[Event], object] | None = None
    ) -> None:
        """Start without anything to compare with."""
        self._keeps_text = keeps_text
        self._on_event = on_event
        self._memory: _Memory | None = None
        self._lock = Mutex()

    def check(self, messages: object, *, given: object = None) -> PrefixFinding:
        """Compare a message list that is handed out with the one of the last check.

        Args:
            messages: What is sent: the list that ``enforce`` returned, with whatever the host has
                done to it since.
            given: What the host gave to ``enforce``. Without it nobody can tell who changed
                something.

        Returns:
            The finding. Whatever it says, the next check compares with this list.

        Raises:
            InvalidMessageError: ``messages`` is no list; the next check compares with what was
                handed out before.

        Example:
            >>> from toolbudget import PrefixGuard
            >>> guard = PrefixGuard()
            >>> first = {"role": "user", "content": "hello"}
            >>> guard.check([first]).kind, guard.check([first, first]).kind
            ('first', 'extended')
            >>> guard.check([{"role": "user", "content": "Hello"}]).is_intact
            False
        """
        _require_list("messages", messages)
        return self._check(_View({}, tuple(items_of(messages)), ()), None, given)

    def check_request(self, body: object, *, given: object = None) -> PrefixFinding:
        """Compare a whole request body, with ``system``, ``tools`` and so on, with the last one.

        Args:
            body: What is sent.
            given: The message list that the host gave to ``enforce``.

        Raises:
            InvalidMessageError: ``body`` is neither a mapping nor a list of messages; the next
                check compares with what was handed out before.

        Example:
            >>> import toolbudget
            >>> guard = toolbudget.PrefixGuard()
            >>> body = {"system": "Be brief.", "messages": [{"role": "user", "content": "Hello"}]}
            >>> guard.check_request(body).is_intact
            True
            >>> finding = guard.check_request({**body, "system": "Be polite."})
            >>> finding.parameter, finding.changed_by, finding.excerpt_now
            ('system', 'host', 'Be polite.')
        """
        if not isinstance(as_plain(body), dict):
            _require_list("body", body)
        request = split_request(body)
        messages = tuple(items_of(request.messages))
        view = _View(request.parameters, messages, (request.messages_key,))
        return self._check(view, request.parameters, given)

    def reset(self) -> None:
        """Forget what was handed out, as after a compaction that is meant to begin anew."""
        with self._lock:
            self._memory = None

    def _check(
        self, view: _View, parameters: Mapping[str, object] | None, given: object
    ) -> PrefixFinding:
        now = _Memory(
            take_snapshot(view.messages, parameters),
            None if given is None else take_snapshot(given),
            view.texts() if self._keeps_text else None,
        )
        with self._lock:
            before, self._memory = self._memory, now
        if before is None:
            return PrefixFinding(kind="first")
        comparison = compare(before.handed, now.handed)
        finding = _finding(comparison, before, now, view)
        if not finding.is_intact and self._on_event is not None:
            tell(self._on_event, Event("prefix_broken", None, "check", finding=finding))
        return finding


def _require_list(name: str, value: object) -> None:
    """Refuse what holds no messages, as a forgotten result of a call, before it is remembered."""
    if not isinstance(as_plain(value), (list, tuple)):
        problem = f"{name} must be a list of messages, not {type(value).__name__}"
        raise InvalidMessageError(f"{problem}: {shown(value)}")


def _finding(comparison: Comparison, before: _Memory, now: _Memory, view: _View) -> PrefixFinding:
    kind = kind_of(comparison)
    kept_tokens, lost_tokens = token_counts(comparison)
    place = comparison.first_place
    if place is None:
        return PrefixFinding(kind=kind, kept_tokens=kept_tokens, lost_tokens=lost_tokens)
    part = view.part_at(place.key)
    is_unsent = kind in {"cache_control", "form"}
    found = None if is_unsent else _difference(place, before, part)
    path = path_of(place, part, found.path if found else ())
    return PrefixFinding(
        kind=kind,
        changed_by=_changed_by(place, before.given, now.given, is_unsent=is_unsent),
        parameter=place.parameter,
        message_index=place.message_index,
        block_index=place.block_index,
        path=path if place.parameter is not None else (*view.prefix, *path),
        offset_chars=found.offset_chars if found else 0,
        excerpt_before=_excerpt(found.before, found.offset_chars) if found else None,
        excerpt_now=_excerpt(found.now, found.offset_chars) if found else None,
        kept_tokens=kept_tokens,
        lost_tokens=lost_tokens,
        has_moved_markers=comparison.marker_place is not None,
    )


def _excerpt(text: str | None, offset_chars: int) -> str | None:
    return None if text is None else excerpt(text, offset_chars)


def _changed_by(
    place: Place, before: Snapshot | None, now: Snapshot | None, *, is_unsent: bool
) -> ChangedBy:
    """Blame the host for parameters, and for places where what it gave is not what it was."""
    if place.parameter is not None:
        return "host"
    if before is None or now is None:
        return "unknown"
    old, new = _marks_at(before, place), _marks_at(now, place)
    if old is None or new is None:
        return "library" if old is new else "host"
    is_same = old.digest == new.digest and not (is_unsent and _differ_unsent(old, new))
    return "library" if is_same else "host"


def _differ_unsent(old: PartMarks | Mark, new: PartMarks | Mark) -> bool:
    """Tell whether markers differ, or the form of a text."""
    forms = [one.is_text if isinstance(one, Mark) else None for one in (old, new)]
    return old.markers != new.markers or forms[0] != forms[1]


def _marks_at(snapshot: Snapshot, place: Place) -> PartMarks | Mark | None:
    """Return what is remembered of a place; ``None`` if there was nothing."""
    if place.parameter is not None:
        part = (snapshot.parameters or {}).get(place.parameter)
    else:
        index = place.message_index or 0
        part = snapshot.messages[index] if index < len(snapshot.messages) else None
    if part is None or place.is_whole:
        return part
    if place.block_index is None:
        return part.frame
    return part.blocks[place.block_index] if place.block_index < len(part.blocks) else None


def _difference(place: Place, before: _Memory, now: Part | None) -> Difference | None:
    """Find what differs: exactly if the text was kept, else by the digests of leaves."""
    old = _kept_part(before.texts, place.key)
    if old is not None:
        return difference_at(place, old, now)
    marks = _marks_at(before.handed, place)
    values = value_at(place, now)
    if not values:
        return None
    known = marks.leaves if isinstance(marks, Mark) else []
    for leaf, digest in zip(leaves(values[0]), known, strict=False):
        if leaf_digest(leaf.path, leaf.text) != digest:
            return Difference(leaf.path, 0, None, leaf.shown, leaf.path)
    return Difference((), 0, None, json_text(values[0]), ())


def _kept_part(texts: Mapping[str | int, str] | None, key: str | int) -> Part | None:
    text = (texts or {}).get(key)
    if text is None:
        return None
    try:
        frame, blocks, is_text, path = json.loads(text)
    except (RecursionError, ValueError):
        return None  # nested too deeply, or with a number that Python does not read again
    return Part(frame, tuple(blocks), is_text, tuple(path))
