"""The eight tools of the SRE agent's document, with the results that real servers and tools give."""

# mypy: disable-error-code="arg-type,misc,override"

import asyncio
import json
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

import ullage
from ullage.adk import ContextPlugin, LargePayloadHandler
from ullage.adk.strategies import LINE, failure, one_liner

from .gemini_host import Host, agent, call, gemini, last_text, text


class Envelope(BaseModel):
    """The result of an SRE agent's tools on ADK: an object, not a dict."""

    model_config = ConfigDict(frozen=True)
    status: str = "success"
    result: Any = None
    error: str | None = None
    metadata: dict[str, Any] = {}


def at(second: int) -> str:
    return f"2026-11-21T09:{second // 60 % 60:02d}:{second % 60:02d}.123456Z"


def cloud_trace(count: int, **more: Any) -> dict[str, Any]:
    """A trace of Cloud Trace's own API: what failed stands in the labels."""
    spans = [
        {
            "spanId": str(n),
            "name": ["GET /cart", "SELECT"][n % 2],
            "startTime": at(n),
            "endTime": at(n + 1 + n % 7),
            "labels": {"/http/status_code": "503" if n % 10 == 9 else "200"},
        }
        for n in range(count)
    ]
    return {"projectId": "p", "traceId": "4bf92f35", "spans": spans, **more}


def jaeger(count: int) -> dict[str, Any]:
    error = [{"key": "error", "type": "bool", "value": True}]
    spans = [
        {
            "traceID": "j1",
            "spanID": f"{n:x}",
            "operationName": "SELECT",
            "startTime": 1_795_600_000_000_000 + n,
            "duration": 5_000 + n,
            "tags": error if n % 9 == 0 else [],
        }
        for n in range(count)
    ]
    return {"data": [{"traceID": "j1", "spans": spans, "processes": {}}], "errors": None}


def otlp(count: int) -> dict[str, Any]:
    status = {"key": "http.response.status_code", "value": {"intValue": "500"}}
    spans = [
        {
            "traceId": "5b8e",
            "spanId": f"{n:x}",
            "name": "op",
            "startTimeUnixNano": str(1_795_600_000_000_000_000 + n),
            "endTimeUnixNano": str(1_795_600_000_005_000_000 + n),
            "attributes": [status] if n % 6 == 0 else [],
        }
        for n in range(count)
    ]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}


def log_entries(count: int) -> dict[str, Any]:
    """Entries of Cloud Logging's own API, in its three forms."""
    said: list[dict[str, Any]] = [
        {"textPayload": "timeout after 7 ms"},
        {"jsonPayload": {"message": "lock wait 3", "logger": "db"}},
        {"protoPayload": {"methodName": "v1.compute.instances.insert", "status": {"code": 7}}},
    ]
    entries = [
        {
            "insertId": f"a{n}",
            "timestamp": at(n),
            "severity": ["INFO", "ERROR"][n % 2],
            **said[n % 3],
        }
        for n in range(count)
    ]
    return {"entries": entries, "nextPageToken": "abc"}


def monitoring(series: int, **value: Any) -> dict[str, Any]:
    points = [
        {"interval": {"endTime": at(n)}, "value": value or {"int64Value": str(n)}}
        for n in range(60)
    ]
    return {
        "timeSeries": [
            {
                "metric": {"type": "run/latency", "labels": {"code": str(one)}},
                "resource": {"type": "cloud_run", "labels": {}},
                "points": points,
            }
            for one in range(series)
        ]
    }


def prometheus(kind: str, result: Any) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": kind, "result": result}}


MATRIX = [
    {
        "metric": {"__name__": "up", "job": f"j{one}"},
        "values": [[1_795_600_000 + n, str(n % 5)] for n in range(60)],
    }
    for one in range(5)
]
QUERY = {
    "analysis_type": "aggregate_metrics",
    "sql_query": "SELECT service, COUNT(*)\nFROM `d.t`",
    "description": "Aggregate metrics grouped by service_name for last 24h",
}
ROWS = [{"service_name": f"s{n}", "error_rate_pct": 9.5 - n, "p99_ms": 300 + n} for n in range(9)]
ANALYSIS = {
    "trace_id": "4bf9",
    "quality_check": {"valid": True, "issues": []},
    "span_count": 60,
    "total_duration_ms": 812.4,
    "spans": [
        {"span_id": f"{n:016x}", "name": "SELECT FROM carts", "duration_ms": 812.4 - n}
        for n in range(60)
    ],
    "errors": [{"span_name": "SELECT", "status_code": 500}] * 6,
    "error_count": 6,
    "critical_path_analysis": {"bottleneck": {"name": "SELECT"}},
}
PATTERNS = {
    "total_logs_processed": 4_000,
    "severity_distribution": {"INFO": 3_000, "ERROR": 1_000},
    "top_patterns": [{"template": f"order <*> step {n}", "count": 100 - n} for n in range(30)],
    "error_patterns": [{"template": "disk <*> full", "count": 9}],
}


def text_of(value: Any) -> dict[str, Any]:
    return {"result": json.dumps(value)}


def mcp(value: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(value)}], "isError": False}


SEEN: list[tuple[str, Any, list[str]]] = [
    ("fetch_trace", cloud_trace(60), ["trace 4bf92f35", "60 spans", "6 failed", "slowest: "]),
    ("fetch_trace", {"result": Envelope(result=cloud_trace(60))}, ["trace 4bf92f35", "6 failed"]),
    ("fetch_trace", text_of(cloud_trace(60)), ["trace 4bf92f35", "6 failed"]),
    ("fetch_trace", mcp(cloud_trace(60)), ["trace 4bf92f35", "6 failed"]),
    ("fetch_trace", jaeger(60), ["60 spans", "7 failed", "slowest: SELECT"]),
    ("fetch_trace", otlp(60), ["60 spans", "10 failed", "slowest: op 5 ms"]),
    (
        "list_traces",
        {
            "traces": [
                {"traceId": f"t{n}", "spans": [one]}
                for n, one in enumerate(cloud_trace(55)["spans"])
            ]
        },
        ["55 traces", "5 failed", "took 1000 to 7000", "slowest: t"],
    ),
    ("list_traces", {"result": "[]"}, ["0 items"]),
    ("list_log_entries", log_entries(90), ["90 log entries", "45 ERROR", "timeout after 7 ms"]),
    ("list_log_entries", text_of(log_entries(90)), ["90 log entries", "45 ERROR"]),
    ("list_log_entries", text_of({"entries": [], "next_page_token": None}), ["no entries"]),
    (
        "list_time_series",
        monitoring(3),
        ["3 series", "values 0 to 59", "run/latency{code=0}: first 0"],
    ),
    ("list_time_series", monitoring(1, distributionValue={"mean": 12.5, "count": "4"}), ["12.5"]),
    (
        "list_time_series",
        {"result": Envelope(result=monitoring(3)["timeSeries"])},
        ["3 series", "run/latency{code=1}"],
    ),
    ("list_time_series", {"result": Envelope(result=[])}, ["no result"]),
    ("query_promql", prometheus("matrix", MATRIX), ["5 series", "up{job=j0}: first 0"]),
    ("query_promql", {"result": Envelope(result=prometheus("matrix", MATRIX))}, ["5 series"]),
    ("query_promql", mcp(prometheus("matrix", MATRIX)), ["5 series"]),
    ("query_promql", prometheus("scalar", [1_795_600_000, "17.5"]), ["scalar 17.5"]),
    ("query_promql", prometheus("vector", []), ["no series"]),
    ("analyze_aggregate_metrics", text_of(QUERY), ["aggregate_metrics", "SELECT service"]),
    (
        "analyze_aggregate_metrics",
        {"status": "success", "result": ROWS},
        ["9 rows", "service_name: s0, error_rate_pct: 9.5"],
    ),
    (
        "analyze_trace_comprehensive",
        {"result": Envelope(result=ANALYSIS)},
        ["error_count: 6", "812.4", "6 errors", "bottleneck"],
    ),
    (
        "extract_log_patterns",
        PATTERNS,
        ["30 patterns", "of 4,000 logs", "1,000 ERROR", 'failing: "disk <*> full" 9x', "step 0"],
    ),
]


@pytest.mark.parametrize(("tool", "response", "expected"), SEEN)
def test_a_line_says_what_a_tool_is_asked_for(tool, response, expected):
    line = one_liner(tool, response)
    assert [word for word in expected if word not in line] == [], line
    assert len(line) <= LINE


@pytest.mark.parametrize(
    "response",
    [
        {"result": Envelope(status="error", error="denied")},
        text_of({"error": "denied"}),
        Envelope(result={"status": "error", "error": "denied"}),
        {"content": [{"type": "text", "text": '{"error": "denied"}'}], "isError": False},
    ],
)
def test_a_failure_is_seen_in_any_frame(response):
    assert failure(response) == "denied"
    assert one_liner("fetch_trace", response) == "failed: denied"


def test_results_that_are_objects_are_handled_and_what_stands_beside_the_rows_stays():
    def analyze_trace_comprehensive() -> Envelope:
        """Analyzes a trace."""
        return Envelope(result=ANALYSIS)

    def fetch_trace() -> str:
        """Fetches a trace."""
        return json.dumps(cloud_trace(900, duration_ms=67_000.0))

    store = ullage.MemoryStore()
    plugin = ContextPlugin(payloads=LargePayloadHandler(store))
    model = gemini([call("analyze_trace_comprehensive"), call("fetch_trace"), text("Done.")])
    host = Host(agent(model, [analyze_trace_comprehensive, fetch_trace]), [plugin])
    events = asyncio.run(host.ask("Why?"))
    assert last_text(events) == "Done."
    analysis, trace = (one.response for e in events for one in e.get_function_responses())
    assert (analysis["status"], analysis["trace_id"], analysis["error_count"]) == (
        "success",
        "4bf9",
        6,
    )
    assert analysis["result"]["spans"] == 60
    assert (trace["traceId"], trace["duration_ms"]) == ("4bf92f35", 67_000.0)
    assert trace["result"]["spans"] == 900
    stored = json.loads(store.get(trace["metadata"]["reference"]))
    assert len(stored["spans"]) == 900
