"""A clock that is started by hand and moves only when it is told to."""

from __future__ import annotations

from datetime import datetime, timedelta

__all__ = ["Clock"]


class Clock:
    """Gives the time stamps of one log."""

    def __init__(self, start: str) -> None:
        self._now = datetime.fromisoformat(start)

    def tick(self, milliseconds: int) -> datetime:
        """Move on, and give the new time."""
        self._now += timedelta(milliseconds=milliseconds)
        return self._now

    def stamp(self, milliseconds: int) -> str:
        """Move on, and write the new time as most logs do: ``2026-03-14T02:31:04.118Z``."""
        return self.tick(milliseconds).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
