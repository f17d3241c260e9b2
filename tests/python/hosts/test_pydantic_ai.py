"""Tests of features that only Pydantic AI has."""

from __future__ import annotations

import asyncio
import copy
import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

import ullage

pytest.importorskip("pydantic_ai", reason="pydantic-ai-slim is not installed: run make test-hosts")

from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    BinaryContent,
    DocumentUrl,
    ImageUrl,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from ullage.pydantic_ai import ContextCapability, ContextModel, history_processor
from ullage.pydantic_ai.codec import MessageCodec

from .provider import SYSTEM, Provider, Turn, read_log
from .pydantic_ai_host import UNLIMITED, scripted

POLICY = ullage.Policy(window=6_000, reserve_output=1_000)
PICTURE = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"


def engine(**more: Any) -> ullage.ContextManager:
    return ullage.ContextManager(POLICY, store=ullage.MemoryStore(), **more)


def run(agent: Any, text: str = "Why does the checkout fail?", **more: Any) -> Any:
    return asyncio.run(agent.run(text, usage_limits=UNLIMITED, **more))


PARTS = [
    pytest.param(ModelRequest, UserPromptPart("Go."), id="user"),
    pytest.param(ModelRequest, SystemPromptPart("Be brief."), id="system"),
    pytest.param(ModelRequest, ToolReturnPart("read", "It is.", "c"), id="text"),
    pytest.param(ModelRequest, ToolReturnPart("read", {"a": [1, 2]}, "c"), id="object"),
    pytest.param(
        ModelRequest, ToolReturnPart("read", "Again.", "c", outcome="failed"), id="failed"
    ),
    pytest.param(ModelResponse, TextPart("I look."), id="answer"),
    pytest.param(ModelResponse, ThinkingPart("Hm.", signature="c2ln"), id="thinking"),
    pytest.param(
        ModelResponse, ThinkingPart("", id="redacted_thinking", signature="x"), id="redacted"
    ),
    pytest.param(
        ModelResponse, ThinkingPart("Hm.", id="rs_1", provider_name="openai"), id="reasoning"
    ),
    pytest.param(ModelResponse, ToolCallPart("read", {"a": 1}, "c"), id="call"),
    pytest.param(ModelResponse, ToolCallPart("read", '{"a": 1}', "c"), id="call-as-text"),
    pytest.param(ModelResponse, NativeToolCallPart("web_search", {"q": "x"}, "n"), id="native"),
]


@pytest.mark.parametrize(("kind", "part"), PARTS)
def test_a_part_is_read_counted_and_given_back(kind, part):
    codec, message = MessageCodec(), kind([part])
    row = codec.row(message)
    assert ullage.TokenCounter().count_messages([row], format="anthropic") > 0
    back = codec.message(dict(row), message)
    assert type(back) is kind
    assert back.parts[0] is part
    # In another process, which has what the state says.
    loaded = codec.load(json.loads(json.dumps(codec.dump(row))))
    assert codec.message(loaded, None).parts == [part]


@pytest.mark.filterwarnings("ignore:.*RetryPromptPart.*")
@pytest.mark.parametrize("more", [{}, {"tool_name": "read", "tool_call_id": "c"}])
def test_a_retry_of_older_versions_is_read(more):
    from pydantic_ai.messages import RetryPromptPart

    codec, message = MessageCodec(), ModelRequest([RetryPromptPart("Again.", **more)])
    row = codec.row(message)
    assert "Again." in str(row["content"][0])
    assert codec.message(dict(row), None).parts[0] is message.parts[0]


def test_what_a_user_sends_is_counted_by_its_kind_and_given_back():
    items = [
        "Look at this:",
        BinaryContent(PICTURE * 4_000, media_type="image/png"),
        ImageUrl("https://a.b/c.png"),
        DocumentUrl("https://a.b/c.pdf"),
    ]
    codec, message = MessageCodec(), ModelRequest([UserPromptPart(items)])
    row = codec.row(message)
    assert ullage.TokenCounter().count_messages([row], format="anthropic") < 5_000
    back = codec.message(dict(row), None)
    assert [item for part in back.parts for item in part.content] == items
    loaded = codec.load(json.loads(json.dumps(codec.dump(row))))
    again: Any = codec.message(loaded, None)
    assert [type(part) for part in again.parts] == [UserPromptPart] * 4
    assert again.parts[1].content[0].data == PICTURE * 4_000
    assert again.parts[3] == back.parts[3]


def test_parts_are_replaced_and_never_edited():
    provider, given = Provider(steps=20, format="anthropic"), []
    agent: Any = Agent(
        scripted(provider), tools=[read_log], capabilities=[ContextCapability(engine())]
    )
    first = run(agent)
    kept = copy.deepcopy(first.all_messages())
    given = first.all_messages()
    run(agent, "Are you sure?", message_history=given)
    assert given == kept


def test_instructions_and_a_system_prompt_survive_every_compaction():
    provider = Provider(steps=30, format="anthropic")
    agent: Any = Agent(
        scripted(provider),
        instructions=SYSTEM,
        system_prompt="Speak as a pirate.",
        tools=[read_log],
        capabilities=[ContextCapability(engine())],
    )
    run(agent)
    assert sum(a[: len(b)] != b for b, a in pairwise(provider.requests)) > 1
    assert set(provider.systems) == {SYSTEM}
    assert all("Speak as a pirate." in str(rows[0]) for rows in provider.requests)


def test_a_wrapped_model_is_enough():
    provider = Provider(steps=30, format="anthropic")
    agent: Any = Agent(ContextModel(scripted(provider), engine()), tools=[read_log])
    assert run(agent).output == "It is the card."
    assert max(provider.tokens) <= 5_000
    assert provider.tools == ["read_log"]


def test_a_history_processor_replaces_the_history():
    provider = Provider(steps=30, format="anthropic")
    # A processor does not see the tools.
    schema = {"type": "object", "properties": {"part": {"type": "integer"}}}
    own = engine(
        tools=[{"name": "read_log", "description": read_log.__doc__, "input_schema": schema}]
    )
    capabilities: Any = [ProcessHistory(history_processor(own))]
    agent: Any = Agent(scripted(provider), tools=[read_log], capabilities=capabilities)
    messages = run(agent).all_messages()
    assert max(provider.tokens) <= 5_000
    assert len(messages) < 30


def test_a_model_by_its_name_has_its_window(monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "-")
    assert ContextModel("openai:gpt-4o").engine.policy.window == 128_000


def test_a_result_is_shortened_before_it_enters_the_history():
    def read_all() -> dict[str, str]:
        """Reads all of the log."""
        return {"log": "\n".join(read_log(part) for part in range(90))}

    def read_object() -> Turn:
        """Returns an object of the program."""
        return Turn("x" * 90_000)

    provider = Provider(
        steps=0,
        wants=lambda rows: (
            None
            if len(rows) > 1
            else Turn("I look.", (("c1", "read_all", {}), ("c2", "read_object", {})))
        ),
        format="anthropic",
    )
    own = ullage.ContextManager(ullage.Policy(window=60_000), store=ullage.MemoryStore())
    agent: Any = Agent(
        scripted(provider), tools=[read_all, read_object], capabilities=[ContextCapability(own)]
    )
    returns = [
        p for m in run(agent).all_messages() for p in m.parts if isinstance(p, ToolReturnPart)
    ]
    assert len(returns[0].model_response_str()) < 20_000
    assert returns[1].content == Turn("x" * 90_000)


def test_only_answers_after_a_compaction_carry_the_state():
    provider = Provider(steps=20, format="anthropic")
    agent: Any = Agent(
        scripted(provider), tools=[read_log], capabilities=[ContextCapability(engine())]
    )
    messages = run(agent).all_messages()
    states = [m.metadata["ullage"] for m in messages if m.kind == "response" and m.metadata]
    compactions = sum(a[: len(b)] != b for b, a in pairwise(provider.requests))
    assert len(states) == compactions > 1
    # The view and the messages of four compactions that are not in the history.
    assert len(json.dumps(states[-1])) < 50_000
    assert ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(messages))


def test_a_result_that_the_engine_wrote_names_its_tool():
    codec = MessageCodec()
    codec.row(ModelResponse([ToolCallPart("read", {}, "c")]))
    block = {"type": "tool_result", "tool_use_id": "c", "content": "no result"}
    made = codec.message({"role": "user", "content": [block]}, None)
    assert (made.parts[0].tool_name, made.parts[0].content) == ("read", "no result")


def test_a_shortened_part_keeps_the_rest_of_its_message():
    codec = MessageCodec()
    response = ModelResponse(
        [TextPart("I look."), ToolCallPart("read", {"a": 1}, "c")], model_name="m"
    )
    row = codec.row(response)
    row = {**row, "content": [row["content"][0], {**row["content"][1], "input": {"a": 2}}]}
    changed = codec.message(row, response)
    assert changed == replace(
        response, parts=[response.parts[0], ToolCallPart("read", {"a": 2}, "c")]
    )
    assert response.parts[1] == ToolCallPart("read", {"a": 1}, "c")
