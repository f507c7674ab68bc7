"""Where tables are printed: what is piped elsewhere has no blanks at the end of its lines."""

from __future__ import annotations

import re
import sys
from typing import IO, TYPE_CHECKING, Final, cast

from rich.console import Console

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["open_console"]

_END_OF_LINE: Final = re.compile(r" +(?=\n)")


def open_console() -> Console:
    """Return where tables are printed; no text of a transcript's is taken for markup."""
    out = sys.stdout
    file = None if out.isatty() else cast("IO[str]", _Trimmed(out))
    return Console(file=file, highlight=False, markup=False, emoji=False)


class _Trimmed:
    """A stream that drops the blanks with which a table is filled up to its width."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.encoding = stream.encoding

    def write(self, text: str) -> int:
        self._stream.write(_END_OF_LINE.sub("", text))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return False
