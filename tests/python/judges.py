"""Rules for any messages, checked without ullage but for `count_tokens` of one text."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

import ullage

from .conversations import compact_json

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTE = "[ullage: "
# Between the texts of one string.
BORDER = re.compile(r"\n\n\d{6} ---\n")
REFERENCE = re.compile(r"\b[a-z0-9_]{1,32}-[0-9a-f]{16}\b")
# Tokens that the exact counters add for a message, a block, and a picture of one tile.
MESSAGE, BLOCK, IMAGE = 4, 4, 85 + 170


def blocks(message: Any) -> list[Any]:
    content = message["content"]
    if not isinstance(content, str):
        return list(content)
    return [{"type": "text", "text": text} for text in BORDER.split(content)]


def call_id(block: Any) -> str | None:
    if "toolUse" in block:
        return block["toolUse"]["toolUseId"]
    return block["id"] if block.get("type") == "tool_use" else None


def result_id(block: Any) -> str | None:
    if "toolResult" in block:
        return block["toolResult"]["toolUseId"]
    return block["tool_use_id"] if block.get("type") == "tool_result" else None


def result_items(block: Any) -> list[Any]:
    content = (block.get("toolResult") or block).get("content") or []
    return [{"text": content}] if isinstance(content, str) else list(content)


def calls_of(message: Any) -> list[str]:
    return [i for block in blocks(message) if (i := call_id(block)) is not None]


def results_of(message: Any) -> list[str]:
    return [i for block in blocks(message) if (i := result_id(block)) is not None]


def is_signed(message: Any) -> bool:
    return any("reasoningContent" in b or b.get("type") == "thinking" for b in blocks(message))


def text_of(block: Any) -> str | None:
    text = block.get("text")
    return text if isinstance(text, str) else None


def faults(messages: list[Any]) -> list[str]:
    """The violations of a provider's rules: first role, alternation, empty content, pairs apart."""
    found = []
    talk = [m for m in messages if m["role"] != "system"]
    if talk and talk[0]["role"] != "user":
        found.append(f"the first message is from the {talk[0]['role']}")
    for index, message in enumerate(talk):
        if index and talk[index - 1]["role"] == message["role"]:
            found.append(f"messages {index - 1} and {index} are both from the {message['role']}")
        if not blocks(message):
            found.append(f"message {index} is empty")
        asked = calls_of(talk[index - 1]) if index else []
        if sorted(results_of(message)) != sorted(asked):
            found.append(f"message {index} answers {results_of(message)}, asked were {asked}")
        calls = calls_of(message)
        if len(set(calls)) != len(calls) or (calls and message["role"] != "assistant"):
            found.append(f"message {index} makes the calls {calls}")
    return found


def thinking_faults(before: list[Any], after: list[Any]) -> list[str]:
    """A last turn that does not begin with signed thinking although an earlier part of it had it."""
    kept = {call for message in after for call in calls_of(message)}
    begins = [i for i, m in enumerate(before) if m["role"] == "user" and not results_of(m)]
    turn = before[begins[-1] :] if begins else before
    found: list[str] = []
    thought = begun = False
    for index, message in enumerate(turn, start=len(before) - len(turn)):
        if message["role"] != "assistant":
            continue
        if kept.intersection(calls_of(message)):
            if not begun and thought and not is_signed(message):
                found.append(f"message {index} was parted from the thinking of its turn")
            begun = True
        thought = thought or is_signed(message)
    return found


def count(messages: list[Any]) -> int:
    """An independent count of what the exact counters count."""
    total = 0
    for message in messages:
        total += MESSAGE + sum(BLOCK + _count_block(block) for block in blocks(message))
    return total


def _count_block(block: Any) -> int:
    tokens = ullage.count_tokens
    if (identifier := call_id(block)) is not None:
        call = block.get("toolUse") or block
        return tokens(identifier) + tokens(call["name"]) + tokens(compact_json(call["input"]))
    if (identifier := result_id(block)) is not None:
        return tokens(identifier) + sum(_count_item(item) for item in result_items(block))
    if "reasoningContent" in block:
        return tokens(block["reasoningContent"]["reasoningText"]["text"])
    if block.get("type") == "thinking":
        return tokens(block["thinking"])
    return _count_item(block)


def _count_item(item: Any) -> int:
    if (text := text_of(item)) is not None:
        return ullage.count_tokens(text)
    if "image" in item or item.get("type") == "image":
        return IMAGE
    return ullage.count_tokens(compact_json(item.get("json", item)))


def texts(messages: list[Any]) -> Iterator[str]:
    """Every text, those in tool results included."""
    for message in messages:
        for block in blocks(message):
            for item in result_items(block) if result_id(block) is not None else [block]:
                if (text := text_of(item)) is not None:
                    yield text


def is_request(message: Any) -> bool:
    """True if a person's words are in it."""
    own = (t for b in blocks(message) if (t := text_of(b)) is not None)
    return message["role"] == "user" and any(not t.startswith(NOTE) for t in own)


def is_pinned(message: Any) -> bool:
    return bool(message.get("metadata", {}).get("custom", {}).get("pinned"))


def host_number(message: Any) -> int | None:
    """The number of this message in the conversation; None for one that ullage made."""
    number: int | None = message.get("x_host", {}).get("number")
    return number


class Snapshot:
    """Messages as they are now: the objects, and a deep copy of each."""

    def __init__(self, messages: list[Any]) -> None:
        self.list = messages
        self.objects = list(messages)
        self._copies = copy.deepcopy(self.objects)

    def assert_values_unchanged(self) -> None:
        """Nobody wrote into the caller's own dicts."""
        assert self.objects == self._copies

    def assert_nothing_changed(self) -> None:
        assert len(self.list) == len(self.objects)
        assert all(now is then for now, then in zip(self.list, self.objects, strict=True))
        self.assert_values_unchanged()
