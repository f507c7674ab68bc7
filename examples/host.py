"""A host's loop with a budget in it: real tools, a scripted model, no network.

Run it with ``python examples/host.py [FOLDER]``; without a folder it cleans up after itself.
"""

from __future__ import annotations

import json
import sys
import tempfile
from typing import Final

from toolbudget import Session

# What the model asks for, turn by turn; calls of one turn run in parallel, the last turn has none.
# The first turn's results are together too much, the second turn's first one is so by itself.
SCRIPT: Final = [
    [("factor_table", 2_600), ("factor_table", 2_700), ("factor_table", 2_800)] * 2,
    [("list_primes", 120_000), ("list_primes", 300)],
    [],
]


def list_primes(below: int) -> str:
    """List the primes below a number, one a line."""
    is_prime = [False, False, *[True] * (below - 2)]
    for base in range(2, int(below**0.5) + 1):
        if is_prime[base]:
            is_prime[base * base :: base] = [False] * len(range(base * base, below, base))
    return "\n".join(str(number) for number in range(below) if is_prime[number])


def factor_table(below: int) -> str:
    """Write the small divisors of all numbers below a number, one number a line."""
    return "\n".join(f"{n}: {[d for d in range(2, 30) if n % d == 0]}" for n in range(below))


TOOLS: Final = {"list_primes": list_primes, "factor_table": factor_table}


def converse(session: Session) -> tuple[list[object], bytes]:
    """Run the script; give the history as the host keeps it, and the last request's bytes."""
    history: list[object] = [{"role": "user", "content": "Tell me about some numbers."}]
    last_request, produced_chars = b"[]", 0
    for turn, asked in enumerate(SCRIPT, start=1):
        request = json.dumps(session.enforce(history)).encode()  # the only thing to send
        keeps_prefix = request.startswith(last_request.removesuffix(b"]"))
        print(f"request {turn}: {produced_chars:,} characters of results so far, ", end="")
        print(f"{len(request):,} bytes to send; begins as the last one: {keeps_prefix}")
        last_request = request
        calls: list[object] = []
        results: list[object] = []
        for index, (name, below) in enumerate(asked):
            call_id = f"call_{turn}_{index}"
            arguments = {"below": below}
            calls.append({"type": "tool_use", "id": call_id, "name": name, "input": arguments})
            output = TOOLS[name](**arguments)
            produced_chars += len(output)
            result = {"type": "tool_result", "tool_use_id": call_id, "content": output}
            results.append(session.gate(result, tool_name=name))
        if calls:
            history.append({"role": "assistant", "content": calls})
            history.append({"role": "user", "content": results})
    return history, last_request


def main(root: str) -> None:
    """Hold the conversation, then open it again as after a crash."""
    with Session.open(root, "numbers") as session:
        history, last_request = converse(session)
        for tool_use_id in session.state.replacements:
            print(f"stored in full: {session.result_path(tool_use_id)}")
    with Session.open(root, "numbers") as session:
        request = json.dumps(session.enforce(history)).encode()
        print(f"reopened: the same {len(request):,} bytes: {request == last_request}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(folder)
