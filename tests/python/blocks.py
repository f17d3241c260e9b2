"""The blocks of code in the pages of the documentation."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text_of(page: str) -> str:
    """The text of a page, by its path in the project."""
    return (ROOT / page).read_text(encoding="utf-8")
