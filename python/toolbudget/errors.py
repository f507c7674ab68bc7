"""The exceptions of this package.

::

    ToolBudgetError
    ├── ConfigError          (also ValueError)   a limit, path or option that cannot be used
    ├── InvalidMessageError  (also ValueError)   input that cannot be a message list or body
    ├── StoreError           (also OSError)      a full text that could not be written
    │   └── StoreQuotaError                      one for which the quota leaves no room
    ├── TranscriptError                          a transcript that cannot be read or written
    └── ToolError                                a tool that could not do what it was asked
        └── ToolInputError   (also ValueError)   an input that the tool cannot take

They live in a module of their own so that every layer can raise them without an import circle.

Example:
    >>> import toolbudget
    >>> try:
    ...     toolbudget.Limits(preview_bytes=-1)
    ... except toolbudget.ToolBudgetError as error:
    ...     print(type(error).__name__)
    ConfigError
"""

from __future__ import annotations

__all__ = [
    "ConfigError",
    "InvalidMessageError",
    "StoreError",
    "StoreQuotaError",
    "ToolBudgetError",
    "ToolError",
    "ToolInputError",
    "TranscriptError",
]


class ToolBudgetError(Exception):
    """Base of everything this package raises on purpose.

    Example:
        >>> import toolbudget
        >>> issubclass(toolbudget.ConfigError, toolbudget.ToolBudgetError)
        True
    """


class ConfigError(ToolBudgetError, ValueError):
    """A limit, path or option cannot be used; nothing has been changed.

    The message names the field, the value and where the value came from.

    Example:
        >>> import toolbudget
        >>> toolbudget.Limits(max_result_chars=0)
        Traceback (most recent call last):
            ...
        toolbudget.errors.ConfigError: max_result_chars (argument) must be a positive number: 0
    """


class InvalidMessageError(ToolBudgetError, ValueError):
    """The input cannot be a message list; the message names the index or byte offset.

    Example:
        >>> import toolbudget
        >>> toolbudget.collect_candidates_by_message([42])
        Traceback (most recent call last):
            ...
        toolbudget.errors.InvalidMessageError: message 0 is neither a mapping nor a message ...
    """


class StoreError(ToolBudgetError, OSError):
    """A full text could not be stored; the message ends with the operating system's reason.

    ``errno`` is the operating system's number where there is one.

    Example:
        >>> import errno
        >>> from toolbudget import StoreError
        >>> StoreError(errno.ENOSPC, "cannot store result 'toolu_1'").errno == errno.ENOSPC
        True
    """


class StoreQuotaError(StoreError):
    """A full text was not stored: the folder would hold more than the host allows.

    The message says how many bytes are taken, of how many, and how many do not fit.

    Example:
        >>> from toolbudget import DirectoryStore, StoreQuotaError
        >>> store = DirectoryStore("results", max_stored_bytes=10)
        >>> try:
        ...     store.put("toolu_01", "eleven bytes")
        ... except StoreQuotaError as error:
        ...     print(error.strerror.rpartition(": ")[2])
        0 of at most 10 bytes are taken, 12 more do not fit
    """


class TranscriptError(ToolBudgetError):
    """A transcript cannot be read, or belongs to another program and must not be written.

    Example:
        >>> import toolbudget
        >>> issubclass(toolbudget.TranscriptError, toolbudget.ToolBudgetError)
        True
    """


class ToolError(ToolBudgetError):
    """A tool could not do what it was asked; the message is for the model that asked.

    Example:
        >>> from toolbudget.errors import ToolError
        >>> try:
        ...     raise ToolError("no such file: 'notes.txt'")
        ... except ToolError as error:
        ...     block = {"type": "tool_result", "tool_use_id": "t1", "content": str(error)}
        >>> block["content"]
        "no such file: 'notes.txt'"
    """


class ToolInputError(ToolError, ValueError):
    """A tool cannot take the input that it was given; nothing has been done.

    The message names the tool, the parameter and the value, so that the model can put it right.

    Example:
        >>> from toolbudget.errors import ToolError, ToolInputError
        >>> issubclass(ToolInputError, ToolError) and issubclass(ToolInputError, ValueError)
        True
    """
