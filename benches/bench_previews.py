"""How long the styles of previews take for a log or a JSON text of a megabyte, on each core."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from types import ModuleType

    from pytest_benchmark.fixture import BenchmarkFixture

LOG_BYTES: Final = 1_000_000
MAX_BYTES: Final = 2_000

# A run of a build and its tests: most lines pass, some warn, few fail.
_ROUND: Final = """\
2024-05-01T10:11:{second:02d}.1234567Z [INFO] resolving artifact group:name:{number}
gcc -O2 -Wall -Werror -c src/module_{number}.c -o build/module_{number}.o
src/module_{number}.c:{second}:7: warning: unused variable 'error_count' [-Wunused-variable]
tests/unit/test_module_{number}.py::test_accepts_what_is_valid PASSED            [ 41%]
ok {number} - handles a missing file ({second}ms)
\x1b[32m  ✓ renders the page without errors\x1b[0m (12ms)
      at Object.<anonymous> (node_modules/runner/lib/index.js:{second}:13)
Downloading package-{number}.tar.gz (12 kB)
    connection closed, will try again: host part-{number}.example:443
"""
_FAILURE: Final = """\
--- FAIL: TestRoundTrip{number} (0.00s)
    codec_test.go:{second}: got 12, expected 13
"""


def _log(*, is_ascii: bool) -> str:
    parts: list[str] = []
    size_bytes = number = 0
    while size_bytes < LOG_BYTES:
        form = _ROUND + (_FAILURE if number % 40 == 0 else "")
        part = form.format(number=number * number % 99_991, second=number % 60)
        parts.append(part.replace("✓", "+") if is_ascii else part)
        size_bytes += len(parts[-1].encode())
        number += 1
    return "".join(parts)


LOGS: Final = {"ascii": _log(is_ascii=True), "wide": _log(is_ascii=False)}


@pytest.fixture(params=LOGS)
def log(request: pytest.FixtureRequest) -> str:
    """Give a log of about a megabyte."""
    return LOGS[request.param]


@pytest.mark.benchmark(group="salient_preview")
def test_salient_preview(benchmark: BenchmarkFixture, core: ModuleType, log: str) -> None:
    """Every line is looked at once; goals for a megabyte are 150 and 15 ms."""
    preview, has_more = benchmark(core.salient_preview, log, MAX_BYTES)
    assert has_more
    assert "--- FAIL: TestRoundTrip" in preview


@pytest.mark.benchmark(group="head_tail_preview")
def test_head_tail_preview(benchmark: BenchmarkFixture, core: ModuleType, log: str) -> None:
    """Lines and bytes are counted, and the ends are cut."""
    preview, has_more = benchmark(core.head_tail_preview, log, MAX_BYTES)
    assert has_more
    assert len(preview.encode()) <= MAX_BYTES


@pytest.mark.benchmark(group="json_preview")
def test_json_preview(benchmark: BenchmarkFixture, core: ModuleType) -> None:
    """Items in the middle are skipped."""
    row = {"id": 12, "name": "a name", "tags": ["one", "two"], "place": {"x": 1.25, "y": -3.5}}
    text = json.dumps([row] * (LOG_BYTES // len(json.dumps(row))))
    preview, has_more = benchmark(core.json_preview, text, MAX_BYTES)
    assert has_more
    assert "items left out" in preview


@pytest.mark.benchmark(group="table_preview")
def test_table_preview(benchmark: BenchmarkFixture, core: ModuleType) -> None:
    """Rows are counted, and the ends are cut."""
    row = "12,a name,1.25,one two three\n"
    text = "id,name,size,tags\n" + row * (LOG_BYTES // len(row))
    preview, has_more = benchmark(core.table_preview, text, MAX_BYTES)
    assert has_more
    assert "rows left out" in preview


@pytest.mark.benchmark(group="auto_preview")
def test_auto_preview(benchmark: BenchmarkFixture, core: ModuleType, log: str) -> None:
    """To tell the kind of a text costs little beside its preview."""
    shown = benchmark(core.show_preview, (log,), MAX_BYTES, "auto")
    assert shown.style == "salient"
