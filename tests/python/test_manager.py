"""`ContextManager` as a host calls it: in place, beside a running loop, from many threads."""

# mypy: disable-error-code="index,override,type-arg"

import asyncio
import copy
import json
import random
import threading
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

import ullage

from .conversations import FORMATS, long_conversation, render
from .judges import Snapshot, count, faults, host_number
from .loop_probe import LoopProbe

POLICY = ullage.Policy(window=6_000, reserve_output=1_000)


@pytest.fixture(params=FORMATS)
def messages(request) -> list[Any]:
    return render(long_conversation(30, 50), request.param)


@pytest.fixture
def engine() -> ullage.ContextManager:
    return ullage.ContextManager(POLICY, store=ullage.MemoryStore())


def test_compact_keeps_the_list_and_the_untouched_objects(engine, messages):
    before = Snapshot(messages)
    report = engine.compact(messages)
    assert messages is before.list
    assert report.tokens_after == count(messages) < report.tokens_before
    untouched = [m for m in messages if any(m is old for old in before.objects)]
    assert messages[-1] in untouched
    assert len(untouched) < len(before.objects)
    assert faults(messages) == []


def test_the_callers_own_dicts_are_never_written_to(engine, messages):
    before = Snapshot(messages)
    engine.compact(messages)
    before.assert_values_unchanged()


def test_changed_messages_are_copies_that_keep_unknown_fields(engine, messages):
    before = Snapshot(messages)
    engine.compact(messages)
    changed = [m for m in messages if not any(m is old for old in before.objects)]
    edited = [m for m in changed if host_number(m) is not None]
    assert edited
    for message in edited:
        assert message["x_host"] is before.objects[host_number(message)]["x_host"]
        assert set(message) == set(before.objects[host_number(message)])


def test_the_status_of_a_result_survives_its_shortening(engine):
    messages = render(long_conversation(8), "bedrock")
    engine.compact(messages)
    results = [b["toolResult"] for m in messages for b in m["content"] if "toolResult" in b]
    assert any(r["content"][0]["text"].startswith("[ullage: ") for r in results)
    assert all(r["status"] == "success" for r in results)


def test_plan_does_nothing(engine, messages):
    before = Snapshot(messages)
    plan = engine.plan(messages)
    assert not plan.is_empty
    before.assert_nothing_changed()
    assert engine.store.list() == []
    assert engine.stats.compactions == 0


def test_a_plan_is_data(engine, messages):
    plan = engine.plan(messages)
    written = json.loads(json.dumps(plan.to_dict()))
    assert written == plan.to_dict()
    assert written["edits"] == plan.edits
    text = plan.explain()
    assert isinstance(text, str)
    assert len(text.splitlines()) >= len(plan.edits)
    report = plan.report()
    assert (report["tokens_before"], report["tokens_after"]) == (
        plan.tokens_before,
        plan.tokens_after,
    )
    json.dumps(engine.compact(messages).to_dict())


def test_the_report_is_that_of_the_plan(engine, messages):
    plan = engine.plan(messages)
    report = engine.compact(messages)
    expected = plan.report()
    assert report.to_dict() == {**expected, "elapsed": report.elapsed, "savings": None}
    assert report.saved == plan.tokens_before - plan.tokens_after
    assert report.references == engine.store.list() or set(report.references) == set(
        engine.store.list()
    )


def test_first_changed_is_the_first_message_that_is_another_object(engine, messages):
    before = list(messages)
    report = engine.compact(messages)
    differing = [
        i for i, (now, then) in enumerate(zip(messages, before, strict=False)) if now is not then
    ]
    assert report.first_changed == differing[0]


def test_a_plan_of_other_messages_is_refused(engine, messages):
    plan = engine.plan(messages)
    for other in (
        messages[:-2],
        [*messages, {"role": "assistant", "content": [{"text": "x", "type": "text"}]}],
        [],
    ):
        with pytest.raises(ullage.MessageError, match="make a new plan"):
            plan.apply(other)
    edited = copy.deepcopy(messages)
    edited[0]["content"] = "Another task."
    with pytest.raises(ullage.MessageError, match="changed since"):
        plan.apply(edited)
    assert len(plan.apply(copy.deepcopy(messages))) <= len(messages)


def test_a_plan_is_refused_once_a_message_is_pinned(engine, messages):
    plan = engine.plan(messages)
    removed = next(e["messages"][0] for e in plan.edits if e["action"] == "remove")
    messages[removed]["metadata"] = {"custom": {"pinned": True}}
    with pytest.raises(ullage.MessageError):
        plan.apply(messages)


def test_objects_describe_themselves(tmp_path):
    engine = ullage.ContextManager(model="gpt-4o", store=ullage.MemoryStore())
    assert repr(engine) == (
        'ContextManager(window=128000, counter=TokenCounter("o200k_base"),'
        " store=<MemoryStore: 0 artifacts>)"
    )
    files = ullage.FileStore(tmp_path, session="a")
    assert repr(files) == f"FileStore({str(tmp_path)!r}, session='a')"
    assert repr(ullage.RetrievalTool(files)) == f"RetrievalTool({files!r}, name='retrieve')"
    assert repr(ullage.Recorder(name="run")) == "Recorder(name='run', entries=0)"
    assert repr(ullage.UsageTracker()) == "UsageTracker(budget=0, sessions=0)"
    policy = ullage.Policy()
    assert set(policy.to_dict()) | {"replace", "preset"} <= set(dir(policy))


@pytest.mark.parametrize(
    ("name", "kind"), [("policy", ullage.Policy), ("store", ullage.MemoryStore)], ids=str
)
def test_a_class_in_place_of_an_instance_is_named(name, kind):
    wanted: dict[str, Any] = {name: kind}
    with pytest.raises(ullage.PolicyError, match=f"{name}: it is the class; give an instance"):
        ullage.ContextManager(**wanted)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_one_call_compacts_a_copy_for_a_model(messages, is_async):
    before, store = copy.deepcopy(messages), ullage.MemoryStore()
    known: dict[str, Any] = {"model": "gpt-4o", "budget": 5_000, "store": store}
    outcome = (
        asyncio.run(ullage.acompact(messages, **known))
        if is_async
        else ullage.compact(messages, **known)
    )
    assert messages == before
    engine = ullage.ContextManager(model="gpt-4o", store=store)
    assert outcome.messages == engine.view(messages, 5_000) != before
    assert outcome.report.tokens_after <= 5_000 < outcome.report.tokens_before
    assert outcome.report.references
    with pytest.raises(ullage.MessageError, match="are a dict, not a list"):
        ullage.compact(cast("Any", messages[0]), model="gpt-4o")


def test_view_leaves_the_messages_and_equals_compact(engine, messages):
    before = Snapshot(messages)
    seen = engine.view(messages)
    before.assert_nothing_changed()
    assert seen is not messages
    assert set(engine.plan(messages).report()["references"]) <= set(engine.store.list())
    engine.compact(messages)
    assert seen == messages


def test_view_of_what_fits_is_a_new_list_of_the_same_objects(engine, messages):
    few = messages[:3]
    seen = engine.view(few)
    assert seen is not few
    assert all(a is b for a, b in zip(seen, few, strict=True))


def test_a_tuple_may_be_planned_and_viewed_but_not_compacted(engine, messages):
    assert engine.view(tuple(messages)) == engine.view(messages)
    assert engine.plan(tuple(messages)).to_dict() == engine.plan(messages).to_dict()
    with pytest.raises(ullage.MessageError, match="use view"):
        engine.compact(tuple(messages))


@pytest.mark.parametrize("format", [None, *FORMATS])
def test_an_empty_list_needs_nothing(format):
    engine = ullage.ContextManager(format=format)
    empty: list[Any] = []
    assert engine.plan(empty, hard=True).is_empty
    assert engine.compact(empty).tokens_after == 0
    assert engine.view(empty) == []
    assert engine.status(empty).due == "none"
    assert empty == []


def test_hard_goes_down_to_the_low_mark_although_nothing_is_due(messages):
    window = int(count(messages) * 1.3) + POLICY.reserve_output
    policy = ullage.Policy(window=window, reserve_output=POLICY.reserve_output)
    engine = ullage.ContextManager(policy, store=ullage.MemoryStore())
    assert engine.plan(messages).is_empty
    report = engine.compact(messages, hard=True)
    assert report.tokens_after <= report.budget * policy.low


def test_hard_uses_all_of_a_budget_that_is_given(messages):
    tokens = count(messages)
    engine = ullage.ContextManager(POLICY, store=ullage.MemoryStore())
    assert engine.plan(messages, tokens, hard=True).is_empty
    assert engine.plan(messages, tokens).is_empty, "a budget is exceeded above it"
    assert engine.plan(messages, tokens - 1).tokens_after <= tokens * POLICY.low
    budget = tokens * 6 // 10
    assert budget * 0.9 < engine.compact(messages, budget, hard=True).tokens_after <= budget


def test_pins_stay_the_same_objects(engine, messages):
    pinned = [messages[3], messages[4]]
    engine.compact(messages, pins=[3, 4])
    assert all(any(m is pin for m in messages) for pin in pinned)
    assert faults(messages) == []


def test_system_and_tools_take_their_part_of_the_window(messages):
    system, tools = "word " * 500, [{"name": "t", "inputSchema": {"json": {"type": "object"}}}]
    engine = ullage.ContextManager(POLICY, system=system, tools=tools, store=ullage.MemoryStore())
    status = engine.status(messages)
    assert status.fixed > 500
    assert status.available == 6_000 - 1_000 - status.fixed
    assert engine.status(messages, system="", tools=[]).fixed < 10
    report = engine.compact(messages)
    assert report.budget == status.available


def test_status_says_what_is_due(messages):
    engine = ullage.ContextManager(POLICY)
    tokens = count(messages)
    status = engine.status(messages)
    assert status.tokens == tokens == sum(status.parts.values())
    assert status.low < status.high < status.available
    for room, due in ((tokens - 1, "hard"), (tokens, "soft"), (tokens * 2, "none")):
        policy = ullage.Policy(window=room + 1_000, reserve_output=1_000)
        assert ullage.ContextManager(policy).status(messages).due == due
    for budget, due in ((tokens - 1, "hard"), (tokens, "none")):
        assert engine.status(messages, budget).due == due


def test_stats_add_up(engine, messages):
    other = copy.deepcopy(messages)
    reports = [engine.compact(messages), engine.compact(other), engine.compact(other)]
    stats = engine.stats
    assert stats.compactions == 2
    assert stats.saved == {
        name: sum(r.stages[name].saved for r in reports if name in r.stages) for name in stats.saved
    }
    assert sum(stats.saved.values()) == sum(r.saved for r in reports)
    assert stats.seconds > 0


def test_without_a_store_the_texts_say_that_it_is_lost(messages):
    engine = ullage.ContextManager(POLICY)
    report = engine.compact(messages)
    assert report.references == []
    assert "stored as" not in json.dumps(messages)
    assert "to fit the context window" in json.dumps(messages)


SHRINKABLE = "\n".join(f"line {i} of the output" for i in range(3_000))


@pytest.mark.parametrize(
    ("result", "shape"),
    [
        pytest.param(SHRINKABLE, lambda r: r, id="text"),
        pytest.param(
            {"toolUseId": "a", "status": "error", "content": [{"text": SHRINKABLE}]},
            lambda r: r["content"][0]["text"],
            id="bedrock-block",
        ),
        pytest.param(
            {"type": "tool_result", "tool_use_id": "a", "content": SHRINKABLE},
            lambda r: r["content"],
            id="anthropic-string",
        ),
        pytest.param(
            [{"type": "text", "text": SHRINKABLE, "cache_control": 1}],
            lambda r: r[0]["text"],
            id="items",
        ),
        pytest.param(
            {"toolUseId": "a", "content": [{"json": {"rows": SHRINKABLE.split()}}]},
            lambda r: r["content"][0]["text"],
            id="json-item",
        ),
        pytest.param({"rows": SHRINKABLE.split()}, lambda r: r["result"], id="any-json"),
    ],
)
def test_shrink_gives_a_shorter_result_of_the_same_shape_and_stores_the_whole(
    engine, result, shape
):
    before = copy.deepcopy(result)
    shrunk = engine.shrink("Read File", result)
    assert result == before
    text = shape(shrunk)
    assert ullage.count_tokens(text) <= 1_200
    (reference,) = engine.store.list()
    assert reference in text.splitlines()[0]
    whole = engine.store.get(reference).decode()
    assert whole == SHRINKABLE or json.loads(whole) in (result, {"rows": SHRINKABLE.split()})
    assert engine.stats.shrinks == 1
    assert engine.shrink("Read File", shrunk) is shrunk, "what was shrunk is not shrunk again"


@pytest.mark.parametrize(
    "result",
    [
        "",
        "short",
        None,
        5,
        True,
        b"x" * 10**6,
        [],
        {},
        {"a": 1},
        [{"text": "x"}],
        {"toolUseId": "a", "content": []},
    ],
    ids=lambda r: repr(r)[:20],
)
def test_shrink_gives_back_the_same_object_where_nothing_is_too_long(engine, result):
    assert engine.shrink("tool", result) is result
    assert engine.store.list() == []


class AsyncStore(ullage.MemoryStore):
    """A store that is awaited, and may do something meanwhile."""

    meanwhile: Any = None

    async def put(self, content, *, reference, tool=None, **_):
        await asyncio.sleep(0)
        if self.meanwhile is not None:
            self.meanwhile()
        return super().put(content, reference=reference, tool=tool)


@pytest.mark.parametrize("store", [None, ullage.MemoryStore, AsyncStore])
def test_acompact_does_what_compact_does(messages, store):
    expected = copy.deepcopy(messages)
    report = ullage.ContextManager(POLICY, store=ullage.MemoryStore() if store else None).compact(
        expected
    )
    engine = ullage.ContextManager(POLICY, store=store() if store else None)
    own = messages
    assert asyncio.run(engine.acompact(messages)).references == report.references
    assert messages is own
    assert messages == expected


def test_a_put_that_returns_an_awaitable_is_awaited_by_acompact(messages):
    class Wrapped(ullage.MemoryStore):
        def put(self, content, *, reference, tool=None, **_):
            kept = super().put(content, reference=reference, tool=tool)

            async def done():
                return kept

            return done()

    engine = ullage.ContextManager(POLICY, store=Wrapped())
    assert asyncio.run(engine.acompact(messages)).saved > 0


def test_compact_refuses_an_async_store_and_changes_nothing(messages):
    before = Snapshot(messages)
    with pytest.raises(ullage.StoreError, match="acompact"):
        ullage.ContextManager(POLICY, store=AsyncStore()).compact(messages)
    before.assert_nothing_changed()


@pytest.mark.parametrize("times", [1, 2, 50])
def test_acompact_loses_no_message_that_comes_in_meanwhile(messages, times):
    store = AsyncStore()
    came = [{"role": ("assistant", "user")[i % 2], "content": f"news {i}"} for i in range(times)]
    coming = iter(came)
    store.meanwhile = lambda: messages.extend([new] if (new := next(coming, None)) else [])
    engine = ullage.ContextManager(
        POLICY,
        store=store,
        format="anthropic" if "type" in messages[0]["content"][0] else "bedrock",
    )
    asyncio.run(engine.acompact(messages))
    arrived = [m for m in messages if any(m is new for new in came)]
    assert messages[-1] is arrived[-1]
    assert count(messages) <= 5_000


def test_acompact_leaves_the_event_loop_free(messages):
    class Slow(ullage.MemoryStore):
        def put(self, content, *, reference, tool=None, **_):
            probe.work()
            return super().put(content, reference=reference, tool=tool)

    probe = LoopProbe()
    assert probe.run(ullage.ContextManager(POLICY, store=Slow()).acompact(messages)).saved > 0
    assert set(probe.was_free) == {True}


def in_threads(works):
    errors: list[BaseException] = []

    def guarded(work):
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - a panic is no Exception
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_threads_share_an_engine_each_with_its_own_list():
    engine = ullage.ContextManager(POLICY, store=ullage.MemoryStore())
    # Each of other words: the same ones in two formats would have one reference, and the second then gets another.
    lists = [render(long_conversation(8 + i, 300 + i), FORMATS[i % 2]) for i in range(12)]
    alone = [ullage.ContextManager(POLICY, store=ullage.MemoryStore()).view(m) for m in lists]
    assert in_threads([lambda m=m: engine.compact(m) for m in lists]) == []
    assert lists == alone
    assert engine.stats.compactions == len(lists)


def test_threads_that_share_a_list_get_an_error_or_an_answer_and_never_a_panic():
    engine = ullage.ContextManager(ullage.Policy(window=20_000), store=ullage.MemoryStore())
    for _ in range(6):
        messages = render(long_conversation(60, 250), "bedrock")
        errors = in_threads(
            [lambda b=b, m=messages: engine.compact(m, b) for b in (20_000, 6_000) * 3]
        )
        assert [e for e in errors if not isinstance(e, ullage.MessageError)] == []
        assert faults(messages) == []


def test_a_message_that_is_appended_by_another_thread_is_never_lost():
    engine = ullage.ContextManager(POLICY, store=ullage.MemoryStore())
    for seed in range(15):
        messages = render(long_conversation(8), "bedrock")
        news = {"role": "assistant", "content": [{"text": "news"}]}
        wait = random.Random(seed).random() / 200

        def append(messages=messages, news=news, wait=wait):
            threading.Event().wait(wait)
            messages.append(news)

        errors = in_threads([append, lambda m=messages: engine.compact(m)])
        assert [e for e in errors if not isinstance(e, ullage.MessageError)] == []
        assert messages[-1] is news


@dataclass
class Block:
    type: str
    text: str = ""
    id: str = ""
    name: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    tool_use_id: str = ""
    content: Any = None


@dataclass
class Said:
    role: str
    content: Any
    note: str = "mine"


class Model:
    """As pydantic's: copies with `model_copy`, and refuses to be written to."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def model_copy(self, *, update: dict[str, Any] | None = None) -> Any:
        return type(self)(**{**self.__dict__, **(update or {})})

    def model_dump(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("frozen")


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return value
    fields = vars(value).items()
    return {k: _plain(v) if k == "content" and isinstance(v, list) else v for k, v in fields}


class OwnDict(dict):
    """A host's own kind of dict, with an attribute."""

    note: Any = None


def test_a_copy_of_a_hosts_own_dict_is_of_its_kind(engine):
    messages = [OwnDict(m) for m in render(long_conversation(30, 50), "bedrock")]
    for message in messages:
        message.note = "mine"
    engine.compact(messages)
    kept = [m for m in messages if host_number(m) is not None]
    assert {type(m) for m in kept} == {OwnDict}
    assert all(m.note == "mine" for m in kept)


KINDS = [
    pytest.param(
        lambda m: SimpleNamespace(**m, note="mine"),
        SimpleNamespace,
        id="namespace",
    ),
    pytest.param(lambda m: Model(**m, note="mine"), Model, id="model-copy"),
    pytest.param(lambda m: Said(**m), Block, id="dataclass"),
    pytest.param(lambda m: Said(**m), lambda **b: b, id="object-of-dicts"),
]


@pytest.mark.parametrize(("message", "block"), KINDS)
def test_objects_with_attributes_are_messages_too(engine, message, block):
    dicts = render(long_conversation(30, 50), "anthropic")
    objects = [
        message({"role": m["role"], "content": [block(**b) for b in m["content"]]}) for m in dicts
    ]
    before, copies = list(objects), [copy.deepcopy(_plain(o)) for o in objects]
    plan = engine.plan(dicts)
    report = engine.compact(objects)
    assert report.tokens_before == plan.tokens_before
    # The stored messages have other fields, and so their reference has other letters.
    assert abs(report.tokens_after - plan.tokens_after) < 5
    assert [_plain(o) for o in before] == copies
    assert objects[-1] is before[-1]
    kept = [o for o in objects if isinstance(o, type(before[0]))]
    assert all(o.note == "mine" for o in kept)
    assert all(type(o) in (type(before[0]), dict) for o in objects), "what is added is a dict"
    assert faults([_plain(o) for o in objects]) == []


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"policy": {"window": 5}}, id="policy-as-dict"),
        pytest.param({"counter": "o200k_base"}, id="counter-as-name"),
        pytest.param({"store": {}}, id="store-without-put"),
        pytest.param({"store": "folder"}, id="store-as-path"),
    ],
)
def test_wrong_parts_are_refused_when_the_engine_is_made(arguments):
    with pytest.raises(ullage.PolicyError, match=next(iter(arguments))):
        ullage.ContextManager(**arguments)
