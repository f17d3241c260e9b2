"""Truncated tool results, as Strands' sliding window writes them; but the largest first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Container

# What Strands leaves of a text, and how it is known again.
_KEPT = 200
_MARK = "... [truncated:"

# A picture costs a model some fifteen hundred tokens, whatever its file weighs.
_PICTURE = 6_000

# What has to leave before a refused request is sent again: the rest fits more often than not, and
# a provider that refuses it once more is asked with three tenths less again.
_SHARE = 0.3


def truncate_results(messages: list[Any], spared: Container[int]) -> bool:
    """Replaces messages whose tool results can be shorter, in place; whether there were any.

    The largest go first, wherever they stand, until three tenths of the conversation have left. A
    text keeps its first and last 200 characters, JSON becomes such a text, and a picture or a
    document a word about it. The status of a result stays, and what would become longer too.

    Args:
        messages: The messages.
        spared: Indices of those that stay as they are.

    Cost: one pass over all texts.
    """
    whole, found = 0, []
    for index, message in enumerate(messages):
        size = sum(map(_size, message["content"]))
        whole += size
        if index in spared:
            continue
        content = [_truncated(block) for block in message["content"]]
        if any(new is not old for new, old in zip(content, message["content"], strict=True)):
            gain = size - sum(map(_size, content))
            found.append((gain, index, {**message, "content": content}))
    gone = 0
    for gain, index, message in sorted(found, key=lambda each: (-each[0], each[1])):
        messages[index] = message
        gone += gain
        if gone >= whole * _SHARE:
            break
    return bool(found)


def _truncated(block: Any) -> Any:
    """The block; a copy where something in it is shorter."""
    result = block.get("toolResult")
    if result is None:
        return block
    items = result.get("content") or []
    shorter = [_shorter(item) for item in items]
    if all(new is old for new, old in zip(shorter, items, strict=True)):
        return block
    return {**block, "toolResult": {**result, "content": shorter}}


def _shorter(item: Any) -> Any:
    for kind in ("image", "document", "video"):
        if kind in item:
            return {"text": _named(kind, item[kind])}
    text = item.get("text")
    if text is None and "json" in item:
        text = json.dumps(item["json"], ensure_ascii=False, default=str)
    if not isinstance(text, str) or _MARK in text:
        return item
    removed = len(text) - 2 * _KEPT
    mark = f"...\n\n{_MARK} {removed} chars removed] ...\n\n..."
    return {"text": text[:_KEPT] + mark + text[-_KEPT:]} if removed > len(mark) else item


def _named(kind: str, medium: Any) -> str:
    source = medium.get("source") or {}
    data = source.get("bytes") or b""
    name = f", {medium['name']}" if medium.get("name") else ""
    return f"[{kind}: {medium.get('format', 'unknown')}{name}, {len(data)} bytes]"


def _size(value: Any) -> int:
    """Characters of what a model reads; a medium is what it costs in characters."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, bytes):
        return _PICTURE
    if isinstance(value, dict):
        return sum(map(_size, value.values())) + sum(map(_size, value))
    if isinstance(value, (list, tuple)):
        return sum(map(_size, value))
    return len(str(value))
