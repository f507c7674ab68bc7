"""Dicts, lists and texts are read as they lie in memory on every version that was tried."""

from __future__ import annotations

import sys
import sysconfig

from toolbudget._core import _native

LAST_TRIED_VERSION = (3, 15)


def test_it_is_known_what_is_read_in_place() -> None:
    """Elsewhere everything is read by calls: slower, with the same results."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        expected = []
    elif sys.version_info[:2] > LAST_TRIED_VERSION:
        expected = ["list"]
    else:
        expected = ["dict", "list", "str"]
    assert _native._read_in_place == expected


def test_no_other_thread_runs_while_objects_are_read() -> None:
    """An interpreter without a GIL takes one when it loads the native core."""
    is_gil_enabled = getattr(sys, "_is_gil_enabled", lambda: True)
    assert is_gil_enabled()
