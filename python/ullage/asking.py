"""A summary of chosen messages, by the engine's prompt and with its checks.

The faces that keep summaries of their own choose what goes. The engine removes it from a list made
for that, and asks; what it leaves in its place is the summary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ullage
from ullage.notes import LINES, NOTE, REMOVED, SUMMARY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.summarizer import Summarizer

# More than any history takes: what goes is chosen by place here, not by size.
ANY_SIZE = 2**52
# An edit that saves nothing is dropped, and a summary takes no more than what it stands for; but
# who asks for a summary gets one of a few words too. This stands among what goes, is no text that
# anybody would read, and counts some thousand tokens.
_BALLAST = {"role": "user", "content": [{"type": "ballast", "of": "ullage " * 4_000}]}
# The task that the engine never removes; the real one is to be in the summary.
_TASK = {"role": "user", "content": "Go on."}


@dataclass(frozen=True)
class Previous:
    """What was said of the messages that left before.

    Attributes:
        messages: How many they were.
        content: The summary.
        lines: The lines behind it.
    """

    messages: int
    content: str
    lines: str = ""


@dataclass(frozen=True)
class Asked:
    """What is asked of the engine.

    Attributes:
        messages: The list made for it: what goes, and behind it what stays.
        pins: Indices of what stays.
    """

    messages: list[Any]
    pins: list[int]


def asked(previous: Previous | None, going: Sequence[Any], staying: Sequence[Any]) -> Asked:
    """The list for the engine."""
    head = [_TASK, _BALLAST, *([] if previous is None else [_note(previous)]), *going]
    pins = [0, *range(len(head), len(head) + len(staying))]
    return Asked([*head, *staying], pins)


def answered(left: Sequence[Any], question: Asked) -> tuple[str, str, list[Any]]:
    """The summary in what the engine left, the lines behind it, and what it did not remove."""
    before = {id(message) for message in question.messages}
    stayed = len(question.pins) - 1
    middle = [m for m in left[1 : len(left) - stayed] if id(m) in before]
    notes = (text for m in left if id(m) not in before for text in _texts(m))
    note = next(text for text in notes if REMOVED in text)
    body = note.partition("\n")[2]
    summary, _, lines = body.removeprefix(SUMMARY).partition(LINES)
    return summary.strip(), lines.strip(), middle


def summarizing_engine(
    policy: ullage.Policy,
    counter: ullage.TokenCounter,
    format: str,
    summarizer: Summarizer | None,
) -> ullage.ContextManager:
    """An engine that removes by place, and asks ``summarizer`` for what stands there then."""
    settings = policy.to_dict() | {
        "max_messages": 1,
        "low_messages": 1.0,
        "keep_first": 0,
        "keep_recent": 0,
        "keep_recent_share": 0.0,
        "high": 1.0,
        "low": 1.0,
        "summary_ratio": 1.0,
        "summaries": "always" if summarizer is None else "required",
        "stages": ["window", "summarize"],
        "levels": [{}],
    }
    return ullage.ContextManager(
        ullage.Policy.from_dict(settings), counter=counter, summarizer=summarizer, format=format
    )


def _texts(message: dict[str, Any]) -> list[str]:
    """The texts of a message, whether it is one or in blocks."""
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    texts = [block.get("text") for block in content or () if isinstance(block, dict)]
    return [text for text in texts if isinstance(text, str)]


def _note(previous: Previous) -> dict[str, Any]:
    """The former summary as the engine writes it."""
    body = SUMMARY + previous.content + (LINES + previous.lines if previous.lines else "")
    count = previous.messages
    line = f"{NOTE}{count:,} {REMOVED}; {len(body):,} characters follow]"
    return {"role": "user", "content": f"{line}\n{body}"}
