"""Key words: what an explanation asks for, and whether a word of a text is one of them."""

from __future__ import annotations

import importlib
import re
from functools import cache, lru_cache
from typing import Final, Protocol

__all__ = ["KeyWords", "key_words", "stem"]

# The parts of identifiers: `HTTPServer` is HTTP and Server, `utf8_name` is utf, 8 and name. In
# scripts without capitals a run of letters is one word.
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_LEAST_CHARS: Final = 2
# Stems differ from their words in the last letters only.
_SURE_CHARS: Final = 3
_KEPT_STEMS: Final = 20_000
# Longer ones are no words; a whole line may look like one.
_MAX_WORD_CHARS: Final = 60

# English words that say nothing about what is looked for; verbs of asking among them.
_STOP_WORDS_TEXT: Final = """
a about above add after again all also am an and any are as at be because been before being below
between both but by can cannot check could did do does doing done down during each explain few
find for from further get give had has have having he her here hers him his how i if in into is it
its itself just know let like line lines look looking made make me more most must my need no nor
not now of off on once only or other our out over own please same see she should show so some such
tell than that the their them then there these they this those through to too under understand
until up us use used uses using very want was way we were what when where whether which while who
whom why will with would you your
"""
_STOP_WORDS: Final = frozenset(_STOP_WORDS_TEXT.split())


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - the library's name


@cache
def _stemmer() -> _Stemmer:
    # The class itself: `snowballstemmer.stemmer` takes another implementation where one is there.
    module = importlib.import_module("snowballstemmer.english_stemmer")
    stemmer: _Stemmer = module.EnglishStemmer()
    return stemmer


@lru_cache(maxsize=_KEPT_STEMS)
def stem(word: str) -> str:
    """Give what the forms of an English word have in common, in lower case.

    Example:
        >>> stem("Parsing"), stem("parsers"), stem("404")
        ('pars', 'parser', '404')
    """
    return _stemmer().stemWord(word.lower())


def key_words(explanation: str) -> tuple[str, ...]:
    """Give the stems of the words that an explanation is about, each once, in its order.

    Identifiers are split into their words; stop words and single characters are dropped.

    Example:
        >>> key_words("How does parseTokenBudget() handle the currency signs?")
        ('pars', 'token', 'budget', 'handl', 'currenc', 'sign')
    """
    words = (word for word in _PARTS.findall(explanation) if _says_something(word))
    return tuple(dict.fromkeys(map(stem, words)))


def _says_something(word: str) -> bool:
    return _LEAST_CHARS <= len(word) <= _MAX_WORD_CHARS and word.lower() not in _STOP_WORDS


class KeyWords:
    """Finds words of an explanation in lines, in any case and any form.

    Example:
        >>> key_words = KeyWords(("pars", "token"))
        >>> [key_words.found_in(line) for line in ("def parseIt():", "TOKENS, parsed", "sparse")]
        [1, 3, 0]
    """

    def __init__(self, stems: tuple[str, ...]) -> None:
        """Take at least one stem."""
        self._bits = {part: 1 << index for index, part in enumerate(stems)}
        # Most lines hold nothing: only the others are taken apart.
        any_of = "|".join(sorted({re.escape(_sure_part(part)) for part in stems}))
        self._may_hold = re.compile(any_of, re.IGNORECASE)

    def found_in(self, line: str) -> int:
        """Tell which words a line holds: one bit for each, in the order of the stems."""
        if self._may_hold.search(line) is None:
            return 0
        found = 0
        for part in _PARTS.findall(line):
            if len(part) <= _MAX_WORD_CHARS:
                found |= self._bits.get(stem(part), 0)
        return found


def _sure_part(part: str) -> str:
    return part[:-1] if part[-1] in "iy" and len(part) > _SURE_CHARS else part
