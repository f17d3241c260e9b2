"""A line for what a tool returned: what each of an SRE's tools is asked for, and no raw data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from ullage._core import MessageError, Payload
from ullage.adk.payload_limits import KIND_OF_TOOL

# Characters of a line, and of a piece of it.
LINE = 400
_PIECE = 160

# Examples in a line.
_EXAMPLES = 2

# Fields that say what a result comes to, whatever the tool: the most telling first.
_TELLING = (
    "error",
    "root_cause",
    "status",
    "summary",
    "message",
    "conclusion",
    "severity",
    "anomalies",
    "total",
    "total_count",
    "count",
    "error_count",
    "error_rate",
    "duration_ms",
    "latency_ms",
    "p50",
    "p95",
    "p99",
)
_NAMED = 5

Survey: TypeAlias = Mapping[str, Any]


def one_liner(tool: str, response: Any) -> str:
    """What a result comes to, in at most ``LINE`` characters. Never raises for any result."""
    response = _unwrapped(response)
    failed = failure(response)
    if failed:
        return _cut(f"failed: {failed}", LINE)
    strategy = _STRATEGIES.get(tool)
    said = ""
    with suppress(LookupError, TypeError, ValueError, MessageError):
        survey = _survey(tool, response)
        strategy = strategy or _BY_KIND.get(str(survey.get("kind")))
        said = strategy(response, survey) if strategy else ""
    return _cut(said or _told(response), LINE)


def failure(response: Any) -> str:
    """What a result says of its failure; empty where it reports none.

    An empty error, or an error of "none", is none, whatever words stand in a message.
    """
    if not isinstance(response, Mapping):
        return ""
    error = response.get("error")
    if error and not _is_none(error):
        return _brief(error)
    failed = str(response.get("status", "")).lower() in {"error", "failed", "failure"}
    if failed or response.get("isError") is True:
        return _brief(response.get("message") or response.get("content") or "no words about it")
    return ""


def _survey(tool: str, response: Any) -> Survey:
    """The statistics of a result, or those that already stand for it."""
    inner = response.get("result") if isinstance(response, Mapping) else None
    if isinstance(inner, Mapping) and "kind" in inner:
        return inner
    survey: Survey = json.loads(Payload(response).survey(KIND_OF_TOOL.get(tool)))
    return survey


def _trace(response: Any, survey: Survey) -> str:
    fields = _fields(response)
    name = fields.get("trace_id") or fields.get("traceId")
    lines = [f"trace {name}" if name else "", f"{survey['spans']:,} spans"]
    lines.append(_failures(survey))
    lines.append(_range("took", survey.get("duration_ms") or survey.get("duration")))
    slowest = [f"{one.get('name')} {one.get('duration_ms')} ms" for one in survey["slowest"]]
    lines.append(_list("slowest", slowest))
    lines.append(_list("failed", [str(one.get("name")) for one in survey["failed"]]))
    return _joined(lines)


def _traces(_response: Any, survey: Survey) -> str:
    lines = [f"{survey['spans']:,} traces", _failures(survey)]
    lines.append(_range("took", survey.get("duration_ms") or survey.get("duration")))
    slowest = [
        f"{one.get('trace_id') or one.get('name')} {one.get('duration_ms')} ms"
        for one in survey["slowest"]
    ]
    lines.append(_list("slowest", slowest))
    return _joined(lines)


def _logs(_response: Any, survey: Survey) -> str:
    lines = [f"{survey['entries']:,} log entries"]
    severities = survey.get("severities") or {}
    lines.append(", ".join(f"{count:,} {name}" for name, count in severities.items()))
    span = survey.get("time")
    lines.append(f"from {span['first']} to {span['last']}" if span else "")
    patterns = [f'{one["count"]:,}x "{_cut(one["example"], _PIECE)}"' for one in survey["patterns"]]
    lines.append(_list("mostly", patterns))
    return _joined(lines)


def _patterns(response: Any, survey: Survey) -> str:
    fields = _fields(response)
    found = fields.get("patterns") or fields.get("top_patterns")
    if not isinstance(found, list):
        return _logs(response, survey) if "entries" in survey else _told(response)
    said = []
    for one in found:
        if isinstance(one, Mapping):
            words = next((one[key] for key in _PATTERN if one.get(key)), one)
            count = next((one[key] for key in _COUNT if one.get(key) is not None), None)
            said.append(f'"{_brief(words)}"' + ("" if count is None else f" {count}x"))
        else:
            said.append(f'"{_brief(one)}"')
    lines = [f"{len(found):,} patterns", _list("first", said), _told(fields)]
    return _joined(lines)


_PATTERN = ("pattern", "template", "message", "example", "text")
_COUNT = ("count", "occurrences", "frequency")


def _metrics(response: Any, survey: Survey) -> str:
    lines = [_told(response)]
    if "by_metric" in survey:
        lines.append(f"{survey['series']:,} series")
        lines += [_range(one["metric"], one["values"]) for one in survey["by_metric"][:_EXAMPLES]]
    return _joined(lines)


def _series(response: Any, survey: Survey) -> str:
    if "by_metric" in survey:
        return _metrics(None, survey)
    if "by_series" not in survey:
        return _told(response)
    lines = [f"{survey['series']:,} series", _range("values", survey.get("values"))]
    for one in survey["by_series"][:_EXAMPLES]:
        labels = _brief(one.get("labels") or "series")
        lines.append(f"{labels}: {_cut(str(one.get('points', _range('', one))), _PIECE)}")
    return _joined(lines)


def _analysis(response: Any, _survey: Survey) -> str:
    fields = _fields(response)
    lines = [_told(fields)]
    lines += [
        f"{len(value):,} {key}"
        for key, value in fields.items()
        if isinstance(value, list) and value
    ]
    return _joined(lines)


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


def _unwrapped(response: Any) -> Any:
    """A result that was written as text, read: hosts pass JSON, and what Python prints of it."""
    if isinstance(response, Mapping) and set(response) == {"result"}:
        response = response["result"] if not isinstance(response["result"], list) else response
    if isinstance(response, str) and response.lstrip().startswith(("{", "[")):
        with suppress(ValueError):
            return json.loads(response)
    return response


def _fields(response: Any) -> Mapping[str, Any]:
    """The fields of a result, also of one in a frame."""
    while isinstance(response, Mapping) and isinstance(response.get("result"), Mapping):
        response = {**response["result"], **{k: v for k, v in response.items() if k != "result"}}
    return response if isinstance(response, Mapping) else {}


def _told(response: Any) -> str:
    """The telling fields of a result, or how it begins."""
    if isinstance(response, str):
        return _cut(" ".join(response.split()), _PIECE)
    if isinstance(response, (list, tuple)):
        return f"{len(response):,} items"
    fields = _fields(response)
    if not fields:
        return _brief(response) if response else ""
    known = [(key, fields[key]) for key in _TELLING if not _is_none(fields.get(key))]
    known = known or [(key, value) for key, value in fields.items() if not _is_none(value)]
    return ", ".join(f"{key}: {_brief(value)}" for key, value in known[:_NAMED])


def _is_none(value: Any) -> bool:
    return value in (None, "", [], {}) or str(value).strip().lower() in {"none", "null", "no error"}


def _brief(value: Any) -> str:
    """A value of any kind in a few words."""
    if isinstance(value, str):
        return _cut(" ".join(value.split()), _PIECE)
    if isinstance(value, (list, tuple)) and len(value) > _NAMED:
        return f"{len(value):,} items"
    with suppress(TypeError, ValueError, RecursionError):
        return _cut(json.dumps(value, ensure_ascii=False, default=str), _PIECE)
    return type(value).__name__


def _failures(survey: Survey) -> str:
    return f"{survey['failures']:,} failed" if survey.get("failures") else ""


def _range(name: str, values: Any) -> str:
    if not isinstance(values, Mapping) or values.get("min") is None:
        return ""
    said = f"{name} {values['min']} to {values['max']}, mean {values.get('mean')}"
    return f"{said}, p95 {values['p95']}" if "p95" in values else said


def _list(name: str, said: list[str]) -> str:
    return f"{name}: {', '.join(said[:_EXAMPLES])}" if said else ""


def _joined(lines: list[str]) -> str:
    return "; ".join(line for line in lines if line)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
