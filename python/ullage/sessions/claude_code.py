"""Reads transcripts of Claude Code: a line for each block of a message, and other lines.

Each line links to the line before it. If the user went back, there are several chains, and the one
that ends last is the session. Calls of one answer are separate lines, and each result links to its
call, so results of parallel calls are not in the chain itself.
"""

from __future__ import annotations

from typing import Any

_SPEAKERS = ("user", "assistant")


def is_transcript(lines: list[Any]) -> bool:
    """True if these lines are linked to each other."""
    return any(_has_message(line) for line in lines)


def main_chain(lines: list[Any]) -> list[Any]:
    """Returns the messages of the chain that ends last, in Anthropic's form.

    Blocks of one answer become one message. Chains of subagents, remarks of the program and API
    errors are left out.
    """
    linked = {line["uuid"]: line for line in lines if isinstance(line, dict) and _id(line, "uuid")}
    blocks = [line for line in lines if _has_message(line) and not line.get("isSidechain")]
    if not blocks:
        return []
    chain: set[str] = set()
    above: str | None = blocks[-1]["uuid"]
    while above is not None and above not in chain:
        chain.add(above)
        line = linked.get(above, {})
        # A compaction begins a new chain, and names the line that it continues.
        above = _id(line, "parentUuid") or _id(line, "logicalParentUuid")
    answers = {_answer(line) for line in blocks if line["uuid"] in chain} - {None}
    calls: set[str | None] = set()
    messages: list[dict[str, Any]] = []
    open_answer: dict[str, Any] = {}
    for line in blocks:
        answer, blocks = _answer(line), _blocks(line)
        results = {_id(block, "tool_use_id") for block in blocks if _is(block, "tool_result")}
        if line["uuid"] not in chain and answer not in answers and not results & calls:
            continue
        if line.get("isMeta") or line.get("isApiErrorMessage"):
            continue
        calls |= {_id(block, "id") for block in blocks if _is(block, "tool_use")} - {None}
        if answer is not None and answer == open_answer.get("id"):
            open_answer["message"]["content"].extend(blocks)
        elif answer is None and messages and messages[-1]["role"] == "user":
            messages[-1]["content"].extend(blocks)
        else:
            message = {"role": line["message"]["role"], "content": blocks}
            messages.append(message)
            open_answer = {"id": answer, "message": message} if answer is not None else open_answer
    return messages


def _has_message(line: Any) -> bool:
    return (
        isinstance(line, dict)
        and line.get("type") in _SPEAKERS
        and isinstance(line.get("uuid"), str)
        and isinstance(line.get("message"), dict)
        and line["message"].get("role") in _SPEAKERS
    )


def _id(value: dict[str, Any], field: str) -> str | None:
    """Returns the text in an id field; None if it is not text."""
    found = value.get(field)
    return found if isinstance(found, str) else None


def _answer(line: dict[str, Any]) -> str | None:
    """Returns the id of the answer that an assistant's line belongs to; None for a user's line."""
    if line["type"] != "assistant":
        return None
    return _id(line["message"], "id") or _id(line, "uuid")


def _blocks(line: dict[str, Any]) -> list[Any]:
    content = line["message"].get("content")
    if isinstance(content, list):
        return list(content)
    return [{"type": "text", "text": content}] if isinstance(content, str) else []


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, dict) and block.get("type") == kind
