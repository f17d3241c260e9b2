"""Lines about traces: one with its spans, and many."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ullage._core import Payload
from ullage.adk import program
from ullage.adk.brief import fields, joined, listed, ranged

if TYPE_CHECKING:
    from collections.abc import Mapping


def trace(response: Any, survey: Mapping[str, Any]) -> str:
    """A trace: its spans, which failed, and which took longest."""
    known = fields(response)
    name = known.get("trace_id") or known.get("traceId") or known.get("traceID")
    lines = [f"trace {name}" if name else "", f"{survey['spans']:,} spans"]
    failed = survey["failed"] or _failed_by_labels(response)
    count = survey.get("failures") or len(failed)
    lines.append(f"{count:,} failed" if count else "")
    lines.append(ranged("took", survey.get("duration_ms") or survey.get("duration")))
    lines.append(listed("slowest", [_span(one) for one in survey["slowest"]]))
    lines.append(listed("failed", [str(one.get("name")) for one in failed]))
    return joined(lines)


def _failed_by_labels(response: Any) -> list[Any]:
    """The spans that fail by the labels on them, as those of Cloud Trace and Jaeger do."""
    rows: list[Any] = program.rows_of(response)
    return [
        {"name": program.field(row, "name", "operationname")} for row in rows if program.fails(row)
    ]


def _span(one: Mapping[str, Any]) -> str:
    took = one.get("duration_ms")
    return f"{one.get('name')} {took} ms" if took is not None else str(one.get("name"))


def traces(response: Any, survey: Mapping[str, Any]) -> str:
    """A list of traces: which failed, and which took longest."""
    rows = _roots(response)
    if rows:
        survey = json.loads(Payload(rows).survey("traces"))
    lines = [f"{survey['spans']:,} traces"]
    count = survey.get("failures") or len(_failed_by_labels(rows or response))
    lines.append(f"{count:,} failed" if count else "")
    lines.append(ranged("took", survey.get("duration_ms") or survey.get("duration")))
    slowest = [
        _span({**one, "name": one.get("trace_id") or one.get("name")}) for one in survey["slowest"]
    ]
    lines.append(listed("slowest", slowest))
    return joined(lines)


def _roots(response: Any) -> list[Any]:
    """The root spans in a list of traces as Cloud Trace's own API gives it: each has one within."""
    traces = fields(response).get("traces")
    return [
        {"trace_id": program.field(trace, "traceid"), **trace["spans"][0]}
        for trace in (traces if isinstance(traces, list) else [])
        if trace.get("spans")
    ]
