"""Endings of failed runs as many tools write them, inside output that says nothing.

Written by hand in the form of each tool. A line that begins with ``>>`` tells what went wrong and
has to be in a preview.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["FAILING_OUTPUTS", "FailingOutput"]


class FailingOutput(NamedTuple):
    """A failed run: what it writes before, the failure, and what comes after it."""

    noise: str
    failure: str
    end: str = ""

    def text(self, noise_lines: int, end_lines: int = 0) -> str:
        """Write the run with so many numbered lines of noise before and after the failure."""
        before = "".join(self.noise.format(n=number) + "\n" for number in range(noise_lines))
        after = "".join(self.noise.format(n=number) + "\n" for number in range(end_lines))
        lines = [line.removeprefix(">>") for line in self.failure.strip("\n").split("\n")]
        return before + "\n".join(lines) + "\n" + after + self.end

    def wanted(self) -> list[str]:
        """Give the lines that a preview has to show."""
        lines = self.failure.strip("\n").split("\n")
        return [line[2:].strip() for line in lines if line.startswith(">>")]


FAILING_OUTPUTS: Final = {
    "pytest": FailingOutput(
        "tests/unit/test_module_{n}.py::test_accepts_input_{n} PASSED        [ 41%]",
        """
=================================== FAILURES ===================================
________________________________ test_round_trip _______________________________

    def test_round_trip():
        value = encode({"a": 1})
>>>       assert decode(value) == {"a": 2}
>>E       AssertionError: assert {'a': 1} == {'a': 2}
E         Differing items:
E         {'a': 1} != {'a': 2}

tests/unit/test_codec.py:14: AssertionError
=========================== short test summary info ============================
>>FAILED tests/unit/test_codec.py::test_round_trip - AssertionError: assert {'a': 1}...
""",
        "======================== 1 failed, 812 passed in 14.20s ========================\n",
    ),
    "unittest": FailingOutput(
        "test_case_{n} (app.tests.SomeTests.test_case_{n}) ... ok",
        """
======================================================================
>>FAIL: test_total (app.tests.InvoiceTests.test_total)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/srv/app/tests.py", line 31, in test_total
    self.assertEqual(invoice.total, 12)
>>AssertionError: 13 != 12

----------------------------------------------------------------------
""",
        "Ran 801 tests in 3.402s\n\nFAILED (failures=1)\n",
    ),
    "jest": FailingOutput(
        "PASS src/components/widget{n}.test.js (5.2 s)",
        """
FAIL src/auth/login.test.js
>>  ● login › rejects a wrong password

    expect(received).toBe(expected) // Object.is equality

>>    Expected: 401
>>    Received: 200

      22 |     const answer = await login('a', 'b');
    > 23 |     expect(answer.status).toBe(401);
         |                           ^
      at Object.<anonymous> (src/auth/login.test.js:23:27)
""",
        "Test Suites: 1 failed, 300 passed, 301 total\n",
    ),
    "mocha": FailingOutput(
        "    ✓ accepts the value number {n} (12ms)",
        """
  300 passing (4s)
  1 failing

>>  1) Parser
       reads an empty document:
>>     TypeError: Cannot read property 'root' of undefined
      at Context.<anonymous> (test/parser.js:40:19)
""",
    ),
    "go": FailingOutput(
        "=== RUN   TestThing{n}\n--- PASS: TestThing{n} (0.00s)",
        """
=== RUN   TestRetry
>>    client_test.go:88: attempts = 4, want 3
>>--- FAIL: TestRetry (0.21s)
FAIL
FAIL	example.org/client	0.412s
""",
        "ok  	example.org/server	1.201s\n",
    ),
    "cargo test": FailingOutput(
        "test parser::tests::accepts_{n} ... ok",
        """
test codec::tests::round_trip ... FAILED

failures:

---- codec::tests::round_trip stdout ----
>>thread 'codec::tests::round_trip' panicked at src/codec.rs:120:9:
>>assertion `left == right` failed
  left: [1, 2, 3]
 right: [1, 2, 4]
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    codec::tests::round_trip

test result: FAILED. 412 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
""",
        "error: test failed, to rerun pass `--lib`\n",
    ),
    "rustc": FailingOutput(
        "   Compiling some-crate-{n} v1.0.{n}",
        """
>>error[E0502]: cannot borrow `list` as mutable because it is also borrowed as immutable
>>  --> src/main.rs:9:5
   |
8  |     let first = &list[0];
   |                  ---- immutable borrow occurs here
9  |     list.push(4);
   |     ^^^^^^^^^^^^ mutable borrow occurs here
""",
        'error: could not compile `app` (bin "app") due to 1 previous error\n',
    ),
    "gcc": FailingOutput(
        "gcc -O2 -Wall -Werror -Iinclude -c src/file{n}.c -o build/file{n}.o",
        """
src/table.c: In function 'table_grow':
>>src/table.c:88:17: error: implicit declaration of function 'reallocarray'
   88 |     t->slots = reallocarray(t->slots, n, sizeof *t->slots);
      |                ^~~~~~~~~~~~
cc1: all warnings being treated as errors
""",
        "make: *** [Makefile:31: build/table.o] Error 1\n",
    ),
    "linker": FailingOutput(
        "[ 41%] Building CXX object src/CMakeFiles/app.dir/file{n}.cc.o",
        """
/usr/bin/ld: CMakeFiles/app.dir/main.cc.o: in function `main':
>>main.cc:(.text+0x1d): undefined reference to `codec::open(char const*)'
collect2: error: ld returned 1 exit status
""",
        "make[1]: *** [CMakeFiles/Makefile2:83: src/CMakeFiles/app.dir/all] Error 2\n",
    ),
    "maven": FailingOutput(
        "[INFO] Running org.example.SomeTest{n}",
        """
>>[ERROR] Tests run: 4, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! - in org.example.CartTest
>>[ERROR] org.example.CartTest.addsTax  Time elapsed: 0.02 s  <<< FAILURE!
>>org.opentest4j.AssertionFailedError: expected: <119> but was: <100>
	at org.example.CartTest.addsTax(CartTest.java:42)
""",
        "[INFO] BUILD FAILURE\n[ERROR] -> [Help 1]\n",
    ),
    "gradle": FailingOutput(
        "org.example.SomeTest > case{n} PASSED",
        """
>>org.example.ClockTest > ticksOnce FAILED
>>    java.lang.AssertionError: expected:<1> but was:<2>
        at org.junit.Assert.fail(Assert.java:89)

512 tests completed, 1 failed

FAILURE: Build failed with an exception.
""",
        "* Try:\n> Run with --stacktrace option to get the stack trace.\n\nBUILD FAILED in 1m 2s\n",
    ),
    "tsc": FailingOutput(
        "Processing file src/module{n}.ts",
        """
>>src/api/client.ts(41,7): error TS2322: Type 'string' is not assignable to type 'number'.
""",
        "npm ERR! code ELIFECYCLE\nnpm ERR! errno 2\n",
    ),
    "eslint": FailingOutput(
        "linted src/module{n}.js",
        """
/srv/app/src/cart.js
>>  12:5   error    'total' is assigned a value but never used  no-unused-vars
>>  40:11  error    Unexpected console statement                no-console

>>✖ 2 problems (2 errors, 0 warnings)
""",
    ),
    "rspec": FailingOutput(
        "Cart item {n} is counted",
        """
Failures:

>>  1) Cart adds tax to the total
     Failure/Error: expect(cart.total).to eq(119)

>>       expected: 119
>>            got: 100
     # ./spec/cart_spec.rb:21:in `block (2 levels) in <top (required)>'

Finished in 2.1 seconds
301 examples, 1 failure
""",
        "Failed examples:\n\nrspec ./spec/cart_spec.rb:19 # Cart adds tax to the total\n",
    ),
    "phpunit": FailingOutput(
        "............................................................... {n} / 9000 (  1%)",
        """
There was 1 failure:

>>1) App\\Tests\\CartTest::testTotal
>>Failed asserting that 100 matches expected 119.

/srv/app/tests/CartTest.php:31

FAILURES!
""",
        "Tests: 9000, Assertions: 12000, Failures: 1.\n",
    ),
    "dotnet": FailingOutput(
        "  Passed App.Tests.CartTests.Case{n} [3 ms]",
        """
>>  Failed App.Tests.CartTests.AddsTax [12 ms]
  Error Message:
>>   Assert.Equal() Failure: Values differ
Expected: 119
Actual:   100
""",
        "Failed!  - Failed:     1, Passed:   812, Skipped:     0, Total:   813\n",
    ),
    "github actions": FailingOutput(
        "2024-05-01T10:11:12.{n:07d}Z Downloading package-{n}.tar.gz (12 kB)",
        """
2024-05-01T10:12:12.0000001Z ##[group]Run make deploy
2024-05-01T10:12:12.0000002Z ##[endgroup]
>>2024-05-01T10:12:13.0000003Z deploy: permission denied for role "deployer" on table releases
>>2024-05-01T10:12:13.0000004Z ##[error]Process completed with exit code 3.
""",
        "2024-05-01T10:12:14.0000000Z Post job cleanup.\n",
    ),
    "terraform": FailingOutput(
        "aws_instance.node[{n}]: Refreshing state... [id=i-{n}]",
        """
>>Error: creating EC2 Instance: InvalidParameterValue: Value (t9.nano) for parameter instanceType is invalid

  with aws_instance.web,
  on main.tf line 12, in resource "aws_instance" "web":
  12: resource "aws_instance" "web" {
""",
    ),
    "docker build": FailingOutput(
        "#8 {n}.1 Get:{n} http://deb.example.org/debian stable/main amd64 Packages",
        """
>>#9 12.44 E: Unable to locate package libfoo-dev
#9 ERROR: process "/bin/sh -c apt-get install -y libfoo-dev" did not complete successfully: exit code: 100
------
 > [3/5] RUN apt-get install -y libfoo-dev:
------
""",
        "ERROR: failed to solve: process did not complete successfully: exit code: 100\n",
    ),
    "ansible": FailingOutput(
        "ok: [host{n}]",
        """
TASK [install the package] *****************************************************
>>fatal: [web1]: FAILED! => {"changed": false, "msg": "No package matching 'foo' is available"}
""",
        "PLAY RECAP *********************************************************************\n",
    ),
    "pip": FailingOutput(
        "Requirement already satisfied: package-{n} in ./lib (from -r req.txt (line {n})) (1.{n})",
        """
>>ERROR: Could not find a version that satisfies the requirement foo==9.9 (from versions: 1.0, 1.1)
ERROR: No matching distribution found for foo==9.9
""",
    ),
    "node": FailingOutput(
        "[build] bundled chunk {n} in 12ms",
        """
node:internal/modules/cjs/loader:1080
  throw err;
  ^

>>Error: Cannot find module 'left-pad'
Require stack:
- /srv/app/index.js
    at Module._resolveFilename (node:internal/modules/cjs/loader:1077:15)
    at Module._load (node:internal/modules/cjs/loader:922:27)
""",
        "\nNode.js v20.11.0\n",
    ),
    "bazel": FailingOutput(
        "INFO: From Compiling pkg/file{n}.cc:",
        """
>>ERROR: /srv/ws/pkg/BUILD:12:10: Compiling pkg/table.cc failed: (Exit 1): gcc failed
>>pkg/table.cc:3:10: fatal error: 'missing.h' file not found
""",
        "INFO: Elapsed time: 12.1s\nFAILED: Build did NOT complete successfully\n",
    ),
    "ctest": FailingOutput(
        "  {n}/900 Test  #{n}: case_{n} ...................   Passed    0.01 sec",
        """
>>901/902 Test #901: round_trip .................***Failed    0.31 sec

99% tests passed, 1 tests failed out of 902

The following tests FAILED:
>>	901 - round_trip (Failed)
""",
        "Errors while running CTest\n",
    ),
    "sbt": FailingOutput(
        "[info] - accepts case {n}",
        """
>>[info] - adds tax *** FAILED ***
>>[info]   100 did not equal 119 (CartSpec.scala:21)
[error] Failed tests:
[error] 	example.CartSpec
""",
        "[error] (Test / test) sbt.TestsFailedException: Tests unsuccessful\n",
    ),
    "postgres migration": FailingOutput(
        "2024-05-01 10:00:00.{n:03d} UTC [71] LOG:  checkpoint complete: wrote {n} buffers",
        """
>>2024-05-01 10:00:01.120 UTC [90] ERROR:  relation "orders" does not exist at character 15
2024-05-01 10:00:01.120 UTC [90] STATEMENT:  ALTER TABLE orders ADD COLUMN note text
""",
    ),
    "python service": FailingOutput(
        "2024-05-01 10:00:00,{n:03d} INFO worker: job {n} done",
        """
2024-05-01 10:00:01,120 ERROR worker: job 77 failed
Traceback (most recent call last):
  File "/srv/worker.py", line 40, in run
    handle(job)
  File "/srv/worker.py", line 71, in handle
    raise KeyError(job.name)
>>KeyError: 'resize'
""",
    ),
    "mypy": FailingOutput(
        "LOG:  Parsing /srv/app/module_{n}.py (app.module_{n})",
        """
>>app/cart.py:31: error: Argument 1 to "add" has incompatible type "str"; expected "int"  [arg-type]
""",
        "Found 1 error in 1 file (checked 400 source files)\n",
    ),
    "tap": FailingOutput(
        "ok {n} - accepts case {n}",
        """
>>not ok 801 - adds tax
  ---
    operator: equal
>>    expected: 119
>>    actual:   100
  ...
""",
        "# tests 801\n# pass 800\n# fail 1\n",
    ),
    "elixir": FailingOutput(
        "Compiling lib/module_{n}.ex (it's taking more than 10s)",
        """
>>  1) test adds tax (CartTest)
     test/cart_test.exs:12
>>     Assertion with == failed
     code:  assert Cart.total(cart) == 119
>>     left:  100
     right: 119
""",
        "Finished in 0.5 seconds\n301 tests, 1 failure\n",
    ),
    "go build": FailingOutput(
        "go: downloading example.org/mod{n} v1.0.{n}",
        """
# example.org/app
>>./main.go:12:9: undefined: codec.Open
>>./main.go:15:2: declared and not used: err
""",
    ),
    "go panic": FailingOutput(
        "2024/05/01 10:00:00 served request {n}",
        """
>>panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
main.pick(...)
>>	/srv/app/main.go:9
main.main()
	/srv/app/main.go:14 +0x1d
""",
        "exit status 2\n",
    ),
    "java service": FailingOutput(
        "10:00:00.{n:03d} [worker-1] INFO  o.e.Worker - job {n} done",
        """
>>Exception in thread "main" java.lang.IllegalStateException: no connection
	at org.example.Pool.take(Pool.java:31)
	at org.example.Main.main(Main.java:9)
>>Caused by: java.net.ConnectException: Connection refused
	... 2 more
""",
    ),
    "shell": FailingOutput(
        "processed record {n}",
        """
>>./deploy.sh: line 12: kubectl: command not found
""",
    ),
    "git push": FailingOutput(
        "remote: Resolving deltas: {n}% (1/9)",
        """
>> ! [rejected]        main -> main (non-fast-forward)
>>error: failed to push some refs to 'example.org:app.git'
hint: Updates were rejected because the tip of your current branch is behind
""",
    ),
    "kubernetes": FailingOutput(
        "I0501 10:00:00.{n:06d}       1 controller.go:100] synced item {n}",
        """
>>E0501 10:00:01.000000       1 controller.go:114] error syncing "web": Deployment.apps "web" is invalid
""",
    ),
    "prettier": FailingOutput(
        "src/module{n}.js 12ms",
        """
Checking formatting...
>>[warn] src/cart.js
>>[warn] Code style issues found in the above file. Run Prettier with --write to fix.
""",
        "error Command failed with exit code 1.\n",
    ),
    "vitest": FailingOutput(
        " ✓ src/widget{n}.test.ts (3 tests) 12ms",
        """
 FAIL  src/cart.test.ts > cart > adds tax
>>AssertionError: expected 100 to be 119 // Object.is equality
 ❯ src/cart.test.ts:12:24
     10|   test('adds tax', () => {
""",
        " Test Files  1 failed | 300 passed (301)\n",
    ),
    "swift": FailingOutput(
        "Test Case 'AppTests.test{n}' passed (0.001 seconds).",
        """
>>/srv/app/Tests/CartTests.swift:12: error: -[AppTests.CartTests testTax] : XCTAssertEqual failed: ("100") is not equal to ("119")
Test Case '-[AppTests.CartTests testTax]' failed (0.002 seconds).
""",
    ),
    "perl": FailingOutput(
        "t/case{n}.t ........ ok",
        """
>>#   Failed test 'adds tax'
>>#   at t/cart.t line 12.
#          got: '100'
#     expected: '119'
t/cart.t ......... Dubious, test returned 1 (wstat 256, 0x100)
""",
        "Result: FAIL\n",
    ),
    "haskell": FailingOutput(
        "  case {n} is accepted",
        """
  adds tax FAILED [1]

Failures:

  test/CartSpec.hs:12:5:
>>  1) Cart adds tax
>>       expected: 119
>>        but got: 100
""",
        "300 examples, 1 failure\n",
    ),
    "erlang": FailingOutput(
        "Testing app.suite: TEST COMPLETE, {n} ok, 0 failed of {n}",
        """
- - - - - - - - - - - - - - - - - - - - - - - - - -
>>cart_SUITE:adds_tax failed on line 12
>>Reason: {badmatch,100}
- - - - - - - - - - - - - - - - - - - - - - - - - -
""",
    ),
    "helm": FailingOutput(
        "Pulled image layer {n}",
        """
>>Error: UPGRADE FAILED: timed out waiting for the condition
""",
    ),
    "systemd": FailingOutput(
        "May 01 10:00:00 host app[{n}]: heartbeat {n}",
        """
>>May 01 10:00:01 host systemd[1]: app.service: Main process exited, code=killed, status=9/KILL
May 01 10:00:01 host systemd[1]: app.service: Failed with result 'signal'.
""",
    ),
}
