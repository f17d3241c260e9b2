"""Behaviour that only the adapter of Microsoft's Agent Framework has."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest

import ullage

pytest.importorskip(
    "agent_framework", reason="agent-framework-core is not installed: run make test-hosts"
)

from agent_framework import Agent, AgentSession, Content, Message, tool

from ullage.agent_framework import (
    ContextMiddleware,
    EngineStrategy,
    EngineTokenizer,
    ShortenMiddleware,
)
from ullage.agent_framework.codec import MessageCodec

from .agent_framework_host import Client, messages_of
from .provider import SYSTEM, Provider, Turn, read_log

POLICY = ullage.Policy(window=6_000, reserve_output=1_000)
READ: Any = tool(read_log, approval_mode="never_require")
PICTURE = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"


def engine(**more: Any) -> ullage.ContextManager:
    return ullage.ContextManager(POLICY, store=ullage.MemoryStore(), **more)


def agent_of(provider: Provider, tools: Any = (READ,), **more: Any) -> Any:
    client: Any = Client()
    client.provider = provider
    client.function_invocation_configuration["max_iterations"] = 1_000
    return Agent(client=client, instructions=SYSTEM, tools=list(tools), **more)


CONTENTS = [
    pytest.param("user", Content.from_text("Go."), id="text"),
    pytest.param(
        "assistant", Content.from_text_reasoning(text="Hm.", protected_data="x"), id="thinking"
    ),
    pytest.param(
        "assistant", Content.from_function_call("c", "read", arguments='{"a": 1}'), id="call"
    ),
    pytest.param(
        "assistant", Content.from_function_call("c", "read", arguments={"a": 1}), id="object"
    ),
    pytest.param("tool", Content.from_function_result("c", result="It is."), id="result"),
    pytest.param("user", Content.from_uri(PICTURE, media_type="image/png"), id="picture"),
    pytest.param(
        "user", Content.from_uri("https://a.b/c.pdf", media_type="application/pdf"), id="file"
    ),
    pytest.param("assistant", Content.from_error(message="It failed."), id="error"),
]


@pytest.mark.parametrize(("role", "content"), CONTENTS)
def test_a_content_is_read_counted_and_given_back(role, content):
    codec, message = MessageCodec(), Message(role, [content], message_id="m")
    row = codec.row(message)
    assert ullage.TokenCounter().count_messages([row], format="anthropic") > 0
    back = codec.message(dict(row), message)
    assert back.contents[0] is content
    assert (back.role, back.message_id) == (role, "m")
    # In another process, which has what the state says.
    loaded = codec.load(json.loads(json.dumps(codec.dump(row))))
    again = codec.message(loaded, None)
    assert (again.role, again.contents[0].to_dict()) == (role, content.to_dict())


def test_a_strategy_marks_messages_as_excluded_and_keeps_them():
    provider = Provider(steps=30)
    # A strategy sees neither the instructions nor the tools.
    schema = READ.parameters()
    definition = {"name": "read_log", "description": READ.description, "input_schema": schema}
    own = engine(system=SYSTEM, tools=[definition])
    session = AgentSession()
    agent = agent_of(provider, compaction_strategy=EngineStrategy(own))
    answer = asyncio.run(agent.run("Why does the checkout fail?", session=session))
    assert answer.text.endswith("It is the card.")
    assert max(provider.tokens) <= 5_000
    changed = sum(after[: len(before)] != before for before, after in pairwise(provider.requests))
    assert 0 < changed <= 15
    stored = session.state["in_memory"]["messages"]
    calls = [c.call_id for m in stored for c in m.contents if c.type == "function_call"]
    assert calls == [f"call-{part}" for part in range(1, 31)]
    assert any(m.additional_properties.get("_excluded") for m in stored)


def test_a_strategy_says_whether_it_changed_something():
    strategy = EngineStrategy(engine())
    messages = messages_of([{"role": "user", "content": "Why does the checkout fail?"}])
    assert asyncio.run(strategy(messages)) is False
    for step in range(20):
        call = Content.from_function_call(f"c{step}", "read_log", arguments={"part": step})
        result = Content.from_function_result(f"c{step}", result=read_log(step))
        messages += [Message("assistant", [call]), Message("tool", [result])]
    whole = list(messages)
    assert asyncio.run(strategy(messages)) is True
    assert [m for m in messages if m in whole] == whole
    sent = [m for m in messages if not m.additional_properties.get("_excluded")]
    assert 0 < len(sent) < 12
    # Asked again, it finds the list as it left it.
    left = [message.to_dict() for message in messages]
    assert asyncio.run(strategy(messages)) is False
    assert [message.to_dict() for message in messages] == left


def test_a_system_prompt_among_the_messages_stays_in_front():
    provider = Provider(steps=20)
    agent = agent_of(provider, middleware=[ContextMiddleware(engine())])
    given = [Message("system", ["Speak as a pirate."]), Message("user", ["Why?"])]
    asyncio.run(agent.run(given))
    assert all(rows[0]["content"] == "Speak as a pirate." for rows in provider.requests)
    assert max(provider.tokens) <= 5_000


def test_what_the_service_keeps_is_left_alone():
    provider = Provider(steps=0)
    agent = agent_of(provider, middleware=[ContextMiddleware(engine())])
    text = "It is a long question. " * 2_000
    asyncio.run(agent.run(text, session=AgentSession(service_session_id="conv_1")))
    assert provider.requests[-1][0]["content"] == text


def test_a_result_is_shortened_before_the_session_stores_it():
    def read_all() -> str:
        """Reads all of the log."""
        return "\n".join(read_log(part) for part in range(90))

    provider = Provider(
        steps=0,
        wants=lambda rows: None if len(rows) > 1 else Turn("I look.", (("c1", "read_all", {}),)),
    )
    own, session = engine(), AgentSession()
    agent = agent_of(
        provider,
        [tool(read_all, approval_mode="never_require")],
        middleware=[ContextMiddleware(own), ShortenMiddleware(own)],
    )
    asyncio.run(agent.run("Why?", session=session))
    stored = session.state["in_memory"]["messages"]
    (result,) = [c.result for m in stored for c in m.contents if c.type == "function_result"]
    store: Any = own.store
    (reference,) = store.list()
    assert reference in result
    assert len(result) < 20_000 < len(store.get(reference))


def test_the_tokenizer_counts_as_ullage_does():
    text = read_log(1)
    assert EngineTokenizer("gpt-5-mini").count_tokens(text) == ullage.TokenCounter().count(text)
