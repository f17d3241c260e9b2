"""A line for what each of an SRE's tools returned."""

import json

import pytest
from google.adk.events.event import Event
from google.genai import types

from tests.python import adk_host
from tests.python.adk_host import PAYLOADS, history
from ullage.adk import Summarizer
from ullage.adk.payload_limits import KIND_OF_TOOL
from ullage.adk.strategies import LINE, failure, one_liner

RESULTS = {
    "fetch_trace": (
        {"status": "success", "result": {"trace_id": "4bf9", "spans": adk_host.spans(80)}},
        ["trace 4bf9", "80 spans", "2 failed", "took ", "p95", "slowest: "],
    ),
    "list_traces": (
        {
            "result": [
                {"trace_id": f"t{i}", "name": "GET /", "duration_ms": 100 + i} for i in range(30)
            ]
        },
        ["30 traces", "took 100 to 129", "slowest: t29 129 ms"],
    ),
    "list_log_entries": (
        {"result": adk_host.log_entries(300)},
        ["300 log entries", "ERROR", "from 2026-11-21T09:00:00Z", 'x "request '],
    ),
    "analyze_aggregate_metrics": (
        {
            "result": {
                "error_rate": 0.07,
                "p95": 812,
                "services": [
                    {"metric": "latency", "labels": {"service": f"s{i}"}, "value": i * 10}
                    for i in range(20)
                ],
            }
        },
        ["error_rate: 0.07", "p95: 812", "20 series", "latency 0 to 190"],
    ),
    "analyze_trace_comprehensive": (
        {
            "result": {
                "root_cause": {"service": "db", "reason": "lock wait", "since": "09:14"},
                "anomalies": [{"span": "a"}, {"span": "b"}],
                "critical_path": ["a", "b", "c"],
            }
        },
        ["root_cause: ", "lock wait", "2 anomalies", "3 critical_path"],
    ),
    "extract_log_patterns": (
        {"result": {"patterns": [{"pattern": "disk <*> full", "count": 40}, {"pattern": "ok"}]}},
        ["2 patterns", '"disk <*> full" 40x'],
    ),
    "query_promql": (
        adk_host.promql(60),
        ["60 series", "up 0 to 1", "mean"],
    ),
    "list_time_series": (
        adk_host.time_series(5, 60),
        ["5 series", "values 20", "to 97.5", "vm-3"],
    ),
}


@pytest.mark.parametrize("form", ["dict", "JSON in text"])
@pytest.mark.parametrize("tool", sorted(RESULTS))
def test_each_tool_is_told_by_what_it_is_asked_for(tool, form):
    response, expected = RESULTS[tool]
    given = response if form == "dict" else {"result": json.dumps(response)}
    line = one_liner(tool, given)
    assert [word for word in expected if word not in line] == [], line
    assert len(line) <= LINE
    assert "\n" not in line


def test_what_stands_for_a_large_result_is_told_too():
    from ullage._core import Payload

    survey = json.loads(Payload({"result": adk_host.log_entries(900)}).survey())
    handled = {"result": survey, "metadata": {"large_payload_handled": True}}
    assert one_liner("list_log_entries", handled).startswith("900 log entries")
    assert one_liner("some_other_tool", handled).startswith("900 log entries")


@pytest.mark.parametrize(
    ("response", "failed"),
    [
        ({"error": "permission denied"}, True),
        ({"status": "error", "message": "no such trace"}, True),
        ({"isError": True, "content": [{"type": "text", "text": "boom"}]}, True),
        ({"error": {"code": 403, "message": "denied"}}, True),
        ({"message": "no errors found"}, False),
        ({"error": None, "result": []}, False),
        ({"error": "", "status": "success"}, False),
        ({"errors": 0, "result": "0 errors"}, False),
        ("error: nothing", False),
        (None, False),
    ],
)
def test_a_failure_is_one_that_the_result_reports(response, failed):
    assert bool(failure(response)) is failed
    assert one_liner("any", response).startswith("failed: ") is failed


@pytest.mark.parametrize("tool", [*sorted(KIND_OF_TOOL), "unknown", ""])
def test_no_result_is_too_odd(tool):
    endless: dict[str, object] = {}
    endless["self"] = endless
    odd: list[object] = [
        None,
        "",
        "x" * 100_000,
        0,
        [],
        [None],
        {},
        {"result": None},
        {"result": {"spans": None, "patterns": {}, "series": 3}},
        {"result": {"kind": "logs"}},
        {"result": {"kind": "traces", "spans": "many"}},
        {"result": [{"name": {"value": 1}}] * 10},
        {"result": [float("nan")] * 60},
        {"root_cause": {"a": {"b": ["c"] * 1_000}}},
        {"patterns": [None, 3, {"x": {}}]},
        {1: 2},
        {"result": "{broken"},
        {"result": "\ud800" * 10},
        endless,
    ]
    for response in odd:
        assert len(one_liner(tool, response)) <= LINE


def answering(tool, result):
    part = types.Part.from_function_response(name=tool, response=result)
    return Event(author="sre", content=types.Content(role="user", parts=[part]))


def test_events_in_words_count_failures_and_name_tools_in_order():
    events = history(12)
    told = Summarizer().summarize_events(events)
    assert told.events_summarized == 25
    assert told.tools_used == sorted(PAYLOADS)
    assert told.error_count == 0, "an ERROR in a log is no failure of the tool"
    assert told.key_findings
    assert told.token_estimate <= 2_000
    failing = events[2].model_copy(deep=True)
    failing.content.parts[0].function_response.response = {"error": "permission denied"}
    assert Summarizer().summarize_events([failing]).error_count == 1
    assert (
        Summarizer().summarize_event(failing) == "  └ list_log_entries: failed: permission denied"
    )
    few = Summarizer(tokens=100).summarize_events(events)
    assert few.token_estimate <= 100
    assert "older lines have no room here" in few.summary_text


@pytest.mark.parametrize("tool", ["analyze_trace_comprehensive", "some_tool"])
@pytest.mark.parametrize(
    ("result", "found"),
    [
        ({"root_cause": "lock wait"}, "root_cause: lock wait"),
        ({"bottleneck": "the pool of the database"}, "bottleneck: the pool of the database"),
        ({"bottleneck": {"name": "SELECT"}}, 'bottleneck: {"name": "SELECT"}'),
        ({"critical_path_analysis": {"bottleneck": {"name": "SELECT"}}}, '"bottleneck": {"name"'),
        ({"anomalies": [{"span": "a"}, {"span": "b"}]}, 'anomalies: [{"span": "a"}'),
        ({"anomalies": [{"span": str(i)} for i in range(40)]}, "anomalies: 40 items"),
        ({"anomalies": 3}, "anomalies: 3"),
        ({"anomalies": [], "bottleneck": None, "spans": 3}, None),
        ({"anomalies": 0, "critical_path_analysis": {"bottleneck": None}}, None),
    ],
)
def test_causes_bottlenecks_and_anomalies_are_findings(tool, result, found):
    events = [answering(tool, {"status": "success", "result": result})]
    findings = Summarizer().summarize_events(events).key_findings
    assert [found in line for line in findings] == ([] if found is None else [True]), findings
