"""How large a value is, without writing it out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

# What stands around and between things in JSON: two quotes or brackets, and a comma or colon.
_AROUND = 2
_BETWEEN = 1

# More than any string, so that no size stops the count.
_NO_LIMIT = 2**63

# Values that are looked at. A list that holds itself would have no end, and what has more than
# this is larger than any limit.
_MOST_STEPS = 1_000_000


def characters(value: Any, limit: int = _NO_LIMIT) -> int:
    """About the characters that a value takes as JSON; a number above ``limit`` once it is above.

    Costs a step for each value inside, up to the limit and up to a million; strings are not read.
    """
    size = 0
    steps = 0
    left = [value]
    while left and steps < _MOST_STEPS:
        steps += 1
        item = left.pop()
        if isinstance(item, (str, bytes)):
            size += len(item) + _AROUND
        elif isinstance(item, dict):
            size += _AROUND + 2 * _BETWEEN * len(item)
            if size + len(item) > limit:
                return size + len(item)
            left.extend(item)
            left.extend(item.values())
        elif isinstance(item, (list, tuple)):
            size += _AROUND + _BETWEEN * len(item)
            if size > limit:
                return size
            left.extend(item)
        else:
            size += len(str(item))
        if size > limit:
            return size
    return size


def preview(value: Any, length: int) -> str:
    """The first characters of a value as JSON; no more is written than that."""
    written: list[str] = []
    size = 0
    try:
        for piece in _pieces(value, length):
            written.append(piece)
            size += len(piece)
            if size >= length:
                break
    except RecursionError:
        # Nested deeper than anybody reads.
        written.append("...")
    return "".join(written)[:length]


def _pieces(value: Any, length: int) -> Iterator[str]:
    """The value as JSON, in pieces of at most ``length`` characters of the value."""
    if isinstance(value, str):
        yield json.dumps(value[:length], ensure_ascii=False)
    elif isinstance(value, dict):
        before = "{"
        for key, item in value.items():
            yield f"{before}{json.dumps(str(key)[:length], ensure_ascii=False)}: "
            yield from _pieces(item, length)
            before = ", "
        yield "}" if value else "{}"
    elif isinstance(value, (list, tuple)):
        before = "["
        for item in value:
            yield before
            yield from _pieces(item, length)
            before = ", "
        yield "]" if value else "[]"
    elif value is None or isinstance(value, (bool, int, float)):
        yield json.dumps(value)
    else:
        yield str(value)[:length]
