"""Summarizes a conversation with an agent of the host, or with the engine and no model."""

from __future__ import annotations

from typing import Any

import ullage
from ullage._engine.clients import client_summarizer
from ullage.summary import LINES

# Valis' headings. Without a model, each has the lines of the engine's headings next to it.
_SECTIONS = {
    "Session Intent": ("Requests",),
    "Progress So Far": ("Files written", "Tools used"),
    "Key Decisions": ("Statements and decisions",),
    "Current State": ("Earlier summary",),
    "Next Steps": ("Open",),
    "Important Details": ("Errors", "Files read"),
}
# A summary may take a tenth of the window, and the quoted lines after it a twentieth.
_SUMMARY, _LINES_OF = 10, 20
# The tokens around a summary: its frame, and the path of the history.
_FRAME = 120
_NOTHING = "Nothing was noted."
_STATE = "The messages below are the newest."


def longest(limit: int) -> int:
    """Returns the greatest number of tokens that a summary's message may have in a window."""
    return limit // _SUMMARY + limit // _LINES_OF + _FRAME


def policy_of(limit: int, room: int) -> ullage.Policy:
    """Returns the preset "valis" with sizes of summaries for a window and a free room."""
    preset = ullage.Policy.preset("valis")
    words = max(1, room - _FRAME)
    tokens = max(1, min(preset.summary_tokens, limit // _SUMMARY, words * 2 // 3))
    return preset.replace(
        # At most half of the window, because the summarization agent has its own prompt too.
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
    """Returns a summary of messages, and the messages that must stay, such as pinned ones.

    Args:
        messages: The messages.
        previous: The summary that the new one continues, or None.
        agent: The host's agent that writes summaries, or None.
        form: The wire format.
        counter: Counts tokens.
        limit: The window of the model, in tokens.
        room: The greatest number of tokens for the summary's message.
    """
    # Another program may have cut the session, so a pinned call may be without its result.
    repaired = ullage.repair(messages, form)
    engine = ullage.ContextManager(
        policy_of(limit, room),
        counter=counter,
        summarizer=None if agent is None else _summarizer_of(agent),
        format=form,
    )
    before = None if previous is None else ullage.Summary(*_parts(previous))
    summary = await engine.asummarize(repaired, previous=before)
    # The engine's own summary leaves nothing out, so it needs no quoted lines after it.
    text = _in_sections(summary.text) if summary.by == "engine" else str(summary)
    return text, [repaired[place] for place in summary.left_out(range(len(repaired)))]


def _summarizer_of(agent: Any) -> ullage.Summarizer:
    """Returns a summarizer that calls the agent's ``run(input, stateless=True)``."""

    def ask(request: ullage.SummaryRequest) -> Any:
        messages = [
            {"role": "system", "content": request.system},
            {"role": "user", "content": request.prompt},
        ]
        return agent.run({"messages": messages}, stateless=True)

    return client_summarizer(agent.run, ask, _text)


def _text(response: Any) -> str:
    """Returns the text of an agent's answer, which may be in one of several usual fields."""
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
    """Returns the engine's summary under Valis' headings."""
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
