"""The same script three times: without management, with Strands' own default, and with ullage."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strands import Agent
from strands.agent.conversation_manager import (
    NullConversationManager,
    SlidingWindowConversationManager,
)
from strands.types.exceptions import EventLoopException

import ullage
from ullage.strands import MappingConversationManager, ToolRouterHook

from .provider import WINDOW, LostTask, Request, Sighting, StrictProvider
from .stopwatch import Stopwatch
from .tools import Toolbox

if TYPE_CHECKING:
    from pathlib import Path

    from .checkout import Checkout
    from .progress import Progress
    from .script import Script

SYSTEM_PROMPT = (
    "You are a careful engineer who audits a source tree with the tools given. An output may be"
    " shortened and name a reference; fetch the stored text by that reference when you need it."
)
# Room for the model's answer, and for differences between ullage's count and the provider's.
RESERVED_FOR_OUTPUT = 2_000
# `retrieve` may cut a long line, so that much of an output's first line identifies it.
COMPARED_CHARACTERS = 80


@dataclass(frozen=True)
class Outcome:
    """The outcome of one run; `error` is None if the agent finished by itself."""

    name: str
    requests: list[Request]
    tool_calls: int
    tool_bytes: int
    finished: bool
    task_lost_at: int | None
    error: Exception | None
    seconds: float

    @property
    def succeeded(self) -> bool:
        """The whole script was played, and the agent knew its task to the end."""
        return self.finished and self.error is None and self.task_lost_at is None

    @property
    def refused(self) -> int:
        """Requests that the provider refused, for their size or for their history."""
        return sum(not request.accepted for request in self.requests)

    @property
    def verdict(self) -> str:
        """The outcome in words."""
        if self.error is not None:
            kind = type(self.error).__name__
            end = f"died at request {len(self.requests)} with {kind}: {self.error}"
        elif self.finished:
            end = "came to the end of the script"
        else:
            end = f"stopped at request {len(self.requests)}, before the end of the script"
        lost = self.task_lost_at
        return end if lost is None else f"{end}; the user's task was gone from request {lost} on"


@dataclass(frozen=True)
class RoundTrip:
    """One offloaded output: is what the store gives back what the tool returned?"""

    sighting: Sighting
    returned_bytes: int
    is_equal: bool


@dataclass(frozen=True)
class Evidence:
    """Evidence that only the run with ullage can give."""

    stats: Any
    stopwatch: Stopwatch
    round_trips: list[RoundTrip]
    # The model's own retrieval, the tool's answer, and whether they match.
    followed: Sighting | None
    retrieved: list[str]
    was_fetched: bool


def run_unmanaged(script: Script, checkout: Checkout, progress: Progress) -> Outcome:
    """No management at all: the history only grows."""
    run = _Run("no management", script, Toolbox(checkout), progress)
    return run.play(conversation_manager=NullConversationManager())


def run_sliding_window(script: Script, checkout: Checkout, progress: Progress) -> Outcome:
    """Runs `Agent` with its defaults: a window of 40 messages, and cuts after an overflow."""
    run = _Run("sliding window", script, Toolbox(checkout), progress)
    return run.play(conversation_manager=SlidingWindowConversationManager())


def run_ullage(
    script: Script, checkout: Checkout, progress: Progress, folder: Path, recorder: ullage.Recorder
) -> tuple[Outcome, Evidence]:
    """With ullage, of which more is asked: a request without the task is refused too."""
    store = ullage.FileStore(str(folder))
    toolbox = Toolbox(checkout, store)
    stopwatch = Stopwatch()
    engine = ullage.ContextManager(
        ullage.Policy(window=WINDOW, reserve_output=RESERVED_FOR_OUTPUT),
        store=store,
        system=SYSTEM_PROMPT,
        tools=[tool.tool_spec for tool in toolbox.tools],
        recorder=recorder,
    )
    run = _Run("ullage", script, toolbox, progress, lost_task=LostTask.REFUSE, stopwatch=stopwatch)
    outcome = run.play(
        conversation_manager=stopwatch.attach(MappingConversationManager(engine=engine)),
        hooks=[stopwatch.attach(ToolRouterHook(engine=engine))],
    )
    trips = [_round_trip(store, toolbox, seen) for seen in run.provider.sightings.values()]
    followed = run.provider.followed
    was_fetched = followed is not None and _was_fetched(toolbox, followed)
    evidence = Evidence(engine.stats, stopwatch, trips, followed, toolbox.retrieved, was_fetched)
    return outcome, evidence


class _Run:
    """One run of the script with its own provider, tools and agent."""

    def __init__(
        self,
        name: str,
        script: Script,
        toolbox: Toolbox,
        progress: Progress,
        *,
        lost_task: LostTask = LostTask.NOTE,
        stopwatch: Stopwatch | None = None,
    ) -> None:
        self.provider = StrictProvider(script, lost_task, self._on_request)
        self._name = name
        self._script = script
        self._toolbox = toolbox
        self._progress = progress
        self._stopwatch = stopwatch

    def play(self, **management: Any) -> Outcome:
        """Say every turn of the script to a fresh agent, and report how far it came."""
        agent = Agent(
            model=self.provider,
            tools=self._toolbox.tools,
            system_prompt=SYSTEM_PROMPT,
            callback_handler=None,  # the agent prints nothing of its own
            **management,
        )
        error: Exception | None = None
        began = time.perf_counter()
        try:
            for turn in self._script.turns:
                agent(turn.prompt)
        except EventLoopException as raised:
            error = raised.original_exception
        except Exception as raised:  # noqa: BLE001 - whatever ends a run is what the demo reports
            error = raised
        outcome = Outcome(
            self._name,
            self.provider.requests,
            len(self._toolbox.outputs),
            self._toolbox.total_bytes,
            self.provider.finished,
            self.provider.task_lost_at,
            error,
            time.perf_counter() - began,
        )
        count = len(outcome.requests)
        self._progress.done(f"{self._name}: {count} requests ({outcome.seconds:.1f} s)")
        return outcome

    def _on_request(self) -> None:
        if self._stopwatch is not None:
            self._stopwatch.mark()
        request = self.provider.requests[-1]
        self._progress.show(
            f"{self._name}: request {len(self.provider.requests)},"
            f" {len(self._toolbox.outputs)} tool calls, {request.messages} messages,"
            f" {request.tokens:,} of {WINDOW:,} tokens{'' if request.accepted else ', REFUSED'}"
        )


def _was_fetched(toolbox: Toolbox, followed: Sighting) -> bool:
    """True if `retrieve` answered with the beginning of the original output."""
    lines = toolbox.outputs.get(followed.call, "").split("\n")
    beginning = next((line.strip() for line in lines if line.strip()), "")
    return beginning != "" and any(
        beginning[:COMPARED_CHARACTERS] in text for text in toolbox.retrieved
    )


def _round_trip(store: Any, toolbox: Toolbox, sighting: Sighting) -> RoundTrip:
    returned = toolbox.outputs.get(sighting.call, "").encode()
    try:
        is_equal = store.get(sighting.reference) == returned
    except ullage.StoreError:
        is_equal = False
    return RoundTrip(sighting, len(returned), is_equal)
