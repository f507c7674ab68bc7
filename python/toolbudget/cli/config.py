"""``toolbudget config``: which limits are in force, and where each comes from."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Final

import click

from toolbudget.cli.failure import EXIT_DONE
from toolbudget.cli.option_types import read_file
from toolbudget.cli.wording import grouped, printable
from toolbudget.limits import (
    BUILT_IN_DECLARED_LIMITS,
    built_in_declared_limit,
    effective_settings,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolbudget.limits import EffectiveSetting, Limits

__all__ = ["command"]

_OTHER_TOOLS: Final = "any other tool"
_LIMITS: Final = frozenset({"max_result_chars", "max_message_chars"})
# Shown in a table of their own; a host's code, which no file or variable can name.
_APART: Final = frozenset({"tools", "overrides"})


@click.command("config", short_help="Show the limits in force, and where each comes from.")
@click.option(
    "--config",
    "config_path",
    metavar="FILE",
    callback=read_file,
    help="A file of limits: TOML, or JSON as .json. Without this option none is read.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, config_path: str | None, as_json: bool) -> int:
    """Show each limit in force with its source: environment, file or default.

    An environment variable counts before the file, the file before the default. Arguments that a
    host gives in its code count before all of them and are not known here.

    \b
    Example:
      toolbudget config --config limits.toml
    """  # noqa: D301 - click's mark for lines that stay as they are
    limits, settings = effective_settings(config_path)
    tools = _tools(limits, settings["tools"].source)
    if as_json:
        click.echo(json.dumps(_to_json(settings, tools), indent=2))
    else:
        _show(settings, tools, limits.unit)
    return EXIT_DONE


def _tools(limits: Limits, source: str) -> dict[str, tuple[float, str]]:
    """Return the limit of each tool that has one of its own, and of any other, with the source."""

    def limit_and_source(name: str) -> tuple[float, str]:
        limit = limits.for_tool(name)
        if name in limits.tools:
            return limit, source
        is_built_in = limit == built_in_declared_limit(name, limits.unit)
        return limit, "built in" if is_built_in else "max_result_chars"

    tools = {name: limit_and_source(name) for name in {*BUILT_IN_DECLARED_LIMITS, *limits.tools}}
    # No tool has an empty name.
    return {**dict(sorted(tools.items())), _OTHER_TOOLS: limit_and_source("")}


def _to_json(
    settings: Mapping[str, EffectiveSetting], tools: Mapping[str, tuple[float, str]]
) -> dict[str, object]:
    """Return the settings and the limits of tools.

    Keys: ``settings``, by name a ``value`` and its ``source``; ``tools``, by name a ``limit`` and
    its ``source`` (``built in``, ``max_result_chars``, or where ``tools`` is from). An infinite
    limit is ``"off"``.
    """
    return {
        "settings": {
            name: {"value": _finite(setting.value), "source": setting.source}
            for name, setting in settings.items()
            if name not in _APART
        },
        "tools": {
            name: {"limit": _finite(limit), "source": source}
            for name, (limit, source) in tools.items()
        },
    }


def _finite(value: object) -> object:
    return "off" if value == math.inf else value


def _show(
    settings: Mapping[str, EffectiveSetting],
    tools: Mapping[str, tuple[float, str]],
    unit: str,
) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from toolbudget.cli.console import open_console

    out = open_console()
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), header_style="bold")
    table.add_column("setting", no_wrap=True)
    table.add_column("value", justify="right")
    table.add_column("source")
    for name, setting in settings.items():
        if name in _APART:
            continue
        is_default = setting.source == "default"
        words = _words(setting.value, unit if name in _LIMITS else "")
        source = Text(printable(setting.source), "dim" if is_default else "green")
        table.add_row(name, Text(words), source)
    out.print(table)
    of_tools = Table(box=box.SIMPLE_HEAD, padding=(0, 1), header_style="bold")
    of_tools.add_column("tool", no_wrap=True)
    of_tools.add_column("limit of one result", justify="right")
    of_tools.add_column("source")
    for name, (limit, origin) in tools.items():
        style = "dim" if origin in {"built in", "max_result_chars"} else "green"
        of_tools.add_row(
            Text(printable(name)), Text(_words(limit, unit)), Text(printable(origin), style)
        )
    out.print(of_tools)


def _words(value: object, unit: str) -> str:
    if value is None:
        return "none"
    if value == math.inf:
        return "off"
    if isinstance(value, int | float):
        return f"{grouped(value)} {unit}".rstrip()
    return printable(str(value))
