"""Limits of a file that a user names (L5)."""

from __future__ import annotations

import json
import math
import os
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbudget import ConfigError, Limits
from toolbudget.limits import effective_settings

if TYPE_CHECKING:
    from pathlib import Path

FULL = """
max_result_chars = 20_000
max_message_chars = "off"
preview_bytes = 500
preview_style = "head"
accounting = "originals"
reader_hint = "Use read_result to see more"
unit = "bytes"

[tools]
Bash = 9_000
WebFetch = "off"
"""


def write(folder: Path, text: str, name: str = "limits.toml") -> Path:
    """Write a file of limits."""
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_every_field_can_stand_in_it(tmp_path: Path) -> None:
    """Each becomes what the argument of that name would make."""
    assert Limits.from_file(write(tmp_path, FULL), environ={}) == Limits(
        max_result_chars=20_000,
        max_message_chars=math.inf,
        preview_bytes=500,
        accounting="originals",
        reader_hint="Use read_result to see more",
        unit="bytes",
        tools={"Bash": 9_000, "WebFetch": math.inf},
    )


def test_json_says_the_same(tmp_path: Path) -> None:
    """A name that ends in ``.json`` is read as JSON."""
    path = write(tmp_path, '{"max_result_chars": 1e5, "tools": {"a": "off"}}', "limits.JSON")
    assert Limits.from_file(path, environ={}) == Limits(max_result_chars=1e5, tools={"a": math.inf})


def test_argument_environment_file_default(tmp_path: Path) -> None:
    """The first source that sets a field counts."""
    path = write(tmp_path, "max_result_chars = 1\npreview_bytes = 2\nmax_message_chars = 3\n")
    environ = {"TOOLBUDGET_PREVIEW_BYTES": "20", "TOOLBUDGET_MAX_MESSAGE_CHARS": "30"}
    limits, settings = effective_settings(path, environ=environ, max_message_chars=300)
    assert limits == Limits.from_file(path, environ=environ, max_message_chars=300)
    assert {name: (one.value, one.source) for name, one in settings.items()} == {
        "max_result_chars": (1, str(path)),
        "max_message_chars": (300, "argument"),
        "preview_bytes": (20, "TOOLBUDGET_PREVIEW_BYTES"),
        "accounting": ("visible", "default"),
        "preview_style": ("head", "default"),
        "reader_hint": (None, "default"),
        "unit": ("chars", "default"),
        "tools": ({}, "default"),
        "overrides": (None, "default"),
        "durability": ("full", "default"),
    }


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("max_result_chars = 0", "max_result_chars"),
        ("max_result_chars = -5", "max_result_chars"),
        ("max_result_chars = nan", "max_result_chars"),
        ("max_result_chars = true", "max_result_chars"),
        ('max_result_chars = "10000"', "max_result_chars"),
        ("max_message_chars = []", "max_message_chars"),
        ("preview_bytes = 2.5", "preview_bytes"),
        ('preview_bytes = "off"', "preview_bytes"),
        ('preview_style = "tail"', "preview_style"),
        ('accounting = "all"', "accounting"),
        ('unit = "lines"', "unit"),
        ('reader_hint = "two\\nlines"', "reader_hint"),
        (f'reader_hint = "{501 * "x"}"', "at most 500 characters, not 501"),
        ("tools = 5", "tools"),
        ("[tools]\nBash = 0", "tools['Bash']"),
        ("max_results_chars = 5", "max_results_chars"),
        ('durability = "full"', "durability"),
        ("overrides = {}", "overrides"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, line: str, field: str) -> None:
    """Field, file and value stand in the message; nothing falls back to a default."""
    path = write(tmp_path, line)
    with pytest.raises(ConfigError) as caught:
        Limits.from_file(path, environ={})
    assert field in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", "max_result_chars = "),
        ("a.toml", "unit = 'bytes'\nunit = 'bytes'"),
        ("a.json", "{"),
        ("a.json", "[]"),
        ("a.json", '{"unit": "bytes", "unit": "bytes"}'),
        ("a.json", "[" * 100_000),
    ],
)
def test_what_is_no_such_file(tmp_path: Path, name: str, text: str) -> None:
    """The file is named, and what is wrong with it."""
    path = write(tmp_path, text, name)
    with pytest.raises(ConfigError, match=name):
        Limits.from_file(path, environ={})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("limits.toml", "max_message_chars = 1e400"),
        ("limits.json", '{"max_message_chars": 1e400}'),
        ("limits.toml", "[tools]\nBash = 2.5e309"),
        ("limits.json", '{"tools": {"Bash": 2.5e309}}'),
        ("limits.toml", "preview_bytes = 1e400"),
        ("limits.toml", "reader_hint = 1e400"),
        ("limits.json", '{"preview_style": 1e400}'),
    ],
)
def test_a_number_too_large_turns_no_limit_off(tmp_path: Path, name: str, text: str) -> None:
    """L5: it is read as infinite, which only ``off`` and TOML's ``inf`` mean."""
    path = write(tmp_path, text, name)
    field = "tools['Bash']" if "Bash" in text else text.strip('{"').split()[0].rstrip('":')
    with pytest.raises(ConfigError, match=re.escape(f"{field} ({path}) must be")) as caught:
        Limits.from_file(path)
    assert "e400" in str(caught.value) or "e309" in str(caught.value)
    off = write(tmp_path, "max_message_chars = inf")
    assert Limits.from_file(off).max_message_chars == math.inf


def test_what_is_no_file_at_all(tmp_path: Path) -> None:
    """Nothing is waited for, and nothing read without end."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "latin").write_bytes(b"reader_hint = '\xe9'")
    (tmp_path / "large").write_bytes(b" " * (1 << 21))
    for path in (tmp_path, tmp_path / "fifo", tmp_path / "none", tmp_path / "latin"):
        with pytest.raises(ConfigError, match=path.name):
            Limits.from_file(path, environ={})
    with pytest.raises(ConfigError, match="smaller"):
        Limits.from_file(tmp_path / "large", environ={})
    with pytest.raises(
        ConfigError, match=r"^config file \(argument\) must be a regular file: '/dev/zero'$"
    ):
        Limits.from_file("/dev/zero", environ={})


def test_a_file_of_the_working_directory_is_never_read_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An untrusted folder must not configure its host."""
    monkeypatch.chdir(tmp_path)
    for name in ("toolbudget.toml", "limits.toml", "pyproject.toml", ".toolbudget.toml"):
        write(tmp_path, "max_result_chars = 1\n", name)
    assert Limits.from_environment({}) == Limits()


@given(
    st.dictionaries(
        st.sampled_from(["max_result_chars", "max_message_chars", "preview_bytes", "unit", "x"]),
        st.none()
        | st.booleans()
        | st.integers(-3, 10**6)
        | st.floats()
        | st.sampled_from(["off", "bytes", "chars", ""]),
    )
)
def test_a_file_is_taken_as_its_arguments_are(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, Any]
) -> None:
    """What the constructor refuses a file may not say, and what it takes means the same."""
    path = write(tmp_path_factory.mktemp("limits"), json.dumps(values), "limits.json")
    off = {"max_result_chars", "max_message_chars"}
    arguments: dict[str, Any] = {
        name: math.inf if name in off and value == "off" else value
        for name, value in values.items()
    }
    try:
        expected = Limits(**arguments)
    except (ConfigError, TypeError):
        with pytest.raises(ConfigError):
            Limits.from_file(path, environ={})
    else:
        assert Limits.from_file(path, environ={}) == expected
