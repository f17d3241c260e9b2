"""Run `python -m demo.adk` from the project's root; no network and no real model is used.

The exit status is 1 if the run with ullage breaks one of its promises.
"""

from __future__ import annotations

import asyncio
import logging
import random
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import errors, types

import ullage
from ullage.adk import ContextPlugin, retrieval_tool

from .provider import ANSWER, WINDOW, Gemini

if TYPE_CHECKING:
    from google.adk.plugins.base_plugin import BasePlugin

# One long investigation: most of the time goes into ADK's own copies of the session.
CALLS = 300
TASK = "Why is checkout slow? Do not change anything."


def fetch_logs(page: int) -> dict[str, Any]:
    """Fetches a page of the logs.

    Args:
        page: Which page.
    """
    dice = random.Random(page)
    size = 4_000 if page % 50 == 0 else 40
    lines = (
        f"2026-05-01T10:{dice.randint(0, 59):02d} svc-{dice.randint(1, 40)} GET /pay"
        f" {dice.choice((200, 200, 200, 503))} {dice.randint(2, 900)} ms"
        for _ in range(size)
    )
    return {"status": "ok", "page": page, "logs": "\n".join(lines)}


@dataclass
class Outcome:
    """The outcome of a run."""

    name: str
    model: Gemini
    said: str
    seconds: float

    @property
    def finished(self) -> bool:
        """True if the investigation finished."""
        return self.said == ANSWER

    def row(self) -> str:
        """A line of the table."""
        model = self.model
        cached = model.cached / model.prompts if model.prompts else 0
        how = "finished" if self.finished else f"stopped: {self.said[:48]}"
        return (
            f"  {self.name:22} {model.made:5} {model.largest:9,} {cached:8.0%}"
            f" {model.rewritten:8} {self.seconds:7.1f} s  {how}"
        )


async def run(name: str, plugins: list[BasePlugin], tools: list[Any]) -> Outcome:
    """One investigation."""
    model = Gemini(calls=CALLS)
    agent = LlmAgent(name="sre", model=model, tools=[fetch_logs, *tools])
    service = InMemorySessionService()
    app = App(name="demo", root_agent=agent, plugins=plugins)
    runner = Runner(app=app, session_service=service)
    await service.create_session(app_name="demo", user_id="you", session_id="checkout")
    message = types.Content(role="user", parts=[types.Part(text=TASK)])
    began, said = time.perf_counter(), ""
    try:
        async for event in runner.run_async(
            user_id="you",
            session_id="checkout",
            new_message=message,
            run_config=RunConfig(max_llm_calls=CALLS * 2),
        ):
            parts = event.content.parts if event.content is not None else None
            said = "".join(part.text or "" for part in parts or []) or said
    except errors.ClientError as error:
        said = str(error.message)
    return Outcome(name, model, said, time.perf_counter() - began)


def main() -> int:
    """Runs the demo; 0 if every promise holds."""
    # ADK logs the failures that this demo provokes; the table tells them.
    logging.disable(logging.CRITICAL)
    store = ullage.MemoryStore()
    policy = ullage.Policy(window=WINDOW)
    engine = ullage.ContextManager(
        policy, model="gemini-2.5-pro", store=store, format="gemini", append_only=True
    )
    ours = ContextPlugin(engine=engine)
    print(f"An agent makes {CALLS} calls in one invocation; its model takes {WINDOW:,} tokens.\n")
    print(f"  {'':22} {'calls':>5} {'largest':>9} {'cached':>8} {'rewrites':>8}    time")
    runs: list[tuple[str, list[BasePlugin], list[Any]]] = [
        ("ADK alone", [], []),
        ("ADK's context filter", [ContextFilterPlugin(num_invocations_to_keep=1)], []),
        ("with ullage", [ours], [retrieval_tool(store)]),
    ]
    outcomes = []
    for name, plugins, tools in runs:
        outcomes.append(asyncio.run(run(name, plugins, tools)))
        print(outcomes[-1].row(), flush=True)
    managed = outcomes[-1]
    summary = ours.usage.get_summary("demo/you/checkout")
    print(
        f"\n  {summary['total_calls']} model calls, {summary['total_input_tokens']:,} tokens in,"
        f" {summary['total_cached_tokens']:,} of them cached: {summary['total_cost_usd']:.2f} USD"
    )
    stored = store.list()
    print(f"  {len(stored)} outputs are in the store, whole; the session has every event.\n")
    promises = {
        "the investigation came to its end": managed.finished,
        "no prompt was above the window": managed.model.largest <= WINDOW,
        "every prompt had the task": managed.model.knows_its_task,
        "what was moved out can be read": all(len(store.get(one)) > 0 for one in stored),
        "usage is what the model reported": summary["total_input_tokens"] == managed.model.prompts,
    }
    for promise, held in promises.items():
        print(f"  {'kept  ' if held else 'BROKEN'} {promise}")
    return 0 if all(promises.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
