"""Rows of Anthropic's form whose blocks hold the parts of a host that they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage._hosts.rows import HOST

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage._hosts.rows import Row


def blocks_of(row: Row) -> list[dict[str, Any]]:
    """The blocks of a row, also where the engine wrote a text."""
    content = row["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def with_parts(row: Row, part_of: Callable[[dict[str, Any]], Any]) -> Row:
    """A row whose blocks hold other things in the place of their parts: for ``dump`` and ``load``.

    Args:
        row: The row.
        part_of: Gives what a block is to hold.
    """
    if isinstance(row["content"], str):
        return row
    blocks = [
        {**block, HOST: part_of(block)} if HOST in block else block for block in row["content"]
    ]
    return {**row, "content": blocks}


def text_of(content: Any) -> str:
    """The text of a result: a string, or blocks of text."""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or ())
