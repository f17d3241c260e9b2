"""A scripted model for ADK that refuses what Gemini refuses, and results as an SRE's tools have them."""

# mypy: disable-error-code="arg-type,misc,override,type-var,union-attr"

import json
import random
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from .gemini_host import is_empty


class StrictError(Exception):
    """400 INVALID_ARGUMENT."""


def check(contents: list[types.Content], window: int | None = None) -> int:
    """The characters of contents; raises what Gemini answers to those that it does not take."""
    if not contents or contents[0].role != "user":
        raise StrictError("the first content is not the user's")
    waiting: list[str] = []
    for place, content in enumerate(contents):
        if not content.parts or any(map(is_empty, content.parts)):
            raise StrictError(f"contents[{place}] is empty, or a part of it is")
        results = [part.function_response.name for part in content.parts if part.function_response]
        if sorted(results) != sorted(waiting):
            raise StrictError(f"contents[{place}]: results of {results} for calls of {waiting}")
        waiting = [part.function_call.name for part in content.parts if part.function_call]
        if waiting and content.role != "model":
            raise StrictError(f"contents[{place}]: the user calls {waiting}")
    if waiting:
        raise StrictError(f"{waiting} were not answered")
    size = size_of(contents)
    if window is not None and size > window:
        raise StrictError(f"{size} characters of {window}")
    return size


def size_of(contents: list[types.Content]) -> int:
    return sum(len(content.model_dump_json(exclude_none=True)) for content in contents)


class Scripted(BaseLlm):
    """Makes the calls of its script one after the other, then answers."""

    script: list[Any] = []  # noqa: RUF012 - pydantic copies it
    seen: list[Any] = []  # noqa: RUF012
    window: int | None = None

    async def generate_content_async(self, llm_request, stream=False):
        size = check(llm_request.contents, self.window)
        self.seen.append(llm_request)
        step = self.script.pop(0) if self.script else "done"
        steps = step if isinstance(step, list) else [step]
        parts = [
            types.Part(text=one)
            if isinstance(one, str)
            else types.Part.from_function_call(name=one[0], args=one[1])
            for one in steps
        ]
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=size // 4)
        yield LlmResponse(content=types.Content(role="model", parts=parts), usage_metadata=usage)


def scripted(*steps: Any, window: int | None = None) -> Scripted:
    return Scripted(model="scripted", script=list(steps), seen=[], window=window)


def runner_of(agent: LlmAgent, *, sessions=None, artifacts=None, **app: Any) -> Runner:
    return Runner(
        app=App(name="test", root_agent=agent, **app),
        session_service=sessions or InMemorySessionService(),
        artifact_service=artifacts or InMemoryArtifactService(),
    )


async def opened(runner: Runner) -> str:
    session = await runner.session_service.create_session(app_name="test", user_id="u")
    return session.id


async def say(runner: Runner, session: str, words: str | types.Part) -> list[Any]:
    part = types.Part(text=words) if isinstance(words, str) else words
    message = types.Content(role="user", parts=[part])
    return [
        event
        async for event in runner.run_async(user_id="u", session_id=session, new_message=message)
    ]


async def stored_events(runner: Runner, session: str) -> list[Any]:
    found = await runner.session_service.get_session(
        app_name="test", user_id="u", session_id=session
    )
    return found.events


def responses(events: list[Any]) -> list[dict[str, Any]]:
    return [one.response for event in events for one in event.get_function_responses()]


def log_entries(count: int, *, seed: int = 1) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    return [
        {
            "timestamp": f"2026-11-21T{9 + i // 3600:02d}:{i // 60 % 60:02d}:{i % 60:02d}Z",
            "severity": chance.choice(["INFO", "INFO", "INFO", "WARNING", "ERROR"]),
            "text_payload": f"request {i} to /api/v{i % 3} took {chance.randint(1, 900)} ms",
            "resource": {"type": "k8s_container", "labels": {"pod": f"web-{i % 4}"}},
        }
        for i in range(count)
    ]


def spans(count: int, *, seed: int = 1) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    return [
        {
            "span_id": f"{i:016x}",
            "parent_span_id": f"{i // 2:016x}" if i else None,
            "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
            "name": chance.choice(["GET /checkout", "db.query", "cache.get"]),
            "start_time": f"2026-11-21T09:{i // 60 % 60:02d}:{i % 60:02d}.000Z",
            "end_time": f"2026-11-21T09:{i // 60 % 60:02d}:{i % 60:02d}.{chance.randint(1, 900):03d}Z",
            "status": "ERROR" if i % 40 == 39 else "OK",
        }
        for i in range(count)
    ]


def time_series(series: int, points: int, *, seed: int = 1) -> dict[str, Any]:
    chance = random.Random(seed)

    def value(one: int, place: int) -> float:
        return 97.5 if one == 3 and place == points // 2 else round(chance.uniform(20, 30), 3)

    return {
        "time_series": [
            {
                "metric": {"type": "cpu/utilization", "labels": {"instance": f"vm-{one}"}},
                "points": [
                    {
                        "interval": {
                            "end_time": f"2026-11-21T{9 + place // 60:02d}:{place % 60:02d}:00Z"
                        },
                        "value": {"double_value": value(one, place)},
                    }
                    for place in reversed(range(points))
                ],
            }
            for one in range(series)
        ]
    }


def promql(series: int) -> dict[str, Any]:
    rows = [
        {
            "metric": {"__name__": "up", "job": "node", "instance": f"10.0.0.{one}:9100"},
            "value": [1_795_600_000.5, "0" if one % 25 == 24 else "1"],
        }
        for one in range(series)
    ]
    return {"status": "success", "data": {"resultType": "vector", "result": rows}}


def tickets(count: int) -> list[dict[str, Any]]:
    """Rows of no known kind."""
    return [
        {
            "id": f"INC-{1000 + i}",
            "team": ["core", "data", "web"][i % 3],
            "priority": i % 4,
            "open": i % 5 != 0,
            "notes": "x" * 300,
        }
        for i in range(count)
    ]


def mcp(value: Any) -> dict[str, Any]:
    """A result as MCP wraps it."""
    return {"content": [{"type": "text", "text": json.dumps(value)}], "isError": False}


TASK = "Find out why the checkout of shop 4711 fails, and name the commit."
PAYLOADS = {
    "list_log_entries": lambda i: {"result": log_entries(30, seed=i)},
    "fetch_trace": lambda i: {"result": {"trace_id": f"t{i}", "spans": spans(30, seed=i)}},
    "list_time_series": lambda i: time_series(2, 20, seed=i),
    "query_promql": lambda _: promql(40),
    "find_tickets": lambda _: {"result": tickets(10)},
}


def call(tool, id_, **args):
    return types.Part(function_call=types.FunctionCall(id=id_, name=tool, args=args))


def answer(tool, id_, response):
    part = types.FunctionResponse(id=id_, name=tool, response=response)
    return types.Part(function_response=part)


def history(pairs, *, ids="present", start=1_000.0, text=""):
    """A request, and calls with the payloads of an SRE's tools."""
    parts = [("user", "user", [types.Part(text=TASK + text)])]
    for i in range(pairs):
        tool, payload = list(PAYLOADS.items())[i % len(PAYLOADS)]
        id_ = f"call-{i}" if ids == "present" else None
        parts.append(("sre", "model", [call(tool, id_, window=f"{i} min")]))
        parts.append(("sre", "user", [answer(tool, id_, payload(i))]))
    return [
        Event(
            author=author,
            invocation_id="i1",
            timestamp=start + place,
            content=types.Content(role=role, parts=inner),
        )
        for place, (author, role, inner) in enumerate(parts)
    ]
