"""Texts made to exhaust a parser: nothing of them may cost more than its size."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import pytest

from toolbudget.pruning import LANGUAGES

# What is repeated, and how often: each of these takes gigabytes, or minutes, of the
# parser of some language. The second form of each has other names each time, so that it does not
# compress as no code does.
PATTERNS: Final = (
    "(", "{", "[", "a{n}<", "f{n}<a,", "if (a{n}) ", "a{n} ? b : ", "(x{n}) => ", "x{n} -> ",
    "class A{n} {{ ", "template <a{n} ", "\"'`", "<<E{n}\n", "$(", "a{n},", "case x{n} in ",
    "\0", "\ud800", "prose number {n}, as people write it.\n",
)  # fmt: skip
_MEMORY_BYTES: Final = 2**31
_PROGRAM: Final = """
import resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
from toolbudget.pruning import outline_code, truncate_tool_result
patterns = {patterns!r}
for pattern in patterns:
    for text in (
        pattern.replace("{{n}}", "") * (100_000 // len(pattern)),
        "".join(pattern.replace("{{n}}", str(n * 7919 % 99_991)) for n in range(3_000)),
    ):
        start_s = time.process_time()
        result = outline_code(text, {language!r})
        took_s = time.process_time() - start_s
        assert len(result) <= len(text)
        assert took_s < 3, (pattern, took_s)
"""


@pytest.mark.parametrize("language", LANGUAGES)
def test_hostile_texts_cost_little(language: str) -> None:
    """Each is answered within seconds and 2 GB of address space, and the process lives on."""
    program = _PROGRAM.format(patterns=PATTERNS, language=language, memory=_MEMORY_BYTES)
    finished = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=300
    )
    assert finished.returncode == 0, finished.stderr[-2_000:]
