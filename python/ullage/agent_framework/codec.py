"""Agent Framework's messages as rows of Anthropic's form, and back.

Each content becomes a block, which holds the content itself. So a content that the engine leaves as
it is comes back as the same object.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from agent_framework import Content, Message

from ullage._hosts.blocks import blocks_of, text_of, with_parts
from ullage._hosts.rows import HOST

if TYPE_CHECKING:
    from ullage._hosts.rows import Row

_ROLES = {"assistant": "assistant", "system": "system"}


class MessageCodec:
    """Converts the messages. Each becomes one row."""

    def stamp(self, message: Message) -> tuple[Any, ...]:
        """The contents: the framework's own strategies replace them in place."""
        return tuple(message.contents)

    def row(self, message: Message) -> Row:
        """Returns a message as a row."""
        role = _ROLES.get(str(message.role), "user")
        blocks = [_block(content) for content in message.contents]
        return {"role": role, "content": blocks, "id": message.message_id}

    def message(self, row: Row, original: Message | None) -> Message:
        """Returns a row that the engine made or changed, as a message of the host."""
        contents = [_content(block) for block in blocks_of(row)]
        results = [c.type == "function_result" for c in contents]
        role = "tool" if results and all(results) else row["role"]
        known = original is not None and str(original.role) == role
        changed = copy.copy(original) if known and original is not None else Message(role)
        changed.contents = contents
        return changed

    def dump(self, row: Row) -> Row:
        """Returns a row as JSON-like data, without the parts that the engine removed."""
        return with_parts(row, lambda block: _content(block).to_dict())

    def load(self, row: Row) -> Row:
        """Returns the row of data that :meth:`dump` returned."""
        return with_parts(row, lambda block: Content.from_dict(block[HOST]))


def _block(content: Content) -> dict[str, Any]:
    kind = content.type
    if kind == "function_call":
        call = {"type": "tool_use", "id": content.call_id, "name": content.name}
        return {**call, "input": content.parse_arguments() or {}, HOST: content}
    if kind == "function_result":
        result = {"type": "tool_result", "tool_use_id": content.call_id}
        return {**result, "content": _result_text(content), HOST: content}
    if kind == "text_reasoning":
        # Encrypted reasoning stays with the call after it, as signed thinking does.
        signature = content.protected_data or content.id or ""
        text = content.text or ""
        return {"type": "thinking", "thinking": text, "signature": signature, HOST: content}
    if kind in {"data", "uri"} and (content.media_type or "").startswith("image/"):
        source = {"type": "url", "url": content.uri}
        return {"type": "image", "source": source, HOST: content}
    return {"type": "text", "text": _text_of(content), HOST: content}


def _content(block: dict[str, Any]) -> Content:
    own: Content | None = block.get(HOST)
    kind = block["type"]
    if kind == "tool_use" and own is not None:
        if own.parse_arguments() == block["input"]:
            return own
        return Content.from_function_call(
            own.call_id or "", own.name or "", arguments=block["input"]
        )
    if kind == "tool_result":
        text = text_of(block.get("content"))
        if own is not None and _result_text(own) == text:
            return own
        return Content.from_function_result(block["tool_use_id"], result=text)
    if own is None or (kind == "text" and block["text"] != _text_of(own)):
        return Content.from_text(block["text"])
    return own


def _text_of(content: Content) -> str:
    """Returns the text of a content, or the text that counts for it in a request."""
    if isinstance(content.text, str):
        return content.text
    return json.dumps(content.to_dict(), default=str, sort_keys=True)


def _result_text(content: Content) -> str:
    result = content.result
    return result if isinstance(result, str) else json.dumps(result, default=str)
