"""Tests of features that only LangChain, LangGraph and deepagents have."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest

import ullage

pytest.importorskip("langchain", reason="langchain is not installed: run make test-hosts")

from langchain.agents import create_agent
from langchain.agents.middleware import ContextEditingMiddleware
from langchain.tools import ToolRuntime  # noqa: TC002 - LangChain reads the annotation
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
    trim_messages,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from ullage.langchain import ContextMiddleware, EngineEdit, token_counter
from ullage.langchain.codec import MessageCodec

from .langchain_host import THREAD, LangChainHost, ScriptedModel
from .provider import SYSTEM, Provider, read_log

POLICY = ullage.Policy(window=6_000, reserve_output=1_000)


def engine() -> ullage.ContextManager:
    return ullage.ContextManager(POLICY, store=ullage.MemoryStore())


def agent_of(provider: Provider, *middleware: Any, tools: Any = (read_log,), **more: Any) -> Any:
    model = ScriptedModel(provider=provider)
    return create_agent(model, list(tools), system_prompt=SYSTEM, middleware=middleware, **more)


QUESTION: Any = {"messages": [("user", "Why does the checkout fail?")]}


def test_it_takes_the_place_of_the_summarization_of_deepagents():
    deepagents = pytest.importorskip("deepagents")
    provider = Provider(steps=30)
    # The prompt and the tools of a deep agent take 10,000 tokens.
    policy = ullage.Policy(window=20_000, reserve_output=1_000)
    agent = deepagents.create_deep_agent(
        ScriptedModel(provider=provider), [read_log], middleware=[ContextMiddleware(policy=policy)]
    )
    state = agent.invoke(QUESTION, THREAD)
    assert len(state["messages"]) == 62
    assert max(provider.tokens) <= 19_000
    assert "[ullage: " in str(provider.requests[-1])
    assert "retrieve" in provider.tools
    # The state of that one, which is not there any more.
    assert "_summarization_event" not in state


def test_another_summarization_beside_it_is_refused():
    from langchain.agents.middleware import SummarizationMiddleware

    model = ScriptedModel(provider=Provider())
    with pytest.raises(AssertionError, match="duplicate"):
        agent_of(Provider(), ContextMiddleware(engine()), SummarizationMiddleware(model))


def test_the_state_is_written_with_compactions_only_and_stays_private():
    saver, provider = InMemorySaver(), Provider(steps=20)
    agent = agent_of(provider, ContextMiddleware(engine()), checkpointer=saver)
    assert set(agent.invoke(QUESTION, THREAD)) == {"messages"}
    history = list(agent.get_state_history(THREAD))
    marks = [state.values.get("ullage", {}).get("mark") for state in history]
    compactions = sum(
        after[: len(before)] != before for before, after in pairwise(provider.requests)
    )
    assert len(set(marks) - {None}) == compactions > 1
    assert len(json.dumps(history[0].values["ullage"]["state"])) < 32_000


def test_an_earlier_checkpoint_is_sent_as_it_was():
    saver, provider = InMemorySaver(), Provider(steps=20)
    agent = agent_of(provider, ContextMiddleware(engine()), checkpointer=saver)
    agent.invoke(QUESTION, THREAD)
    sent = {len(state.values["messages"]): state for state in agent.get_state_history(THREAD)}
    # Before the eighteenth request, when a later compaction was not known.
    earlier = sent[2 * 17 + 1]
    before = provider.requests[17]
    provider.steps = 0
    agent.invoke(None, earlier.config)
    assert provider.requests[-1] == before


def test_a_result_is_shortened_before_it_is_stored():
    def read_all() -> str:
        """Reads all of the log."""
        return "\n".join(read_log(part) for part in range(90))

    provider = Provider(
        steps=0, wants=lambda rows: None if len(rows) > 1 else _turn("read_all", "call-1")
    )
    tools = [read_all, read_log]
    store = ullage.MemoryStore()
    middleware = ContextMiddleware(policy=POLICY, store=store)
    state = agent_of(provider, middleware, tools=tools).invoke(QUESTION)
    stored = next(m for m in state["messages"] if isinstance(m, ToolMessage))
    assert len(stored.content) < 20_000 < len(read_all())
    (reference,) = store.list()
    assert reference in stored.content
    assert store.get(reference).decode() == read_all()


def test_a_command_of_a_tool_is_passed_on():
    from langchain_core.tools import tool

    @tool
    def note(runtime: ToolRuntime) -> Command:
        """Takes a note."""
        result = ToolMessage("x" * 50_000, tool_call_id=runtime.tool_call_id)
        return Command(update={"messages": [result]})

    provider = Provider(
        steps=0, wants=lambda rows: None if len(rows) > 1 else _turn("note", "call-1")
    )
    state = agent_of(provider, ContextMiddleware(engine()), tools=[note]).invoke(QUESTION)
    assert len(state["messages"][2].content) == 50_000
    assert max(provider.tokens) <= 5_000


def _turn(name: str, call: str) -> Any:
    from .provider import Turn

    return Turn("I look.", ((call, name, {}),))


def test_threads_share_one_middleware():
    middleware = ContextMiddleware(engine())

    def ask(number: int) -> tuple[Provider, Any]:
        provider = Provider(steps=12)
        agent = agent_of(provider, middleware)
        return provider, agent.invoke({"messages": [("user", f"Why does shop {number} fail?")]})

    with ThreadPoolExecutor(6) as pool:
        for number, (provider, state) in enumerate(pool.map(ask, range(6))):
            assert len(state["messages"]) == 26
            assert max(provider.tokens) <= 5_000
            assert all(f"shop {number} " in str(rows[0]) for rows in provider.requests)


def test_the_edit_for_context_editing_fits_its_budget_and_keeps_the_prefix():
    provider = Provider(steps=30)
    # The edit sees neither the prompt nor the tools; the engine knows them.
    own = ullage.ContextManager(POLICY, store=ullage.MemoryStore(), system=SYSTEM)
    agent = agent_of(provider, ContextEditingMiddleware(edits=[EngineEdit(own)]))
    agent.invoke(QUESTION, THREAD)
    assert max(provider.tokens) <= 5_000
    changed = [after[: len(before)] != before for before, after in pairwise(provider.requests)]
    # Each result takes a third of the budget, so every other request compacts.
    assert 0 < sum(changed) <= 15


def test_the_token_counter_serves_trim_messages():
    messages = [HumanMessage(f"{n} " + "word " * 200) for n in range(30)]
    count = token_counter("gpt-5-mini")
    kept = trim_messages(messages, max_tokens=2_000, token_counter=count)
    assert 1_500 < count(kept) <= 2_000
    rows: Any = convert_to_openai_messages(kept)
    assert count(kept) == ullage.TokenCounter.for_model("gpt-5-mini").count_messages(rows)


PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
BLOCKS = [
    pytest.param({"type": "text", "text": "I look.", "annotations": []}, id="text"),
    pytest.param("I look.", id="string"),
    pytest.param({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, id="thinking"),
    pytest.param({"type": "reasoning", "summary": [], "id": "rs_1"}, id="openai-reasoning"),
    pytest.param({"type": "reasoning", "reasoning": "Hm."}, id="reasoning"),
    pytest.param({"type": "image", "base64": PICTURE, "mime_type": "image/png"}, id="picture"),
    pytest.param(
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": PICTURE},
        },
        id="picture-of-anthropic",
    ),
    pytest.param({"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}, id="address"),
    pytest.param({"type": "server_tool_use", "id": "s", "name": "web", "input": {}}, id="server"),
    pytest.param({"type": "file", "file_id": "f"}, id="file"),
]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_is_read_counted_and_given_back(block):
    codec = MessageCodec()
    answer = AIMessage(["Well.", block], id="m")
    row = codec.row(answer)
    rows = [{"role": "user", "content": "Go."}, row]
    assert ullage.TokenCounter().count_messages(rows, format="openai") > 5
    back = codec.message({**row}, answer)
    assert [b if isinstance(b, dict) else {"type": "text", "text": b} for b in answer.content] == (
        back.content
    )
    # In another process, which has the row alone.
    assert codec.message(json.loads(json.dumps(row)), None).content == back.content


def test_a_picture_is_counted_by_its_size():
    count = token_counter()
    assert count([HumanMessage([{"type": "image", "base64": PICTURE * 500}])]) < 2_000


def test_calls_are_read_from_where_langchain_keeps_them():
    block = {"type": "tool_use", "id": "call-1", "name": "read_log", "input": {"part": 1}}
    call: Any = {"id": "call-1", "name": "read_log", "args": {"part": 1}, "type": "tool_call"}
    raw = {"tool_calls": [{"id": "call-1", "type": "function", "function": {}}], "refusal": None}
    answer = AIMessage([block], tool_calls=[call], additional_kwargs=raw, id="m")
    row = MessageCodec().row(answer)
    assert row["content"] == []
    assert row["tool_calls"] == [call]
    without: Any = MessageCodec().message({**row, "tool_calls": [], "content": "I look."}, answer)
    assert (without.tool_calls, without.content) == ([], "I look.")
    assert without.additional_kwargs == {"refusal": None}
    assert answer.tool_calls == [call]
    assert answer.additional_kwargs == raw


def test_messages_of_every_kind_come_back():
    codec = MessageCodec()
    invalid: Any = {
        "id": "c",
        "name": "read",
        "args": "{",
        "error": "no JSON",
        "type": "invalid_tool_call",
    }
    messages = [
        SystemMessage("Be brief.", id="1"),
        HumanMessage("Go.", id="2", name="Ann"),
        AIMessage("", id="3", invalid_tool_calls=[invalid]),
        ToolMessage("It failed.", tool_call_id="c", name="read", id="4", artifact={"a": 1}),
    ]
    for message in messages:
        row = codec.row(message)
        assert codec.message(dict(row), message) == message
        assert isinstance(codec.message(dict(row), None), type(message))


@pytest.mark.parametrize("known", [{}, {"type": "invalid_tool_call"}], ids=["bare", "typed"])
def test_a_call_that_cannot_be_answered_is_sent_as_it_is(known):
    invalid: Any = {"id": None, "name": "read", "args": "{", "error": "no JSON", **known}
    sent: list[Any] = []

    class Model(FakeListChatModel):
        def _call(self, messages: Any, *_: Any, **__: Any) -> str:
            sent.extend(messages)
            return "Done."

    past = [HumanMessage("Go."), AIMessage("", invalid_tool_calls=[invalid])]
    middleware = ContextMiddleware(retrieval=False)
    agent = create_agent(Model(responses=["Done."]), middleware=[middleware])
    agent.invoke({"messages": past})
    assert [type(message) for message in sent] == [HumanMessage, AIMessage]
    assert sent[1].invalid_tool_calls == [{"type": "invalid_tool_call", **invalid}]


def test_anthropic_takes_what_is_left_of_an_answer():
    anthropic = pytest.importorskip("langchain_anthropic.chat_models")
    calls: Any = [
        {"id": f"call-{n}", "name": "read_log", "args": {"part": n}, "type": "tool_call"}
        for n in range(2)
    ]
    blocks = [
        {"type": "tool_use", "input": c["args"], **{k: c[k] for k in ("id", "name")}} for c in calls
    ]
    answer = AIMessage([{"type": "text", "text": "I look."}, *blocks], tool_calls=calls, id="m")
    row = MessageCodec().row(answer)
    kept = MessageCodec().message({**row, "tool_calls": calls[1:]}, answer)
    _, sent = anthropic._format_messages(
        [HumanMessage("Go."), kept, ToolMessage("x", tool_call_id="call-1")],
        model="claude-sonnet-4-5",
    )
    assert [block.get("id") for block in sent[1]["content"]] == [None, "call-1"]
    assert not ullage.validate(sent)


def test_a_long_history_is_converted_once(monkeypatch):
    seen: list[str] = []
    row = MessageCodec.row

    def noted(codec: MessageCodec, message: Any) -> Any:
        seen.append(message.id)
        return row(codec, message)

    monkeypatch.setattr(MessageCodec, "row", noted)
    LangChainHost().agent(Provider(steps=50), engine(), is_async=False).ask("Why?")
    assert len(seen) == len(set(seen)) == 101
