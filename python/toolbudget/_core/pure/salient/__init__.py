"""The preview style ``salient``: the lines of a log that say what went wrong.

One pass scores every line (``scan`` > ``severity`` > ``role``), findings are put into an order
(``rank``), and a page is filled with them and the lines around them (``preview`` > ``page``,
``around``). Nothing but the text and the limit takes part; time is linear in the text, and memory
beyond the text is bounded.
"""

from __future__ import annotations

from toolbudget._core.pure.salient.preview import salient_preview

__all__ = ["salient_preview"]
