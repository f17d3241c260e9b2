"""Lines about traces: one with its spans, and many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.adk.brief import fields, joined, listed, ranged

if TYPE_CHECKING:
    from collections.abc import Mapping


def trace(response: Any, survey: Mapping[str, Any]) -> str:
    """A trace: its spans, which failed, and which took longest."""
    known = fields(response)
    name = known.get("trace_id") or known.get("traceId") or known.get("traceID")
    lines = [f"trace {name}" if name else "", f"{survey['spans']:,} spans"]
    lines.append(_failures(survey))
    lines.append(ranged("took", survey.get("duration_ms") or survey.get("duration")))
    lines.append(listed("slowest", [_span(one) for one in survey["slowest"]]))
    lines.append(listed("failed", [str(one.get("name")) for one in survey["failed"]]))
    return joined(lines)


def _failures(survey: Mapping[str, Any]) -> str:
    count = survey["failures"]
    return f"{count:,} failed" if count else ""


def _span(one: Mapping[str, Any]) -> str:
    took = one.get("duration_ms")
    return f"{one.get('name')} {took} ms" if took is not None else str(one.get("name"))


def traces(_response: Any, survey: Mapping[str, Any]) -> str:
    """A list of traces: which failed, and which took longest."""
    spans, count = survey["spans"], survey.get("traces", survey["spans"])
    lines = [f"{count:,} traces", f"{spans:,} spans" if spans != count else ""]
    lines.append(_failures(survey))
    lines.append(ranged("took", survey.get("duration_ms") or survey.get("duration")))
    slowest = [
        _span({**one, "name": one.get("trace_id") or one.get("name")}) for one in survey["slowest"]
    ]
    lines.append(listed("slowest", slowest))
    return joined(lines)
