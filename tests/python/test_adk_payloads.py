"""Large results under real ADK agents: what stands for them, and where the whole is."""

# A handler returns a dict or None, and a test that gets None fails anyway.
# mypy: disable-error-code="arg-type,attr-defined,dict-item,index,misc,no-any-return,override,type-arg,union-attr"

import asyncio
import copy
import json
import statistics
import threading

import pytest
from google.adk.agents import LlmAgent
from google.adk.artifacts import FileArtifactService, InMemoryArtifactService
from google.adk.code_executors.unsafe_local_code_executor import UnsafeLocalCodeExecutor
from google.genai import types

import ullage
from tests.python import adk_host
from tests.python.adk_host import opened, responses, runner_of, say, scripted
from ullage._core import Payload
from ullage.adk import LargePayloadHandler, PayloadLimits, Sandbox

KNOWN = {
    "logs": {"status": "success", "result": adk_host.log_entries(800)},
    "traces": {"result": {"trace_id": "4bf9", "spans": adk_host.spans(400)}},
    "time_series": adk_host.time_series(20, 120),
    "metrics": adk_host.promql(300),
}
UNKNOWN = {"result": adk_host.tickets(300)}
LIMITS = PayloadLimits()


def tool_of(value):
    def probe() -> dict:
        """Looks."""
        return value

    return probe


async def ran(handler, value, *script, artifacts=None, tools=(), instance="plugin"):
    """The responses that the model saw of a tool that returns the value, and the runner."""
    model = scripted(("probe", {}), *script)
    callbacks = {"after_tool_callback": handler.after_tool_callback} if instance == "agent" else {}
    agent = LlmAgent(name="sre", model=model, tools=[tool_of(value), *tools], **callbacks)
    plugins = [handler] if instance == "plugin" else []
    runner = runner_of(agent, artifacts=artifacts, plugins=plugins)
    session = await opened(runner)
    events = await say(runner, session, "What is wrong?")
    return responses(events), runner, session


def seen(handler, value, *script, **more):
    return asyncio.run(ran(handler, value, *script, **more))[0]


def restored(handler, metadata):
    return json.loads(handler.store.get(metadata["reference"]))


@pytest.mark.parametrize("instance", ["plugin", "agent"])
@pytest.mark.parametrize("kind", sorted(KNOWN))
def test_a_known_shape_becomes_statistics_and_the_whole_is_stored(kind, instance):
    handler = LargePayloadHandler(limits=LIMITS)
    before = copy.deepcopy(KNOWN[kind])
    (answer,) = seen(handler, KNOWN[kind], instance=instance)
    metadata = answer["metadata"]
    assert answer["result"]["kind"] == kind
    assert metadata["large_payload_handled"] is True
    assert metadata["handling_mode"] == "template_core"
    assert metadata["template_used"] == kind
    assert metadata["original_chars"] == len(json.dumps(before, separators=(",", ":")))
    assert metadata["original_items"] > 0
    assert metadata["processing_ms"] >= 0
    assert restored(handler, metadata) == before
    assert len(json.dumps(answer)) < metadata["original_chars"] / 4
    assert KNOWN[kind] == before, "the tool's own object is as it was"


def test_statistics_are_those_of_python():
    entries = adk_host.log_entries(800)
    logs = json.loads(Payload(entries).survey())
    severities = [entry["severity"] for entry in entries]
    assert logs["entries"] == 800
    assert logs["failures"] == severities.count("ERROR")
    assert logs["severities"] == {name: severities.count(name) for name in logs["severities"]}
    assert sum(pattern["count"] for pattern in logs["patterns"]) == 800
    spans = adk_host.spans(400)
    took = sorted(int(span["end_time"][20:23]) for span in spans)
    traces = json.loads(Payload({"spans": spans}).survey())
    assert traces["failures"] == 10
    assert traces["duration_ms"]["count"] == 400
    assert (traces["duration_ms"]["min"], traces["duration_ms"]["max"]) == (took[0], took[-1])
    assert traces["duration_ms"]["p95"] == took[399 * 95 // 100]
    assert traces["duration_ms"]["mean"] == pytest.approx(statistics.fmean(took), rel=1e-5)
    assert traces["slowest"][0]["duration_ms"] == took[-1]
    values = adk_host.time_series(20, 120)
    points = [p["value"]["double_value"] for one in values["time_series"] for p in one["points"]]
    series = json.loads(Payload(values).survey())
    assert series["values"]["count"] == 2_400
    assert series["values"]["mean"] == pytest.approx(statistics.fmean(points), rel=1e-5)
    assert "vm-3" in json.dumps(series["by_series"][0]), "the one with the peak comes first"
    assert "97.5 at 2026-11-21T10:00:00Z" in series["by_series"][0]["points"]
    metrics = json.loads(Payload(adk_host.promql(300)).survey())
    assert metrics["by_metric"][0]["metric"] == "up"
    assert metrics["by_metric"][0]["values"]["mean"] == pytest.approx(288 / 300)


def test_an_unknown_shape_becomes_fields_samples_and_a_prompt_and_the_whole_is_stored():
    handler = LargePayloadHandler(limits=LIMITS)
    (answer,) = seen(handler, UNKNOWN)
    result, metadata = answer["result"], answer["metadata"]
    assert metadata["handling_mode"] == "code_generation_prompt"
    assert metadata["original_items"] == 300
    assert result["total_count"] == 300
    assert result["schema_hint"]["open"] == "boolean"
    assert result["sample_items"] == UNKNOWN["result"][:3]
    assert result["field_distribution"]["team"]["most_frequent"] == {
        "core": 100,
        "data": 100,
        "web": 100,
    }
    assert metadata["reference"] in result["code_generation_prompt"]
    assert "execute_custom_analysis" not in result["code_generation_prompt"], (
        "there is no such tool"
    )
    assert restored(handler, metadata) == UNKNOWN


def test_the_model_reads_what_was_taken_out():
    handler = LargePayloadHandler(limits=LIMITS)
    reference = ullage._core.reference_of("probe", Payload(UNKNOWN).stored()[0], 0)
    reads = [
        ("retrieve", {"reference": reference, "pattern": "INC-1234"}),
        ("retrieve", {"reference": reference, "pointer": "/result/299/id"}),
    ]
    answers = seen(handler, UNKNOWN, *reads, tools=handler.tools())
    assert answers[0]["metadata"]["reference"] == reference
    assert '"id":"INC-1234"' in answers[1]["result"]
    assert "INC-1235" not in answers[1]["result"], "a line for each row"
    assert answers[2]["result"].endswith("INC-1299")


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_the_whole_is_an_artifact_of_the_session(kind, tmp_path):
    service = (
        InMemoryArtifactService() if kind == "memory" else FileArtifactService(root_dir=tmp_path)
    )

    async def loaded():
        handler = LargePayloadHandler(limits=LIMITS)
        (answer,), runner, session = await ran(handler, KNOWN["logs"], artifacts=service)
        named = answer["metadata"]["artifact"]
        return await runner.artifact_service.load_artifact(
            app_name="test", user_id="u", session_id=session, **named
        )

    part = asyncio.run(loaded())
    assert json.loads(part.inline_data.data) == KNOWN["logs"]
    assert part.inline_data.mime_type == "application/json"


class Failing:
    """A store whose disk is full."""

    def put(self, content, *, reference, tool=None):
        raise OSError(28, "no space left on device")

    def get(self, reference):
        raise KeyError(reference)


class Awaited:
    def __init__(self):
        self.inner = ullage.MemoryStore()

    async def put(self, content, *, reference, tool=None):
        await asyncio.sleep(0)
        return self.inner.put(content, reference=reference, tool=tool)

    async def get(self, reference):
        await asyncio.sleep(0)
        return self.inner.get(reference)


class NoContext:
    async def save_artifact(self, name, part):
        raise ValueError("Artifact service is not initialized.")


def handled(handler, value, tool="probe"):
    return asyncio.run(handler.handle(tool, {}, value, NoContext()))


def test_nothing_is_taken_out_that_could_not_be_kept(caplog):
    handler = LargePayloadHandler(Failing(), limits=LIMITS)
    assert handled(handler, UNKNOWN) is None
    assert "could not be stored" in caplog.text
    (answer,) = seen(handler, UNKNOWN)
    assert "reference" not in answer["metadata"], "the artifact has it"
    assert "artifact" in answer["result"]["code_generation_prompt"]


def test_a_store_may_have_to_be_awaited():
    handler = LargePayloadHandler(Awaited(), limits=LIMITS)
    (answer,) = seen(handler, UNKNOWN)
    assert json.loads(handler.store.inner.get(answer["metadata"]["reference"])) == UNKNOWN


@pytest.mark.parametrize(
    "small",
    [
        {"result": list(range(51))},
        {"result": {f"setting_{i}": i for i in range(51)}},
        {"result": "x" * 90_000},
        {"result": adk_host.tickets(50)},
        [1, 2, 3],
        "text",
        None,
        3.5,
        {},
        {"result": None},
    ],
    ids=range(10),
)
def test_what_is_not_large_stays(small):
    handler = LargePayloadHandler(limits=LIMITS)
    assert handled(handler, small) is None
    assert handler.store.list() == []


def test_what_was_handled_or_read_back_is_not_handled_again():
    handler = LargePayloadHandler(limits=LIMITS)

    once = handled(handler, UNKNOWN)
    blown_up = {**once, "result": once["result"] | {"more": "y" * 200_000}}
    assert handled(handler, blown_up) is None
    assert handled(handler, {"result": "z" * 200_000}, "retrieve") is None


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("an MCP result", adk_host.mcp(adk_host.log_entries(500)), "logs"),
        ("JSON in a string", {"result": json.dumps(adk_host.spans(300))}, "traces"),
        ("another key", {"ok": True, "rows": adk_host.log_entries(500)}, "logs"),
        ("a bare list", adk_host.spans(300), "traces"),
        ("JSON lines", {"result": "\n".join(map(json.dumps, adk_host.log_entries(500)))}, "logs"),
        ("two lists", {"logs": adk_host.log_entries(300), "spans": adk_host.spans(300)}, "several"),
    ],
)
def test_any_key_and_any_frame_is_looked_into(name, value, kind):
    handler = LargePayloadHandler(limits=LIMITS)
    answer = handled(handler, value)
    assert answer["result"]["kind"] == kind
    metadata = answer["metadata"]
    whole = handler.store.get(metadata.get("original_reference", metadata["reference"]))
    assert json.loads(whole) == value
    if isinstance(value, dict) and "isError" in value:
        assert answer["isError"] is False, "what stands beside the data stays"


def test_a_long_text_is_shortened_by_what_it_is():
    text = "".join(f"2026-11-21 09:00:{i % 60:02d} INFO served {i}\n" for i in range(6_000))
    text += "2026-11-21 10:00:00 ERROR disk is full\n"
    handler = LargePayloadHandler(limits=LIMITS)
    answer = handled(handler, {"result": text})
    assert "ERROR disk is full" in answer["result"]["excerpt"]
    assert handler.store.get(answer["metadata"]["reference"]).decode() == text
    assert len(answer["result"]["excerpt"]) <= 2_000


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ({f"service-{i}": i for i in range(200)}, "object of 200 values: number"),
        ([f"service-{i}" for i in range(400)], "array of 400 values: string"),
        ([[i, f"service-{i}"] for i in range(400)], "array of 400 values: array"),
    ],
)
def test_rows_without_fields_have_a_schema_too(value, hint):
    handler = LargePayloadHandler(limits=PayloadLimits(chars=2_000))
    answer = handled(handler, value)
    assert answer["result"]["schema_hint"] == hint
    assert json.loads(handler.store.get(answer["metadata"]["reference"])) == value


def test_pictures_and_parts_are_left_to_others():
    handler = LargePayloadHandler(limits=LIMITS)
    picture = types.Part.from_bytes(data=b"x" * 200_000, mime_type="image/png")
    image = {"content": [{"type": "image", "data": "A" * 200_000, "mimeType": "image/png"}]}
    for result in ([picture], {"result": b"x" * 200_000}, image):
        assert handled(handler, result) is None


def test_the_environment_sets_the_limits(monkeypatch):
    monkeypatch.setenv("SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_ITEMS", "7")
    monkeypatch.setenv("SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_CHARS", "100,000")
    assert LargePayloadHandler().limits == PayloadLimits(items=7)
    monkeypatch.setenv("SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_CHARS", "many")
    monkeypatch.setenv("SRE_AGENT_LARGE_PAYLOAD_ENABLED", "False")
    limits = LargePayloadHandler().limits
    assert limits == PayloadLimits(enabled=False, items=7, chars=100_000)
    handler = LargePayloadHandler(limits=limits)
    assert handled(handler, UNKNOWN) is None
    assert PayloadLimits.from_env(environ={}) == PayloadLimits()


def local() -> UnsafeLocalCodeExecutor:
    return UnsafeLocalCodeExecutor(timeout_seconds=30)


# The builtins that the local executor of the SRE agent gives its code: no exception, and neither
# `any` nor `type`.
RESTRICTED = [len, range, enumerate, zip, map, filter, sorted, reversed, list, dict, set, tuple]
RESTRICTED += [str, int, float, bool, min, max, sum, abs, round, isinstance, hasattr, getattr, open]


def in_process(code, data):
    """A sandbox of the test's own: the code, in this process, with few builtins."""
    printed: list[str] = []
    names = {one.__name__: one for one in RESTRICTED}
    names |= {
        "print": lambda *said: printed.append(" ".join(map(str, said))),
        "__import__": __import__,
    }
    exec(code, {"data": json.loads(data), "__builtins__": names})
    return "\n".join(printed)


async def in_process_later(code, data):
    await asyncio.sleep(0)
    return in_process(code, data)


@pytest.mark.parametrize("kind", [*sorted(KNOWN), "other"])
def test_a_sandbox_says_what_the_core_says(kind):
    value = KNOWN.get(kind, UNKNOWN)
    handler = LargePayloadHandler(limits=LIMITS, sandbox=in_process)
    answer = handled(handler, value)
    mode = "generic_sandbox" if kind == "other" else "template_sandbox"
    assert answer["metadata"]["handling_mode"] == mode
    core = json.loads(Payload(value).survey())
    assert {key: answer["result"][key] for key in core} == core
    if kind == "other":
        assert answer["result"]["sample_items"] == value["result"][:3]


def test_a_sandbox_without_ullage_is_not_tried_again():
    tried = []

    def bare(code, data):
        tried.append(code)
        raise ModuleNotFoundError("No module named 'ullage'")

    handler = LargePayloadHandler(limits=LIMITS, sandbox=bare)
    for _ in range(2):
        answer = handled(handler, KNOWN["logs"])
        assert answer["metadata"]["handling_mode"] == "template_core"
    assert len(tried) == 1


@pytest.mark.parametrize("runs", [local(), in_process, in_process_later, Sandbox(in_process)])
def test_the_model_runs_its_own_code_over_the_full_data(runs):
    handler = LargePayloadHandler(limits=LIMITS, sandbox=runs)
    reference = ullage._core.reference_of("probe", Payload(UNKNOWN).stored()[0], 0)
    calls = [
        ("execute_custom_analysis_in_sandbox", {"reference": reference, "analysis_code": code})
        for code in (
            "print(len(data['result']), sum(row['open'] for row in data['result']))",
            "print(nobody)",
            "pass",
            "print('y' * 30_000)",
        )
    ]
    calls.append(
        (calls[0][0], {"reference": "probe-0000000000000000", "analysis_code": "print(1)"})
    )
    answers = seen(handler, UNKNOWN, *calls, tools=handler.tools())
    assert answers[0]["metadata"]["handling_mode"] == "generic_sandbox"
    assert answers[1]["result"].strip() == "300 240"
    assert "NameError" in answers[2]["error"]
    assert "printed nothing" in answers[3]["error"]
    assert len(answers[4]["result"]) == 20_000
    stored = answers[4]["truncated"].rsplit(" ", 1)[-1]
    assert handler.store.get(stored).decode().strip() == "y" * 30_000
    assert "probe-0000000000000000" in answers[5]["error"]


def broken(code, data):
    raise RuntimeError("the sandbox is down")


def silent(code, data):
    return ""


def no_json(code, data):
    return "not JSON"


async def slow(code, data):
    await asyncio.sleep(60)


def test_a_sandbox_reads_texts_too():
    text = "".join(f"line {i}\n" for i in range(20_000))
    handler = LargePayloadHandler(limits=LIMITS, sandbox=in_process)
    answer = handled(handler, {"result": text})
    assert answer["metadata"]["handling_mode"] == "generic_sandbox"
    assert answer["result"]["total_count"] == 20_001
    assert len(answer["result"]["excerpt"]) <= 2_000


@pytest.mark.parametrize("runs", [broken, silent, no_json, Sandbox(slow, seconds=0.05)])
def test_where_a_sandbox_fails_the_core_says_it(runs):
    handler = LargePayloadHandler(limits=LIMITS, sandbox=runs)
    modes = []
    for value in (KNOWN["logs"], UNKNOWN):
        answer = handled(handler, value)
        modes.append(answer["metadata"]["handling_mode"])
    assert modes == ["template_core", "code_generation_prompt"]
    assert "execute_custom_analysis_in_sandbox" in answer["result"]["code_generation_prompt"]


def test_hundreds_of_results_at_once_are_each_their_own():
    handler = LargePayloadHandler(limits=LIMITS)
    values = [{"result": adk_host.tickets(60 + i)} for i in range(100)]
    answers: dict[int, dict] = {}

    def work(place):
        answers[place] = handled(handler, values[place])

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(values))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place, value in enumerate(values):
        assert restored(handler, answers[place]["metadata"]) == value


@pytest.mark.parametrize(
    "odd",
    [
        {"result": [float("nan"), float("inf")] * 3_000},
        {"result": [{"a": "\ud800", "b": i} for i in range(2_000)]},
        {"result": [[]] * 5_000},
        {"result": [{}] * 5_000},
        {"result": [None] * 5_000},
        {"result": [{"timestamp": None, "severity": None, "message": None}] * 2_000},
        {"result": [{"name": 1, "start_time": "x", "end_time": {}}] * 2_000},
        {"result": [{"metric": {}, "values": [[1, "NaN"], [2, "+Inf"]]}] * 2_000},
        {"result": {str(i): {"a": i} for i in range(20_000)}},
        {"result": [{str(i): i} for i in range(20_000)]},
        {"result": ['{"a":', "]"] * 30_000},
        {"result": "{" * 120_000},
        {("a", 1): "x" * 120_000},
        {"result": [{"x": 10**400, "y": -(10**400)}] * 2_000},
        {"result": "\x00\x01" * 60_000},
    ],
    ids=range(15),
)
def test_odd_data_is_told_of_and_never_raises(odd, caplog):
    handler = LargePayloadHandler(limits=LIMITS)
    answer = handled(handler, odd)
    assert answer is None or answer["metadata"]["large_payload_handled"]
    assert "was not handled" not in caplog.text
    json.dumps(answer)


def test_endless_data_stays_and_is_logged(caplog):
    endless: dict = {"result": "x" * 120_000}
    endless["self"] = endless
    handler = LargePayloadHandler(limits=LIMITS)
    assert handled(handler, endless) is None
    assert "was not handled" in caplog.text
