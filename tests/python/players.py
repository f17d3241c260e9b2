"""A scripted model for tests of the Strands adapter: what it is asked, what it refuses, what it says.

As strict about histories as a provider, and with pictures and documents, parallel calls, usage and
structured output, which the model of the demo does not have.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from strands import tool
from strands.models import Model
from strands.types.exceptions import ContextWindowOverflowException

import ullage
from demo.rules import check_history

if TYPE_CHECKING:
    from tests.python.loop_probe import LoopProbe

TASK = "The first task: fetch what there is and sum it up."
# Tokens of one picture or document here.
MEDIUM = 300


def size_of(messages: Any, *fixed: Any) -> int:
    """A count that is not the engine's: every text by itself, each medium as a constant."""

    def walk(value: Any) -> int:
        if isinstance(value, bytes):
            return MEDIUM
        if isinstance(value, dict) and "json" in value:
            return ullage.count_tokens(json.dumps(value["json"]))
        if isinstance(value, dict):
            return sum(walk(v) for v in value.values())
        if isinstance(value, list):
            return sum(walk(v) for v in value)
        return ullage.count_tokens(str(value))

    return walk([m["content"] for m in messages]) + 4 * len(messages) + sum(map(walk, fixed))


class Player(Model):
    """Asks for `fetch` so many times, `width` calls at once, and then answers."""

    def __init__(
        self,
        calls: int = 0,
        *,
        width: int = 1,
        words: int = 40,
        window: int = 10**9,
        limit: int | None = None,
        strict: bool = True,
        usage: bool = False,
        probe: LoopProbe | None = None,
        most: int = 2_000,
    ) -> None:
        self.rest, self.width, self.words, self.window = calls, width, words, window
        self.limit, self.strict, self.usage, self.probe = limit, strict, usage, probe
        self.most = most
        self.requests: list[tuple[int, bool]] = []
        self.seen: list[Any] = []
        self.refuses = lambda _number: False
        self.asks = "fetch"

    def update_config(self, **_: Any) -> None:
        pass

    def get_config(self) -> Any:
        return {"model_id": "played"} | ({"context_window_limit": self.limit} if self.limit else {})

    async def structured_output(self, output_model: Any, prompt: Any, *_: Any, **__: Any) -> Any:
        raise NotImplementedError
        yield {}

    @property
    def refused(self) -> list[int]:
        return [size for size, fits in self.requests if not fits]

    async def stream(
        self, messages: Any, tool_specs: Any = None, system_prompt: Any = None, **_: Any
    ) -> Any:
        assert len(self.requests) < self.most, "retries without progress"
        if self.strict:
            check_history(messages)
        size = size_of(messages, tool_specs or [], system_prompt or "")
        fits = size <= self.window and not self.refuses(len(self.requests) + 1)
        self.requests.append((size, fits))
        self.seen = messages
        await (self.probe.work_async() if self.probe else asyncio.sleep(0))
        if not fits:
            raise ContextWindowOverflowException(f"prompt is too long: {size} tokens")
        number, calls = len(self.requests), self.rest > 0
        self.rest -= 1
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": f"answer {number}"}}}
        yield {"contentBlockStop": {}}
        for one in range(self.width if calls else 0):
            use = {"toolUseId": f"call-{id(self)}-{number}-{one}", "name": self.asks}
            given = json.dumps({"words": self.words, "number": number * 100 + one})
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": given}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}
        if self.usage:
            counts = {"inputTokens": size, "outputTokens": 10, "totalTokens": size + 10}
            yield {"metadata": {"usage": counts, "metrics": {"latencyMs": 1}}}


@tool
def fetch(words: int, number: int = 0) -> str:
    """Fetch so many words."""
    return "\n".join(f"word {i} of the output {number}" for i in range(max(words // 6, 1)))
