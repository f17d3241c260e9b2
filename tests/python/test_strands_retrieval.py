"""The retrieval tool under a real Strands agent."""

# mypy: disable-error-code="arg-type,index,override"

import asyncio
import json
from typing import Any

import pytest
from strands import Agent, tool
from strands.models import Model
from strands.types.tools import AgentTool

import ullage
from ullage.strands import MappingConversationManager, ToolRouterHook, retrieval_tool


class Calling(Model):
    """Calls tools as a script says; an argument may be made from the messages so far."""

    def __init__(self, *script):
        self.script = list(script)
        self.specs: list[Any] = []

    def update_config(self, **_):
        pass

    def get_config(self):
        return {"model_id": "calling"}

    async def structured_output(self, *_, **__):
        raise NotImplementedError
        yield {}

    async def stream(self, messages, tool_specs=None, system_prompt=None, **_):
        self.specs = tool_specs
        step = self.script.pop(0) if self.script else None
        yield {"messageStart": {"role": "assistant"}}
        if step is None:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
        else:
            name, arguments = step
            arguments = arguments(messages) if callable(arguments) else arguments
            use = {"toolUseId": f"call-{len(messages)}", "name": name}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if step is None else "tool_use"}}


LINES = [f"line {i} of the output" for i in range(20_000)]


@tool
def fetch() -> str:
    """Fetch it."""
    return "\n".join(LINES)


def last_reference(messages):
    (reference,) = ullage._core.references_in(messages[-1])
    return reference


def results(agent):
    blocks = [block for message in agent.messages for block in message["content"]]
    return [block["toolResult"] for block in blocks if "toolResult" in block]


class Awaited:
    """An async store."""

    def __init__(self):
        self.inner = ullage.MemoryStore()

    async def put(self, content, *, reference, tool=None, **_):
        await asyncio.sleep(0)
        return self.inner.put(content, reference=reference)

    async def get(self, reference):
        await asyncio.sleep(0)
        return self.inner.get(reference)

    async def list(self):
        return self.inner.list()


@pytest.mark.parametrize("kind", ["file", "async"])
def test_an_agent_reads_back_what_was_moved_out(tmp_path, kind):
    store = ullage.FileStore(tmp_path) if kind == "file" else Awaited()
    engine = ullage.ContextManager(store=store)
    model = Calling(
        ("fetch", {}),
        ("retrieve", lambda seen: {"reference": last_reference(seen), "pattern": "line 777 "}),
        ("retrieve", {"pattern": "line 19999 "}),
        ("retrieve", {"reference": "fetch-0123456789abcdef"}),
        ("retrieve", {"pattern": "("}),
    )
    agent = Agent(
        model=model,
        tools=[fetch, retrieval_tool(store)],
        conversation_manager=MappingConversationManager(engine=engine),
        hooks=[ToolRouterHook(engine=engine)],
        callback_handler=None,
    )
    agent("Look at it.")
    fetched, piece, found, unknown, broken = results(agent)
    reference = last_reference([fetched])
    assert piece["content"][0]["text"].endswith("\n778: line 777 of the output\n")
    assert f"{reference} (1 of 20,000 lines match):\n20000: " in found["content"][0]["text"]
    assert [r["status"] for r in (piece, found, unknown, broken)] == ["success"] * 2 + ["error"] * 2
    assert reference in unknown["content"][0]["text"], "the nearest is named"
    assert "pattern cannot be used" in broken["content"][0]["text"]


def test_what_the_tool_returns_is_stored_by_nobody(tmp_path):
    store = ullage.FileStore(tmp_path)
    engine = ullage.ContextManager(ullage.Policy(shrink_above=200, shrink_to=100), store=store)
    model = Calling(
        ("fetch", {}),
        ("retrieve", lambda seen: {"reference": last_reference(seen), "head": 500}),
        ("retrieve", {"pattern": "line"}),
    )
    agent = Agent(
        model=model,
        tools=[fetch, retrieval_tool(store)],
        hooks=[ToolRouterHook(engine=engine)],
        callback_handler=None,
    )
    agent("Look at it.")
    _, piece, found = results(agent)
    assert "500: line 499 of the output" in piece["content"][0]["text"]
    assert ullage.count_tokens(found["content"][0]["text"]) > 1_000
    assert len(store.list()) == 1


def test_it_is_a_tool_of_strands():
    made = retrieval_tool(ullage.MemoryStore(), name="read_back")
    assert isinstance(made, AgentTool)
    model = Calling()
    Agent(model=model, tools=[made], callback_handler=None)("Hello.")
    (spec,) = model.specs
    assert spec["name"] == "read_back"
    assert set(spec["inputSchema"]["json"]["properties"]) >= {"reference", "pattern", "pointer"}
