"""A conversation as text, for a model that summarizes it.

Providers refuse a request with calls in it and no tools beside them, and one with calls among the
words of the user: a summarizer is asked with words alone.
"""

from __future__ import annotations

import json
from typing import Any

# Characters of one text, tried one after the other until the whole fits.
_PIECES = (8_000, 2_000, 500, 120)


def transcript(messages: list[Any], limit: int) -> str:
    """The messages as text of at most so many characters.

    Longer texts lose their middle, and where that is not enough, so does the whole.
    """
    text = ""
    for piece in _PIECES:
        text = "\n\n".join(_said(message, piece) for message in messages)
        if len(text) <= limit:
            return text
    return _cut(text, limit)


def _said(message: Any, piece: int) -> str:
    who = "user" if message["role"] == "user" else "assistant"
    return "\n".join(_line(who, block, piece) for block in message["content"])


def _line(who: str, block: Any, piece: int) -> str:
    if "text" in block:
        return f"[{who}] {_cut(block['text'], piece)}"
    if "toolUse" in block:
        use = block["toolUse"]
        return f"[{who} calls {use.get('name')}] {_cut(_json(use.get('input')), piece)}"
    if "toolResult" in block:
        result = block["toolResult"]
        items = "\n".join(_item(item) for item in result.get("content") or ())
        failed = " failed" if result.get("status") == "error" else ""
        return f"[result{failed}] {_cut(items, piece)}"
    cited = block.get("citationsContent", {}).get("content", ())
    words = " ".join(part["text"] for part in cited if part.get("text"))
    return f"[{who}] {_cut(words, piece) or _item(block)}"


def _item(item: Any) -> str:
    if isinstance(item.get("text"), str):
        return str(item["text"])
    if "json" in item:
        return _json(item["json"])
    return f"({', '.join(item)})"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    mark = f" ... [{len(text) - limit:,} characters] ... "
    half = max(0, limit - len(mark)) // 2
    return text[:half] + mark + (text[-half:] if half else "")
