"""An agent of Google ADK, kept inside the window: streaming and parallel calls.

Without a key: ``python examples/local_provider.py examples/adk_agent.py``.
"""

import asyncio
import tempfile

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.runners import InMemoryRunner

import ullage
from ullage.adk import ContextPlugin, retrieval_tool

MODEL = "gemini-2.5-flash"


def read_log(part: int) -> dict[str, str]:
    """Reads a part of the log of slow queries."""
    lines = (f"{part}:{line:03} query took {line * 7 % 90} ms" for line in range(300))
    return {"log": "\n".join(lines)}


async def main() -> None:
    """Asks one question, for which the agent reads forty parts of a log."""
    store = ullage.FileStore(tempfile.mkdtemp())
    policy = ullage.Policy(window=16_000, reserve_output=2_000)  # small, to show compactions
    engine = ullage.ContextManager(
        policy, model=MODEL, store=store, format="gemini", append_only=True
    )
    # The plugin shortens responses and compacts requests. The events of the session stay whole.
    agent = LlmAgent(name="auditor", model=MODEL, tools=[read_log, retrieval_tool(store)])
    app = App(name="audit", root_agent=agent, plugins=[ContextPlugin(engine=engine)])
    runner = InMemoryRunner(app=app)
    streamed = RunConfig.model_validate({"streaming_mode": "sse"})
    events = await runner.run_debug("Which query is slow?", run_config=streamed, quiet=True)
    print(f"{len(events)} events, {engine.stats.compactions} compactions")


asyncio.run(main())
