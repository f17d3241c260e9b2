"""Rows in Anthropic's form, whose blocks hold the host's own parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage._hosts.rows import HOST

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage._hosts.rows import Row


def blocks_of(row: Row) -> list[dict[str, Any]]:
    """Returns the blocks of a row, also if the engine wrote a text."""
    content = row["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def with_parts(row: Row, part_of: Callable[[dict[str, Any]], Any]) -> Row:
    """Returns a row whose blocks hold other values than their parts, for ``dump`` and ``load``.

    Args:
        row: The row.
        part_of: Returns the value that a block should hold.
    """
    if isinstance(row["content"], str):
        return row
    blocks = [
        {**block, HOST: part_of(block)} if HOST in block else block for block in row["content"]
    ]
    return {**row, "content": blocks}


def text_of(content: Any) -> str:
    """Returns the text of a result, which is a string or blocks of text."""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or ())


def media(kind: str, media_type: str, data: str) -> dict[str, Any]:
    """A block for a picture or a file.

    Args:
        kind: "image" or "document".
        media_type: Such as "image/png".
        data: The content in base64.
    """
    source = {"type": "base64", "media_type": media_type, "data": data}
    return {"type": kind, "source": source}
