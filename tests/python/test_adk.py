"""The retrieval tool under a real ADK agent."""

# mypy: disable-error-code="arg-type,misc,override"

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

import ullage
from ullage.adk import retrieval_tool

CONTENT = "".join(f"line {i}\n" for i in range(1, 1_001)).encode()
REFERENCE = "fetch-00000000000000aa"
CALLS = [
    {"reference": REFERENCE, "pattern": "line 77$"},
    {"reference": REFERENCE, "tail": 1},
    {"pattern": "line 999"},
    {"reference": "fetch-00000000000000ab"},
]


class Calling(BaseLlm):
    """Makes the calls one after the other, and then answers."""

    rest: list[Any] = []  # noqa: RUF012 - pydantic copies it
    seen: list[Any] = []  # noqa: RUF012

    async def generate_content_async(self, llm_request, stream=False):
        self.seen.append(llm_request)
        if self.rest:
            part = types.Part.from_function_call(name="retrieve", args=self.rest.pop(0))
        else:
            part = types.Part(text="done")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


class Awaited:
    def __init__(self, inner):
        self.inner = inner

    async def put(self, content, *, reference, tool=None, **_):
        return self.inner.put(content, reference=reference)

    async def get(self, reference):
        await asyncio.sleep(0)
        return self.inner.get(reference)

    async def list(self):
        return self.inner.list()


async def answers(store, model):
    agent = LlmAgent(name="reader", model=model, tools=[retrieval_tool(store)])
    runner = InMemoryRunner(agent=agent, app_name="test")
    session = await runner.session_service.create_session(app_name="test", user_id="u")
    message = types.Content(role="user", parts=[types.Part(text="Look.")])
    found = []
    async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message):
        found += [response.response for response in event.get_function_responses()]
    return found


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_an_agent_reads_back_what_was_moved_out(kind):
    inner = ullage.MemoryStore()
    inner.put(CONTENT, reference=REFERENCE)
    model = Calling(model="calling", rest=list(CALLS), seen=[])
    store = inner if kind == "sync" else Awaited(inner)
    piece, tail, found, unknown = asyncio.run(answers(store, model))
    assert piece["result"].endswith("\n77: line 77\n")
    assert tail["result"].endswith("\n1000: line 1000\n")
    assert f"{REFERENCE} (1 of 1,000 lines match):\n999: line 999\n" in found["result"]
    assert REFERENCE in unknown["error"], "the nearest is named"
    (declared,) = model.seen[0].config.tools[0].function_declarations
    assert declared.name == "retrieve"
    assert "reference" in declared.parameters_json_schema["properties"]


def test_it_is_a_function_tool_of_adk():
    made = retrieval_tool(ullage.MemoryStore(), name="read_back")
    assert isinstance(made, FunctionTool)
    assert made.name == "read_back"
    assert made.description.startswith("Read back output")


def test_what_the_tool_returns_is_stored_by_nobody():
    store = ullage.MemoryStore()
    store.put(CONTENT, reference=REFERENCE)
    tool = retrieval_tool(store)
    answer = asyncio.run(tool.run_async(args={"reference": REFERENCE}, tool_context=None))
    engine = ullage.ContextManager(ullage.Policy(shrink_above=100, shrink_to=50), store=store)
    assert engine.shrink("retrieve", answer) is answer
