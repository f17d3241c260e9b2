"""Truncates tool results as Strands' sliding window does, the largest first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ullage import TokenCounter
from ullage.strands.history import map_items

if TYPE_CHECKING:
    from collections.abc import Container

# Strands keeps so many characters at each end of a text, and this mark between them.
_KEPT = 200
_MARK = "... [truncated:"

# It compares messages with one another, so a rough count will do.
_COUNTER = TokenCounter.with_ratio(4)

# The share that has to be removed before a refused request is sent again. The rest fits more often
# than not; if the provider refuses it too, three tenths of it are removed again.
_SHARE = 0.3


def truncate_results(messages: list[Any], spared: Container[int]) -> bool:
    """Shortens tool results in place, and returns True if there was one to shorten.

    The largest are shortened first, wherever they stand, until three tenths of the conversation are
    removed. A text keeps its first and last 200 characters, JSON becomes such a text, and a picture
    or a document becomes a note. The status of a result stays, and so does a text that would become
    longer.

    Messages at the indices ``spared`` stay as they are. Costs one pass over all texts.
    """
    whole, found = 0, []
    for index, message in enumerate(messages):
        size = _tokens(message)
        whole += size
        content = map_items(_truncate_block, message["content"])
        if index not in spared and content is not message["content"]:
            shorter = {**message, "content": content}
            found.append((_tokens(shorter) - size, index, shorter))
    removed = 0
    for growth, index, message in sorted(found, key=lambda each: each[:2]):
        messages[index] = message
        removed -= growth
        if removed >= whole * _SHARE:
            break
    return bool(found)


def _tokens(message: Any) -> int:
    return _COUNTER.count_messages([message], "bedrock")


def _truncate_block(block: Any) -> Any:
    """Returns the block, or a copy if something in it is shorter."""
    result = block.get("toolResult")
    if result is None:
        return block
    items = result.get("content") or []
    shorter = map_items(_truncate_item, items)
    return block if shorter is items else {**block, "toolResult": {**result, "content": shorter}}


def _truncate_item(item: Any) -> Any:
    for kind in ("image", "document", "video"):
        if kind in item:
            return {"text": _media_note(kind, item[kind])}
    text = item.get("text")
    if text is None and "json" in item:
        text = json.dumps(item["json"], ensure_ascii=False, default=str)
    if not isinstance(text, str) or _MARK in text:
        return item
    removed = len(text) - 2 * _KEPT
    mark = f"...\n\n{_MARK} {removed} chars removed] ...\n\n..."
    return {"text": text[:_KEPT] + mark + text[-_KEPT:]} if removed > len(mark) else item


def _media_note(kind: str, medium: Any) -> str:
    source = medium.get("source") or {}
    data = source.get("bytes") or b""
    name = f", {medium['name']}" if medium.get("name") else ""
    return f"[{kind}: {medium.get('format', 'unknown')}{name}, {len(data)} bytes]"
