"""The summary of a conversation: by an agent of the host, or by the engine without a model."""

from __future__ import annotations

from typing import Any

import ullage
from ullage._engine.clients import client_summarizer
from ullage.summary import LINES

# Valis' sections, and the engine's that stand in each where no model answers.
_SECTIONS = {
    "Session Intent": ("Requests",),
    "Progress So Far": ("Files written", "Tools used"),
    "Key Decisions": ("Statements and decisions",),
    "Current State": ("Earlier summary",),
    "Next Steps": ("Open",),
    "Important Details": ("Errors", "Files read"),
}
# The parts of a window that a summary may take, and the lines behind it.
_SUMMARY, _LINES_OF = 10, 20
# Tokens of what stands around a summary: its frame, and where the history is.
_FRAME = 120
_NOTHING = "Nothing was noted."
_STATE = "The messages below are the newest."


def longest(limit: int) -> int:
    """The most that the message of a summary takes of a window."""
    return limit // _SUMMARY + limit // _LINES_OF + _FRAME


def policy_of(limit: int, room: int) -> ullage.Policy:
    """The preset with the sizes of summaries for a window, and for the room of the message."""
    preset = ullage.Policy.preset("valis")
    words = max(1, room - _FRAME)
    tokens = max(1, min(preset.summary_tokens, limit // _SUMMARY, words * 2 // 3))
    return preset.replace(
        # No more than half of the window: an agent has a prompt of its own, too.
        summary_input=max(1, min(preset.summary_input, limit // 2)),
        summary_tokens=tokens,
        summary_lines=max(0, min(preset.summary_lines, limit // _LINES_OF, words - tokens)),
    )


async def summarize(
    messages: list[Any],
    previous: str | None,
    agent: Any,
    *,
    form: str,
    counter: ullage.TokenCounter,
    limit: int,
    room: int,
) -> tuple[str, list[Any]]:
    """The summary of messages, and those of them that stay all the same, such as pins.

    Args:
        messages: The messages.
        previous: The summary that the new one continues, or None.
        agent: What makes summaries, or None.
        form: The wire format.
        counter: What counts.
        limit: The window of the model.
        room: The most that the message of the summary is to take.
    """
    # A pin of a session that was cut elsewhere may be a call without its result.
    repaired = ullage.repair(messages, form)
    engine = ullage.ContextManager(
        policy_of(limit, room),
        counter=counter,
        summarizer=None if agent is None else _summarizer_of(agent),
        format=form,
    )
    before = None if previous is None else ullage.Summary(*_parts(previous))
    summary = await engine.asummarize(repaired, previous=before)
    # An account without a model leaves nothing out, so it needs no further lines.
    text = _in_sections(summary.text) if summary.by == "engine" else str(summary)
    return text, [repaired[place] for place in summary.left_out(range(len(repaired)))]


def _summarizer_of(agent: Any) -> ullage.Summarizer:
    """Asks an agent with ``run(input, stateless=True)``, plain or async."""

    def ask(request: ullage.SummaryRequest) -> Any:
        messages = [
            {"role": "system", "content": request.system},
            {"role": "user", "content": request.prompt},
        ]
        return agent.run({"messages": messages}, stateless=True)

    return client_summarizer(agent.run, ask, _text)


def _text(response: Any) -> str:
    """The words of an answer: itself, or what it holds under one of the usual names."""
    for name in ("content", "text", "output", "response"):
        if isinstance(response, str):
            break
        value = response.get(name) if isinstance(response, dict) else getattr(response, name, None)
        response = value if isinstance(value, str) else response
    return response if isinstance(response, str) else ""


def _parts(summary: str) -> tuple[str, str]:
    content, _, lines = summary.partition(f"\n\n{LINES}\n")
    return content, lines


def _in_sections(account: str) -> str:
    """The engine's account under Valis' headings."""
    sections: dict[str, list[str]] = {}
    section: list[str] = []
    for line in account.splitlines():
        if line.startswith("## "):
            section = sections.setdefault(line.removeprefix("## "), [])
        else:
            section.append(line)
    out = []
    for heading, parts in _SECTIONS.items():
        lines = [
            line for part in (heading, *parts) for line in sections.get(part, ()) if line.strip()
        ]
        nothing = _STATE if heading == "Current State" else _NOTHING
        out.append("\n".join([f"## {heading}", *(lines or [nothing])]))
    return "\n\n".join(out)
