"""Numbers and types in sentences."""

from __future__ import annotations

from typing import Any


def many(count: int, noun: str) -> str:
    """Returns a number with its noun, such as "1 message" or "2,000 messages"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def type_of(value: Any) -> str:
    """Returns the type of a value with its article, such as "an int"."""
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiouAEIO" else f"a {name}"
