"""What the spans of traces say."""

from collections import defaultdict
from typing import Any

from ullage.adk.program.failures import fails
from ullage.adk.program.reading import EXAMPLES, SHOWN, field, number, seconds, statistics


def milliseconds(row: Any) -> Any:
    """How long a span took."""
    stated = number(field(row, "durationms", "latencyms", "elapsedms", "duration"))
    start = seconds(field(row, "starttime", "starttimeunixnano", "start"))
    end = seconds(field(row, "endtime", "endtimeunixnano", "end"))
    if stated is not None or start is None or end is None:
        return stated
    return round((end - start) * 1000, 3)


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
