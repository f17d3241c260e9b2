"""``ullage demo``: runs a made-up agent whose history outgrows its window many times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ullage
from ullage.cli.codes import FINE
from ullage.cli.console import say, table
from ullage.cli.options import command

if TYPE_CHECKING:
    import argparse

# The number of log files that the agent reads, and the number of lines in each.
_FILES, _LINES = 60, 150
_WINDOW, _ANSWER = 16_000, 2_000
# The file and the line with the answer, long before the end.
_FOUND_IN = 21
_NEEDLE = "ERROR payment 4711 refused: card reader K-17 did not answer within 30 s"
# Number of lines of the last request that are printed.
_SHOWN = 24


def add_to(commands: Any) -> None:
    """Adds the command to those of a parser."""
    command(
        commands,
        "demo",
        "show ullage at work on a made-up conversation",
        f"An agent reads {_FILES} log files in a window of {_WINDOW:,} tokens. Prints the sizes of"
        " its requests, the beginning of the last one, and whether the answer to its question, in a"
        " file that was removed long before, is still there.",
        run,
        found="",
        reads=False,
    )


def run(_: argparse.Namespace) -> int:
    """Runs the agent and prints the sizes of its requests."""
    store = ullage.MemoryStore()
    policy = ullage.Policy(window=_WINDOW, reserve_output=_ANSWER)
    engine = ullage.ContextManager(policy, store=store, append_only=True)
    view = engine.open()
    history: list[Any] = [{"role": "user", "content": "Why was payment 4711 refused?"}]
    request: list[Any] = []
    largest = broken = compactions = 0
    report: ullage.Report | None = None
    for number in range(_FILES):
        history += _reading(number)
        request = view.messages(history)
        largest = max(largest, view.tokens)
        broken += bool(ullage.validate(request))
        compactions += view.report is not report
        report = view.report
    whole = engine.counter.count_messages(history)
    table(
        ["", "tokens"],
        [
            ["the whole history", f"{whole:,}"],
            ["the window, without room for the answer", f"{_WINDOW - _ANSWER:,}"],
            ["the largest request", f"{largest:,}"],
        ],
    )
    say(
        f"\n{_FILES} requests, {compactions} compactions, {broken} invalid requests."
        f" The last request has {len(request)} of {len(history)} messages and begins:\n"
    )
    shown = ullage.Conversation(request).texts[0].splitlines()
    say("\n".join(f"    {line}" for line in shown[:_SHOWN]), "dim")
    found = ullage.search(store, "payment 4711")
    say(f"\nThe answer was in file {_FOUND_IN} of {_FILES}: {_NEEDLE}")
    say(f"    in the last request: {'yes' if _NEEDLE in str(request) else 'no'}")
    say(f"    in the store, for the agent's retrieval tool: {'yes' if _NEEDLE in found else 'no'}")
    say("\nTry `ullage plan FILE` on a conversation of yours.")
    return FINE


def _reading(number: int) -> list[Any]:
    """Returns a call that reads a file, and its result."""
    name = f"logs/shop-{number:02}.log"
    lines = [
        f"2026-11-23 {number % 24:02}:{line % 60:02}:07 INFO cart {number * 997 + line} paid"
        for line in range(_LINES)
    ]
    if number == _FOUND_IN:
        lines[_LINES // 2] = f"2026-11-23 21:15:07 {_NEEDLE}"
    call = {"type": "tool_use", "id": f"read-{number}", "name": "read", "input": {"path": name}}
    result = {"type": "tool_result", "tool_use_id": f"read-{number}", "content": "\n".join(lines)}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
