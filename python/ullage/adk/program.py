"""The program that a sandbox runs over a large result, with nothing but Python's own library.

Its source is sent as it stands here, with a call of :func:`survey` behind it, so it imports nothing
of ullage, and runs on any Python from 3.8 on.
"""

import json
import math
import re
from collections import Counter, defaultdict
from datetime import datetime, timezone
from typing import Any

SHOWN = 15
EXAMPLES = 10
# Statuses of HTTP begin at the first, those of a server that failed at the second.
HTTP, HTTP_FAILED = 100, 500
# The error of OpenTelemetry; in gRPC 1 is a call that was taken back.
FIRST_FAILURE = 2
# A time and a value.
PAIR = 2
# Levels of objects whose fields count as those of the row.
LEVELS = 3
# Longer texts are bodies, of which none is like another.
LONGEST_VALUE = 200
FAILING = {"ERROR", "ERR", "CRITICAL", "ALERT", "EMERGENCY", "FATAL", "SEVERE"}


def survey(data: Any, kind: str) -> Any:
    """What can be said of all rows of the data."""
    return {"logs": logs, "traces": traces, "time_series": series, "metrics": metrics}.get(
        kind, fields
    )(rows_of(data))


def rows_of(value: Any) -> Any:
    """The list that most of the data consists of."""
    for _ in range(8):
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                return value.splitlines()
        if isinstance(value, dict):
            sizes = {key: len(json.dumps(inner, default=str)) for key, inner in value.items()}
            largest = max(sizes, key=lambda key: sizes[key], default=None)
            inner = None if largest is None else value[largest]
            if not isinstance(inner, (dict, list, str)) or sizes[largest] * 3 < 2 * sum(
                sizes.values()
            ):
                return list(value.values())
            value = inner
        elif isinstance(value, list) and len(value) == 1 and isinstance(value[0], (dict, str)):
            value = value[0]
        else:
            break
    return value if isinstance(value, list) else [value]


def field(row: Any, *names: str) -> Any:
    """The first of the fields that a row has, whatever joins the words of its name."""
    if isinstance(row, dict):
        known = {re.sub("[_-]", "", str(key)).lower(): value for key, value in row.items()}
        for name in names:
            if known.get(name) is not None:
                return known[name]
    return None


def number(value: Any) -> Any:
    """A finite number, or None."""
    try:
        value = float(value)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def statistics(values: Any) -> Any:
    """Count, range, mean and percentiles."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return {"count": 0}
    p50, p95, p99 = (known[(len(known) - 1) * part // 100] for part in (50, 95, 99))
    mean = round(math.fsum(known) / len(known), 6)
    ends = {"count": len(known), "min": known[0], "max": known[-1], "mean": mean}
    return {**ends, "p50": p50, "p95": p95, "p99": p99}


def logs(rows: Any) -> Any:
    """Entries by severity, and by what they say when numbers are taken out."""
    shapes: Any = defaultdict(lambda: [0, ""])
    severities: Any = Counter()
    for row in rows:
        said = field(row, "message", "textpayload", "msg", "jsonpayload", "log", "text", "body")
        said = field(said, "message", "msg", "text") if isinstance(said, dict) else said
        said = str(row if said is None else said)
        severity = str(field(row, "severity", "level", "loglevel") or "").upper()
        severities[severity] += 1
        shape = shapes[severity, re.sub("[0-9a-f-]*[0-9][0-9a-f-]*", "#", said[:400])]
        shape[0] += 1
        shape[1] = shape[1] or said[:240]
    ordered = sorted(shapes.items(), key=lambda item: (item[0][0] not in FAILING, -item[1][0]))
    times = sorted(str(field(row, "timestamp", "time", "ts") or "") for row in rows)
    return {
        "kind": "logs",
        "entries": len(rows),
        "failures": sum(count for name, count in severities.items() if name in FAILING),
        "time": {"first": times[0], "last": times[-1]} if times else None,
        "severities": dict(severities.most_common(SHOWN)),
        "distinct_patterns": len(shapes),
        "patterns": [
            {"count": count, "severity": key[0], "example": example}
            for key, (count, example) in ordered[:SHOWN]
        ],
    }


def seconds(value: Any) -> Any:
    """A time in seconds since 1970, from ISO 8601 or a number in any unit."""
    time = number(value)
    if time is None:
        text = re.sub(r"\.(\d{1,6})\d*", lambda part: "." + part[1].ljust(6, "0"), str(value))
        try:
            moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError:
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
    for unit, least in ((1e9, 1e17), (1e6, 1e14), (1e3, 1e11)):
        if time >= least:
            return time / unit
    return time


def milliseconds(row: Any) -> Any:
    """How long a span took."""
    stated = number(field(row, "durationms", "latencyms", "elapsedms", "duration"))
    start = seconds(field(row, "starttime", "starttimeunixnano", "start"))
    end = seconds(field(row, "endtime", "endtimeunixnano", "end"))
    if stated is not None or start is None or end is None:
        return stated
    return round((end - start) * 1000, 3)


def fails(row: Any) -> bool:
    """Whether a span says that it failed."""
    status = field(row, "status", "statuscode", "code")
    status = field(status, "code") if isinstance(status, dict) else status
    code = number(status)
    if code is None:
        failed = "ERROR" in str(status).upper()
    else:
        failed = code >= (HTTP_FAILED if code >= HTTP else FIRST_FAILURE)
    return bool(failed or field(row, "error", "iserror"))


def traces(rows: Any) -> Any:
    """Spans by operation, the slowest, and those that failed."""

    def name(row: Any) -> str:
        found = field(row, "name", "displayname", "operationname", "spanname")
        return str(field(found, "value") if isinstance(found, dict) else found)

    def brief(row: Any) -> Any:
        ids = {"span_id": field(row, "spanid"), "trace_id": field(row, "traceid")}
        return {"name": name(row), **ids, "duration_ms": milliseconds(row)}

    spans = [row for row in rows if isinstance(row, dict)]
    groups: Any = defaultdict(list)
    for row in spans:
        groups[name(row)].append(row)
    return {
        "kind": "traces",
        "spans": len(spans),
        "failures": sum(map(fails, spans)),
        "duration_ms": statistics(map(milliseconds, spans)),
        "operations": [
            {
                "name": key,
                "failures": sum(map(fails, group)),
                "duration_ms": statistics(map(milliseconds, group)),
            }
            for key, group in sorted(groups.items(), key=lambda item: -len(item[1]))[:SHOWN]
        ],
        "slowest": [brief(row) for row in sorted(spans, key=lambda row: -(milliseconds(row) or 0))][
            :EXAMPLES
        ],
        "failed": [brief(row) for row in spans if fails(row)][:EXAMPLES],
    }


def amount(value: Any) -> Any:
    """The number of a point, whatever is around it."""
    if isinstance(value, (list, tuple)):
        return amount(value[1]) if len(value) == PAIR else None
    for _ in range(3):
        if isinstance(value, dict):
            value = field(value, "value", "doublevalue", "int64value", "distributionvalue", "mean")
    return number(value)


def series(rows: Any) -> Any:
    """The statistics of each series."""
    listed = [(row, field(row, "points", "values", "datapoints", "samples")) for row in rows]
    if not any(isinstance(points, list) for _, points in listed):
        lists = all(isinstance(row, list) and len(row) != PAIR for row in rows)
        listed = [({}, row) for row in rows] if lists else [({}, rows)]
    described = []
    everything = []
    for row, points in listed:
        values = [amount(point) for point in (points if isinstance(points, list) else [])]
        values = [value for value in values if value is not None]
        everything += values
        if values:
            labels = {key: inner for key, inner in row.items() if not isinstance(inner, list)}
            ends = {"labels": labels, "first": values[0], "last": values[-1]}
            described.append({**ends, **statistics(values)})
    described.sort(key=lambda one: one["min"] - one["max"])
    return {
        "kind": "time_series",
        "series": len(described),
        "values": statistics(everything),
        "by_series": described[:SHOWN],
    }


def metrics(rows: Any) -> Any:
    """The statistics of single values, by metric."""
    groups: Any = defaultdict(list)
    for row in rows:
        metric = field(row, "metric", "metricname", "metrictype", "name")
        name = field(metric, "name", "type") if isinstance(metric, dict) else metric
        groups[str(name)].append(amount(field(row, "value", "val", "v")))
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    return {
        "kind": "metrics",
        "series": len(rows),
        "by_metric": [
            {"metric": name, "values": statistics(values)} for name, values in ordered[:SHOWN]
        ],
    }


def fields(rows: Any) -> Any:
    """The types of each field, and what stands in it."""
    known: Any = defaultdict(lambda: (Counter(), [], Counter()))

    def walk(path: str, value: Any, level: int) -> None:
        if isinstance(value, dict) and level < LEVELS:
            for key, inner in value.items():
                walk(f"{path}.{key}" if path else str(key), inner, level + 1)
            return
        types, numbers, values = known[path]
        types[type(value).__name__] += 1
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            numbers.append(number(value))
        elif isinstance(value, (str, bool)) and len(str(value)) <= LONGEST_VALUE:
            values[str(value)[:120]] += 1

    for row in rows:
        walk("", row, 0)
    described = {}
    for path, (types, numbers, values) in list(known.items())[:40]:
        described[path] = {"types": list(types), "present_in": sum(types.values())}
        if numbers:
            described[path]["numbers"] = statistics(numbers)
        if values:
            described[path]["distinct"] = len(values)
            described[path]["most_frequent"] = dict(values.most_common(5))
    samples = [json.dumps(row, default=str)[:2000] for row in rows[:3]]
    return {"kind": "other", "length": len(rows), "fields": described, "samples": samples}
