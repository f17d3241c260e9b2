"""Finds a text that every match of a regular expression contains, for stores with a text index."""

from __future__ import annotations

import re

# An index of three characters finds nothing shorter.
_SHORTEST = 3
# Only ASCII: databases and regular expressions fold the case of other letters differently.
_PART = re.compile(
    r"(?P<literal>[A-Za-z0-9 _/:;,=<>@#%&!'\"`~-]|\\[./:_|()\[\]{}*+?^$-])"
    r"|(?P<other>\[[^\[\]\\&~-]*(?:[a-zA-Z0-9]-[a-zA-Z0-9])*\]|\\[dDsSwWbB]|[.^$])"
)
_REPEATED = re.compile(r"(?P<once>\+)\??|(?P<never>[*?]\??|\{[^}]*\}\??)")


def required_literal(pattern: str) -> str | None:
    """Returns the longest text that each match contains, ignoring case, or None.

    None is always correct: the store then reads everything. So complex parts (groups, alternatives,
    flags, unusual escapes) are skipped.
    """
    runs, run, at = [""], "", 0
    while at < len(pattern):
        part = _PART.match(pattern, at)
        if part is None:
            return None
        repeated = _REPEATED.match(pattern, part.end())
        at = (repeated or part).end()
        literal = part["literal"]
        if literal and not (repeated and repeated["never"]):
            run += literal[-1]
        if not literal or repeated:
            runs.append(run)
            run = ""
    longest = max([*runs, run], key=len)
    return longest if len(longest) >= _SHORTEST else None
