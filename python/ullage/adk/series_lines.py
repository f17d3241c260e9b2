"""Lines about metrics and time series."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ullage.adk.brief import EXAMPLES, PIECE, brief, cut, fields, joined, ranged, told

# Characters of what tells a series from others.
_LABEL = 80


def metrics(response: Any, survey: Mapping[str, Any]) -> str:
    """Values by metric, or the first rows of a table."""
    if "by_metric" in survey:
        lines = [told(response) if response is not None else "", f"{survey['series']:,} series"]
        lines += [ranged(one["metric"], one["values"]) for one in survey["by_metric"][:EXAMPLES]]
        return joined(lines)
    tables = (value for value in fields(response).values() if _is_table(value))
    rows: list[Any] = next(tables, [])
    if not rows:
        return told(response)
    # Queries of an SRE put the worst first.
    return joined([f"{len(rows):,} rows", *(_row(row) for row in rows[:EXAMPLES])])


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _row(row: Mapping[str, Any]) -> str:
    return cut(", ".join(f"{key}: {brief(value)}" for key, value in row.items()), PIECE)


def series(response: Any, survey: Mapping[str, Any]) -> str:
    """The series with the farthest outliers, or what a query came to."""
    if "by_metric" in survey:
        return metrics(None, survey)
    if "by_series" not in survey:
        return _answer(response)
    lines = [f"{survey['series']:,} series", ranged("values", survey.get("values"))]
    for one in survey["by_series"][:EXAMPLES]:
        # The points of the core begin with how many there are, and from when to when.
        points = str(one.get("points", ranged("", one)))
        points = points.partition(": ")[2] or points
        lines.append(f"{_label(one.get('labels'))}: {cut(points, PIECE)}")
    return joined(lines)


def _answer(response: Any) -> str:
    """What Prometheus answers where there is no series."""
    data = fields(response).get("data")
    if not isinstance(data, Mapping) or "result" not in data:
        return told(response)
    found = data["result"]
    if data.get("resultType") in {"scalar", "string"} and isinstance(found, list) and found:
        return f"{data['resultType']} {brief(found[-1])}"
    return told(data) if found else "no series"


def _label(labels: Any) -> str:
    """What tells a series: ``name{key=value}``."""
    metric = labels.get("metric", labels) if isinstance(labels, Mapping) else None
    if not isinstance(metric, Mapping):
        return cut(brief(labels or "series"), _LABEL)
    inner = metric.get("labels")
    known = inner if isinstance(inner, Mapping) else metric
    name = metric.get("type") or metric.get("__name__") or ""
    pairs = [f"{key}={value}" for key, value in known.items() if key not in {"__name__", "type"}]
    return cut(f"{name}{{{', '.join(pairs)}}}" if pairs else str(name) or brief(labels), _LABEL)
