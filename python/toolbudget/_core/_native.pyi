"""The native core, written in Rust: the same results as :mod:`toolbudget._core.pure`.

The classes of what comes back are those of the pure core. Errors are the same ones too; a defect of
the Rust code itself is a :class:`toolbudget.errors.ToolBudgetError` that says so.
"""

from collections.abc import (
    Callable,
    Collection,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    ValuesView,
)
from pathlib import Path
from typing import Self, TypeVar, final, overload

from toolbudget._core.pure import (
    Accounting,
    Change,
    Choice,
    Columns,
    Fingerprint,
    GroupTotals,
    JsonScan,
    Key,
    Known,
    Outline,
    OutlinePreview,
    Plan,
    PlanOptions,
    Shown,
    Sums,
    Survey,
    Unit,
)

_Item = TypeVar("_Item")
_Default = TypeVar("_Default")

__all__ = [
    "Choices",
    "DecisionTable",
    "FingerprintCache",
    "Past",
    "PlanItems",
    "TotalsOfGroups",
    "begins_with",
    "build_replacement",
    "collect",
    "columns",
    "cut_preview",
    "estimate_tokens",
    "fingerprint",
    "head_tail_preview",
    "is_framed_reference",
    "json_preview",
    "kept_json",
    "measure",
    "outline",
    "plan",
    "plan_json",
    "plan_rest",
    "replace_content",
    "rewrite",
    "rewrite_again",
    "rewrite_json",
    "rewrite_json_segments",
    "salient_preview",
    "scan_json",
    "select_largest",
    "show_preview",
    "table_preview",
    "totals_over",
    "utf8_length",
]

@final
class FingerprintCache:
    """What is remembered about the texts of one call, for the next one; see the pure core's.

    Beside the fingerprints these are the decisions that were looked up, and what was learned about
    the keys of the host's dicts. :func:`plan` fills the cache that it is given and gives it back.

    Example:
        >>> cache = FingerprintCache()
        >>> cache.find(("some text",)) is None
        True
    """

    def __new__(cls) -> Self: ...
    def find(self, texts: tuple[object, ...], /) -> Fingerprint | None:
        """Return the fingerprint of a text, given as the objects that hold it."""

    def __len__(self) -> int:
        """Count the texts."""

@final
class DecisionTable(Mapping[str, Mapping[Fingerprint, str | None]]):
    """What was decided about each id, without an object for each decision; see the pure core's.

    Example:
        >>> table = DecisionTable()
        >>> table.decide(Key("t1", Fingerprint(3, "06b05ab6733a618578af5f94892f3950")), None)
        True
        >>> list(table), table.counts()
        (['t1'], (0, 1))
    """

    def __new__(cls, decisions: Iterable[tuple[Key, str | None]] | None = None, /) -> Self: ...
    def decide(self, key: Key, replacement: str | None, /) -> bool:
        """Take a decision over; tell whether there was none about the same result.

        Raises:
            TypeError: The key or the replacement is none.
        """

    def decide_all(
        self, decisions: Iterable[tuple[Key, str | None]], /, *kept: Iterable[Key]
    ) -> None:
        """Take decisions over, then keep results; all of them, or none if anything is wrong.

        Of the kept results of a plan no object is made.

        Raises:
            TypeError: A key or a replacement is none.
        """

    def keep_entries(self, entries: Iterable[tuple[str, int, str]], /) -> None:
        """Keep results that are given as a record has them: id, size in characters, and hash.

        Raises:
            TypeError: An entry is none; then nothing was kept.
        """

    def decide_anew(self, key: Key, replacement: str | None, /) -> None:
        """Decide whatever was decided before: from now on this is the last decision about the id.

        Raises:
            TypeError: The key or the replacement is none.
        """

    def withdraw(self, key: Key, /) -> bool:
        """Take back that a result was kept; tell whether it was.

        Raises:
            TypeError: The key is none.
        """

    def decision(self, key: Key, default: _Default, /) -> str | _Default | None:
        """Return the decision about one result, or ``default`` if there is none.

        Raises:
            TypeError: The key is none.
        """

    def decisions(self) -> list[tuple[Key, str | None]]:
        """Return every decision."""

    def counts(self) -> tuple[int, int]:
        """Return how many results were replaced, and how many were kept."""

    def copy(self) -> Self:
        """Return an equal table that goes on separately."""

    @overload
    def get(
        self, tool_use_id: str, default: None = None, /
    ) -> Mapping[Fingerprint, str | None] | None: ...
    @overload
    def get(
        self, tool_use_id: str, default: Mapping[Fingerprint, str | None] | _Default, /
    ) -> Mapping[Fingerprint, str | None] | _Default: ...
    def __getitem__(self, tool_use_id: str, /) -> Mapping[Fingerprint, str | None]:
        """Return the decisions about one id, in a dict that is made for each call.

        Raises:
            KeyError: There are none.
        """

    def __contains__(self, tool_use_id: object, /) -> bool:
        """Tell whether there are decisions about an id."""

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids that there are now."""

    def __len__(self) -> int:
        """Count the ids."""

    def __eq__(self, other: object, /) -> bool:
        """Compare decisions, whatever their order."""

    def keys(self) -> KeysView[str]:
        """Return the ids."""

    def values(self) -> ValuesView[Mapping[Fingerprint, str | None]]:
        """Return the decisions about each id."""

    def items(self) -> ItemsView[str, Mapping[Fingerprint, str | None]]:
        """Return each id with the decisions about it."""

    def __reduce__(self) -> tuple[type[Self], tuple[list[tuple[Key, str | None]]]]:
        """Let it be copied and pickled."""

@final
class Past:
    """The beginning of a conversation that nothing which follows can change any more.

    It begins empty, and grows when :func:`plan_rest` finds that more has ended.

    Example:
        >>> past = Past()
        >>> past.inputs, past.join([{"role": "user"}])
        ([], None)
    """

    def __new__(cls) -> Self: ...
    @property
    def inputs(self) -> list[object]:
        """Its messages; the list only grows."""

    @property
    def outputs(self) -> list[object]:
        """What has become of each of them."""

    @property
    def sums(self) -> Sums:
        """What was counted in it."""

    def join(self, output: list[object], /) -> list[object] | None:
        """Return the whole output, given what follows; ``None`` if nothing is changed here.

        A list that was returned before is used again once nobody else has it.
        """

    def rewritten(self) -> list[object]:
        """Return each changed message followed by what it has become."""

@final
class Choices(Sequence[Choice]):
    """What a plan replaces: made once one of them is looked at, the same objects from then on."""

    @overload
    def __getitem__(self, index: int, /) -> Choice: ...
    @overload
    def __getitem__(self, index: slice, /) -> Sequence[Choice]: ...
    def __len__(self) -> int:
        """Count the choices."""

    def __eq__(self, other: object, /) -> bool:
        """Compare as a list of the choices does."""

@final
class PlanItems(Sequence[_Item]):
    """What a plan lists: an object of an item is made when it is asked for, a new one each time."""

    @overload
    def __getitem__(self, index: int, /) -> _Item: ...
    @overload
    def __getitem__(self, index: slice, /) -> Sequence[_Item]: ...
    def __len__(self) -> int:
        """Count the items."""

    def __eq__(self, other: object, /) -> bool:
        """Compare as a list of the items does."""

@final
class TotalsOfGroups(Sequence[GroupTotals]):
    """The totals of a plan, by group: the object of a group is made when it is asked for."""

    @overload
    def __getitem__(self, index: int, /) -> GroupTotals: ...
    @overload
    def __getitem__(self, index: slice, /) -> Sequence[GroupTotals]: ...
    def __len__(self) -> int:
        """Count the groups."""

def totals_over(
    totals: Sequence[GroupTotals], limit: float, accounting: Accounting
) -> list[GroupTotals]:
    """Return the totals of the groups that are over a limit.

    Example:
        >>> from toolbudget._core.pure import GroupTotals
        >>> totals_over([GroupTotals(frozen=5), GroupTotals(frozen=9)], 8, "visible")
        [GroupTotals(frozen=9, standing=0, fresh=0, gained=0)]
    """

def utf8_length(text: str) -> int:
    """Count the bytes of ``text`` in UTF-8; a lone surrogate takes three.

    Args:
        text: Any text; nothing of it is copied if it is ASCII, bounded pieces if not.

    Example:
        >>> utf8_length("a中😀")
        8
    """

def cut_preview(text: str, max_bytes: int) -> tuple[str, bool]:
    r"""Cut the wire-safe form of ``text`` to at most ``max_bytes`` UTF-8 bytes.

    Lone surrogates and NUL become U+FFFD; the ``<`` of ``<persisted-output`` and
    ``</persisted-output`` (any case) becomes ``&lt;``. The cut never falls inside a character. When
    something is left out, the text ends before the last line break that stands strictly past half
    of ``max_bytes``, if there is one.

    Args:
        text: Any text; only as much of it is looked at as can be shown.
        max_bytes: Largest size of the preview in UTF-8 bytes; below 0 there is no room either.

    Returns:
        The preview, and whether anything was left out.

    Raises:
        MemoryError: There is no room for the preview.

    Example:
        >>> cut_preview("one\ntwo\nthree", 9)
        ('one\ntwo', True)
    """

def head_tail_preview(text: str, max_bytes: int) -> tuple[str, bool]:
    r"""Show 70 percent from the beginning and 30 percent from the end, with a note between them.

    A text that fits comes back whole, made wire-safe. Both parts end at a line end if one is near,
    and never inside a character. Lines count as left out if nothing of them is shown. With little
    room the beginning is shown instead.

    Args:
        text: Any text; nothing of it is copied if it is ASCII, bounded pieces if not.
        max_bytes: UTF-8 bytes that the preview may take, its note included.

    Returns:
        The preview, and whether anything was left out.

    Raises:
        MemoryError: There is no room for the preview.

    Example:
        >>> print(head_tail_preview("".join(f"line {n}\n" for n in range(9_999)), 190)[0])
        line 0
        line 1
        ...
        [... 9,984 of 9,999 lines left out; 98,880 bytes in all ...]
        ...
        line 9998
        <BLANKLINE>
    """

def json_preview(text: str, max_bytes: int) -> tuple[str, bool]:
    r"""Show what a JSON text is made of, with parts of it as examples.

    A text that fits comes back whole, made wire-safe. Otherwise a note is followed by JSON in which
    items, keys, deep values and the ends of strings are left out and counted. A text may hold
    several values one after the other, and may end or turn into something else anywhere in its
    second half. If it is no JSON, or with little room, the beginning of the text is shown instead.

    Args:
        text: Any text; nothing of it is copied if it is ASCII, bounded pieces if not.
        max_bytes: UTF-8 bytes that the preview may take, its own note included.

    Returns:
        The preview, and whether anything was left out.

    Raises:
        MemoryError: There is no room for the preview.

    Example:
        >>> names = (f'"/usr/share/doc/package/examples/{n:03}.txt"' for n in range(90))
        >>> print(json_preview(f"[{', '.join(names)}]", 300)[0])
        [JSON, shown in part: 1 value; 3,870 bytes in all]
        [
         "/usr/share/doc/package/examples/000.txt",
         "/usr/share/doc/package/examples/001.txt",
         "/usr/share/doc/package/examples/002.txt",
         "[... 86 items left out ...]",
         "/usr/share/doc/package/examples/089.txt"
        ]
    """

def salient_preview(text: str, max_bytes: int) -> tuple[str, bool]:
    r"""Show the lines of a log or of a command's output that matter most.

    A text that fits comes back whole, made wire-safe. Otherwise a note says how much is shown, and
    the lines follow in their order, each with its number: failures with the lines around them, the
    end, and with room enough the first. Only ``\n`` ends a line. Codes for a terminal, overwritten
    text, a CI system's times and superfluous blanks are not shown, and long lines are cut. With
    little room the beginning of the text is shown instead.

    Args:
        text: Any text; nothing of it is copied if it is ASCII, bounded pieces if not.
        max_bytes: UTF-8 bytes that the preview may take, its own note included.

    Returns:
        The preview, and whether anything was left out.

    Raises:
        MemoryError: There is no room for the preview.

    Example:
        >>> log = "test: ok\n" * 900 + "E   assert 1 == 2\n" + "test: ok\n" * 98
        >>> print(salient_preview(log, 240)[0])
        [3 of 999 lines shown (number:text), 996 left out; 9,000 bytes in all]
        901:E assert 1 == 2
        998:test: ok
        999:test: ok
    """

def table_preview(text: str, max_bytes: int) -> tuple[str, bool]:
    r"""Show the header, the first and the last rows of a table, with a note on its size.

    A table is a text whose first lines have the same number of cells, parted by tabs, commas,
    semicolons or bars, and whose first line names them. A row is a line: one that is broken inside
    quotes counts as several. Long rows are cut. A text that fits comes back whole, made wire-safe;
    if it is no table, or with little room, its beginning is shown instead.

    Args:
        text: Any text; nothing of it is copied if it is ASCII, bounded pieces if not.
        max_bytes: UTF-8 bytes that the preview may take, its notes included.

    Returns:
        The preview, and whether anything was left out.

    Raises:
        MemoryError: There is no room for the preview.

    Example:
        >>> rows = "".join(f"{n},name {n},{n * n}\n" for n in range(1_000))
        >>> print(table_preview("id,name,square\n" + rows, 240)[0])
        [table, shown in part: 3 columns, 1,000 rows below the header; 19,332 bytes in all]
        id,name,square
        0,name 0,0
        1,name 1,1
        2,name 2,4
        3,name 3,9
        4,name 4,16
        [... 993 rows left out ...]
        998,name 998,996004
        999,name 999,998001
    """

def show_preview(
    parts: Iterable[str],
    max_bytes: int,
    style: str,
    outline: OutlinePreview | None = None,
) -> Shown:
    r"""Show the text that ``parts`` make when they are joined, in a style.

    A text that fits comes back whole. A style that has nothing better to show, or too little room,
    shows the beginning. ``json`` shows tables as well. ``outline`` shows the beginning and the end
    of what cannot be outlined. ``auto`` chooses by what the text begins with: ``json`` for JSON and
    tables, ``outline`` for source code, ``salient`` for logs and other output line by line, and
    ``head_tail`` for all else.

    Args:
        parts: The texts; they are joined for ``outline`` alone.
        max_bytes: UTF-8 bytes that the preview may take, its notes included.
        style: How to choose what is shown.
        outline: Shows the outline of source code; without it there are none.

    Raises:
        MemoryError: There is no room for the preview.

    Example:
        >>> log = "test: ok\n" * 900 + "E   assert 1 == 2\n" + "test: ok\n" * 98
        >>> shown = show_preview((log,), 240, "auto")
        >>> shown.style, shown.text.splitlines()[1]
        ('salient', '901:E assert 1 == 2')
    """

def select_largest(sizes: Iterable[int], total: int, limit: float) -> list[int]:
    """Choose what to take away so that ``total`` comes down to ``limit``.

    Args:
        sizes: Size of each item; equal ones are taken in order of appearance.
        total: What all items and everything fixed beside them add up to.
        limit: The largest total that is allowed; may be infinite.

    Returns:
        Indices into ``sizes``, in the order taken.

    Raises:
        OverflowError: A size does not fit into 64 bits, or the total into 128.

    Example:
        >>> select_largest([10, 30, 20], total=60, limit=25)
        [1, 2]
    """

def fingerprint(parts: Iterable[str]) -> Fingerprint:
    """Fingerprint the text that ``parts`` make when they are joined, without joining them.

    Args:
        parts: Any texts; ASCII is hashed where it lies, other text in bounded pieces.

    Example:
        >>> fingerprint(["ab", "c"]) == fingerprint(["abc"])
        True
    """

def estimate_tokens(parts: Iterable[str]) -> int:
    """Estimate the tokens of the text that ``parts`` make when they are joined, rounded up.

    Args:
        parts: Any texts; ASCII is weighed where it lies, other text in bounded pieces.

    Example:
        >>> estimate_tokens(["Hello, ", "\u65e5\u672c"])
        6
    """

def measure(parts: Sequence[str], unit: Unit) -> int:
    """Measure the text that ``parts`` make when they are joined.

    Example:
        >>> [measure(["ab", "c"], unit) for unit in ("chars", "tokens", "bytes")]
        [3, 2, 3]
    """

def build_replacement(
    text: str,
    path: str,
    *,
    preview_bytes: int,
    reader_hint: str | None = None,
    size_bytes: int | None = None,
    shown: Shown | None = None,
) -> str:
    r"""Build the exact string that stands in for ``text``.

    It depends on nothing but its arguments: no clock, locale or platform takes part in it.

    Args:
        text: The full text that was stored.
        path: Where the model can read it.
        preview_bytes: Largest size of the preview in UTF-8 bytes; 0 leaves the preview out.
        reader_hint: A line about the host's own reader, behind the path line.
        size_bytes: UTF-8 bytes of ``text``, if they are known already.
        shown: The preview; by default, and in the style ``head``, the beginning of ``text``.

    Raises:
        MemoryError: There is no room for the preview.

    Example:
        >>> print(build_replacement("x" * 5000, "/tmp/t.txt", preview_bytes=10))
        <persisted-output>
        Output too large (4.9KB). Full output saved to: /tmp/t.txt
        <BLANKLINE>
        Preview (first 10 bytes):
        xxxxxxxxxx
        ...
        </persisted-output>
    """

def is_framed_reference(text: str) -> bool:
    r"""Tell whether ``text`` looks like another program's reference: framed, and short.

    Example:
        >>> is_framed_reference("<persisted-output>\nsaved\n</persisted-output>\n")
        True
        >>> is_framed_reference("<persisted-output>\nsaved")
        False
    """

def collect(messages: object, is_exempt_tool: Callable[[str], bool]) -> Survey:
    """Find every tool result of a message list and put the text results into groups.

    Args:
        messages: A sequence of API messages, transcript records or message objects; none of them is
            copied or changed.
        is_exempt_tool: Tells by a tool's name whether its limit is infinite; asked once per name.

    Raises:
        InvalidMessageError: ``messages`` cannot be a message list.

    Example:
        >>> collect([{"role": "user", "content": "hello"}], lambda name: name == "Read")
        Survey(groups=[], skipped=Counter())
    """

def columns(
    messages: object, known: Known | None, is_exempt_tool: Callable[[str], bool]
) -> Columns:
    """Find every tool result of a message list, as numbers alone.

    Args:
        messages: As for :func:`collect`. No object is made for a result that ``known`` says nothing
            about.
        known: What was decided before; a text is hashed only if something is known about its id.
        is_exempt_tool: As for :func:`collect`.

    Raises:
        InvalidMessageError: ``messages`` cannot be a message list.
        OverflowError: A position does not fit into 31 bits.
    """

def plan(messages: object, known: Known, options: PlanOptions) -> Plan:
    """Decide about every result of a message list that is not decided yet.

    Nothing is changed: neither the messages nor ``known``. Limits and preview sizes beyond 128 bits
    count as the largest that fit.

    Args:
        messages: As for :func:`collect`.
        known: What was decided before.
        options: Limits and callbacks. A path is asked for once for each result that may be
            replaced. What a callback raises is raised here, except by ``redact``.

    Raises:
        InvalidMessageError: ``messages`` cannot be a message list.
    """

def rewrite(messages: Sequence[object], changes: Sequence[Change]) -> Sequence[object]:
    """Apply ``changes`` to a copy that shares every unchanged object with ``messages``.

    Without changes the input itself comes back. A changed message is a shallow copy down to the
    changed block; a changed tuple becomes a list, another kind of mapping a dict.
    """

def rewrite_again(
    messages: Sequence[object], changes: Sequence[Change], earlier: Sequence[object]
) -> tuple[Sequence[object], list[object]]:
    """Do what :func:`rewrite` does, with messages of the call before where nothing has changed.

    A rewritten message of the call before comes back if it is what a new one would be: down to the
    changed blocks it has the very same keys and values, whoever has changed what in the meantime.

    Args:
        messages: The messages, or a part of them.
        changes: What is to be changed.
        earlier: What the call before gave as the second part of its result.

    Returns:
        The output, and each changed message followed by what it has become.

    Example:
        >>> block = {"type": "tool_result", "tool_use_id": "t1", "content": "long"}
        >>> messages, changes = [{"role": "user", "content": [block]}], [Change(0, 0, "short")]
        >>> first, earlier = rewrite_again(messages, changes, [])
        >>> second, _ = rewrite_again(messages, changes, earlier)
        >>> second == first, second[0] is first[0]
        (True, True)
    """

def outline(messages: object) -> Outline:
    """Find out where a message list could be cut, and by what ids another list hangs on it.

    Both parts, each looked at by itself, have the groups and calls that they have together, if no
    id of one part occurs in the other, and the second one has messages of no open chain but one
    that its first message, an assistant message, ends.

    Raises:
        InvalidMessageError: ``messages`` cannot be a message list.

    Example:
        >>> turn = [
        ...     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1"}]},
        ...     {"role": "assistant", "id": "m2", "content": []},
        ... ]
        >>> outline(turn)[:3]
        (1, ['t1', 'm2'], 1)
    """

def plan_rest(
    past: Past,
    messages: list[object],
    known: Known,
    options: PlanOptions,
    earlier: list[object],
) -> tuple[Plan, list[object]] | None:
    """Decide about what follows the past in a list, which looks at nothing else.

    What has ended meanwhile becomes a part of the past before that.

    Args:
        past: A beginning of earlier lists. If this raises, it is not to be used again.
        messages: The whole list.
        known: What was decided before; what was decided about the past still holds.
        options: Those that the past was made with.
        earlier: Changed messages, each followed by what it has become: what is still the same is
            used again.

    Returns:
        The plan and the messages that it is about; ``None`` if only a plan of the whole list is
        sure to be right: it does not begin with the past, something of the past occurs again, or
        it cannot be a message list.

    Example:
        >>> from toolbudget._core.pure import Known, PlanOptions
        >>> options = PlanOptions(
        ...     limit=9,
        ...     preview_bytes=100,
        ...     expected_path=lambda name, is_json: f"/{name}.txt",
        ...     is_stored_as_json=lambda content: False,
        ...     is_exempt_tool=lambda name: False,
        ... )
        >>> messages = [{"role": "user", "content": "hello"}]
        >>> plan, rest = plan_rest(Past(), messages, Known({}, {}), options, [])
        >>> plan.decides, rest == messages
        (False, True)
    """

def kept_json(
    keys: Iterable[Key],
    left_out: Collection[Key],
    *,
    max_id_bytes: int,
    max_part_chars: int,
) -> list[bytes]:
    """Write results as records name them: lists of id, size and hash, as ASCII JSON.

    Each result stands there once, where it comes first. One whose id no record can hold is left
    out. Of the kept results of a plan no object is made.

    Args:
        keys: The results.
        left_out: Those that are not to be written.
        max_id_bytes: What an id may take in a record.
        max_part_chars: Characters of ids and hashes after which another part begins.

    Returns:
        One list for each record, as JSON; at least one.

    Raises:
        MemoryError: There is no room for them.

    Example:
        >>> keys = [Key("t1", Fingerprint(3, "a9")), Key("t2", Fingerprint(5, "c1"))]
        >>> kept_json(keys, (), max_id_bytes=1_000, max_part_chars=1_000)
        [b'[["t1",3,"a9"],["t2",5,"c1"]]']
    """

def begins_with(messages: list[object], beginning: list[object]) -> bool:
    """Tell whether a list begins with the very objects of another one.

    Example:
        >>> first = {"role": "user"}
        >>> begins_with([first, None], [first]), begins_with([{"role": "user"}], [first])
        (True, False)
    """

def replace_content(content: object, text: str) -> object:
    """Put ``text`` in the place of all-text content, in the form that the content had.

    A string (or nothing) becomes a string. A list or tuple becomes a list of one text block, which
    carries the last ``cache_control`` of the blocks that it stands for.

    Example:
        >>> replace_content([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "short")
        [{'type': 'text', 'text': 'short'}]
    """

def scan_json(body: bytes, earlier: JsonScan | None = None) -> JsonScan:
    """Read a body in one pass over its bytes; from 16 KiB on other threads may run meanwhile.

    What comes back is opaque: of the attributes of a :class:`JsonScan` it has ``body`` and
    ``has_known_messages`` only.

    Args:
        body: A request body, a list of messages, or the records of a transcript, as JSON in UTF-8.
        earlier: The scan of the body before. If the bytes are the same it comes back itself. Else
            it is of no use afterwards: this one takes over what it knows. The same beginning is
            not read again, and the text of the same result is not hashed again; both are compared
            byte by byte.

    Raises:
        InvalidMessageError: It is malformed, or holds no messages; the message names the byte.

    Example:
        >>> scan_json(b"[]").body
        b'[]'
    """

def plan_json(scan: JsonScan, known: Known, options: PlanOptions) -> Plan:
    """Decide about every result of a body that is not decided yet, as :func:`plan` does.

    Only what is to be stored is decoded. The plan has no fingerprints: the scan keeps what the next
    call can use.
    """

def rewrite_json(scan: JsonScan, changes: Sequence[Change]) -> bytes:
    """Return the body with changes made; every other byte stays.

    Without changes the body itself comes back.
    """

def rewrite_json_segments(scan: JsonScan, changes: Sequence[Change]) -> list[bytes | memoryview]:
    """Return the pieces that :func:`rewrite_json` would join, without copying the body."""

_read_in_place: list[str]
"""The types whose objects are read as they lie in memory (``dict``, ``list``, ``str``): where they
lie as is known, of an interpreter that was tried. All others are read by calls."""

def _panic(message: str) -> None:
    """Panic inside the Rust code, so that tests see what becomes of it.

    Raises:
        ToolBudgetError: Always, with ``message``.
    """

def _panic_after(entries: int) -> int:
    """Make one of the next entries panic, whatever function and thread it comes through.

    Args:
        entries: 1 is the very next one; 0 takes a request back.

    Returns:
        How many entries an earlier request still had to wait for.
    """

def _search_files(
    pattern: str,
    path: str,
    *,
    include: str | None,
    max_matches: int,
    max_counted: int,
    max_line_chars: int,
    context_lines: int,
    is_text: bool,
) -> tuple[list[tuple[Path, int, bool, str]], int, int, int, bool, bool]:
    """Search a file or folder on the crates of ripgrep, without the interpreter's lock.

    Returns:
        The lines that are told (file, number, whether it matches, text), how many lines match in
        how many files, how many files could not be read, whether it ended at ``max_counted``, and
        whether the path itself is a binary file.

    Raises:
        ValueError: The pattern or glob is none.
        OSError: The path cannot be searched.
    """

def _place_texts(
    directory: int, texts: list[tuple[str, str | bytes]], expects_free: bool
) -> list[tuple[int, str, bool] | None]:
    """Store texts as files of a directory in the straight way, without the interpreter's lock.

    Each is written to a file without a name, which gets its name by a link when it is complete;
    nothing is synced or overwritten.

    Args:
        directory: The open directory, which nobody closes meanwhile.
        texts: File names, each with an ASCII text or the bytes to store.
        expects_free: Write without looking at the names first.

    Returns:
        For each text its size in bytes, XXH3-128 in hex digits and whether the file is new;
        ``None`` for one that was left: its name holds something else, or a call failed.
    """
