"""Behaviour that only the adapter of Haystack has."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import ullage

pytest.importorskip("haystack", reason="haystack-ai is not installed: run make test-hosts")

from haystack import component
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import (
    ChatMessage,
    FileContent,
    ImageContent,
    ReasoningContent,
    TextContent,
    ToolCall,
)
from haystack.hooks.compaction import CompactionHook
from haystack.token_counters import ApproximateTokenCounter
from haystack.tools import tool
from haystack.utils import Secret

from ullage.haystack import ContextGenerator, EngineCompactor, ShortenHook
from ullage.haystack.codec import MessageCodec

from .haystack_host import AsyncGenerator, Generator
from .provider import SYSTEM, Provider, Turn, read_log

POLICY = ullage.Policy(window=6_000, reserve_output=1_000)
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
CALL = ToolCall("read_log", {"part": 1}, id="a")


def engine(**more: Any) -> ullage.ContextManager:
    return ullage.ContextManager(POLICY, store=ullage.MemoryStore(), **more)


def agent_of(generator: Any, **more: Any) -> Agent:
    return Agent(
        chat_generator=generator,
        system_prompt=SYSTEM,
        tools=[tool(read_log)],
        max_agent_steps=1_000,
        **more,
    )


def asked(agent: Agent, *, is_async: bool = False) -> list[ChatMessage]:
    given = [ChatMessage.from_user("Why does the checkout fail?")]
    run = asyncio.run(agent.run_async(messages=given)) if is_async else agent.run(messages=given)
    messages: list[ChatMessage] = run["messages"]
    return messages


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(ChatMessage.from_user("Go."), id="text"),
        pytest.param(
            ChatMessage.from_user(
                content_parts=["Look.", ImageContent(PICTURE, "image/png", validation=False)]
            ),
            id="picture",
        ),
        pytest.param(
            ChatMessage.from_user(
                content_parts=[FileContent("JVBERi0=", "application/pdf", validation=False)]
            ),
            id="file",
        ),
        pytest.param(
            ChatMessage.from_assistant(
                "I look.", tool_calls=[CALL], reasoning=ReasoningContent("Hm.", {"id": "rs_1"})
            ),
            id="reasoning",
        ),
        pytest.param(ChatMessage.from_tool("It is.", CALL), id="result"),
        pytest.param(ChatMessage.from_tool([TextContent("It is.")], CALL), id="parts"),
        pytest.param(ChatMessage.from_tool("It broke.", CALL, error=True), id="error"),
    ],
)
def test_a_message_comes_back_as_it_was(message):
    codec = MessageCodec()
    row = codec.row(message)
    assert codec.message(row, message) == message
    assert codec.message(codec.load(codec.dump(row)), message) == message


def test_a_call_without_an_id_keeps_its_result():
    call = ToolCall("read_log", {"part": 1})
    said = [ChatMessage.from_assistant(tool_calls=[call]), ChatMessage.from_tool("It is.", call)]
    rows = [MessageCodec().row(message) for message in [ChatMessage.from_user("Go."), *said]]
    assert not ullage.validate(rows, "anthropic")


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_result_is_shortened_before_the_agent_keeps_it(is_async):
    def read_all() -> str:
        """Reads all of the log."""
        return "\n".join(read_log(part) for part in range(90))

    calls: Any = (("c1", "read_all", {}), ("c2", "read_log", {"part": 1}))
    provider = Provider(
        steps=0, wants=lambda rows: None if len(rows) > 1 else Turn("I look.", calls)
    )
    own = engine()
    generator = (AsyncGenerator if is_async else Generator)(provider)
    agent = Agent(
        chat_generator=ContextGenerator(generator, own),
        tools=[tool(read_all), tool(read_log)],
        hooks={"after_tool": [ShortenHook(own)]},
    )
    messages = asked(agent, is_async=is_async)
    results = {r.origin.id: str(r.result) for m in messages for r in m.tool_call_results}
    store: Any = own.store
    (reference,) = store.list()
    assert reference in results["c1"]
    assert len(results["c1"]) < 20_000 < len(store.get(reference))
    assert results["c2"] == read_log(1)


# The class says of itself that it may change.
@pytest.mark.filterwarnings("ignore:'CompactionHook' is an experimental component")
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_compactor_keeps_the_run_below_what_its_hook_says(is_async):
    provider = Provider(steps=40)
    own = engine()
    hook = CompactionHook(EngineCompactor(own), context_window=12_000)
    generator = (AsyncGenerator if is_async else Generator)(provider)
    messages = asked(agent_of(generator, hooks={"before_llm": [hook]}), is_async=is_async)
    # The provider of the tests refuses invalid requests.
    assert len(provider.requests) == 41
    assert max(provider.tokens) < 12_000
    assert sum(len(message.tool_calls) for message in messages) < 40
    assert messages[0].text == SYSTEM


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        pytest.param({"prompt_tokens": 90}, (90, None), id="without-a-cache"),
        pytest.param(
            {"prompt_tokens": 90, "prompt_tokens_details": {"cached_tokens": 64}},
            (90, 64),
            id="chat",
        ),
        pytest.param(
            {"input_tokens": 90, "input_tokens_details": {"cached_tokens": 64}},
            (90, 64),
            id="responses",
        ),
        pytest.param(
            {
                "prompt_tokens": 6,
                "cache_read_input_tokens": 64,
                "cache_creation_input_tokens": 20,
            },
            (90, 64),
            id="anthropic",
        ),
    ],
)
def test_the_view_hears_of_the_whole_prompt_and_its_cached_part(monkeypatch, usage, counted):
    heard = []
    monkeypatch.setattr(ullage.View, "observe", lambda _, *tokens: heard.append(tokens))

    @component
    class Answering:
        @component.output_types(replies=list[ChatMessage])
        def run(self, messages: list[ChatMessage], **_: Any) -> dict[str, Any]:
            return {"replies": [ChatMessage.from_assistant("Fine.", meta={"usage": usage})]}

    ContextGenerator(Answering(), engine()).run([ChatMessage.from_user("Go.")])
    assert heard == [counted]


def test_a_compactor_reaches_the_target_by_the_count_of_the_host():
    counter = ApproximateTokenCounter()
    provider = Provider(steps=20)
    messages = asked(agent_of(Generator(provider)))
    before = list(messages)
    compactor = EngineCompactor(engine())
    for target in (8_000, 4_000, 2_000):
        shorter = compactor.compact(messages, target, counter)
        assert shorter is not None
        assert counter.count(messages=shorter) <= target
        assert messages == before, "the caller's list stays"


def test_a_compactor_returns_none_if_nothing_gets_smaller():
    messages = [ChatMessage.from_system(SYSTEM), ChatMessage.from_user("Go.")]
    compactor = EngineCompactor(engine())
    for target in (1_000, 1, 0):
        assert compactor.compact(messages, target, ApproximateTokenCounter()) is None


def test_a_target_that_cannot_be_reached_is_approached():
    counter = ApproximateTokenCounter()
    messages = asked(agent_of(Generator(Provider(steps=20))))
    shorter = EngineCompactor(engine()).compact(messages, 0, counter)
    assert shorter is not None
    assert counter.count(messages=shorter) < counter.count(messages=messages) // 4
    assert any("Why does the checkout fail?" in (m.text or "") for m in shorter)


def test_a_generator_is_written_down_and_read_again():
    inner = OpenAIChatGenerator(model="gpt-5-mini", api_key=Secret.from_env_var("NO_KEY"))
    written = ContextGenerator(inner, policy=POLICY, model="gpt-5").to_dict()
    read = ContextGenerator.from_dict(written)
    assert read.engine.policy.to_dict() == POLICY.to_dict()
    assert isinstance(read.chat_generator, OpenAIChatGenerator)
    assert read.to_dict() == ContextGenerator(inner, policy=POLICY, model="gpt-5").to_dict()
    with pytest.raises(ullage.PolicyError, match="engine: it cannot be serialized"):
        ContextGenerator(inner, engine()).to_dict()


def test_what_is_no_generator_is_an_error():
    given: Any = "gpt-5-mini"
    with pytest.raises(ullage.PolicyError, match="a str is no chat generator"):
        ContextGenerator(given)
