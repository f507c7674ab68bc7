"""What a tool is made of: a function, its schema and the check of a model's input."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbudget import ConfigError, ToolError, ToolInputError
from toolbudget.tools import Parameter, Tool, ToolResult, tool

PARAMETERS = (
    Parameter("path", "string", "Which file.", is_required=True),
    Parameter("start_line", "integer", "First line.", minimum=1, maximum=9),
    Parameter("timeout_s", "number", "Seconds.", minimum=0.5),
    Parameter("is_raw", "boolean", "As it is."),
)


@tool(*PARAMETERS)
def echo(path: str, **options: object) -> ToolResult:
    """Give back what came.

    More that the model need not know.
    """
    return ToolResult(text=json.dumps([path, options]))


def test_plain_call() -> None:
    """A tool is the plain function, with its own name, text and signature."""
    assert echo("a", start_line=0).text == '["a", {"start_line": 0}]'
    assert echo.name == "echo"
    assert echo.__doc__ == echo.function.__doc__
    assert list(inspect.signature(echo).parameters) == ["path", "options"]


def test_schemas() -> None:
    """Both providers' forms carry the same name, text and schema."""
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Which file."},
            "start_line": {
                "type": "integer",
                "description": "First line.",
                "minimum": 1,
                "maximum": 9,
            },
            "timeout_s": {"type": "number", "description": "Seconds.", "minimum": 0.5},
            "is_raw": {"type": "boolean", "description": "As it is."},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    description = "Give back what came."
    function = {"name": "echo", "description": description, "parameters": schema, "strict": False}
    anthropic = {"name": "echo", "description": description, "input_schema": schema}
    assert echo.to_anthropic() == anthropic
    assert echo.to_openai() == {"type": "function", "function": function}
    assert echo.to_openai(api="responses") == {"type": "function", **function}


CUT = f"-1{96 * '0'}...{99 * '0'}"


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ([], "echo: input must be an object: []"),
        ({}, "echo: path is required, text"),
        ({"path": None}, "echo: path is required, text"),
        ({"path": 7}, "echo: path must be text: 7"),
        ({"path": "a", "start_line": "3"}, "echo: start_line must be a whole number: '3'"),
        ({"path": "a", "start_line": True}, "echo: start_line must be a whole number: True"),
        ({"path": "a", "start_line": 1.5}, "echo: start_line must be a whole number: 1.5"),
        ({"path": "a", "start_line": 0}, "echo: start_line must be at least 1: 0"),
        ({"path": "a", "start_line": 10}, "echo: start_line must be at most 9: 10"),
        ({"path": "a", "start_line": -(10**400)}, f"echo: start_line must be at least 1: {CUT}"),
        ({"path": "a", "timeout_s": -(10**400)}, f"echo: timeout_s must be at least 0.5: {CUT}"),
        ({"path": "a", "start_line": 10**5_000}, "echo: start_line must be at most 9: <int>"),
        ({"path": "a", "timeout_s": float("nan")}, "echo: timeout_s must be a number: nan"),
        ({"path": "a", "is_raw": 1}, "echo: is_raw must be true or false: 1"),
        (
            {"path": "a", "file": "b"},
            "echo: takes path, start_line, timeout_s, is_raw, but not 'file'",
        ),
    ],
)
def test_refused_input(value: Any, complaint: str) -> None:  # noqa: ANN401 - whatever a model writes
    """What the schema does not take is an error that says what, where and which value."""
    with pytest.raises(ToolInputError) as caught:
        echo.run(value)
    assert str(caught.value) == complaint


def test_taken_input() -> None:
    """A whole number may be written as 3.0, and what is optional as null."""
    result = echo.run({"path": "a", "start_line": 3.0, "timeout_s": 2, "is_raw": None})
    assert result.text == '["a", {"start_line": 3, "timeout_s": 2}]'


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(
    st.dictionaries(st.sampled_from([p.name for p in PARAMETERS]) | st.text(), json_values)
    | json_values
)
def test_any_input(value: Any) -> None:  # noqa: ANN401 - whatever a model writes
    """Any input either reaches the function in the types of the schema or is a clear error."""
    answer = echo.answer({"id": "t1", "name": "echo", "input": value})
    content = str(answer["content"])
    if "is_error" in answer:
        assert content.startswith("echo: ")
        assert "\n" not in content
        return
    path, options = json.loads(content)
    assert isinstance(path, str)
    assert isinstance(options.get("start_line", 1), int)
    assert 1 <= options.get("start_line", 1) <= 9
    assert isinstance(options.get("is_raw", False), bool)
    assert options.get("timeout_s", 1) >= 0.5


def test_answer() -> None:
    """A call becomes a result block; a failure too, so that every call is answered."""
    call = {"type": "tool_use", "id": "t1", "name": "echo", "input": {"path": "a"}}
    answer = {"type": "tool_result", "tool_use_id": "t1"}
    assert echo.answer(call) == {**answer, "content": '["a", {}]'}
    failure = {**answer, "content": "echo: path is required, text", "is_error": True}
    assert echo.answer({**call, "input": None}) == failure
    assert echo.answer({**call, "input": {}}) == failure
    with pytest.raises(ToolInputError, match="must have an id: None"):
        echo.answer({"name": "echo", "input": {}})
    with pytest.raises(ToolInputError, match="another tool: 'bash'"):
        echo.answer({**call, "name": "bash"})


def test_answer_of_failures() -> None:
    """What a tool raises on purpose, or marks as an error, is marked in the block."""

    @tool()
    def fail() -> ToolResult:
        """Fail."""
        raise ToolError("no such thing: 'x'")

    @tool()
    def wrong() -> ToolResult:
        """End with an exit code."""
        return ToolResult(text="exit code 1", is_error=True)

    block = {"type": "tool_result", "tool_use_id": "t1", "is_error": True}
    call = {"type": "tool_use", "id": "t1", "input": {}}
    assert fail.answer({**call, "name": "fail"}) == {**block, "content": "no such thing: 'x'"}
    assert wrong.answer({**call, "name": "wrong"}) == {**block, "content": "exit code 1"}


@pytest.mark.parametrize("name", ["", "a b", "ä", "x" * 65, "a\n"])
def test_refused_name(name: str) -> None:
    """A name that providers refuse is refused when the tool is made."""
    with pytest.raises(ConfigError, match="name of a tool must match"):
        Tool(name, "Echo.", PARAMETERS, echo.function)


def test_refused_definition() -> None:
    """Two parameters of one name, an unknown kind and an unknown API are errors."""
    with pytest.raises(ConfigError, match="two parameters of one name"):
        tool(PARAMETERS[0], PARAMETERS[0])(echo.function)
    with pytest.raises(ConfigError, match="kind of parameter 'x' is unknown: 'list'"):
        Parameter("x", "list", "Many.")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="must be 'chat' or 'responses': 'gemini'"):
        echo.to_openai(api="gemini")  # type: ignore[arg-type]
