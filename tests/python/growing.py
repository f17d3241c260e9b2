"""A history that grows by a call and its result, as it does between the requests of an agent."""

from collections.abc import Iterator
from typing import Any

WORDS = "The handler reads the file, finds the line that fails and says so. "


def turn(number: int) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"c{number}", "name": "bash", "input": {"command": WORDS}}
    result = {
        "type": "tool_result",
        "tool_use_id": f"c{number}",
        "content": WORDS * (number % 9 + 1),
    }
    return [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]


def grown(requests: int) -> Iterator[list[dict[str, Any]]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find the fault."}]
    for number in range(requests):
        yield messages
        messages.extend(turn(number))
