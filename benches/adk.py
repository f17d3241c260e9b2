"""Times the plugin in a model call of Google ADK, against ADK's own assembly of the request.

A real runner works through a session of 1,000 events and more. ADK builds the contents of each
request from all of them; that is the yardstick. What the plugin takes is its callbacks before and
after the model, in process time, so that its threads count too.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.events import Event
from google.adk.flows.llm_flows.context import _contents
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types
from support.machine import described

import ullage
from ullage.adk import ContextPlugin

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

EVENTS = (200, 1_000, 5_000)

# Model calls that are measured in each session.
CALLS = 15

# Windows that leave everything in place, and that have been compacted to.
ROOMY = 50_000_000
TIGHT = 400_000


def log(dice: random.Random) -> dict[str, Any]:
    """About 2 KB of log lines."""
    lines = (f"2026-05-01 svc-{dice.randint(1, 99)} took {dice.random():.4f} s" for _ in range(55))
    return {"status": "ok", "logs": "\n".join(lines)}


def metrics(dice: random.Random) -> dict[str, Any]:
    """About 2 KB of points, as a tool returns them."""
    return {"points": [{"at": n, "value": round(dice.random(), 4)} for n in range(60)]}


def events(count: int, respond: Callable[[random.Random], dict[str, Any]]) -> list[Event]:
    """A session: a question, then calls and their results."""
    dice = random.Random(7)
    asked = types.Content(role="user", parts=[types.Part(text="Why is checkout slow?")])
    made = [Event(author="user", invocation_id="before", content=asked)]
    for number in range((count - 1) // 2):
        call = types.FunctionCall(id=f"adk-{number}", name="look", args={"number": number})
        result = types.FunctionResponse(id=call.id, name="look", response=respond(dice))
        for role, part in (
            ("model", types.Part(function_call=call)),
            ("user", types.Part(function_response=result)),
        ):
            content = types.Content(role=role, parts=[part])
            made.append(Event(author="sre", invocation_id="before", content=content))
    return made


class Calling(BaseLlm):
    """Calls the tool so many times, and says what the prompt came to."""

    left: int = CALLS

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """A call of the tool, or the end."""
        del stream
        self.left -= 1
        part = types.Part(text="Done.")
        if self.left > 0:
            part = types.Part.from_function_call(name="look", args={"number": self.left})
        tokens = 100 * len(llm_request.contents)
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=tokens, candidates_token_count=10, total_token_count=tokens + 10
        )
        content = types.Content(role="model", parts=[part])
        yield LlmResponse(content=content, usage_metadata=usage, model_version=self.model)


class Timed(ContextPlugin):
    """The plugin, with the time that each model call took of it."""

    def __init__(self, window: int) -> None:
        policy = ullage.Policy(window=window)
        engine = ullage.ContextManager(
            policy, model="gemini-2.5-pro", format="gemini", append_only=True
        )
        super().__init__(engine=engine)
        self.times: list[float] = []

    async def before_model_callback(self, **asked: Any) -> LlmResponse | None:
        """The plugin's, timed."""
        began = time.process_time()
        answer = await super().before_model_callback(**asked)
        self.times.append(time.process_time() - began)
        return answer

    async def after_model_callback(self, **asked: Any) -> LlmResponse | None:
        """The plugin's, timed."""
        began = time.process_time()
        answer = await super().after_model_callback(**asked)
        self.times[-1] += time.process_time() - began
        return answer


async def look(number: int) -> dict[str, Any]:
    """Looks."""
    return log(random.Random(number))


async def measured(count: int, respond: Any, window: int) -> tuple[float, float]:
    """Median milliseconds of ADK's assembly, and of the plugin, for a model call."""
    service = InMemorySessionService()
    session = await service.create_session(app_name="bench", user_id="u", session_id="s")
    for event in events(count, respond):
        await service.append_event(session, event)
    plugin, assembly = Timed(window), []
    own = _contents._get_contents  # noqa: SLF001 - what is measured

    def timed(*args: Any, **kwargs: Any) -> Any:
        began = time.process_time()
        contents = own(*args, **kwargs)
        assembly.append(time.process_time() - began)
        return contents

    agent = LlmAgent(name="sre", model=Calling(model="gemini-2.5-pro"), tools=[look])
    runner = Runner(
        app=App(name="bench", root_agent=agent, plugins=[plugin]), session_service=service
    )
    _contents._get_contents = timed  # noqa: SLF001 - as above
    try:
        message = types.Content(role="user", parts=[types.Part(text="Go on.")])
        config = RunConfig(max_llm_calls=CALLS + 1)
        async for _ in runner.run_async(
            user_id="u", session_id="s", new_message=message, run_config=config
        ):
            pass
    finally:
        _contents._get_contents = own  # noqa: SLF001 - as above
    # The first call reads the whole session.
    return (
        statistics.median(assembly[1:]) * 1_000,
        statistics.median(plugin.times[1:]) * 1_000,
    )


def main() -> None:
    """Prints a row for each size and kind of session."""
    print(described(f"google-adk {version('google-adk')}"))
    print(f"process time of a model call, medians of {CALLS - 1}")
    for count in EVENTS:
        print(f"\n{count:,} events of about 2 KB")
        for name, respond, window in (
            ("logs, nothing due", log, ROOMY),
            ("logs, compacted", log, TIGHT),
            ("metrics, nothing due", metrics, ROOMY),
            ("metrics, compacted", metrics, TIGHT),
        ):
            assembly, plugin = asyncio.run(measured(count, respond, window))
            print(
                f"  {name:22} ADK's contents {assembly:8.2f} ms, the plugin {plugin:8.2f} ms:"
                f" {plugin / assembly:5.2f} x"
            )


if __name__ == "__main__":
    main()
