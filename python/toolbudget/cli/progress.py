"""A progress bar on standard error, and only if that is a terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from toolbudget.cli.reading import ignore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import rich.progress

    from toolbudget.cli.reading import OnRead

__all__ = ["Progress", "show_count", "show_progress"]


class Progress:
    """Shows one stage of the work after the other; without a bar it does nothing."""

    def __init__(self, bar: rich.progress.Progress | None = None) -> None:
        """Take the bar to draw on."""
        self._bar = bar

    def begin(self, stage: str, total_bytes: int) -> OnRead:
        """Begin a stage; what is returned is told of each piece that is done."""
        bar = self._bar
        if bar is None:
            return ignore
        for task in bar.task_ids:
            bar.remove_task(task)
        task = bar.add_task(stage, total=total_bytes)
        return lambda done_bytes: bar.advance(task, done_bytes)

    def say(self, note: str) -> None:
        """Print a note to standard error; a bar is drawn below it."""
        if self._bar is None:
            click.echo(note, err=True)
            return
        self._bar.console.print(note, markup=False, highlight=False, emoji=False, soft_wrap=True)


@contextmanager
def show_progress() -> Iterator[Progress]:
    """Show progress as long as the context lasts; nothing of it stays on the screen."""
    if not sys.stderr.isatty():
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Progress(bar)


@contextmanager
def show_count(stage: str, total: int | None = None) -> Iterator[Callable[[], object]]:
    """Show how many things are done; what is given is called after each."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(stage, total=total)
        yield lambda: bar.advance(task)
