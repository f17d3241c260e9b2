"""The plugin under real agents: what it keeps inside the window, and what it does not hold up."""

# mypy: disable-error-code="arg-type,assignment,attr-defined,override,union-attr"

import copy
import logging
import re
import warnings
from typing import Any

import pytest
from strands import Agent, tool
from strands.agent.conversation_manager import (
    NullConversationManager,
    SlidingWindowConversationManager,
)
from strands.hooks import AfterToolCallEvent
from strands.session.file_session_manager import FileSessionManager
from strands.session.repository_session_manager import RepositorySessionManager
from strands.types.exceptions import ContextWindowOverflowException

import ullage
from demo.rules import check_history
from tests.python.loop_probe import LoopProbe
from tests.python.players import TASK, Player, fetch
from ullage.strands import (
    ContextPlugin,
    ContextView,
    EngineStrategy,
    MappingConversationManager,
    ToolRouterHook,
)
from ullage.strands.session import PassiveConversationManager

from .lengths import long

WINDOW = 9_000
PNG = b"\x89PNG\r\n\x1a\n\x00\xff"


def engine_of(window=WINDOW, store=None, summarizer=None, **policy):
    policy = ullage.Policy(window=window, reserve_output=1_000, **policy)
    store = ullage.MemoryStore() if store is None else store
    return ullage.ContextManager(policy, store=store, summarizer=summarizer)


def agent_of(model, plugin, tools=(fetch,), **more):
    return Agent(model=model, tools=list(tools), plugins=[plugin], callback_handler=None, **more)


def long_history(turns=30):
    """Requests and answers, nothing in them but words."""
    return [
        {"role": role, "content": [{"text": f"{role} {turn} " + "word " * 200}]}
        for turn in range(turns)
        for role in ("user", "assistant")
    ]


def results_of(agent):
    return [b["toolResult"] for m in agent.messages for b in m["content"] if "toolResult" in b]


@pytest.mark.parametrize("width", [1, 4])
def test_a_long_run_stays_inside_the_window(width):
    model = Player(30, width=width, words=500, window=WINDOW, usage=True)
    agent = agent_of(model, ContextPlugin(engine_of()), system_prompt="Be careful. " * 50)
    own = agent.messages
    assert agent(TASK).stop_reason == "end_turn"
    assert model.refused == []
    assert len(model.requests) == 31
    assert max(size for size, _ in model.requests) > 5_000, "rarely and deeply"
    assert agent.messages is own
    assert TASK in str(agent.messages[0])
    headings = set(re.findall(r"\[\d+ from ([^\]]*)\]", str(agent.messages)))
    # One result takes all the room of a narrow run beside the account.
    assert "fetch" in headings or width == 1
    assert headings == {heading.strip() for heading in headings}


@pytest.mark.parametrize("turns", [40, long(500)])
def test_many_turns_stay_inside_the_window(turns):
    model = Player(0, window=WINDOW, usage=True)
    engine = engine_of()
    agent = agent_of(model, ContextPlugin(engine))
    for turn in range(turns):
        model.rest = 1
        agent(f"Task {turn}")
    assert len(model.requests) == 2 * turns
    assert model.refused == []
    check_history([*agent.messages, {"role": "user", "content": [{"text": "next"}]}])


@pytest.mark.parametrize("window", [5, 12, long(4), long(20)])
@pytest.mark.parametrize("words", ["ok", "a longer request " * 40])
@pytest.mark.parametrize("seam", [ContextPlugin, ContextView, MappingConversationManager])
def test_a_window_in_messages_is_held_however_short_they_are(seam, words, window):
    if seam is MappingConversationManager:
        given: dict[str, Any] = {"conversation_manager": seam(window_size=window)}
    else:
        if seam is ContextView:
            pytest.importorskip("strands.middleware")
        engine = engine_of(max_messages=window, keep_recent=2)
        given = {"plugins": [seam(engine)]}
    model = Player()
    agent = Agent(model=model, callback_handler=None, **given)
    lengths = []
    for turn in range(2 * window):
        agent(f"{words} {turn}")
        lengths.append(len(model.seen))
    assert max(lengths) <= window
    assert f"{words} 0" in str(model.seen[0])


def test_a_result_larger_than_the_window_is_shrunk_as_it_arrives():
    store = ullage.MemoryStore()
    model = Player(2, words=60_000, window=WINDOW)
    agent = agent_of(model, ContextPlugin(engine_of(store=store)))
    assert agent(TASK).stop_reason == "end_turn"
    assert model.refused == []
    for result in results_of(agent):
        (reference,) = [r for r in store.list() if r in result["content"][0]["text"]]
        assert store.get(reference).decode().endswith(("of the output 100", "of the output 200"))


def test_a_result_larger_than_the_window_is_recovered_from_where_none_is_shrunk():
    """harness-sdk 4341 and 981: large, not the oldest, and the only one."""
    model = Player(3, words=40, window=WINDOW)
    engine = engine_of(window=10**6)
    agent = agent_of(model, ContextPlugin(engine, shrink=False))

    def huge(event: AfterToolCallEvent) -> None:
        if len(model.requests) == 2:
            rows: Any = [{"id": i, "name": f"row {i}"} for i in range(20_000)]
            event.result = {**event.result, "content": [{"json": {"rows": rows}}]}

    agent.add_hook(huge, AfterToolCallEvent)
    assert agent(TASK).stop_reason == "end_turn"
    assert len(model.refused) <= 4
    assert model.refused == sorted(set(model.refused), reverse=True)
    assert len(results_of(agent)) == 3, "no message had to leave"


@pytest.mark.parametrize("retries", [0, 1, 5])
def test_refusals_in_a_row_have_a_cap_and_each_attempt_is_smaller(retries):
    model = Player(20, words=600, window=10**6)
    model.refuses = lambda number: number > 15
    agent = agent_of(model, ContextPlugin(engine_of(10**6), max_retries=retries))
    with pytest.raises(ContextWindowOverflowException):
        agent(TASK)
    sizes = model.refused
    assert len(sizes) <= retries + 1
    assert sizes == sorted(set(sizes), reverse=True)
    check_history(agent.messages)


def test_an_answer_makes_room_for_new_attempts():
    model = Player(40, words=400, window=10**6)
    model.refuses = lambda number: number % 3 == 0
    agent = agent_of(model, ContextPlugin(engine_of(10**6), max_retries=1))
    assert agent(TASK).stop_reason == "end_turn"
    assert len(model.refused) > 10


def test_an_invocation_that_gave_up_leaves_the_next_its_attempts():
    model = Player(0, strict=False)
    model.refuses = lambda number: number in {1, 2, 3, 4}
    agent = agent_of(model, ContextPlugin(engine_of(10**6), max_retries=1), messages=long_history())
    with pytest.raises(ContextWindowOverflowException):
        agent(TASK)
    with pytest.raises(ContextWindowOverflowException):
        agent(TASK)
    assert len(model.refused) == 4
    assert agent(TASK).stop_reason == "end_turn"


def test_the_answer_of_the_provider_teaches_the_counter():
    engine = engine_of(100_000)
    model = Player(14, words=800, usage=True)
    plugin = ContextPlugin(engine)
    agent = agent_of(model, plugin)
    seen: list[int] = []
    observe = engine.observe

    def noting(messages, *args, **more):
        seen.append(len(messages))
        return observe(messages, *args, **more)

    engine.observe = noting
    agent(TASK)
    assert seen == list(range(1, 31, 2)), "every prompt once, without its answer"


class Slow:
    """A store and a summarizer that take their time, one blocking a thread and one awaited."""

    def __init__(self, probe):
        self.probe = probe
        self.content: dict[str, bytes] = {}
        self.summaries = 0

    def put(self, content, *, reference, tool=None, **_):
        self.probe.work()
        self.content[reference] = content
        return reference

    def get(self, reference):
        return self.content[reference]

    async def summarize(self, _request):
        self.summaries += 1
        await self.probe.work_async()
        return "So far nothing happened."


def test_neither_summaries_nor_files_hold_up_the_event_loop():
    probe = LoopProbe()
    slow = Slow(probe)
    engine = engine_of(store=slow, summarizer=slow.summarize, shrink_above=400, shrink_to=200)
    model = Player(60, words=900, window=WINDOW)
    agent = agent_of(model, ContextPlugin(engine, retrieval=False))
    probe.run(agent.invoke_async(TASK))
    assert slow.summaries >= 1
    assert len(slow.content) > 10
    assert set(probe.was_free) == {True}


SEAMS = [ContextPlugin, ContextView, EngineStrategy]


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        (ullage.Policy(), r"got Policy; give it as policy=$"),
        (ullage.MemoryStore(), r"got MemoryStore; give it as store=$"),
        ("gpt-4o", r"got str; give it as model=$"),
        (42, r"got int$"),
    ],
)
@pytest.mark.parametrize("seam", [*SEAMS, MappingConversationManager, ToolRouterHook])
def test_what_is_no_engine_is_rejected_with_the_way_to_give_it(seam, wrong, remedy):
    with pytest.raises(ullage.PolicyError, match="^engine must be a ContextManager; " + remedy):
        seam(engine=wrong)


@pytest.mark.parametrize("seam", SEAMS)
def test_policy_store_and_model_make_an_engine_and_the_rest_is_for_the_model_of_the_agent(seam):
    agent = Agent(model=Player(limit=50_000), callback_handler=None)
    policy, store = ullage.Policy(window=10_000, reserve_output=1_000), ullage.MemoryStore()
    assert seam(policy=policy).engine_of(agent).policy.window == 10_000
    assert seam(store=store).engine_of(agent).store is store
    assert seam(store=store).engine_of(agent).policy.window == 50_000
    known = ullage.model_limits("gpt-4o").window
    assert seam(model="gpt-4o").engine_of(agent).policy.window == known != 50_000
    for wrong in ({"policy": "amplifier"}, {"store": "artifacts"}, {"model": agent.model}):
        with pytest.raises(ullage.PolicyError, match=next(iter(wrong))):
            seam(**wrong)
    for more in ({"policy": policy}, {"store": store}, {"model": "gpt-4o"}):
        with pytest.raises(ullage.PolicyError, match="give an engine, or"):
            seam(engine_of(), **more)


def given_as(seam):
    """Returns the arguments that give an agent the seam."""
    if isinstance(seam, EngineStrategy):
        pytest.importorskip("strands.experimental.context_manager")
        return {"context_manager": {"strategies": [seam], "stash": False}}
    if isinstance(seam, MappingConversationManager):
        return {"conversation_manager": seam}
    if isinstance(seam, ContextView):
        pytest.importorskip("strands.middleware")
    return {"plugins": [seam]}


@pytest.mark.parametrize("seam", [*SEAMS, MappingConversationManager])
def test_a_prompt_that_cannot_fit_is_named_in_the_error(seam):
    model = Player(window=WINDOW, limit=WINDOW)
    agent = Agent(model=model, callback_handler=None, **given_as(seam()))
    pinned: Any = {"role": "user", "content": [{"text": "word " * 2 * WINDOW}]}
    pinned["metadata"] = {"custom": {"pinned": True}}
    agent.messages.append(pinned)
    agent.messages.append({"role": "assistant", "content": [{"text": "What now?"}]})
    words = r"cannot be made smaller than [\d,]+ tokens.*: message 0 \([\d,]+ tokens\)"
    with pytest.raises(ContextWindowOverflowException, match=words) as raised:
        agent("short")
    assert str(raised.value.__cause__).startswith("prompt is too long")
    agent.messages[:] = long_history()
    agent("short")


@pytest.mark.parametrize("seam", [*SEAMS, MappingConversationManager])
@pytest.mark.parametrize("other", [ContextView, MappingConversationManager])
def test_two_seams_on_one_agent_are_warned_of(seam, other, caplog):
    if seam is other:
        pytest.skip("an agent has one of a kind")
    one, two = given_as(seam()), given_as(other())
    if "conversation_manager" in two and "context_manager" in one:
        pytest.skip("Strands itself warns, and ignores the manager")
    for given in (one, two):
        Agent(model=Player(), callback_handler=None, **given)
    assert "use only one" not in caplog.text
    plugins = [*one.get("plugins", ()), *two.get("plugins", ())]
    Agent(model=Player(), callback_handler=None, **{**one, **two, "plugins": plugins})
    assert {seam.__name__, other.__name__} <= set(re.findall(r"\w+", caplog.text))
    assert "use only one" in caplog.text


def test_the_agent_reads_back_what_was_shrunk():
    agent = agent_of(Player(1, words=60_000), ContextPlugin())
    agent(TASK)
    text = results_of(agent)[0]["content"][0]["text"]
    plugin_store = agent._plugin_registry._plugins["ullage:context"].engine_of(agent).store
    (reference,) = [r for r in plugin_store.list() if r in text]
    answer = agent.tool.retrieve(reference=reference, pattern="word 77 ")
    assert "word 77 of the output" in answer["content"][0]["text"]


@pytest.mark.parametrize("seam", [ContextPlugin, EngineStrategy])
@pytest.mark.parametrize(
    "given", [{}, {"policy": ullage.Policy(window=WINDOW)}], ids=["", "policy"]
)
def test_a_restored_agent_reads_back_what_was_shrunk_before(seam, given, tmp_path, caplog):
    def begin(calls):
        return Agent(
            model=Player(calls, words=60_000, window=WINDOW, limit=WINDOW),
            tools=[fetch],
            agent_id="a",
            session_manager=FileSessionManager("s", storage_dir=str(tmp_path)),
            callback_handler=None,
            **given_as(seam(**given)),
        )

    begin(1)(TASK)
    twin = begin(0)
    (result,) = results_of(twin)
    (reference,) = ullage._core.references_in(result["content"][0]["text"])
    answer = twin.tool.retrieve(reference=reference, pattern="word 77 ")
    assert "word 77 of the output" in answer["content"][0]["text"]
    assert "originals are in memory" not in caplog.text
    twin._session_manager.delete_session("s")
    assert not list(tmp_path.iterdir()), "they are deleted with the session"


@pytest.mark.parametrize("seam", SEAMS)
@pytest.mark.parametrize("kept", [True, False])
def test_a_session_whose_originals_would_be_lost_is_warned_of(seam, kept, tmp_path, caplog):
    session = RepositorySessionManager("s", FileSessionManager("s", storage_dir=str(tmp_path)))
    store = ullage.FileStore(tmp_path / "artifacts") if kept else None
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        Agent(model=Player(), session_manager=session, **given_as(seam(store=store)))
    assert ("originals are in memory" in caplog.text) is not kept
    assert [w.category for w in found] == [ullage.UllageWarning] * (not kept)


def test_a_tool_of_the_agent_is_not_replaced_by_the_retrieval_tool():
    @tool
    def retrieve(reference: str) -> str:
        """Mine."""
        return f"mine {reference}"

    agent = agent_of(Player(), ContextPlugin(engine_of()), tools=[retrieve])
    assert "mine x" in str(agent.tool.retrieve(reference="x"))


@pytest.mark.parametrize(
    ("manager", "kind"),
    [
        (None, PassiveConversationManager),
        (NullConversationManager(), PassiveConversationManager),
        (SlidingWindowConversationManager(10), SlidingWindowConversationManager),
        (SlidingWindowConversationManager(per_turn=True), SlidingWindowConversationManager),
    ],
)
def test_a_manager_that_was_asked_for_stays(manager, kind):
    given = {} if manager is None else {"conversation_manager": manager}
    agent = agent_of(Player(30, strict=False), ContextPlugin(engine_of(10**6)), **given)
    assert type(agent.conversation_manager) is kind
    agent(TASK)
    if kind is PassiveConversationManager:
        assert len(agent.messages) == 62, "no window of 40 messages"


def test_what_the_plugin_did_comes_back_from_a_session(tmp_path):
    engine = engine_of()

    def begin(calls):
        session = FileSessionManager("s", storage_dir=str(tmp_path))
        model = Player(calls, words=500, window=WINDOW)
        return agent_of(model, ContextPlugin(engine), session_manager=session, agent_id="a")

    agent = begin(30)
    agent(TASK)
    assert engine.stats.compactions
    for _ in range(3):
        twin = begin(4)
        assert [m["content"] for m in twin.messages] == [m["content"] for m in agent.messages]
        twin("more")
        agent = twin


def test_pictures_and_documents_are_counted_and_kept_apart():
    model = Player(12, words=500, window=WINDOW)
    agent = agent_of(model, ContextPlugin(engine_of()))
    document: Any = {
        "document": {"format": "txt", "name": "notes", "source": {"bytes": b"words " * 50}}
    }
    picture: Any = {"image": {"format": "png", "source": {"bytes": PNG}}}

    def show(event: AfterToolCallEvent) -> None:
        content = [*event.result["content"], copy.deepcopy(picture), copy.deepcopy(document)]
        event.result = {**event.result, "content": content}

    agent.add_hook(show, AfterToolCallEvent)
    agent([{"text": TASK}, picture, document])
    assert model.refused == []
    assert agent.messages[0]["content"][1:3] == [picture, document]


class Broken:
    def put(self, content, *, reference, tool=None, **_):
        raise OSError(28, "No space left")

    def get(self, reference):
        raise OSError(28, "No space left")


def test_a_store_that_fails_does_not_end_a_run_that_the_provider_would_accept(caplog):
    model = Player(16, words=3_000)
    agent = agent_of(model, ContextPlugin(engine_of(store=Broken()), retrieval=False))
    with caplog.at_level(logging.WARNING, logger="ullage"):
        assert agent(TASK).stop_reason == "end_turn"
    assert "left as it" in caplog.text
    assert len(agent.messages) == 2 * 16 + 2
