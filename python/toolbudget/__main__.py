"""``python -m toolbudget`` is the command ``toolbudget``."""

from __future__ import annotations

import sys

from toolbudget.cli import main

sys.exit(main())
