"""The rules of the demo's provider for a request: an exact count, and a valid history.

Written without ullage's reading of messages: only `ullage.count_tokens`, which counts one text,
is shared.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import ullage

# The tokens that chat formats add to a message and to each of its blocks; rounded up.
TOKENS_PER_MESSAGE = 4
TOKENS_PER_BLOCK = 4


class InvalidHistory(ValueError):  # noqa: N818 - named for what it is, as the issue names it
    """A request that a provider answers with "400 Bad Request"."""


class TaskLost(InvalidHistory):
    """A well-formed request in which the user's first task is missing.

    No provider notices this, but an agent that has lost its task has failed.
    """


@lru_cache(maxsize=8192)
def tokens(text: str) -> int:
    """Exact o200k tokens of one text; remembered, because a history repeats itself."""
    return ullage.count_tokens(text)


def count_request(messages: list[Any], tool_specs: list[Any], system_prompt: str) -> int:
    """Exact tokens of a request: every text, name, id and JSON value, and what surrounds them."""
    total = tokens(system_prompt) + tokens(_compact(tool_specs))
    for message in messages:
        total += TOKENS_PER_MESSAGE + sum(_count_block(block) for block in message["content"])
    return total


def check_history(messages: list[Any]) -> None:
    """Raise `InvalidHistory` for what a provider rejects, and say where and why."""
    if not messages:
        raise InvalidHistory("the history is empty")
    if (first := messages[0]["role"]) != "user":
        raise InvalidHistory(f"the first message must be from the user, not from the {first}")
    used: set[str] = set()
    open_calls: set[str] = set()
    previous_role = ""
    for index, message in enumerate(messages):
        if message["role"] == previous_role:
            raise InvalidHistory(
                f"messages {index - 1} and {index} are both of role {previous_role}"
            )
        if not message["content"]:
            raise InvalidHistory(f"message {index} has no content")
        _check_results(index, message, open_calls)
        open_calls = _check_calls(index, message, used)
        previous_role = message["role"]
    if open_calls:
        raise InvalidHistory(f"the last message has calls without results: {_listed(open_calls)}")


def check_task(messages: list[Any], task: str) -> None:
    """Raise `TaskLost` if no message of the user holds the task, word for word."""
    for message in messages:
        texts = (block.get("text", "") for block in message["content"])
        if message["role"] == "user" and any(task in text for text in texts):
            return
    raise TaskLost(f"the first task is not in the history any more: {task[:40]!r}...")


def _check_results(index: int, message: Any, open_calls: set[str]) -> None:
    """The results in one message are exactly those that the message before it asks for."""
    results: set[str] = set()
    for block in message["content"]:
        if "toolResult" not in block:
            continue
        identifier = block["toolResult"]["toolUseId"]
        if identifier not in open_calls or message["role"] != "user":
            raise InvalidHistory(
                f"message {index} has the result {identifier} of no call before it"
            )
        if identifier in results:
            raise InvalidHistory(f"message {index} has two results for {identifier}")
        results.add(identifier)
    if missing := open_calls - results:
        raise InvalidHistory(f"message {index} leaves calls without results: {_listed(missing)}")


def _check_calls(index: int, message: Any, used: set[str]) -> set[str]:
    """The ids of the calls in one message, each of them new."""
    calls: set[str] = set()
    for block in message["content"]:
        if "toolUse" not in block:
            continue
        identifier = block["toolUse"]["toolUseId"]
        if message["role"] != "assistant":
            raise InvalidHistory(
                f"message {index} is from the user and makes the call {identifier}"
            )
        if identifier in used:
            raise InvalidHistory(f"message {index} uses the id {identifier} a second time")
        used.add(identifier)
        calls.add(identifier)
    return calls


def _count_block(block: Any) -> int:
    count = TOKENS_PER_BLOCK
    if "text" in block:
        return count + tokens(block["text"])
    if "toolUse" in block:
        use = block["toolUse"]
        count += tokens(use["name"]) + tokens(use["toolUseId"])
        return count + tokens(_compact(use["input"]))
    if "toolResult" in block:
        result = block["toolResult"]
        count += tokens(result["toolUseId"])
        return count + sum(_count_block(item) for item in result["content"])
    return count + tokens(_compact(block))


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _listed(identifiers: set[str]) -> str:
    return ", ".join(sorted(identifiers))
