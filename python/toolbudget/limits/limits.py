"""The limits a host works with, as one validated value (L3 to L6)."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Mapping  # noqa: TC003 - so that the fields' types can be looked up
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self, TypeAlias, TypedDict, Unpack, get_args

from toolbudget._display import shown
from toolbudget.limits.defaults import (
    DEFAULT_MESSAGE_LIMIT,
    DEFAULT_RESULT_LIMIT,
    PREVIEW_SIZE_BYTES,
    DefaultLimit,
    Unit,
    built_in_declared_limit,
)
from toolbudget.limits.environment import PREVIEW_STYLES, PreviewStyle, limits_from_environment
from toolbudget.limits.overrides import OverrideProvider, OverrideReader, Overrides
from toolbudget.limits.tool_limits import NO_TOOL_LIMITS, ToolLimits
from toolbudget.limits.validation import (
    choice,
    line_of_text,
    named_limits,
    positive_number,
    positive_whole_number,
)

__all__ = ["Accounting", "Limits", "LimitsArguments"]

Accounting: TypeAlias = Literal["visible", "originals"]
_ACCOUNTINGS: Final[tuple[Accounting, ...]] = get_args(Accounting)
_UNITS: Final[tuple[Unit, ...]] = get_args(Unit)


class LimitsArguments(TypedDict, total=False):
    """The arguments of ``Limits``, all optional."""

    max_result_chars: float
    max_message_chars: float
    preview_bytes: int
    accounting: Accounting
    preview_style: PreviewStyle
    reader_hint: str | None
    unit: Unit
    tools: Mapping[str, float]
    overrides: OverrideProvider | None


class _ReadsOverrides:
    """Holds what is no field: copies, comparisons and ``dataclasses.asdict`` leave it alone."""

    __slots__ = ("_override_reader",)

    _override_reader: OverrideReader


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Limits(_ReadsOverrides):
    """How much text tool results may have; immutable, and checked when it is made.

    A limit that a user sets is honoured or refused, never ignored: 0, a negative number, NaN,
    ``None``, a bool and text raise ``ConfigError``. All real numbers are taken (``int``, ``float``,
    fractions, numpy scalars) and kept as plain ``int`` or ``float``. ``math.inf`` is the one way to
    switch a limit off. Other limits never change a decision that has been made.

    All limits are in one ``unit``, those of ``tools``, of ``overrides`` and of a host's
    declarations too; the names say characters because that is the default. Which results are chosen
    first, and whether a replacement is shorter, is always a matter of characters.

    Attributes:
        max_result_chars: Characters, or what ``unit`` says, that one result may have; a tool that
            declares less keeps its own limit. With ``math.inf`` a single result of any size passes,
            unless ``tools`` or an override names its tool.
        max_message_chars: What all results of one API user message may have together, with the
            previews of those that are replaced; ``math.inf`` switches this limit off.
        preview_bytes: UTF-8 bytes of the original that a replacement shows at most; at least 1.
        accounting: ``"visible"`` counts replacements with their length, ``"originals"`` does not
            count them.
        preview_style: How the preview is chosen: ``"head"`` (the beginning), ``"head_tail"`` (the
            beginning and the end), ``"salient"`` (the lines of a log that matter), ``"json"`` (the
            shape of JSON, the first and last rows of a table), ``"outline"`` (what source code
            declares; needs the extra ``code``) or ``"auto"`` (by what the text begins with).
        reader_hint: A line for the model that names the host's own reader of stored results, such
            as ``"Use read_result to see more"``; at most 500 characters, a quarter of the default
            preview, since every replacement has it. With ``None`` no tool is named.
        unit: What the limits count: ``"chars"`` (code points), ``"tokens"`` as
            :func:`toolbudget.tokens.estimate_tokens` estimates them (defaults 12,500 and 50,000;
            built-in limits of tools are divided by 4) or ``"bytes"`` of UTF-8.
        tools: Limits by tool name, before every other rule; ``math.inf`` exempts a tool, and a
            number ends the exemption of one that has it by declaration. Copied, and read-only.
        overrides: Where limits that change at run time come from: a mapping
            ``{"tools": {name: limit}, "message": limit}``, kept as it is and read anew at each
            call, or a callable, not async, that returns one. Only finite ``int`` and ``float``
            values above 0 count; others are ignored, and logged once by each ``Limits`` object.

    Raises:
        ConfigError: A value cannot be used; the message names the field, the source and the value.

    Example:
        >>> import math
        >>> from toolbudget.limits import Limits
        >>> limits = Limits(max_result_chars=20_000, tools={"WebFetch": math.inf})
        >>> limits.for_tool("Bash"), limits.for_tool("WebFetch")
        (20000, inf)
        >>> Limits(unit="tokens").max_result_chars, Limits(unit="tokens").for_tool("Bash")
        (12500, 7500)
    """

    max_result_chars: float = DEFAULT_RESULT_LIMIT
    max_message_chars: float = DEFAULT_MESSAGE_LIMIT
    preview_bytes: int = PREVIEW_SIZE_BYTES
    accounting: Accounting = "visible"
    preview_style: PreviewStyle = "head"
    reader_hint: str | None = None
    unit: Unit = "chars"
    tools: Mapping[str, float] = NO_TOOL_LIMITS
    # Not part of the hash, because a mapping has none; equal limits still hash alike.
    overrides: OverrideProvider | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        """Check every field, and keep numbers and names in their plain form."""
        keep = functools.partial(object.__setattr__, self)
        keep("unit", choice(self.unit, "unit", _UNITS))
        for name in ("max_result_chars", "max_message_chars"):
            limit = getattr(self, name)
            is_default = isinstance(limit, DefaultLimit)
            keep(name, limit.in_unit(self.unit) if is_default else positive_number(limit, name))
        keep("preview_bytes", positive_whole_number(self.preview_bytes, "preview_bytes"))
        keep("accounting", choice(self.accounting, "accounting", _ACCOUNTINGS))
        keep("preview_style", choice(self.preview_style, "preview_style", PREVIEW_STYLES))
        if self.reader_hint is not None:
            line_of_text(self.reader_hint, "reader_hint")
        keep("tools", ToolLimits(named_limits(self.tools, "tools")))
        keep("_override_reader", OverrideReader(self.overrides))

    @classmethod
    def from_environment(
        cls, environ: Mapping[str, str] | None = None, **arguments: Unpack[LimitsArguments]
    ) -> Self:
        """Make limits of arguments, else environment variables, else defaults.

        The variables are ``TOOLBUDGET_MAX_RESULT_CHARS``, ``TOOLBUDGET_MAX_MESSAGE_CHARS`` (``off``
        makes either infinite), ``TOOLBUDGET_PREVIEW_BYTES`` and ``TOOLBUDGET_PREVIEW_STYLE``.
        Numbers are decimal, as in Python: ``50000``, ``50_000`` or ``1e5``. A variable that is set
        to nothing is an error; one whose field is given as an argument is not looked at.

        Args:
            environ: Variables by name; ``os.environ`` by default.
            **arguments: Any argument of ``Limits``.

        Raises:
            ConfigError: A value cannot be used; the message names the field, the variable (or
                ``argument``) and the value.

        Example:
            >>> from toolbudget.limits import Limits
            >>> environ = {"TOOLBUDGET_MAX_RESULT_CHARS": "1e5", "TOOLBUDGET_PREVIEW_BYTES": "no"}
            >>> Limits.from_environment(environ, preview_bytes=500).max_result_chars
            100000
        """
        variables = os.environ if environ is None else environ
        values: dict[str, Any] = limits_from_environment(variables, given=arguments)
        return cls(**values, **arguments)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        environ: Mapping[str, str] | None = None,
        **arguments: Unpack[LimitsArguments],
    ) -> Self:
        r"""Make limits of arguments, else environment variables, else a file, else defaults.

        The file is TOML, or JSON if its name ends in ``.json``. Its keys are the fields of
        ``Limits`` but for ``overrides``; ``"off"`` makes a limit infinite, and limits of tools
        stand in a table ``[tools]``. A key that is no field is an error. No file is read unless it
        is named: what lies in a folder must not configure the program that works on it.

        Args:
            path: The file.
            environ: Variables by name, as of ``from_environment``; ``os.environ`` by default.
            **arguments: Any argument of ``Limits``.

        Raises:
            ConfigError: The file cannot be read, or a value cannot be used; the message names the
                field, the file (or variable, or ``argument``) and the value.

        Example:
            >>> import pathlib
            >>> from toolbudget.limits import Limits
            >>> _ = pathlib.Path("limits.toml").write_text(
            ...     'max_result_chars = 20_000\n[tools]\nWebFetch = "off"\n'
            ... )
            >>> limits = Limits.from_file("limits.toml", environ={})
            >>> limits.max_result_chars, limits.for_tool("WebFetch")
            (20000, inf)
        """
        from toolbudget.limits.file import limits_from_file

        variables = os.environ if environ is None else environ
        values: dict[str, Any] = limits_from_file(path)
        values |= limits_from_environment(variables, given=arguments)
        return cls(**{**values, **arguments})

    def read_overrides(self) -> Overrides:
        """Ask the provider of overrides once; the answer serves all questions of one call.

        Never raises an exception of the provider.

        Example:
            >>> from toolbudget.limits import Limits
            >>> limits = Limits(overrides=lambda: {"message": 150_000})
            >>> overrides = limits.read_overrides()
            >>> limits.message_limit(overrides), limits.for_tool("Bash", overrides=overrides)
            (150000, 30000)
        """
        return self._override_reader.read()

    def for_tool(
        self, name: str, declared: float | None = None, *, overrides: Overrides | None = None
    ) -> float:
        """Give what one result of a tool may have, in the unit.

        The first that applies: ``tools[name]``; infinite, if the tool is declared so; a valid
        override for the tool; infinite, if ``max_result_chars`` is; the smaller of the declared
        limit and ``max_result_chars``.

        Args:
            name: The tool's name.
            declared: The limit the tool declares; by default the built-in one.
            overrides: What ``read_overrides`` gave; by default the provider is read now.

        Raises:
            ConfigError: ``declared`` is no positive number.

        Example:
            >>> from toolbudget.limits import Limits
            >>> limits = Limits(overrides={"tools": {"Bash": 90_000, "Read": 10}})
            >>> limits.for_tool("Bash"), limits.for_tool("Read"), limits.for_tool("Fetch", 1_000)
            (90000, inf, 1000)
        """
        declared_limit = self._declared(name, declared)
        own_limit = self.tools.get(name)
        if own_limit is not None:
            return own_limit
        if declared_limit == math.inf:
            return math.inf
        snapshot = self.read_overrides() if overrides is None else overrides
        override = snapshot.tools.get(name)
        if override is not None:
            return override
        if self.max_result_chars == math.inf:
            return math.inf
        return min(declared_limit, self.max_result_chars)

    def message_limit(self, overrides: Overrides | None = None) -> float:
        """Give what all results of one API user message may have together, in the unit.

        Args:
            overrides: What ``read_overrides`` gave; by default the provider is read now.

        Returns:
            A valid override ``message``, else ``max_message_chars``; ``math.inf`` means no limit.

        Example:
            >>> from toolbudget.limits import Limits
            >>> Limits(overrides={"message": 90_000}).message_limit()
            90000
        """
        snapshot = self.read_overrides() if overrides is None else overrides
        return self.max_message_chars if snapshot.message is None else snapshot.message

    def is_exempt(self, name: str, declared: float | None = None) -> bool:
        """Tell whether neither limit touches a tool's results.

        That is so if its limit in ``tools`` is infinite, or if it is declared infinite and
        ``tools`` does not name it. Neither ``max_result_chars`` nor an override makes or ends an
        exemption.

        Args:
            name: The tool's name.
            declared: The limit the tool declares; by default the built-in one.

        Raises:
            ConfigError: ``declared`` is no positive number.

        Example:
            >>> from toolbudget.limits import Limits
            >>> Limits().is_exempt("Read"), Limits(tools={"Read": 60_000}).is_exempt("Read")
            (True, False)
        """
        declared_limit = self._declared(name, declared)
        return self.tools.get(name, declared_limit) == math.inf

    def _declared(self, name: str, declared: float | None) -> float:
        if declared is None:
            return built_in_declared_limit(name, self.unit)
        return positive_number(declared, "declared")

    def __repr__(self) -> str:
        """Show every field, each cut where it is long."""
        values = ", ".join(f"{name}={shown(value)}" for name, value in self._values().items())
        return f"{type(self).__name__}({values})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy by the arguments, so that they are checked anew when they come back."""
        values = self._values() | {"tools": dict(self.tools)}
        return functools.partial(type(self), **values), ()

    def _values(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
