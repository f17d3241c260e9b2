"""Times a turn over a counted history, against counting all of it again.

After each append the whole history is counted again: by Strands' estimate, by tiktoken over every
text, and by a counter of ullage that has seen all but the last message. The first way of ullage
notices an edit of any message; the other holds the caller to a promise that there is none. So does
the engine of the last row, which has many tools and finds nothing to do.
"""

from __future__ import annotations

import statistics
import time
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import tiktoken
from support import estimates
from support.conversations import history, said
from support.machine import described
from support.published import tiktoken_encoding

import ullage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Count = Callable[[list[dict[str, Any]]], int]

MESSAGES = (1_000, 5_000)
# A tool of a coding agent returns about so much.
RESULT_CHARACTERS = 9_000
APPENDS = 15
# As an agent with a few servers of tools has.
TOOLS = 100
# Histories that outlast any window, of messages so short that they fit into memory. Of up to 10,000
# messages all are compared.
LONG = (9_900, 100_000, 500_000)
SHORT_RESULT_CHARACTERS = 40
# Never full, so that nothing is due.
WINDOW = 1_000_000_000
# Counting all of it by tiktoken takes seconds.
FULL_COUNTS = 1


def texts(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Every text of a history, as a loop over tiktoken would find them."""
    for message in messages:
        for block in message["content"]:
            if "text" in block:
                yield block["text"]
            elif "toolUse" in block:
                yield str(block["toolUse"]["input"])
            else:
                yield from (item["text"] for item in block["toolResult"]["content"])


def tool(number: int) -> dict[str, Any]:
    """The definition of a tool."""
    fields = ("path", "pattern", "first_line", "last_line")
    about = {name: {"type": "string", "description": f"The {name} to look at."} for name in fields}
    return {
        "name": f"tool_{number}",
        "description": "Looks at a part of a file and says what stands there. " * 3,
        "inputSchema": {"json": {"type": "object", "properties": about, "required": ["path"]}},
    }


def after_append(
    messages: list[dict[str, Any]], count: Callable[[list[dict[str, Any]]], int], times: int
) -> float:
    """Median milliseconds of CPU to count the history after one message was appended to it."""
    appended = list(messages)
    count(appended)
    taken = []
    for turn in range(times):
        appended.append(said("user", f"Step {turn}: " + "look at the next part of it. " * 15))
        start = time.process_time()
        count(appended)
        taken.append((time.process_time() - start) * 1_000)
    return statistics.median(taken)


def promised_rows() -> dict[str, tuple[Count, int]]:
    """A counter and an engine whose caller promises that old messages do not change."""
    counter = ullage.TokenCounter("o200k_base")
    engine = ullage.ContextManager(
        ullage.Policy(window=WINDOW), tools=[tool(n) for n in range(TOOLS)], append_only=True
    )
    return {
        "exact, append_only promised": (
            lambda messages: counter.count_messages(messages, append_only=True),
            APPENDS,
        ),
        f"compact, promised, {TOOLS} tools": (
            lambda messages: engine.compact(messages).tokens_before,
            APPENDS,
        ),
    }


def rows(encoding: tiktoken.Encoding) -> dict[str, tuple[Count, int]]:
    """Returns the compared functions and their repetitions; the first is the yardstick."""
    edits_noticed = ullage.TokenCounter("o200k_base")
    estimated = ullage.TokenCounter.for_model("claude-sonnet-4-5")

    def by_tiktoken(messages: list[dict[str, Any]]) -> int:
        return sum(len(encoding.encode_ordinary(text)) for text in texts(messages))

    return {
        "Strands' estimate of all": (estimates.of_strands, APPENDS),
        "tiktoken over all": (by_tiktoken, FULL_COUNTS),
        "exact, any edit noticed": (edits_noticed.count_messages, APPENDS),
        "estimated, any edit noticed": (estimated.count_messages, APPENDS),
        **promised_rows(),
    }


def show(measured: dict[str, tuple[Count, int]], messages: list[dict[str, Any]]) -> None:
    """Prints a line for each, beside the first."""
    yardstick = None
    for name, (counter, times) in measured.items():
        milliseconds = after_append(messages, counter, times)
        yardstick = yardstick or milliseconds
        print(f"  {name:30} {milliseconds:10.3f} ms {yardstick / milliseconds:9.1f}x Strands")


def main() -> None:
    """Prints what a turn costs at each length of history."""
    versions = (f"strands-agents {version('strands-agents')}", f"tiktoken {tiktoken.__version__}")
    print(described(*versions))
    encoding = tiktoken_encoding("o200k_base")
    for count in MESSAGES:
        messages = history(count, RESULT_CHARACTERS)
        size = sum(map(len, texts(messages))) / 1e6
        print(f"\nafter an append to {len(messages):,} messages, {size:.1f} MB; CPU time, medians")
        show(rows(encoding), messages)
    for count in LONG:
        messages = history(count, SHORT_RESULT_CHARACTERS)
        print(f"\nafter an append to {len(messages):,} short messages; CPU time, medians")
        show(
            {"Strands' estimate of all": (estimates.of_strands, APPENDS), **promised_rows()},
            messages,
        )


if __name__ == "__main__":
    main()
