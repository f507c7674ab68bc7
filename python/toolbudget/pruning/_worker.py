"""The program of the process that parses: it may die of what it reads, and nothing else with it."""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Final

from toolbudget.pruning._syntax import grammar_of, parse
from toolbudget.pruning._walk import outlined

__all__ = ["serve"]

_MEMORY_BYTES: Final = 2 * 2**30
# A parser that is not told to stop in time, because one of its steps does not end.
_FREE_CPU_S: Final = 5
_CPU_BYTES_PER_S: Final = 200_000


def serve() -> None:
    """Answer requests until the input ends; each is a line ``language bytes``, then the text."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    read, write = sys.stdin.buffer, sys.stdout.buffer
    while line := read.readline():
        language, size = line.split()
        source = read.read(int(size))
        limit_s = int(time.process_time()) + _FREE_CPU_S + len(source) // _CPU_BYTES_PER_S
        resource.setrlimit(resource.RLIMIT_CPU, (limit_s, resource.RLIM_INFINITY))
        answer = _answer(language.decode(), source)
        write.write(b"%d\n%s" % (len(answer), answer))
        write.flush()


def _answer(language: str, source: bytes) -> bytes:
    grammar = grammar_of(language)
    syntax = parse(source, grammar)
    if syntax is None:
        return b"null"
    outline = outlined(syntax, grammar)
    return json.dumps([*outline, len(syntax.source)]).encode()
