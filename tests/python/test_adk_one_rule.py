"""The survey and the lines about results count the same."""

import json
from typing import Any

import pytest

from ullage._core import Payload
from ullage.adk.strategies import one_liner

SPAN = {"spanId": "a", "name": "GET", "duration_ms": 5}


def in_core(data: Any) -> Any:
    return json.loads(Payload(data).survey())


def spans(count: int, trace: int = 0) -> list[dict[str, Any]]:
    """Of each ten one fails, each time another way."""
    said: list[dict[str, Any]] = [
        {"labels": {"/http/status_code": "503"}},
        {"labels": {"error": "true"}},
        {"tags": [{"key": "error", "type": "bool", "value": True}]},
        {"status": {"code": 2}},
        {"status": {"code": "STATUS_CODE_ERROR"}},
        {"attributes": {"http.status_code": 500}},
        {"attributes": [{"key": "http.response.status_code", "value": {"intValue": "502"}}]},
        {"attributes": {"attributeMap": {"/error/name": {"stringValue": {"value": "Timeout"}}}}},
    ]
    fine = {"labels": {"/http/status_code": "404"}, "status": {"code": 1}, "tags": []}
    return [
        {**SPAN, "spanId": f"{trace}-{n}", **(fine if n % 10 else said[(n // 10) % len(said)])}
        for n in range(count)
    ]


def traces(count: int, each: int) -> list[dict[str, Any]]:
    processes = {"p1": {"serviceName": "cart"}}
    return [
        {"traceID": f"t{n}", "spans": spans(each, n), "processes": processes} for n in range(count)
    ]


def resources(count: int, each: int) -> list[dict[str, Any]]:
    name = {"key": "service.name", "value": {"stringValue": "cart"}}
    return [
        {"resource": {"attributes": [name]}, "scopeSpans": [{"scope": {}, "spans": spans(each, n)}]}
        for n in range(count)
    ]


PAYLOADS = {
    "one trace": ({"traceId": "t", "spans": spans(90)}, 90, 9),
    "Cloud Trace": ({"traces": traces(60, 1)}, 60, 60),
    "Jaeger": ({"data": traces(4, 50), "errors": None}, 200, 20),
    "Jaeger's one": ({"data": traces(1, 50), "errors": None}, 50, 5),
    "uneven": ({"data": traces(1, 200) + traces(2, 2)}, 204, 22),
    "OTLP": ({"resourceSpans": resources(6, 30)}, 180, 18),
    "OTLP's one": ({"resourceSpans": resources(1, 30)}, 30, 3),
    "Tempo": ({"trace": {"resourceSpans": resources(2, 45)}}, 90, 10),
    "Tempo, formerly": ({"batches": resources(3, 20)}, 60, 6),
    "in a frame": ({"result": json.dumps({"data": traces(5, 20)})}, 100, 10),
}


@pytest.mark.parametrize("name", PAYLOADS)
def test_spans_and_failures_are_the_same_for_both(name):
    data, count, failed = PAYLOADS[name]
    core = in_core(data)
    assert core["kind"] == Payload(data).kind == "traces"
    assert (core["spans"], core["failures"]) == (count, failed)
    for tool in ("fetch_trace", "list_traces", "any"):
        line = one_liner(tool, data)
        assert f"{failed:,} failed" in line
        traces_of = name == "Cloud Trace" and tool == "list_traces"
        assert f"{count:,} {'traces' if traces_of else ''}" in line


def streams(count: int, lines: int) -> dict[str, Any]:
    result = [
        {
            "stream": {"app": f"a{n}", "level": ["error", "info"][n % 2]},
            "values": [[str(1_795_600_000_000_000_000 + line), f"{line}"] for line in range(lines)],
        }
        for n in range(count)
    ]
    stats = {"summary": {"note": "x" * 3_000}}
    data = {"resultType": "streams", "result": result, "stats": stats}
    return {"status": "success", "data": data}


@pytest.mark.parametrize(("count", "lines"), [(1, 9), (5, 60), (30, 2)])
def test_lines_of_streams_are_the_same_for_both(count, lines):
    data = streams(count, lines)
    core = in_core(data)
    assert core["kind"] == Payload(data).kind == "logs"
    failed = (count + 1) // 2 * lines
    assert (core["entries"], core["failures"]) == (count * lines, failed)
    for tool in ("list_log_entries", "any"):
        assert one_liner(tool, data).startswith(f"{count * lines:,} log entries")
        assert f"{failed:,} ERROR" in one_liner(tool, data)
