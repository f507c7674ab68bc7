"""What a model gives a tool, checked before the tool runs.

Models leave things out, invent names and write numbers as text. They put it right by themselves if
the error says what is wrong where, and with which value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from toolbudget._display import shown
from toolbudget.errors import ConfigError, ToolInputError

__all__ = ["Kind", "Parameter", "check_input", "schema_of"]

Kind: TypeAlias = Literal["string", "integer", "number", "boolean"]
"""A type of JSON Schema that a parameter may have."""

_REQUIREMENTS: Final[Mapping[Kind, str]] = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing that a tool is told.

    Attributes:
        name: Its name, which is that of the function's argument.
        kind: Its JSON type.
        description: What the model is told about it.
        is_required: Whether a call without it is an error.
        minimum: The least number that is taken.
        maximum: The greatest one.

    Raises:
        ConfigError: ``kind`` is none of those that there are.

    Example:
        >>> from toolbudget.tools import Parameter
        >>> Parameter("start_line", "integer", "First line, from 1.", minimum=1).schema()
        {'type': 'integer', 'description': 'First line, from 1.', 'minimum': 1}
    """

    name: str
    kind: Kind
    description: str
    is_required: bool = False
    minimum: float | None = None
    maximum: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in _REQUIREMENTS:
            raise ConfigError(f"kind of parameter {self.name!r} is unknown: {shown(self.kind)}")

    def schema(self) -> dict[str, object]:
        """Return its JSON Schema."""
        bounds = {"minimum": self.minimum, "maximum": self.maximum}
        given = {name: bound for name, bound in bounds.items() if bound is not None}
        return {"type": self.kind, "description": self.description, **given}

    def check(self, tool_name: str, value: object) -> object:
        """Return a value as the function takes it.

        Raises:
            ToolInputError: It is of another type, or out of bounds.
        """
        plain = _plain(self.kind, value)
        if plain is None:
            raise self._error(tool_name, _REQUIREMENTS[self.kind], value)
        if isinstance(plain, int | float):
            if self.minimum is not None and plain < self.minimum:
                raise self._error(tool_name, f"at least {self.minimum}", value)
            if self.maximum is not None and plain > self.maximum:
                raise self._error(tool_name, f"at most {self.maximum}", value)
        return plain

    def _error(self, tool_name: str, requirement: str, value: object) -> ToolInputError:
        return ToolInputError(f"{tool_name}: {self.name} must be {requirement}: {shown(value)}")


def schema_of(parameters: Sequence[Parameter]) -> dict[str, object]:
    """Return the JSON Schema of an input that has these parameters and no others."""
    return {
        "type": "object",
        "properties": {parameter.name: parameter.schema() for parameter in parameters},
        "required": [parameter.name for parameter in parameters if parameter.is_required],
        "additionalProperties": False,
    }


def check_input(
    tool_name: str, parameters: Sequence[Parameter], given: object
) -> dict[str, object]:
    """Return a model's input as arguments of the function.

    ``null`` for what is not required counts as not given: some wire formats ask for every key.

    Raises:
        ToolInputError: It is no object, something is missing or unknown, or a value is of another
            type or out of bounds.
    """
    if not isinstance(given, Mapping):
        raise ToolInputError(f"{tool_name}: input must be an object: {shown(given)}")
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            names = ", ".join(known) or "none"
            raise ToolInputError(f"{tool_name}: takes {names}, but not {shown(name)}")
    arguments: dict[str, object] = {}
    for parameter in parameters:
        value = given.get(parameter.name)
        if value is not None:
            arguments[parameter.name] = parameter.check(tool_name, value)
        elif parameter.is_required:
            requirement = _REQUIREMENTS[parameter.kind]
            raise ToolInputError(f"{tool_name}: {parameter.name} is required, {requirement}")
    return arguments


def _plain(kind: Kind, value: object) -> str | float | bool | None:
    """Return a value as the plain Python type of its kind, or ``None`` if it is of another."""
    if kind == "string":
        return str.__str__(value) if isinstance(value, str) else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Every integer is finite, also one beyond every float.
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if kind == "number":
        return value
    # 10.0 is a whole number in JSON.
    return int(value) if value == int(value) else None
