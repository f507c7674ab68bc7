"""Single lines by which tools say that something failed, each with what the tool writes else.

Written by hand in the form of each tool; ``{n}`` is the number of a line that says nothing.
"""

from __future__ import annotations

from typing import Final

__all__ = ["FAILING_LINES"]

FAILING_LINES: Final = {
    "go race": ("ok  \tmod/p{n}\t0.1s", "WARNING: DATA RACE"),
    "cargo nextest signal": ("PASS [ 0.01s] m tests::t{n}", "SIGSEGV [ 0.2s] m tests::reads"),
    "bazel timeout": ("//m:t{n}    PASSED in 0.3s", "//m:slow_test    TIMEOUT in 300.1s"),
    "minitest": ("M#test_{n} = 0.01 s = .", "M#test_rounds = 0.00 s = F"),
    "ruby": (
        "INFO -- : handled {n}",
        "/lib/m.rb:57:in `post': undefined method `x' for nil:NilClass (NoMethodError)",
    ),
    "phpstan": (" {n}/900 [>-------]", "57     Call to an undefined method Account::total()."),
    "linker": ("[{n}/900] Linking lib{n}.a", "ld: b.o: multiple definition of `n'; a.o: first"),
    "cluster pods": ("web-{n}   1/1   Running", "db-0   0/1   CrashLoopBackOff   211"),
    "cluster memory": ("web-{n}   1/1   Running", "db-0   0/1   OOMKilled   3"),
    "cluster events": (
        "{n}m  Normal  Scheduled  pod/web-{n}",
        "3m  Warning  FailedScheduling  pod/db-0  0/12 nodes fit: Insufficient memory",
    ),
    "cluster logger": (
        "I1130 10:00:07.000000  1 sync.go:{n}] synced",
        "F1130 10:01:07.441000  1 server.go:201] the quorum is gone",
    ),
    "image build": ("#{n} CACHED", '#12 ERROR: failed to get checksum of "/dist": not found'),
    "formatter": ("m{n}.py already well formatted", "would reformat src/m.py"),
    "rust formatter": ("    Checking m{n} v0.1.1", "Diff in /src/m.rs:57:"),
    "ctest": (
        "{n}/900 Test #{n}: case .....   Passed    0.01 sec",
        "412/900 Test #412: rounds .....***Failed    0.02 sec",
    ),
    "leaks": ("iteration {n}", "==42==ERROR: LeakSanitizer: detected memory leaks"),
    "threads": ("iteration {n}", "WARNING: ThreadSanitizer: data race (pid=42)"),
    "shell variable": ("step {n} done", "./run.sh: line 41: LEDGER: unbound variable"),
    "severity in json": (
        '{{"severity":"INFO","message":"handled {n}"}}',
        '{"severity":"CRITICAL","message":"ledger is out of balance"}',
    ),
    "level in logfmt": (
        'time=10:00 level=info msg="handled" id={n}',
        'time=10:01 level=error msg="ledger out of balance" id=7',
    ),
    "level as a number": (
        '{{"level":30,"msg":"a failed try, handled","id":{n}}}',
        '{"level":50,"msg":"a failed try, handled","id":7}',
    ),
    "killed": ("batch {n} done", "Out of memory: kill"),
    "annotation": ("step {n}", "::error file=src/m.ts,line=57::total is spelled wrong"),
    "annotation of a task": ("step {n}", "##vso[task.logissue type=error]total is no word"),
    "exit code": ("step {n}", "##[error]Process completed with exit code 1."),
    "shell check": ("checking s{n}.sh", "^--^ SC2086 (info): Double quote to prevent globbing."),
    "bun": ("(pass) case {n} [0.3ms]", "(fail) rounds half up [2.00ms]"),
    "proxy": ("ping {n}", "upstream prematurely closed connection while reading"),
    "connection": ("ping {n}", "read tcp 10.0.0.2:43: read: connection reset by peer"),
    "certificate": ("ping {n}", "SSL certificate problem: certificate has expired"),
    "disk": ("copied {n}", "write /var/db: no space left on device"),
    "one odd line": ("golden {n} matches", "golden 12 differs"),
}
