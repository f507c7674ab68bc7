"""Makes ``session.jsonl``: a session of an agent with large tool results, wholly invented.

The story is told by the modules in ``nightly/``. Nothing in it depends on chance, the clock or the
machine: running this again gives the same bytes. From the project's folder:

    python -m examples.make_session [FILE]
"""

from __future__ import annotations

import sys
from pathlib import Path

from examples.nightly.story import tell


def main(arguments: list[str]) -> None:
    """Write the session to the file that is named, else beside this script."""
    path = Path(arguments[0]) if arguments else Path(__file__).with_name("session.jsonl")
    session = tell().encode()
    path.write_bytes(session)
    print(f"{path}: {len(session):,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
