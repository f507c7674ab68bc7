"""What a loss of power may leave of a file system in memory."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from tests.faults.model_files import ModelFiles
from tests.faults.model_nodes import Directory, File, Node, SymbolicLink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

__all__ = ["crash_images", "durable_image", "sampled_images", "snapshot"]

Snapshot: TypeAlias = tuple[tuple[str, object], ...]


def crash_images(files: ModelFiles) -> Iterator[ModelFiles]:
    """Yield every disk that a crash at this moment may leave, each once.

    The first is the one on which nothing has lasted that was not synced.
    """
    seen: set[Snapshot] = set()
    possibilities: dict[Node, list[bytes]] = {}
    path: _Path | None = _Path()
    while path is not None:
        image = _Image(path.choose, possibilities).of(files)
        shot = snapshot(image)
        if shot not in seen:
            seen.add(shot)
            yield image
        path = path.next()


def sampled_images(files: ModelFiles, number: int, random: Random) -> tuple[list[ModelFiles], bool]:
    """Return all images of a crash if there are not more than a number, else so many of them.

    Returns:
        The images, that on which least has lasted among them, and whether these are all.
    """
    images = list(islice(crash_images(files), number + 1))
    if len(images) <= number:
        return images, True
    chosen = {snapshot(images[0]): images[0]}
    possibilities: dict[Node, list[bytes]] = {}
    for _ in range(2 * number):
        image = _Image(random.randrange, possibilities).of(files)
        chosen.setdefault(snapshot(image), image)
    return list(chosen.values())[:number], False


def durable_image(files: ModelFiles) -> ModelFiles:
    """Return the disk on which only that has lasted which is certain to last."""
    return _Image(lambda _options: 0, {}).of(files)


def snapshot(files: ModelFiles) -> Snapshot:
    """Return all names and contents as they are now, to be compared."""
    return _snapshot_below(files.top)


def _snapshot_below(directory: Directory) -> Snapshot:
    return tuple((name, _content(node)) for name, node in sorted(directory.entries.items()))


def _content(node: Node) -> object:
    if isinstance(node, File):
        return node.content
    return _snapshot_below(node) if isinstance(node, Directory) else (node.target,)


class _Image:
    """One way for everything to turn out; ``choose`` picks one of so many possibilities."""

    def __init__(
        self, choose: Callable[[int], int], possibilities: dict[Node, list[bytes]]
    ) -> None:
        self._choose = choose
        self._possibilities = possibilities
        self._copies: dict[Node, Node] = {}

    def of(self, files: ModelFiles) -> ModelFiles:
        """Return a disk on which everything is durable."""
        return ModelFiles(self._directory(files.top), has_unnamed=files.has_unnamed)

    def _directory(self, directory: Directory) -> Directory:
        image = Directory()
        for name, options in directory.possibilities().items():
            node = options[self._pick(len(options))]
            if node is not None:
                image.put(name, self._copy(node))
        image.sync()
        return image

    def _copy(self, node: Node) -> Node:
        # A file with several names has the same content under each.
        if node not in self._copies:
            self._copies[node] = self._new_copy(node)
        return self._copies[node]

    def _new_copy(self, node: Node) -> Node:
        if isinstance(node, Directory):
            return self._directory(node)
        if isinstance(node, SymbolicLink):
            return SymbolicLink(node.target)
        if node not in self._possibilities:
            self._possibilities[node] = node.possibilities()
        contents = self._possibilities[node]
        return File(contents[self._pick(len(contents))])

    def _pick(self, options: int) -> int:
        return self._choose(options) if options > 1 else 0


class _Path:
    """A sequence of choices, the first ones given, all others the first possibility."""

    def __init__(self, given: tuple[int, ...] = ()) -> None:
        self._given = given
        self._made: list[tuple[int, int]] = []

    def choose(self, options: int) -> int:
        """Make the next choice."""
        step = len(self._made)
        choice = self._given[step] if step < len(self._given) else 0
        self._made.append((choice, options))
        return choice

    def next(self) -> _Path | None:
        """Return the path after this one, which has been followed to its end."""
        made = list(self._made)
        while made:
            choice, options = made.pop()
            if choice + 1 < options:
                return _Path((*(earlier for earlier, _ in made), choice + 1))
        return None
