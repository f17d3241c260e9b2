"""Random sessions, compacted before every model call, as ADK assembles requests from them."""

# mypy: disable-error-code="arg-type,attr-defined,misc,no-any-return,union-attr"

import asyncio
import random

import pytest
from google.adk.apps import compaction
from google.adk.apps.app import EventsCompactionConfig
from google.adk.events.event import Event
from google.adk.flows.llm_flows.context._contents import _get_contents
from google.adk.sessions import InMemorySessionService
from google.genai import types

from tests.python.adk_host import answer, call, check
from ullage.adk import CompactionConfig, ContextCompactor, EventsSummarizer, SummarySettings

from .lengths import first

pytestmark = pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning")

DONE = {"status": "done"}


class Life:
    """A session in which requests, calls, failures and late answers come at random."""

    def __init__(self, seed, kind):
        self.chance = random.Random(seed)
        self.kind = kind
        self.service = InMemorySessionService()
        settings = SummarySettings(tokens=self.chance.choice([100, 400]))
        config = CompactionConfig(
            token_budget=3_000,
            compaction_trigger_tokens=self.chance.choice([300, 1_000, 2_500]),
            recent_events_count=self.chance.randint(0, 6),
            min_events_for_compaction=self.chance.randint(0, 10),
        )
        self.compactor = ContextCompactor(config, settings=settings)
        self.config = EventsCompactionConfig(
            summarizer=EventsSummarizer(settings=settings),
            token_threshold=self.chance.choice([200, 1_000]),
            event_retention_size=self.chance.randint(0, 5),
        )
        self.pending: list[str] = []
        self.task = ""

    async def put(self, author, role, *parts, **more):
        content = types.Content(role=role, parts=list(parts))
        event = Event(author=author, content=content, invocation_id=self.invocation, **more)
        await self.service.append_event(session=self.session, event=event)

    async def requested(self):
        """The messages that the model would see now, and has to accept."""
        if self.kind == "own":
            await self.compactor.compact(self.session, self.service)
        else:
            await compaction._run_compaction_for_token_threshold_config(
                config=self.config,
                session=self.session,
                session_service=self.service,
                agent=None,
                agent_name="sre",
            )
        contents = _get_contents(None, self.session.events, "sre")
        check(contents)
        return contents

    async def live(self):
        self.session = await self.service.create_session(app_name="test", user_id="u")
        for turn in range(self.chance.randint(3, 10)):
            self.invocation = f"i{turn}"
            self.task = f"request {turn} " + "w " * self.chance.randint(1, 300)
            await self.put("user", "user", types.Part(text=self.task))
            await self.work(turn)
            if self.pending and self.chance.random() < 0.4:
                await self.late()
        return sum(event.actions.compaction is not None for event in self.session.events)

    async def work(self, turn):
        for step in range(self.chance.randint(0, 12)):
            contents = await self.requested()
            text = "\n".join(part.text for one in contents for part in one.parts if part.text)
            assert self.task in text, "the current request was swallowed"
            ids = [f"c{turn}-{step}-{n}" for n in range(self.chance.randint(1, 3))]
            kind = self.chance.random()
            if kind < 0.12:
                await self.put(
                    "sre", "model", call("order", ids[0]), long_running_tool_ids={ids[0]}
                )
                await self.put("sre", "user", answer("order", ids[0], {"status": "pending"}))
                self.pending.append(ids[0])
                return
            parts = [call("probe", one, x="y" * self.chance.randint(0, 500)) for one in ids]
            await self.put("sre", "model", *parts)
            if kind < 0.16:
                return  # The process died.
            results = [
                answer("probe", one, {"r": "z " * self.chance.randint(0, 900)}) for one in ids
            ]
            await self.put("sre", "user", *results)
        await self.put(
            "sre", "model", types.Part(text="answer " + "v " * self.chance.randint(0, 200))
        )

    async def late(self):
        await self.put("user", "user", answer("order", self.pending.pop(), DONE))
        contents = await self.requested()
        parts = [part.function_response for one in contents for part in one.parts]
        assert any(part and part.response == DONE for part in parts), "a late answer was swallowed"
        await self.put("sre", "model", types.Part(text="it came"))


@pytest.mark.parametrize("kind", ["own", "ADK's"])
@pytest.mark.parametrize("seed", first(2, range(0, 40, 8)))
def test_no_history_is_broken_by_a_compaction_before_any_call(seed, kind):
    made = sum(asyncio.run(Life(one, kind).live()) for one in range(seed, seed + 8))
    assert made > 20
