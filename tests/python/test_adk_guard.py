"""The last limit on a tool's response, and the steps before it."""

# mypy: disable-error-code="arg-type,misc,override"

import asyncio
import json
from typing import Any

import pytest
from google.adk.plugins.multimodal_tool_results_plugin import MultimodalToolResultsPlugin
from google.genai import types

import ullage
from ullage.adk import ContextCallbacks, ContextPlugin, Guard, LargePayloadHandler
from ullage.adk.guard import MARKER, characters

from .gemini_host import Host, agent, ask, call, gemini, last_text, text

LIMIT = 200_000


def guarded(response) -> Any:
    return Guard().guarded(response)


def size(value) -> int:
    return len(json.dumps(value, ensure_ascii=False))


def test_a_text_is_cut_with_the_marker_of_the_document():
    whole = "x" * (LIMIT + 1)
    left = guarded({"result": whole})
    assert left == {"result": "x" * LIMIT + MARKER}
    assert "[TRUNCATED BY SRE AGENT SAFETY GUARD: Result too large for LLM context]" in MARKER
    assert guarded({"result": "x" * LIMIT}) is None


def test_a_list_keeps_its_first_500_items_and_says_how_many_are_missing():
    left = guarded({"result": list(range(701))})
    assert left == {"result": list(range(500)), "metadata": {"truncated_count": 201}}
    assert guarded({"result": list(range(500))}) is None
    kept = {"result": list(range(501)), "metadata": {"source": "db"}}
    assert guarded(kept)["metadata"] == {"source": "db", "truncated_count": 1}
    assert kept["metadata"] == {"source": "db"}, "nothing is changed in place"
    other = {"result": list(range(501)), "metadata": "db"}
    assert guarded(other)["truncated_count"] == 1


def test_a_list_of_few_items_is_measured_too():
    left = guarded({"result": ["y" * 100_000] * 400})
    assert len(left["result"]) == 1
    assert left["metadata"] == {"truncated_count": 399}
    left = guarded({"result": ["y" * 300_000]})
    assert left["result"]["error"] == "Result too large"


def test_a_dict_gives_way_to_a_preview_and_advice():
    whole = {f"key {n}": "z" * 1_000 for n in range(300)}
    left = guarded({"result": whole})["result"]
    assert left["error"] == "Result too large"
    assert left["message"].startswith("Tool output (30")
    assert left["message"].endswith("exceeded safety limit. Try a more specific filter.")
    assert left["truncated_preview"] == json.dumps(whole, ensure_ascii=False)[:100_000] + "..."


@pytest.mark.parametrize("key", ["result", "output", "content", "any key", "structuredContent"])
@pytest.mark.parametrize(
    "value",
    [
        "x" * 900_000,
        ["x" * 1_000] * 5_000,
        {"deep": {"deeper": ["x" * 500_000]}},
        [{"a": "x" * 400_000}],
    ],
)
def test_no_key_of_a_response_is_above_the_limit(key, value):
    left = guarded({key: value, "status": "ok"})
    assert left["status"] == "ok"
    assert size(left) <= LIMIT + 1_000


def test_a_response_as_a_whole_is_within_the_limit():
    left = guarded({f"key {n}": "x" * 150_000 for n in range(40)})
    assert size(left) <= LIMIT + 1_000
    left = guarded({f"key {n}": n for n in range(100_000)})
    assert size(left) <= LIMIT + 1_000


@pytest.mark.parametrize("value", ["x" * 900_000, ["x" * 900] * 900, b"x" * 900_000, 7, None, 1.5])
def test_what_is_no_dict_is_wrapped_as_adk_does(value):
    left = guarded(value)
    if value in (7, None, 1.5):
        assert left is None
    else:
        assert set(left) <= {"result", "metadata"}
        assert characters(left) <= LIMIT + 1_000


def test_values_that_are_nested_without_end_are_refused_too():
    endless: list[Any] = []
    endless.append(endless)
    endless.append("x" * 300_000)
    assert guarded({"result": endless})["result"]["error"] == "Result too large"
    deep: Any = "x" * 300_000
    for _ in range(5_000):
        deep = {"a": deep}
    assert guarded({"result": deep})["result"]["error"] == "Result too large"


@pytest.mark.parametrize("wrong", [{"max_chars": 0}, {"max_items": "many"}, {"max_items": True}])
def test_a_limit_is_a_number(wrong):
    with pytest.raises(ullage.PolicyError, match=next(iter(wrong))):
        Guard(**wrong)


def one_result(result, **settings):
    """The response of a tool that returns this, as it entered the session."""

    def dump():
        """Dumps."""
        return result

    dump.__name__ = "dump"
    model = gemini([call("dump"), text("done")])
    events = ask(Host(agent(model, [dump]), [ContextPlugin(**settings)]), "Go.")
    (response,) = [r.response for event in events for r in event.get_function_responses()]
    return response


def engine(store=None, **settings):
    return ullage.ContextManager(ullage.Policy(**settings), store=store, format="gemini")


LOG = "".join(
    f"2026-05-01T10:00:{n % 60:02d} INFO request {n} served in {n % 97} ms\n" for n in range(4_000)
)


def test_a_response_is_shortened_as_it_arrives_and_the_whole_is_stored():
    store = ullage.MemoryStore()
    left = one_result(LOG, engine=engine(store))
    assert size(left) < 10_000
    (reference,) = store.list()
    assert reference in left["result"]
    assert store.get(reference).decode() == LOG


def test_the_keys_of_a_response_stay():
    store = ullage.MemoryStore()
    points = [{"at": n, "value": n % 7} for n in range(3_000)]
    left = one_result({"status": "ok", "logs": LOG, "points": points, "n": 3}, engine=engine(store))
    assert (left["status"], left["n"]) == ("ok", 3)
    assert set(left) == {"status", "logs", "points", "n"}
    assert size(left) < 20_000
    assert len(store.list()) == 2


def test_the_keys_of_a_response_within_a_response_stay():
    left = one_result(
        {"result": {"status": "ok", "logs": LOG}}, engine=engine(ullage.MemoryStore())
    )
    assert left["result"]["status"] == "ok"
    assert size(left) < 10_000


def test_blocks_of_an_mcp_server_stay_blocks():
    blocks = [{"type": "text", "text": LOG}, {"type": "text", "text": "Is that all?"}]
    store = ullage.MemoryStore()
    left = one_result({"content": blocks, "isError": False}, engine=engine(store))
    first, second = left["content"]
    assert (first["type"], second) == ("text", blocks[1])
    assert store.list()[0] in first["text"]
    assert left["isError"] is False


@pytest.mark.parametrize("key", ["result", "logs"])
def test_a_reference_is_never_shortened_away(key):
    store = ullage.MemoryStore()
    many = {f"key {n}": "some words " * 150 for n in range(30)}
    left = one_result({key: LOG, **many}, engine=engine(store))
    assert size(left) < 20_000
    found = {reference for reference in store.list() if reference in json.dumps(left)}
    assert len(found) == 2, "the logs, and the rest"


def test_what_is_small_stays_the_same_object():
    small = {"status": "ok", "rows": [1, 2, 3]}
    assert one_result(small, engine=engine()) == small


def test_what_the_guard_cuts_off_is_stored_where_there_is_a_store():
    store = ullage.MemoryStore()
    roomy = engine(store, window=10_000_000, shrink_above=5_000_000)
    left = one_result({"text": LOG[:500], "more": "x" * 300_000}, engine=roomy)
    assert left["more"].endswith(MARKER)
    (reference,) = store.list()
    assert left["full_output"] == f"stored as {reference}"
    assert json.loads(store.get(reference))["text"] == LOG[:500]
    assert "full_output" not in one_result(
        {"more": "x" * 300_000}, engine=engine(shrink_above=5_000_000, window=10_000_000)
    )


class Handler:
    def __init__(self, outcome):
        self.outcome = outcome
        self.seen = []

    async def handle(self, tool_name, args, result, tool_context):
        self.seen.append((tool_name, args, result, tool_context.session.id))
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def test_payloads_are_handled_first_and_the_guard_still_holds():
    handled = {"summary": "x" * 300_000, "metadata": {"large_payload_handled": True}}
    handler = Handler(handled)
    left = one_result(LOG, payloads=handler)
    assert handler.seen == [("dump", {}, LOG, "s")]
    assert left["summary"].endswith(MARKER)
    assert left["metadata"] == {"large_payload_handled": True}
    small = {"summary": "y" * 20_000}
    assert one_result(LOG, payloads=Handler(small)) == small, "a summary is not shortened again"


@pytest.mark.parametrize("outcome", [None, RuntimeError("sandbox is gone")])
def test_a_handler_without_an_answer_leaves_the_response_to_the_engine(outcome, caplog):
    left = one_result(LOG, payloads=Handler(outcome))
    assert size(left) < 10_000
    assert ("sandbox is gone" in caplog.text) == (outcome is not None)


def test_a_store_that_fails_leaves_the_response_to_the_guard(caplog):
    class Failing(ullage.MemoryStore):
        def put(self, content, **_):
            raise OSError("No space left on device")

    left = one_result("x " * 200_000, engine=engine(Failing()))
    assert left["result"].endswith(MARKER)
    assert "No space left" in caplog.text


def test_what_the_retrieval_tool_returns_is_not_shortened_again():
    store = ullage.MemoryStore()
    own = engine(store)
    store.put(LOG.encode(), reference="dump-00000000000000aa")
    tool = ullage.adk.retrieval_tool(store)
    model = gemini([call("retrieve", reference="dump-00000000000000aa"), text("done")])
    events = ask(Host(agent(model, [tool]), [ContextPlugin(engine=own)]), "Go.")
    (response,) = [r.response for event in events for r in event.get_function_responses()]
    assert "request 77 served" in response["result"]
    assert len(store.list()) == 1


@pytest.mark.parametrize("made", [ContextPlugin, ContextCallbacks])
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"payloads": object()}, "payloads: a object has no `handle`"),
        ({"engine": 5}, "engine must be a ContextManager; got int"),
        ({"usage": 5}, "usage: "),
        ({"guard": 5}, "guard: "),
        ({"window": 1_000}, "window: unknown; .* engine, usage, payloads, guard, remember.*Policy"),
        ({"store": None, "model": "x"}, "model, store: unknown"),
    ],
)
def test_settings_are_checked_when_the_plugin_is_made(made, wrong, said):
    with pytest.raises(ullage.PolicyError, match=said):
        made(**wrong)


def test_callbacks_are_coroutines():
    assert asyncio.iscoroutinefunction(ContextPlugin.before_model_callback)


@pytest.mark.parametrize("kind", ["part", "list", "key"])
def test_a_picture_that_a_tool_returns_reaches_the_model(kind):
    data = bytes(range(256)) * 2_000
    part = types.Part(inline_data=types.Blob(mime_type="image/png", data=data))

    def screenshot() -> Any:
        """Takes a screenshot."""
        return {"part": part, "list": [types.Part(text="Here."), part], "key": {"shot": part}}[kind]

    model = gemini([call("screenshot"), text("A graph.")])
    plugins = [ContextPlugin(payloads=LargePayloadHandler()), MultimodalToolResultsPlugin()]
    host = Host(agent(model, [screenshot]), plugins if kind != "key" else plugins[:1])
    assert last_text(ask(host, "What is there?")) == "A graph."
    assert len("".join(model.sent[-1])) > len(data)
    assert "ullage" not in "".join(model.sent[-1])
