"""A line for what a tool returned: what each of an SRE's tools is asked for, and no raw data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from ullage._core import MessageError, Payload, tool_outcome
from ullage.adk.brief import (
    EXAMPLES,
    PIECE,
    brief,
    cut,
    fields,
    frames,
    is_none,
    joined,
    listed,
    told,
    unwrapped,
)
from ullage.adk.payload_limits import KIND_OF_TOOL
from ullage.adk.series_lines import metrics, series
from ullage.adk.trace_lines import trace, traces

# Characters of a line.
LINE = 400

# Fields with the words of a failure, the most telling first.
_FAILURE_WORDS = ("error", "message", "content", "result")

Survey: TypeAlias = Mapping[str, Any]


def one_liner(tool: str, response: Any) -> str:
    """What a result comes to, in at most ``LINE`` characters. Never raises for any result."""
    failed = failure(response)
    if failed:
        return cut(f"failed: {failed}", LINE)
    response = unwrapped(response)
    strategy = _STRATEGIES.get(tool)
    said = ""
    with suppress(LookupError, TypeError, ValueError, AttributeError, MessageError):
        survey = _survey(tool, response)
        strategy = strategy or _BY_KIND.get(str(survey.get("kind")))
        said = strategy(response, survey) if strategy else ""
    return cut(said or told(response) or "nothing", LINE)


def failure(response: Any) -> str:
    """What a result says of its failure, in any frame around it; empty where it reports none.

    An empty error, or an error of "none", is none, whatever words stand in a message.
    """
    if _outcome(response) != "failed":
        return ""
    said = [frame for frame in frames(response) if isinstance(frame, Mapping)]
    words = [frame.get(key) for key in _FAILURE_WORDS for frame in said] or [response]
    return brief(next((one for one in words if not is_none(one)), "no words about it"))


def _outcome(response: Any) -> str:
    try:
        return tool_outcome(response)
    except MessageError:
        # A result that holds itself, or is nested too deeply.
        return "unknown"


def _survey(tool: str, response: Any) -> Survey:
    """The statistics of a result, or those that already stand for it."""
    inner = response.get("result") if isinstance(response, Mapping) else None
    if isinstance(inner, Mapping) and "kind" in inner:
        return inner
    survey: Survey = json.loads(Payload(response).survey(KIND_OF_TOOL.get(tool)))
    return survey


def _logs(_response: Any, survey: Survey) -> str:
    lines = [f"{survey['entries']:,} log entries"]
    lines.append(_counts(survey.get("severities")))
    span = survey.get("time")
    lines.append(f"from {span['first']} to {span['last']}" if span else "")
    patterns = [f'{one["count"]:,}x "{cut(one["example"], PIECE)}"' for one in survey["patterns"]]
    lines.append(listed("mostly", patterns))
    return joined(lines)


def _patterns(response: Any, survey: Survey) -> str:
    known = fields(response)
    found = known.get("patterns") or known.get("top_patterns")
    if not isinstance(found, list):
        return _logs(response, survey) if "entries" in survey else told(response)
    failing = known.get("error_patterns")
    failing = failing if isinstance(failing, list) else []
    lines = [f"{len(found):,} patterns"]
    lines += [
        f"of {logs:,} logs" for logs in [known.get("total_logs_processed")] if isinstance(logs, int)
    ]
    lines.append(_counts(known.get("severity_distribution")))
    lines.append(listed("failing", [_pattern(one) for one in failing]))
    lines.append(listed("first", [_pattern(one) for one in found]))
    return joined(lines)


def _pattern(one: Any) -> str:
    if not isinstance(one, Mapping):
        return f'"{brief(one)}"'
    words = next((one[key] for key in _PATTERN if one.get(key)), one)
    count = next((one[key] for key in _COUNT if one.get(key) is not None), None)
    return f'"{brief(words)}"' + ("" if count is None else f" {count}x")


_PATTERN = ("pattern", "template", "message", "example", "text")
_COUNT = ("count", "occurrences", "frequency")


def _counts(counts: Any) -> str:
    """How many there are of each, as "3 ERROR, 40 INFO"."""
    return ", ".join(f"{count:,} {name}" for name, count in (counts or {}).items())


# Parts of an analysis that are what it was made for.
_CONCLUSIONS = ("critical_path_analysis", "anomaly_analysis", "quality_check")


def _analysis(response: Any, _survey: Survey) -> str:
    known = fields(response)
    lines = [told(known)]
    lines += [
        f"{len(value):,} {key}" for key, value in known.items() if isinstance(value, list) and value
    ]
    parts = [(key, known[key]) for key in _CONCLUSIONS if isinstance(known.get(key), Mapping)]
    lines += [f"{key}: {brief(value)}" for key, value in parts[:EXAMPLES]]
    return joined(lines)


Strategy: TypeAlias = Callable[[Any, Survey], str]

_STRATEGIES: dict[str, Strategy] = {
    "fetch_trace": trace,
    "list_traces": traces,
    "list_log_entries": _logs,
    "analyze_aggregate_metrics": metrics,
    "analyze_trace_comprehensive": _analysis,
    "extract_log_patterns": _patterns,
    "query_promql": series,
    "list_time_series": series,
}

# Other tools, by what they returned.
_BY_KIND: dict[str, Strategy] = {
    "logs": _logs,
    "traces": trace,
    "time_series": series,
    "metrics": metrics,
}
