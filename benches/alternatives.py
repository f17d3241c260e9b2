"""A turn and a compaction beside what a user would otherwise use, over one history in one run.

LangChain's ``trim_messages`` and ``SummarizationMiddleware``, the two managers of Strands, and
headroom where it is installed (``pip install headroom-ai``). Each gets the history in its own
format, made before the clock starts. No model is asked: a summary is one sentence that is there
at once. Processor time; the compared functions take turns.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import (
    convert_to_messages,
    convert_to_openai_messages,
    trim_messages,
)
from strands import Agent
from strands.agent.conversation_manager import (
    SlidingWindowConversationManager,
    SummarizingConversationManager,
)
from support import peers
from support.estimates import Heuristic
from support.formats import conversations
from support.machine import described, medians_ms
from support.published import tiktoken_encoding
from support.results import record

import ullage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    Run = Callable[[], Any]

MESSAGES = 2_000
# Some of these take seconds.
RUNS = 5
ROOMY = 100_000_000
# The tokens that a compaction leaves.
BUDGET = 50_000
# LangChain's count: characters / 4.
ESTIMATE: Any = "approximate"
SUMMARY = "The agent read the log of every part; nothing was wrong."
ENCODING = tiktoken_encoding("o200k_base")


@dataclass
class Histories:
    """One history in the format of each."""

    bedrock: list[dict[str, Any]]
    openai: list[dict[str, Any]]
    langchain: list[Any]

    @classmethod
    def of(cls, count: int) -> Histories:
        """A history of so many messages or a few more."""
        written = conversations(count)
        # LangChain's reducer gives each message an id when it enters the state.
        messages = convert_to_messages(written["openai"])
        for number, message in enumerate(messages):
            message.id = str(number)
        return cls(written["bedrock"], written["openai"], messages)


class Answering(Heuristic):
    """A model that has the summary at once."""

    async def stream(self, *_: Any, **__: Any) -> AsyncGenerator[Any, None]:
        """Answers with the summary."""
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": SUMMARY}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def exact(messages: list[Any]) -> int:
    """Tokens of LangChain's messages by tiktoken, as its documentation advises."""
    return sum(
        len(ENCODING.encode_ordinary(f"{message.content}{getattr(message, 'tool_calls', '')}"))
        for message in messages
    )


def summarizing(trigger: int, keep: int) -> SummarizationMiddleware[Any, Any]:
    """LangChain's middleware, with a summary that is there at once."""
    return SummarizationMiddleware(
        FakeListChatModel(responses=[SUMMARY]),
        trigger=("tokens", trigger),
        keep=("tokens", keep),
        summarizer=lambda _: SUMMARY,
    )


def agent_of(messages: list[dict[str, Any]], manager: Any) -> Agent:
    """An agent of Strands with a copy of the history."""
    plain: Any = copy.copy(messages)
    return Agent(
        model=Answering(),
        messages=plain,
        conversation_manager=manager,
        callback_handler=None,
    )


def reduced(messages: list[dict[str, Any]], make: Callable[[], Any]) -> list[Any]:
    """Returns the history that a manager of Strands leaves after a refusal."""
    agent = agent_of(messages, make())
    agent.conversation_manager.reduce_context(agent)
    return [*agent.messages]


def turns(histories: Histories) -> dict[str, Run]:
    """Returns what each does before a model call when nothing is due."""
    engine = ullage.ContextManager(ullage.Policy(window=ROOMY), model="gpt-5-mini")
    view = engine.open()
    view.messages(histories.openai)
    middleware = summarizing(ROOMY, ROOMY // 2)
    state: Any = {"messages": histories.langchain}
    runtime: Any = None
    agent = agent_of(histories.bedrock, SlidingWindowConversationManager(ROOMY, per_turn=True))
    runs: dict[str, Run] = {
        "ullage: `view.messages`": lambda: view.messages(histories.openai),
        "LangChain: `trim_messages`, estimate": lambda: trim_messages(
            histories.langchain, max_tokens=ROOMY, token_counter=ESTIMATE
        ),
        "LangChain: `trim_messages`, tiktoken": lambda: trim_messages(
            histories.langchain, max_tokens=ROOMY, token_counter=exact
        ),
        "LangChain: `SummarizationMiddleware`": lambda: middleware.before_model(state, runtime),
        "Strands: `SlidingWindowConversationManager`": lambda: (
            agent.conversation_manager.apply_management(agent)
        ),
    }
    if peers.INSTALLED:
        runs["headroom: `compress`"] = lambda: peers.compressed(histories.openai)
    return runs


def compactions(histories: Histories) -> dict[str, Run]:
    """Returns what makes a history smaller; each run gives the messages that are left."""
    policy = ullage.Policy(window=BUDGET, reserve_output=0)

    def ours() -> list[Any]:
        engine = ullage.ContextManager(policy, model="gpt-5-mini", store=ullage.MemoryStore())
        return engine.open().messages(histories.openai)

    def summarized() -> list[Any]:
        state: Any = {"messages": histories.langchain}
        runtime: Any = None
        update = summarizing(BUDGET, BUDGET).before_model(state, runtime)
        assert update is not None
        return [message for message in update["messages"] if message.type != "remove"]

    runs: dict[str, Run] = {
        f"ullage: a view of {BUDGET:,} tokens": ours,
        f"LangChain: `trim_messages` to {BUDGET:,}, estimate": lambda: trim_messages(
            histories.langchain,
            max_tokens=BUDGET,
            token_counter=ESTIMATE,
            start_on="human",
        ),
        f"LangChain: `trim_messages` to {BUDGET:,}, tiktoken": lambda: trim_messages(
            histories.langchain, max_tokens=BUDGET, token_counter=exact, start_on="human"
        ),
        f"LangChain: `SummarizationMiddleware`, keep {BUDGET:,}": summarized,
        "Strands: `SlidingWindowConversationManager()`": lambda: reduced(
            histories.bedrock, SlidingWindowConversationManager
        ),
        "Strands: `SummarizingConversationManager()`": lambda: reduced(
            histories.bedrock, SummarizingConversationManager
        ),
    }
    if peers.INSTALLED:
        runs["headroom: `compress`"] = lambda: peers.compressed(histories.openai)
    return runs


def tokens_of(messages: list[Any]) -> int:
    """Tokens of what is left, by one counter for all."""
    if not isinstance(messages[0], dict):
        messages = convert_to_openai_messages(messages)
    return ullage.TokenCounter("o200k_base").count_messages(messages)


def main() -> None:
    """Prints a table of turns and one of compactions."""
    against = peers.named("langchain", "langchain-core", "strands-agents")
    print(described(against))
    histories = Histories.of(MESSAGES)
    before = f"{len(histories.openai):,} messages, {tokens_of(histories.openai):,} tokens"
    print(f"{before}; medians of {RUNS} runs")
    for topic, runs in (("turn", turns(histories)), ("compaction", compactions(histories))):
        measured = medians_ms(list(runs.values()), RUNS)
        rows = []
        for (name, run), milliseconds in zip(runs.items(), measured, strict=True):
            left = [f"{tokens_of(run()):,}"] if topic == "compaction" else []
            rows.append([name, f"{milliseconds:.2f} ms", *left])
            print(f"  {name:56}" + "".join(f"{cell:>14}" for cell in rows[-1][1:]))
        columns = ["", "time", *(["tokens left"] if topic == "compaction" else [])]
        record(topic, f"Hosts and peers, {before}", columns, rows, against=against)


if __name__ == "__main__":
    main()
