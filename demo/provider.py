"""A scripted model in place of an LLM, as strict as a provider about size and history."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from strands.models import Model
from strands.types.exceptions import ContextWindowOverflowException

from .rules import TaskLost, check_history, check_task, count_request, tokens
from .script import Call, Script

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, Callable

WINDOW = 32_000
# A run that needs more requests than this for a step retries without progress.
REQUESTS_PER_STEP = 3
# Marks of ullage in place of a text. Only the beginning of a result counts: the tools of this demo
# also read documents and tests that quote such lines.
_REFERENCE = re.compile(r"\[ullage: [^\n]*?stored as ([\w.-]+-[0-9a-f]{16})[^\n]*\n?")


class RunawayRun(RuntimeError):  # noqa: N818 - the run is what went wrong
    """More requests than any sensible run of the script needs."""


class LostTask(Enum):
    """The response to a request without the user's first task, which no real provider refuses."""

    NOTE = "note"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Request:
    """One request as the provider saw it."""

    tokens: int
    messages: int
    accepted: bool


@dataclass(frozen=True)
class Sighting:
    """A reference in a request: which call's output it stands for, and the text left beside it."""

    reference: str
    call: str
    text: str


class StrictProvider(Model):
    """Plays the script, one step for each accepted request; refuses what a provider would."""

    def __init__(self, script: Script, lost_task: LostTask, on_request: Callable[[], None]) -> None:
        """A provider at the start of its script."""
        self._config: dict[str, Any] = {"model_id": "scripted", "context_window_limit": WINDOW}
        self._script = script
        self._steps = script.steps
        self._position = 0
        self._lost_task = lost_task
        self._on_request = on_request
        self._calls_made = 0
        self.requests: list[Request] = []
        # The first request without the task, counted from 1; None while it was always there.
        self.task_lost_at: int | None = None
        self.sightings: dict[str, Sighting] = {}
        self.followed: Sighting | None = None

    @property
    def finished(self) -> bool:
        """True if the whole script was played."""
        return self._position == len(self._steps)

    def update_config(self, **model_config: Any) -> None:
        """Change the configuration, as every model of Strands allows."""
        self._config.update(model_config)

    def get_config(self) -> dict[str, Any]:
        """The configuration; `context_window_limit` is what Strands reads."""
        return self._config

    async def structured_output(
        self,
        output_model: Any,  # noqa: ARG002 - the signature is Strands'
        prompt: Any,  # noqa: ARG002
        system_prompt: str | None = None,  # noqa: ARG002
        **_kwargs: Any,
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Not part of the demo."""
        raise NotImplementedError("the scripted model has no structured output")
        yield {}

    async def stream(
        self,
        messages: Any,
        tool_specs: Any = None,
        system_prompt: str | None = None,
        **_kwargs: Any,
    ) -> AsyncIterable[Any]:
        """Check the request, then answer with the next step of the script."""
        size = self._admit(messages, tool_specs or [], system_prompt or "")
        text, wanted = self._next_step({spec["name"] for spec in tool_specs or []}, messages)
        calls = [(self._next_id(), call.tool, json.dumps(call.input)) for call in wanted]

        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": text}}}
        yield {"contentBlockStop": {}}
        for identifier, name, arguments in calls:
            start = {"toolUse": {"toolUseId": identifier, "name": name}}
            yield {"contentBlockStart": {"start": start}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": arguments}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}
        written = tokens(text) + sum(tokens(arguments) for _, _, arguments in calls)
        usage = {"inputTokens": size, "outputTokens": written, "totalTokens": size + written}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 0}}}

    def _admit(self, messages: list[Any], tool_specs: list[Any], system_prompt: str) -> int:
        """Count and check a request; its exact size, or what is wrong with it."""
        if len(self.requests) >= REQUESTS_PER_STEP * len(self._steps):
            raise RunawayRun(f"stopped by the demo after {len(self.requests)} requests")
        size = count_request(messages, tool_specs, system_prompt)
        accepted = False
        try:
            check_history(messages)
            if size > WINDOW:
                raise ContextWindowOverflowException(
                    f"prompt is too long: {size:,} tokens > {WINDOW:,} maximum"
                )
            self._look_for_task(messages)
            accepted = True
        finally:
            self.requests.append(Request(size, len(messages), accepted))
            self._on_request()
        return size

    def _look_for_task(self, messages: list[Any]) -> None:
        try:
            check_task(messages, self._script.task)
        except TaskLost:
            if self.task_lost_at is None:
                self.task_lost_at = len(self.requests) + 1
            if self._lost_task is LostTask.REFUSE:
                raise

    def _next_step(self, tools: set[str], messages: list[Any]) -> tuple[str, list[Call]]:
        in_sight = _references(messages)
        for sighting in in_sight:
            self.sightings.setdefault(sighting.reference, sighting)
        step = self._steps[self._position]
        self._position += 1
        if not step.follows_reference:
            return step.text, list(step.calls)
        # Without ullage there is no `retrieve` and nothing to fetch: that one step is left out.
        if "retrieve" not in tools or not in_sight:
            return self._next_step(tools, messages)
        self.followed = in_sight[0]
        reference = {"reference": self.followed.reference}
        # A word that is still in sight is a word that the stored text has.
        word = re.search(r"[A-Za-z_]{4,}", self.followed.text)
        lines = {"pattern": word[0] if word else ".", "context": 1}
        return step.text, [Call("retrieve", reference), Call("retrieve", reference | lines)]

    def _next_id(self) -> str:
        self._calls_made += 1
        return f"call-{self._calls_made:03}"


def _references(messages: list[Any]) -> list[Sighting]:
    """The references that stand in results of a request, oldest first."""
    found = []
    for message in messages:
        for result in (
            block["toolResult"] for block in message["content"] if "toolResult" in block
        ):
            for item in result["content"]:
                text = item.get("text", "")
                if match := _REFERENCE.match(text):
                    found.append(Sighting(match[1], result["toolUseId"], text[match.end() :]))
    return found
