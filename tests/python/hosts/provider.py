"""A scripted model as strict as a provider, and what a host must offer to the shared tests."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import ullage

if TYPE_CHECKING:
    from collections.abc import Callable

SYSTEM = "You audit the logs of a shop."
NEEDLE = "POST /pay 200 in 31 ms, card token tok_7f3a is from last year"


class TooLongError(Exception):
    """The error of a provider that has no class of its own for it."""


@dataclass(frozen=True)
class Turn:
    """An answer of the model.

    Attributes:
        text: What it says.
        calls: The tools that it calls: the id, the name and the arguments of each.
    """

    text: str
    calls: tuple[tuple[str, str, dict[str, Any]], ...] = ()


def read_log(part: int) -> str:
    """Reads a part of the log."""
    lines = [f"12:{part:03}:{n:02} GET /cart/{n * 37} 200 in {n * 7 % 90} ms" for n in range(60)]
    if part == 3:
        lines[30] = f"12:003:30 {NEEDLE}"
    return "\n".join(lines)


# Hosts log their models, and this one has every request.
@dataclass(repr=False)
class Provider:
    """A model that reads logs, so many in each step, and then answers.

    Attributes:
        steps: Steps of each question before the final answer.
        parallel: Calls in a step.
        limit: Tokens from which on a request is refused.
        wants: Called with the rows of a request before the script; a turn that it returns is taken.
        error: Raised in place of the third answer.
        requests: The rows of each accepted request, as the provider gets them.
        refused: Tokens of each refused request.
        raw: The messages of the last request, as the host's objects.
        tokens: Tokens of each accepted request with the system prompt and the tools.
        systems: The system prompt of each.
        tools: Names of the tools of the last.
    """

    steps: int = 3
    parallel: int = 1
    limit: int = 10**9
    wants: Callable[[list[Any]], Turn | None] = lambda _rows: None
    error: Exception | None = None
    format: str = "openai"
    requests: list[list[Any]] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    raw: list[Any] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    systems: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    _counter: ullage.TokenCounter = field(default_factory=ullage.TokenCounter)
    _part: int = 0
    _step: int = 0

    def answer(
        self, rows: list[Any], raw: list[Any], system: str, tools: list[tuple[str, Any]]
    ) -> Turn:
        """Answers a request, or raises as a provider would."""
        assert not ullage.validate(rows, self.format), ullage.validate(rows, self.format)
        tokens = self._counter.count_messages(rows, format=self.format)
        tokens += self._counter.count(system + json.dumps(tools))
        if tokens > self.limit:
            self.refused.append(tokens)
            raise TooLongError(f"prompt is too long: {tokens} tokens > {self.limit} maximum")
        # A copy, since a host may go on with the same list.
        self.requests.append(json.loads(json.dumps(rows)))
        self.tokens.append(tokens)
        self.raw, self.tools = list(raw), [name for name, _ in tools]
        self.systems.append(system)
        if self.error is not None and len(self.requests) == 3:
            error, self.error = self.error, None
            raise error
        return self.wants(rows) or self._scripted()

    def _scripted(self) -> Turn:
        self._step += 1
        if self._step > self.steps:
            self._step = 0
            return Turn("It is the card.")
        calls = []
        for _ in range(self.parallel):
            self._part += 1
            calls.append((f"call-{self._part}", "read_log", {"part": self._part}))
        return Turn("I look.", tuple(calls))


class Agent(Protocol):
    """A conversation of an agent in a host."""

    def ask(self, text: str) -> str:
        """Asks something, and returns the answer."""

    def restarted(self) -> Agent:
        """The same conversation in another process, from what the host has written down."""

    def stored(self) -> list[Any]:
        """The messages that the host keeps, as its own objects."""


class Host(Protocol):
    """A host, as the shared tests see it.

    Attributes:
        module: The module that must be importable.
        format: The form of the rows that its provider gets.
        restarts: Whether the state of the view is kept with the conversation.
    """

    module: str
    format: str
    restarts: bool

    def adapter(self, engine: Any = None, **more: Any) -> Any:
        """The adapter of ullage, made with these arguments."""

    def agent(
        self, provider: Provider, engine: ullage.ContextManager, *, is_async: bool, past: Any = ()
    ) -> Agent:
        """An agent with the tool `read_log` and the adapter.

        Args:
            provider: Its model.
            engine: What decides.
            is_async: Whether it is run in an event loop.
            past: Messages in Chat's form that the conversation begins with.
        """


def reference_in(rows: list[Any]) -> str | None:
    """The newest reference in a request."""
    found = re.findall(r"\b((?:read_log|transcript)-[0-9a-f]{16})\b", json.dumps(rows))
    return found[-1] if found else None
