"""The claims in tables of the documentation, and the tests that they name."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A test as a page names it: its name, which leads to its file.
NAMED = re.compile(r"\[`(\w+)`\]\((?:\.\./)*(tests/\S+?\.(?:py|rs))\)")


def named_in(text: str) -> list[tuple[str, str]]:
    """The names of the tests, each with its file."""
    return NAMED.findall(text)


def missing(text: str) -> list[str]:
    """The tests that a page names and that are not where it says."""
    return [
        f"{file} has no {name}"
        for name, file in named_in(text)
        if not re.search(rf"\b(?:def|fn) {name}\(", (ROOT / file).read_text(encoding="utf-8"))
    ]


def rows_of(text: str) -> list[str]:
    """The rows of the tables whose last column is "shown by"."""
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    return [row for row in rows if not row.endswith("| shown by |")]
