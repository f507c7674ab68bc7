"""Integrations without the packages that they need."""

from __future__ import annotations

import importlib
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("opentelemetry", "opentelemetry", "otel"),
        ("openfeature", "openfeature.exception", "flags"),
    ],
)
def test_the_extra_is_named(
    module: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever imports one by the documents is told what to install."""
    name = f"toolbudget.integrations.{module}"
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(name)
    assert f"pip install 'toolbudget[{extra}]'" in str(caught.value)
    assert caught.value.name == package
