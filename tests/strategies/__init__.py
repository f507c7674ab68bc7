"""Inputs that break code, for the property tests of every layer."""

from __future__ import annotations

from tests.strategies.bodies import bodies, broken_bodies, json_lists
from tests.strategies.messages import message_lists
from tests.strategies.mutations import mutated
from tests.strategies.shapes import SdkObject, Text, odd_values
from tests.strategies.texts import any_text, hostile_text, result_text

__all__ = [
    "SdkObject",
    "Text",
    "any_text",
    "bodies",
    "broken_bodies",
    "hostile_text",
    "json_lists",
    "message_lists",
    "mutated",
    "odd_values",
    "result_text",
]
