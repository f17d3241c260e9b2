"""Which lines of a history have room: the newest, and of the older ones those that say most."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage._core import TokenCounter

_GAP = re.compile(r"^\[([\d,]+) older lines have no room here\]$")

# A line about failures, or what an analysis found, whatever tool it is from.
_FINDS = re.compile(
    r": failed: |\b[1-9][\d,]* (?:failed|ERROR|CRITICAL|FATAL|ALERT|EMERGENCY)\b"
    r'|(?:root_cause|\bbottleneck|\banomalies)"?: (?!0\b|null|""|\[\]|\{\})'
)

_ASKED = "• User: "

# What the newest lines take before older ones that say more are looked at: what happened last is
# what the next step goes on from.
_NEWEST = 0.6

# Findings of a history that are named: the document's number.
_FINDINGS = 10


def fitting(lines: Sequence[str], tokens: int, counter: TokenCounter) -> str:
    """The lines that have room, in their order, and how many do not.

    The newest come first; then the first request of all, what else users asked, and words that are
    no bullet, such as a summary that was there before; then what failed, then the rest, the newest
    first.
    """
    left_out = sum(_number(line) for line in lines)
    known = [line for line in lines if not _GAP.match(line)]
    sizes = [counter.count(line) + 1 for line in known]
    if not left_out and sum(sizes) <= tokens:
        return "\n".join(known)
    rest = tokens - counter.count(_gap(left_out + len(known))) - 1
    kept: set[int] = set()
    newest = rest * _NEWEST
    for place in reversed(range(len(known))):
        newest -= sizes[place]
        if newest < 0:
            break
        kept.add(place)
        rest -= sizes[place]
    first = next((place for place, line in enumerate(known) if line.startswith(_ASKED)), None)
    others = [place for place in reversed(range(len(known))) if place not in kept]
    for place in sorted(others, key=lambda place: -1 if place == first else _rank(known[place])):
        if sizes[place] <= rest:
            kept.add(place)
            rest -= sizes[place]
    left_out += len(known) - len(kept)
    shown = [known[place] for place in sorted(kept)]
    return "\n".join([_gap(left_out), *shown] if left_out else shown)


def findings_in(text: str) -> list[str]:
    """The newest lines of a summary that report a failure, a cause, a bottleneck or anomalies."""
    found = [line.strip(" •└") for line in text.splitlines() if _FINDS.search(line)]
    return found[-_FINDINGS:]


def _rank(line: str) -> int:
    """The less, the more a line says."""
    if line.startswith(_ASKED) or not line.startswith(("• ", "  └ ")):
        return 0
    return 1 if _FINDS.search(line) else 2


def _gap(lines: int) -> str:
    return f"[{lines:,} older lines have no room here]"


def _number(line: str) -> int:
    found = _GAP.match(line)
    return int(found[1].replace(",", "")) if found else 0
