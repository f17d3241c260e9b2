"""The retrieval tool under real agents of ADK and Strands."""

# mypy: disable-error-code="arg-type,misc,override"

import asyncio
from typing import Any

import pytest
from google.adk.tools.function_tool import FunctionTool
from strands import Agent
from strands.types.tools import AgentTool

import ullage
import ullage.adk
import ullage.strands

from .gemini_host import Host, agent, ask, call, gemini, text
from .players import Player

CONTENT = "".join(f"line {i}\n" for i in range(1, 1_001)).encode()
REFERENCE = "fetch-00000000000000aa"
CALLS: list[dict[str, Any]] = [
    {"reference": REFERENCE, "pattern": "line 77$"},
    {"reference": REFERENCE, "tail": 1},
    {"pattern": "line 999"},
    {"reference": "fetch-00000000000000ab"},
    {"pattern": "("},
]


class Awaited:
    """An async store."""

    def __init__(self, inner):
        self.inner = inner

    async def put(self, content, *, reference, tool=None, **_):
        return self.inner.put(content, reference=reference)

    async def get(self, reference):
        await asyncio.sleep(0)
        return self.inner.get(reference)

    async def list(self):
        return self.inner.list()


def adk_answers(store):
    model = gemini([*(call("retrieve", **arguments) for arguments in CALLS), text("done")])
    host = Host(agent(model, [ullage.adk.retrieval_tool(store)]))
    events = ask(host, "Look.")
    found = [one.response for event in events for one in event.get_function_responses()]
    return [(name == "result", said) for one in found for name, said in one.items()]


def strands_answers(store):
    tools = [ullage.strands.retrieval_tool(store)]
    own = Agent(model=Player(), tools=tools, callback_handler=None)
    found = [own.tool.retrieve(**arguments) for arguments in CALLS]
    return [(one["status"] == "success", one["content"][0]["text"]) for one in found]


@pytest.mark.parametrize("kind", ["memory", "file", "async"])
@pytest.mark.parametrize("answers", [adk_answers, strands_answers])
def test_an_agent_reads_back_what_was_moved_out(answers, kind, tmp_path):
    inner: Any = ullage.FileStore(tmp_path) if kind == "file" else ullage.MemoryStore()
    inner.put(CONTENT, reference=REFERENCE)
    answered = answers(Awaited(inner) if kind == "async" else inner)
    assert [ok for ok, _ in answered] == [True, True, True, False, False]
    piece, tail, found, unknown, broken = (said for _, said in answered)
    assert piece.endswith("\n77: line 77\n")
    assert tail.endswith("\n1000: line 1000\n")
    assert f"{REFERENCE} (1 of 1,000 lines match):\n999: line 999\n" in found
    assert REFERENCE in unknown, "the nearest is named"
    assert "pattern cannot be used" in broken


@pytest.mark.parametrize("host", [ullage.adk, ullage.strands])
def test_it_is_a_tool_of_the_host(host):
    kind: type[Any]
    made: Any = host.retrieval_tool(ullage.MemoryStore(), name="read_back")
    if host is ullage.adk:
        declared, kind = made._get_declaration(), FunctionTool
        names, schema = (made.name, declared.name), declared.parameters_json_schema
    else:
        spec, kind = made.tool_spec, AgentTool
        names, schema = (made.tool_name, spec["name"]), spec["inputSchema"]["json"]
    assert isinstance(made, kind)
    assert names == ("read_back", "read_back")
    assert set(schema["properties"]) >= {"reference", "pattern", "pointer"}
