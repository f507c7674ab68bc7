"""The languages that outlines are made of, and the names and file suffixes they go by."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from toolbudget.limits.validation import ARGUMENT, config_error
from toolbudget.pruning._checks import checked_text

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["LANGUAGES", "language_of_path", "resolve_language"]

# Suffixes first, then other names; all in lower case and without the dot.
_NAMES: Final = {
    "bash": (("sh", "bash", "zsh", "ksh"), ("shell",)),
    "c": (("c",), ()),
    "cpp": (("cpp", "cc", "cxx", "h", "hh", "hpp", "hxx", "c++", "h++", "ipp", "inl"), ()),
    "csharp": (("cs",), ("c#", "c_sharp", "c-sharp")),
    "go": (("go",), ("golang",)),
    "java": (("java",), ()),
    "javascript": (("js", "jsx", "mjs", "cjs"), ("node",)),
    "kotlin": (("kt", "kts"), ()),
    "php": (("php", "phtml"), ()),
    "python": (("py", "pyi", "pyw"), ("python3",)),
    "ruby": (("rb", "rake", "gemspec"), ()),
    "rust": (("rs",), ()),
    "swift": (("swift",), ()),
    "tsx": (("tsx",), ()),
    "typescript": (("ts", "mts", "cts"), ()),
}
_FILE_NAMES: Final = {"gemfile": "ruby", "rakefile": "ruby", ".bashrc": "bash", ".profile": "bash"}

LANGUAGES: Final = tuple(_NAMES)
"""The names of the known languages, in alphabetical order."""

_BY_SUFFIX: Final = {
    suffix: language for language, (suffixes, _) in _NAMES.items() for suffix in suffixes
}
_BY_NAME: Final = {
    **_BY_SUFFIX,
    **{name: language for language, (_, names) in _NAMES.items() for name in (language, *names)},
}


def resolve_language(language: str) -> str:
    """Give the name of a language that is named in one of several ways.

    Args:
        language: A name, another name or a file suffix, in any case, with or without the dot.
            ``h`` is taken for C++, which reads the headers of C too.

    Raises:
        ConfigError: No known language is named; the message lists them.

    Example:
        >>> from toolbudget.pruning import resolve_language
        >>> resolve_language("py"), resolve_language(".TSX"), resolve_language("C#")
        ('python', 'tsx', 'csharp')
    """
    name = checked_text(language, "language").strip().lower().removeprefix(".")
    if name not in _BY_NAME:
        known = f"one of {', '.join(LANGUAGES)}, or a file suffix of one"
        raise config_error("language", ARGUMENT, known, language)
    return _BY_NAME[name]


def language_of_path(path: str | PathLike[str]) -> str | None:
    """Tell the language of a file by its name; the file need not exist.

    Returns:
        One of :data:`LANGUAGES`, or ``None`` for any other file.

    Raises:
        ConfigError: ``path`` is no path.

    Example:
        >>> from toolbudget.pruning import language_of_path
        >>> language_of_path("src/app.module.ts"), language_of_path("notes.md")
        ('typescript', None)
    """
    try:
        name = PurePath(path).name.lower()
    except TypeError as error:
        raise config_error("path", ARGUMENT, "a path", path) from error
    if name in _FILE_NAMES:
        return _FILE_NAMES[name]
    return _BY_SUFFIX.get(PurePath(name).suffix.removeprefix("."))
