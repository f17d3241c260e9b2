"""What the spans of traces say."""

from collections import defaultdict
from typing import Any

from ullage.adk.program.reading import EXAMPLES, SHOWN, field, number, seconds, statistics

# Statuses of HTTP begin at the first, those of a server that failed at the second.
HTTP, HTTP_FAILED = 100, 500
# The error of OpenTelemetry; in gRPC 1 is a call that was taken back.
FIRST_FAILURE = 2
# The labels of Cloud Trace and OpenTelemetry with a status, without what joins their words.
STATUS_LABELS = (
    "/http/statuscode",
    "http.statuscode",
    "http.response.statuscode",
    "otel.statuscode",
    "rpc.grpc.statuscode",
)
NO_ERROR = {"", "0", "no", "none", "false", "[]", "{}"}


def milliseconds(row: Any) -> Any:
    """How long a span took."""
    stated = number(field(row, "durationms", "latencyms", "elapsedms", "duration"))
    start = seconds(field(row, "starttime", "starttimeunixnano", "start"))
    end = seconds(field(row, "endtime", "endtimeunixnano", "end"))
    if stated is not None or start is None or end is None:
        return stated
    return round((end - start) * 1000, 3)


def labels(row: Any) -> Any:
    """What is written on a span, by key: Cloud Trace has a dict, OTLP and Jaeger a list."""
    found = field(row, "labels", "attributes", "tags")
    if isinstance(found, list):
        pairs = [(field(one, "key"), field(one, "value")) for one in found]
        found = {
            str(key): next(iter(value.values()), None) if isinstance(value, dict) else value
            for key, value in pairs
        }
    return found if isinstance(found, dict) else {}


def is_failure(status: Any) -> Any:
    """Whether a status is one of a failure."""
    status = field(status, "code") if isinstance(status, dict) else status
    code = number(status)
    if code is None:
        return "ERROR" in str(status).upper()
    return code >= (HTTP_FAILED if code >= HTTP else FIRST_FAILURE)


def fails(row: Any) -> bool:
    """Whether a span says that it failed, itself or by its labels."""
    on_it = labels(row)
    statuses = [field(row, "status", "statuscode", "code")]
    statuses += [field(on_it, name) for name in STATUS_LABELS]
    errors = [
        field(row, "error", "iserror"),
        field(on_it, "error", "/error/message", "/error/name"),
    ]
    return any(status is not None and is_failure(status) for status in statuses) or any(
        str(error).lower() not in NO_ERROR for error in errors
    )


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
