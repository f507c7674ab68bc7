"""The preview style ``json``: what a JSON text is made of, with parts of it as examples.

The text is read forward, value by value (``reader``), and written with less of everything: of a
list the first and the last items, of an object the first keys, of a string its beginning, and deep
values as counts (``preview``). How much of each is tried from plenty to little until the page
fits; a try ends as soon as it is too long. Items in the middle are skipped, the last ones are read
again from where they begin, so memory does not grow with the text and time is linear in it.

What is shown is JSON again, with what is left out told in strings, under a note that says so. A
text may end anywhere, hold several values (as JSON Lines do), or go on with something else.
"""

from __future__ import annotations

from toolbudget._core.pure.json_style.preview import json_preview

__all__ = ["json_preview"]
