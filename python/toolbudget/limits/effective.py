"""Which limits are in force, and where each comes from."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from toolbudget.limits.environment import (
    DURABILITY_VARIABLE,
    durability_from_environment,
    limits_from_environment,
    variable_of,
)
from toolbudget.limits.file import limits_from_file
from toolbudget.limits.limits import Limits
from toolbudget.limits.validation import ARGUMENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolbudget.limits.limits import LimitsArguments

__all__ = ["DEFAULT", "EffectiveSetting", "effective_settings"]

DEFAULT: Final = "default"


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """One value in force.

    Attributes:
        value: The value, as ``Limits`` holds it.
        source: ``"argument"``, the name of an environment variable, the path of the file, or
            ``"default"``.
    """

    value: object
    source: str


def effective_settings(
    path: str | os.PathLike[str] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    **arguments: Any,  # noqa: ANN401 - those of `LimitsArguments`, looked through by name
) -> tuple[Limits, dict[str, EffectiveSetting]]:
    """Return the limits that sources come to, and where each of their values is from.

    An argument counts before an environment variable, that before the file, that before the
    default.

    Args:
        path: A file as of ``Limits.from_file``.
        environ: Variables by name; ``os.environ`` by default.
        **arguments: Any argument of ``Limits``.

    Returns:
        The limits; and each of their fields, with ``durability``, by name.

    Raises:
        ConfigError: A value cannot be used; the message names the field, the source and the value.

    Example:
        >>> _, settings = effective_settings(
        ...     environ={"TOOLBUDGET_PREVIEW_BYTES": "500"}, unit="tokens"
        ... )
        >>> settings["preview_bytes"]
        EffectiveSetting(value=500, source='TOOLBUDGET_PREVIEW_BYTES')
        >>> settings["max_result_chars"], settings["unit"].source
        (EffectiveSetting(value=12500, source='default'), 'argument')
    """
    variables = os.environ if environ is None else environ
    given: LimitsArguments = arguments  # type: ignore[assignment]
    from_file = {} if path is None else limits_from_file(path)
    from_variables = limits_from_environment(variables, given=given)
    values: dict[str, Any] = {**from_file, **from_variables, **given}
    limits = Limits(**values)
    sources = (
        dict.fromkeys(from_file, "" if path is None else os.fspath(path))
        | {name: variable_of(name) for name in from_variables}
        | dict.fromkeys(given, ARGUMENT)
    )
    settings = {
        item.name: EffectiveSetting(getattr(limits, item.name), sources.get(item.name, DEFAULT))
        for item in fields(limits)
    }
    is_set = DURABILITY_VARIABLE in variables
    settings["durability"] = EffectiveSetting(
        durability_from_environment(environ=variables), DURABILITY_VARIABLE if is_set else DEFAULT
    )
    return limits, settings
