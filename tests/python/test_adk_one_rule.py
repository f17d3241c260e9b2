"""The core, the lines about results and the program of a sandbox count the same."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage._core import Payload
from ullage.adk import program
from ullage.adk.strategies import one_liner

SPAN = {"spanId": "a", "name": "GET", "duration_ms": 5}


def in_sandbox(data: Any, kind: str) -> Any:
    scope: dict[str, Any] = {}
    exec(program.source(), scope)
    return scope["survey"](json.loads(json.dumps(data)), kind)


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
def test_spans_and_failures_are_the_same_for_all_three(name):
    data, count, failed = PAYLOADS[name]
    core, sandbox = in_core(data), in_sandbox(data, "traces")
    assert core["kind"] == Payload(data).kind == "traces"
    assert (core["spans"], core["failures"]) == (count, failed)
    assert (sandbox["spans"], sandbox["failures"]) == (count, failed)
    assert core["duration_ms"] == sandbox["duration_ms"]
    firsts = [{key: one.get(key) for key in ("span_id", "trace_id")} for one in core["failed"]]
    assert firsts == [
        {key: one.get(key) for key in ("span_id", "trace_id")} for one in sandbox["failed"]
    ]
    for tool in ("fetch_trace", "list_traces", "any"):
        assert f"{failed:,} failed" in one_liner(tool, data)
        assert (
            f"{count:,} {'traces' if name == 'Cloud Trace' and tool == 'list_traces' else ''}"
            in (one_liner(tool, data))
        )


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
def test_lines_of_streams_are_the_same_for_all_three(count, lines):
    data = streams(count, lines)
    core, sandbox = in_core(data), in_sandbox(data, "logs")
    assert core["kind"] == Payload(data).kind == "logs"
    failed = (count + 1) // 2 * lines
    assert (core["entries"], core["failures"]) == (count * lines, failed)
    for key in ("entries", "failures", "severities", "time"):
        assert core[key] == sandbox[key]
    for tool in ("list_log_entries", "any"):
        assert one_liner(tool, data).startswith(f"{count * lines:,} log entries")
        assert f"{failed:,} ERROR" in one_liner(tool, data)


KEYS = st.sampled_from(
    [
        "status",
        "statusCode",
        "code",
        "http.status_code",
        "/http/status_code",
        "error",
        "is_error",
        "error.type",
        "labels",
        "attributes",
        "tags",
        "attributeMap",
        "key",
        "value",
        "stringValue",
    ]
)
LEAVES = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        0.0,
        1,
        2,
        16,
        17,
        404,
        500,
        503.0,
        600,
        -1,
        1e300,
        "",
        "0",
        "2",
        "500",
        "false",
        "No",
        "none",
        " ",
        "error",
        "STATUS_CODE_ERROR",
        "no error",
        "UNAVAILABLE",
        "OK",
        "true",
        "1e3",
        "nan",
        "inf",
        "UNKNOWN",
        "[]",
        "status",
        "http.status_code",
        "é",
        "\ud800",
    ]
)
ANY = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(KEYS, ANY, max_size=5))
def test_whatever_stands_on_a_span_it_fails_for_all_or_none(said):
    data = [{**SPAN, **said}] * 4
    core, sandbox = in_core(data), in_sandbox(data, "traces")
    assert core["kind"] == "traces"
    assert core["failures"] == sandbox["failures"]
