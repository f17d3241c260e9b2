"""Rows in groups: spans in traces or in resources, lines of a log in streams.

The forms of Cloud Trace and Jaeger ("spans"), OTLP and Tempo ("scopeSpans"), and Loki ("stream" and
"values"). src/compress/survey/groups.rs knows the same.
"""

import json
from typing import Any

from ullage.adk.program.reading import field, first, some

# Where a resource has the scopes that have its spans.
SCOPES = ("scopespans", "instrumentationlibraryspans")
# Members of a group that are its rows, or say something of all of them.
PARTS = ("spans", *SCOPES, "processes", "resource", "stream", "values")
# Groups that are looked at to know what they are, and the part of them that must be so.
LOOKED_AT = 64
MOST_GROUPS = 0.6
# The part of an object that must be its rows, so that nothing else is passed over; and of a group
# among others, which may hold one short span.
MOST_OF_ONE = 0.66
LEAST_OF_EACH = 0.33


def is_line(row: Any) -> bool:
    """Whether a row is a line of a stream: its time, and its text."""
    pair = row[:2] if isinstance(row, (list, tuple)) else []
    return len(pair) == len(("time", "text")) and isinstance(pair[1], str)


def lists_of(group: Any) -> Any:
    """The lists that the rows of a group are in; None where it is no group."""
    if not isinstance(group, dict) or field(group, "spanid") is not None:
        return None
    name, scopes = "spans", field(group, *SCOPES)
    if isinstance(field(group, "stream"), dict):
        name, scopes = "values", None
    holders = scopes if isinstance(scopes, list) else [group]
    return [
        rows for rows in (field(one, name) for one in holders) if isinstance(rows, list)
    ] or None


def holds_rows(group: Any, part: float) -> bool:
    """Whether rows of a known kind are so much of a group."""
    row = first(rows[0] for rows in lists_of(group) or [] if rows)
    if field(group, "stream") is not None:
        known = is_line(row)
    else:
        known = some(
            field(row, name) is not None
            for name in ("spanid", "duration", "durationms", "starttime")
        )
    if not known:
        return False
    size = sum(
        len(json.dumps(value, default=str))
        for key, value in group.items()
        if field({key: value}, *PARTS) is not None
    )
    return size >= part * len(json.dumps(group, default=str))


def rows_in(group: Any) -> Any:
    """The rows of a group, each with what the group says of it."""
    lists = lists_of(group)
    if lists is None:
        return [group]
    rows = [row for rows in lists for row in rows]
    stream = field(group, "stream")
    if isinstance(stream, dict):
        level = field(stream, "level", "severity", "detectedlevel", "severitytext", "lvl")
        return [entry(row, level) for row in rows]
    trace = field(group, "traceid", "trace")
    return [
        {**row, "trace_id": trace}
        if isinstance(row, dict) and trace is not None and field(row, "traceid", "trace") is None
        else row
        for row in rows
    ]


def entry(row: Any, level: Any) -> Any:
    """A line of a stream as an entry with fields."""
    if not is_line(row):
        return row
    own = field(row[-1], "level", "severity", "detectedlevel", "severitytext", "lvl")
    return {"timestamp": row[0], "severity": level if own is None else own, "message": row[1]}


def grouped(value: Any) -> Any:
    """The rows of all groups that a value consists of; None where there are none."""
    if isinstance(value, dict):
        return rows_in(value) if holds_rows(value, MOST_OF_ONE) else None
    if not isinstance(value, list):
        return None
    looked_at = value[:LOOKED_AT]
    full = [one for one in looked_at if lists_of(one) and holds_rows(one, LEAST_OF_EACH)]
    empty = [one for one in looked_at if lists_of(one) and not some(lists_of(one))]
    if not full or len(full) + len(empty) < MOST_GROUPS * len(looked_at):
        return None
    return [row for group in value for row in rows_in(group)]


def answer(value: Any) -> Any:
    """What Prometheus or Loki answers, whatever statistics of the query stand beside it."""
    result = field(value, "result") if field(value, "resulttype") is not None else None
    is_answer = isinstance(result, list) and bool(result) and isinstance(result[0], dict)
    return result if is_answer else None
