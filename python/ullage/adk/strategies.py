"""Describes the result of an SRE's tool in a line, without raw data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from ullage._core import MessageError, Payload, tool_outcome
from ullage.adk.payload_limits import KIND_OF_TOOL

# Characters of a line, of a piece of it, and of the labels that distinguish a series.
LINE = 400
PIECE = 160
_LABEL = 80

# Examples in a line; longer lists are counted.
_EXAMPLES = 2
_NAMED = 5

# Fields that summarize the result of any tool: the most informative first.
# fmt: off
_TELLING = (
    "error", "root_cause", "primary_root_cause", "root_cause_hypothesis", "bottleneck", "anomalies",
    "status", "summary", "message", "conclusion", "severity", "total", "total_count", "count",
    "span_count", "error_count", "error_rate", "error_rate_pct", "total_duration_ms", "duration_ms",
    "latency_ms", "p50", "p95", "p99", "p95_ms", "p99_ms",
)
# fmt: on

# Fields that describe a failure, the most informative first.
_FAILURE_WORDS = ("error", "message", "content", "result")

# Fields of a pattern, and those that say how often it occurs.
_PATTERN = ("pattern", "template", "message", "example", "text")
_COUNT = ("count", "occurrences", "frequency")

# Parts of an analysis that hold its outcome.
_CONCLUSIONS = ("critical_path_analysis", "anomaly_analysis", "quality_check")

# A status that says only that there is a result.
_FINE = frozenset({"success", "ok"})

# Frames around a result: an envelope of the tool's, MCP's, ADK's, and JSON in a text.
_MOST_FRAMES = 6

Survey: TypeAlias = Mapping[str, Any]


def one_liner(tool: str, response: Any) -> str:
    """Describes a result in at most ``LINE`` characters. Never raises for any result."""
    failed = failure(response)
    if failed:
        return _cut(f"failed: {failed}", LINE)
    response = _unwrapped(response)
    line = ""
    with suppress(LookupError, TypeError, ValueError, AttributeError, MessageError):
        survey = _survey(tool, response)
        strategy = _STRATEGIES.get(tool) or _BY_KIND.get(str(survey.get("kind")))
        line = strategy(response, survey) if strategy else ""
    return _cut(line or _summary(response) or "nothing", LINE)


def failure(response: Any) -> str:
    """Returns a result's words about its failure, in any frame; empty if it reports none.

    An empty error, or an error of "none", is not a failure.
    """
    try:
        if tool_outcome(response) != "failed":
            return ""
    except MessageError:
        # A result that holds itself, or is nested too deeply.
        return ""
    inside = [frame for frame in frames(response) if isinstance(frame, Mapping)]
    words = [frame.get(key) for key in _FAILURE_WORDS for frame in inside] or [response]
    return _brief(next((one for one in words if not _is_none(one)), "no words about it"))


def frames(response: Any, longest: int | None = None) -> Iterator[Any]:
    """Yields a result and the value in each frame around it, the outermost first.

    Args:
        response: The result.
        longest: Characters of a text that is read as JSON; no limit if not given.
    """
    for _ in range(_MOST_FRAMES):
        response = _plain(response)
        yield response
        if isinstance(response, str) and longest is not None and len(response) > longest:
            return
        response = _inside(response)
        if response is None:
            return


def _plain(response: Any) -> Any:
    """An object with fields, as tools return that declare a model of pydantic's, as a dict."""
    dump = getattr(response, "model_dump", None)
    if callable(dump) and not isinstance(response, type):
        with suppress(Exception):
            return dump(mode="json")
    return response


def _is_json(text: Any) -> bool:
    return isinstance(text, str) and text.lstrip().startswith(("{", "["))


def _inside(response: Any) -> Any:
    if _is_json(response):
        with suppress(ValueError, RecursionError):
            return json.loads(response)
    if not isinstance(response, Mapping):
        return None
    inner, content = response.get("result"), response.get("content")
    if inner is None and isinstance(content, (list, tuple)):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        inner = texts[0] if len(texts) == 1 else None
    # A list is the result itself, not a frame.
    is_frame = isinstance(inner, Mapping) or hasattr(inner, "model_dump") or _is_json(inner)
    return inner if is_frame else None


def _unwrapped(response: Any) -> Any:
    """Returns a result without its frames. A text that is JSON is read."""
    for one in frames(response):
        response = one
        if isinstance(one, Mapping) and set(one) != {"result"} and "content" not in one:
            break
    return response


def _fields(response: Any) -> Mapping[str, Any]:
    """The fields of a result, also of one in a frame: those outside win."""
    known: dict[str, Any] = {}
    for frame in frames(response):
        for key, value in frame.items() if isinstance(frame, Mapping) else ():
            known.setdefault(str(key), value)
    inner = known.get("result")
    if isinstance(inner, (str, Mapping)) or hasattr(inner, "model_dump"):
        del known["result"]
    return known


def _survey(tool: str, response: Any) -> Survey:
    """Returns the statistics of a result, or those that already replace it."""
    inner = response.get("result") if isinstance(response, Mapping) else None
    if isinstance(inner, Mapping) and "kind" in inner:
        return inner
    survey: Survey = json.loads(Payload(response).survey(KIND_OF_TOOL.get(tool)))
    return survey


def _summary(response: Any) -> str:
    """Returns the informative fields of a result, or its beginning."""
    response = _unwrapped(response)
    if isinstance(response, (str, list, tuple)):
        return f"{len(response):,} items" if not isinstance(response, str) else _brief(response)
    named = _fields(response)
    if not named:
        text = response.get("result") if isinstance(response, Mapping) else None
        return _brief(text or response) if response else ""
    known = [(key, named[key]) for key in _TELLING if not _is_none(named.get(key))]
    if all(key == "status" and str(value).lower() in _FINE for key, value in known):
        known = [(key, value) for key, value in named.items() if not _is_none(value)]
    said = [f"{key}: {_brief(value)}" for key, value in known[:_NAMED]]
    if all(key == "status" for key, _ in known):
        said += [f"no {key}" for key, value in named.items() if value in ([], {})]
    return ", ".join(said)


def _is_none(value: Any) -> bool:
    """True if a field says nothing."""
    return value in (None, "", [], {}) or str(value).strip().lower() in {"none", "null", "no error"}


def _brief(value: Any, longest: int = PIECE) -> str:
    """Describes any value in a few words."""
    if isinstance(value, str):
        return _cut(" ".join(value.split()), longest)
    if isinstance(value, (list, tuple)) and len(value) > _NAMED:
        return f"{len(value):,} items"
    with suppress(TypeError, ValueError, RecursionError):
        return _cut(json.dumps(value, ensure_ascii=False, default=str), longest)
    return type(value).__name__


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _joined(*pieces: str) -> str:
    return "; ".join(piece for piece in pieces if piece)


def _ranged(name: str, values: Any) -> str:
    if not isinstance(values, Mapping) or values.get("min") is None:
        return ""
    said = f"{name} {values['min']} to {values['max']}, mean {values.get('mean')}"
    return f"{said}, p95 {values['p95']}" if "p95" in values else said


def _listed(name: str, examples: list[str]) -> str:
    return f"{name}: {', '.join(examples[:_EXAMPLES])}" if examples else ""


def _counts(counts: Any) -> str:
    """Lists counts, as in "3 ERROR, 40 INFO"."""
    return ", ".join(f"{count:,} {name}" for name, count in (counts or {}).items())


def _trace(response: Any, survey: Survey) -> str:
    """A trace: its spans, which failed, and which took longest."""
    known = _fields(response)
    name = known.get("trace_id") or known.get("traceId") or known.get("traceID")
    failed = [str(one.get("name")) for one in survey["failed"]]
    opening = [f"trace {name}" if name else "", f"{survey['spans']:,} spans"]
    slowest = [_span(one, one.get("name")) for one in survey["slowest"]]
    return _joined(*opening, *_durations(survey, slowest), _listed("failed", failed))


def _traces(_response: Any, survey: Survey) -> str:
    """A list of traces: which failed, and which took longest."""
    spans, count = survey["spans"], survey.get("traces", survey["spans"])
    opening = [f"{count:,} traces", f"{spans:,} spans" if spans != count else ""]
    slowest = [_span(one, one.get("trace_id") or one.get("name")) for one in survey["slowest"]]
    return _joined(*opening, *_durations(survey, slowest))


def _durations(survey: Survey, slowest: list[str]) -> list[str]:
    failed = f"{survey['failures']:,} failed" if survey["failures"] else ""
    took = _ranged("took", survey.get("duration_ms") or survey.get("duration"))
    return [failed, took, _listed("slowest", slowest)]


def _span(one: Mapping[str, Any], name: Any) -> str:
    took = one.get("duration_ms")
    return f"{name} {took} ms" if took is not None else str(name)


def _logs(_response: Any, survey: Survey) -> str:
    span = survey.get("time")
    patterns = [f'{one["count"]:,}x "{_cut(one["example"], PIECE)}"' for one in survey["patterns"]]
    return _joined(
        f"{survey['entries']:,} log entries",
        _counts(survey.get("severities")),
        f"from {span['first']} to {span['last']}" if span else "",
        _listed("mostly", patterns),
    )


def _patterns(response: Any, survey: Survey) -> str:
    known = _fields(response)
    found = known.get("patterns") or known.get("top_patterns")
    failing: Any = known.get("error_patterns")
    if not isinstance(found, list):
        return _logs(response, survey) if "entries" in survey else _summary(response)
    logs = known.get("total_logs_processed")
    return _joined(
        f"{len(found):,} patterns",
        f"of {logs:,} logs" if isinstance(logs, int) else "",
        _counts(known.get("severity_distribution")),
        _listed("failing", [_pattern(one) for one in failing] if _is_filled(failing) else []),
        _listed("first", [_pattern(one) for one in found]),
    )


def _pattern(one: Any) -> str:
    if not isinstance(one, Mapping):
        return f'"{_brief(one)}"'
    words = next((one[key] for key in _PATTERN if one.get(key)), one)
    count = next((one[key] for key in _COUNT if one.get(key) is not None), None)
    return f'"{_brief(words)}"' + ("" if count is None else f" {count}x")


def _analysis(response: Any, _survey: Survey) -> str:
    known = _fields(response)
    lists = [f"{len(value):,} {key}" for key, value in known.items() if _is_filled(value)]
    parts = [(key, known[key]) for key in _CONCLUSIONS if isinstance(known.get(key), Mapping)]
    conclusions = [f"{key}: {_brief(value)}" for key, value in parts[:_EXAMPLES]]
    return _joined(_summary(known), *lists, *conclusions)


def _is_filled(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _metrics(response: Any, survey: Survey) -> str:
    """Values by metric, or the first rows of a table."""
    if "by_metric" in survey:
        ranges = [_ranged(one["metric"], one["values"]) for one in survey["by_metric"][:_EXAMPLES]]
        opening = _summary(response) if response is not None else ""
        return _joined(opening, f"{survey['series']:,} series", *ranges)
    for rows in _fields(response).values():
        if _is_filled(rows) and isinstance(rows[0], Mapping):
            # Queries of an SRE put the worst first.
            pairs = (", ".join(f"{k}: {_brief(v)}" for k, v in row.items()) for row in rows)
            shown = [_cut(pair, PIECE) for pair, _ in zip(pairs, range(_EXAMPLES), strict=False)]
            return _joined(f"{len(rows):,} rows", *shown)
    return _summary(response)


def _series(response: Any, survey: Survey) -> str:
    """The series with the farthest outliers, or the answer of a query."""
    if "by_metric" in survey:
        return _metrics(None, survey)
    if "by_series" not in survey:
        return _answer(response)
    lines = [f"{survey['series']:,} series", _ranged("values", survey.get("values"))]
    for one in survey["by_series"][:_EXAMPLES]:
        # The points of the core begin with how many there are, and from when to when.
        points = str(one.get("points", _ranged("", one)))
        points = points.partition(": ")[2] or points
        lines.append(f"{_label(one.get('labels'))}: {_cut(points, PIECE)}")
    return _joined(*lines)


def _answer(response: Any) -> str:
    """The answer of Prometheus where there is no series."""
    data = _fields(response).get("data")
    if not isinstance(data, Mapping) or "result" not in data:
        return _summary(response)
    found = data["result"]
    if data.get("resultType") in {"scalar", "string"} and _is_filled(found):
        return f"{data['resultType']} {_brief(found[-1])}"
    return _summary(data) if found else "no series"


def _label(labels: Any) -> str:
    """The name and labels of a series: ``name{key=value}``."""
    metric = labels.get("metric", labels) if isinstance(labels, Mapping) else None
    if not isinstance(metric, Mapping):
        return _brief(labels or "series", _LABEL)
    inner = metric.get("labels")
    known = inner if isinstance(inner, Mapping) else metric
    name = metric.get("type") or metric.get("__name__") or ""
    pairs = [f"{key}={value}" for key, value in known.items() if key not in {"__name__", "type"}]
    return _cut(f"{name}{{{', '.join(pairs)}}}" if pairs else str(name) or _brief(labels), _LABEL)


Strategy: TypeAlias = Callable[[Any, Survey], str]

_STRATEGIES: dict[str, Strategy] = {
    "fetch_trace": _trace,
    "list_traces": _traces,
    "list_log_entries": _logs,
    "analyze_aggregate_metrics": _metrics,
    "analyze_trace_comprehensive": _analysis,
    "extract_log_patterns": _patterns,
    "query_promql": _series,
    "list_time_series": _series,
}

# Other tools, by what they returned.
_BY_KIND: dict[str, Strategy] = {
    "logs": _logs,
    "traces": _trace,
    "time_series": _series,
    "metrics": _metrics,
}
