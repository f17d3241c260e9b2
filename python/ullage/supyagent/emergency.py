"""What is done to single messages when even the newest do not fit: pictures go, texts are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ullage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# What stands where a picture stood.
_PICTURE = {"type": "text", "text": "[image removed]"}
_PICTURES = frozenset({"image_url", "image", "input_image"})
# Supyagent's way: of more than 2,000 characters the first 1,000 and the last 500.
_COMPRESSOR = "supyagent"
# Tokens of a result that stay when nothing else can be removed.
_LEAST_RESULT = 64


def without_images(message: Any) -> Any:
    """The message with a word in place of each picture; itself if there is none."""
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list) or not any(_is_picture(part) for part in content):
        return message
    return {**message, "content": [_PICTURE if _is_picture(part) else part for part in content]}


def truncated(message: Any) -> Any:
    """The message with the beginning and the end of each long text; itself if none is long."""
    if not isinstance(message, dict) or "content" not in message:
        return message
    content = _cut(message["content"])
    return message if content is message["content"] else {**message, "content": content}


def shortest_result(message: Any) -> Any:
    """The tool message with a few tokens of its text; any other message as it is."""
    if not isinstance(message, dict) or message.get("role") != "tool":
        return message
    content = message.get("content")
    if not isinstance(content, str):
        return message
    return {**message, "content": ullage.compress(content, _LEAST_RESULT).text}


def relieved(
    messages: list[Any],
    places: Iterable[int],
    change: Callable[[Any], Any],
    over: int,
    count: Callable[[Any], int],
) -> int:
    """Changes messages in place, oldest first, until ``over`` tokens are saved; what is left."""
    for place in places:
        if over <= 0:
            break
        before = messages[place]
        after = change(before)
        if after is before:
            continue
        saved = count(before) - count(after)
        if saved > 0:
            messages[place] = after
            over -= saved
    return over


def _is_picture(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in _PICTURES


def _cut(content: Any) -> Any:
    if isinstance(content, str):
        return ullage.compress(content, compressor=_COMPRESSOR).text
    if not isinstance(content, list):
        return content
    parts = [_cut_part(part) for part in content]
    return content if all(new is old for new, old in zip(parts, content, strict=True)) else parts


def _cut_part(part: Any) -> Any:
    text = part.get("text") if isinstance(part, dict) else None
    if not isinstance(text, str):
        return part
    short = ullage.compress(text, compressor=_COMPRESSOR).text
    return part if short == text else {**part, "text": short}
