"""The summary of a conversation: by an agent of the host, or by the engine without a model."""

from __future__ import annotations

import inspect
from typing import Any

import ullage
from ullage import asking
from ullage.logger import Logger

logger = Logger(__name__)

_FORMAT = "ai-sdk"
_BEGIN = "[CONVERSATION SUMMARY]"
_END = "[END SUMMARY]"
_INTRODUCTION = (
    "The following is a summary of the conversation so far. The full conversation \n"
    "has been saved to /conversation_history/ and can be searched with grep()."
)
_LINES = "Lines of them with what the summary leaves out:"

# Valis' sections, and the engine's that stand in each where no model answers.
_SECTIONS = {
    "Session Intent": ("Requests",),
    "Progress So Far": ("Files written", "Tools used"),
    "Key Decisions": ("Statements and decisions",),
    "Current State": ("Earlier summary",),
    "Next Steps": ("Open",),
    "Important Details": ("Errors", "Files read"),
}
_NOTHING = "Nothing was noted."
_STATE = "The messages below are the newest."


def message_of(summary: str) -> dict[str, Any]:
    """The message that a summary stands in."""
    text = f"\n{_BEGIN}\n{_INTRODUCTION}\n\n{summary}\n\n{_END}\n"
    return {"role": "system", "content": text}


def said_in(message: Any) -> str | None:
    """The summary in such a message; None if it is another."""
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, str) or message.get("role") != "system":
        return None
    # By hand, since an expression takes the square of the time for what only begins like one.
    text, begin, end = content.strip(), f"{_BEGIN}\n", f"\n\n{_END}"
    if not (text.startswith(begin) and text.endswith(end)):
        return None
    _, blank_line, summary = text[len(begin) : -len(end)].partition("\n\n")
    return summary if blank_line else None


def format_of(messages: list[Any]) -> str:
    """The wire format: the AI SDK's, as Valis has it, unless the messages are of another."""
    try:
        return ullage.detect_format(messages)
    except ullage.MessageError:
        return _FORMAT


class Summaries:
    """Makes summaries.

    Args:
        counter: What counts.
        limit: The window of the model.
    """

    def __init__(self, counter: ullage.TokenCounter, limit: int) -> None:
        settings = ullage.Policy.preset("valis").to_dict()
        # No more than half of the window: an agent has a prompt of its own, too.
        settings["summary_input"] = max(1, min(settings["summary_input"], limit // 2))
        settings["summary_tokens"] = max(1, min(settings["summary_tokens"], limit // 10))
        settings["summary_lines"] = min(settings["summary_lines"], limit // 20)
        self._policy = ullage.Policy.from_dict(settings)
        # What is told without a model leaves out nothing for lack of understanding.
        self._told = ullage.Policy.from_dict(settings | {"summary_lines": 0})
        self._counter = counter

    async def make(
        self, going: list[Any], staying: list[Any], previous: str | None, agent: Any
    ) -> tuple[str, list[Any]]:
        """The summary of ``going``, and those of them that stay all the same, such as pins."""
        shape = format_of([*going, *staying])
        before = None if previous is None else asking.Previous(len(going), *_parts(previous))
        # A session that was cut elsewhere has calls without results; the engine takes none.
        asked = asking.asked(before, ullage.repair(going, shape), ullage.repair(staying, shape))
        if agent is not None:
            try:
                return await self._answered(asked, shape, agent)
            except ullage.SummaryError as error:
                logger.warning("error=<%s> | the summary is made without a model", error)
        content, stayed = await self._answered(asked, shape, None)
        return _in_sections(content), stayed

    async def _answered(
        self, asked: asking.Asked, format: str, agent: Any
    ) -> tuple[str, list[Any]]:
        ask, policy = None, self._told
        if agent is not None:
            ask, policy = summarizer_of(agent), self._policy
        engine = asking.summarizing_engine(policy, self._counter, format, ask)
        left = list(asked.messages)
        await engine.acompact(left, budget=asking.ANY_SIZE, pins=asked.pins)
        content, lines, stayed = asking.answered(left, asked)
        return f"{content}\n\n{_LINES}\n{lines}" if lines else content, stayed


def summarizer_of(agent: Any) -> Any:
    """What asks an agent with ``run(input, stateless=True)``, plain or async."""

    async def ask(request: ullage.SummaryRequest) -> str:
        messages = [
            {"role": "system", "content": request.system},
            {"role": "user", "content": request.prompt},
        ]
        response = agent.run({"messages": messages}, stateless=True)
        return _said(await response if inspect.isawaitable(response) else response)

    return ask


def _said(response: Any) -> str:
    """The words of an answer: itself, or what it holds under one of the usual names."""
    for name in ("content", "text", "output", "response"):
        if isinstance(response, str):
            break
        value = response.get(name) if isinstance(response, dict) else getattr(response, name, None)
        response = value if isinstance(value, str) else response
    return response if isinstance(response, str) else ""


def _parts(summary: str) -> tuple[str, str]:
    content, _, lines = summary.partition(f"\n\n{_LINES}\n")
    return content, lines


def _in_sections(account: str) -> str:
    """The engine's account under Valis' headings."""
    content, lines = _parts(account)
    found: dict[str, list[str]] = {}
    at: list[str] = []
    for line in content.splitlines():
        if line.startswith("## "):
            at = found.setdefault(line.removeprefix("## "), [])
        else:
            at.append(line)
    out = []
    for heading, parts in _SECTIONS.items():
        said = [line for part in (heading, *parts) for line in found.get(part, ()) if line.strip()]
        nothing = _STATE if heading == "Current State" else _NOTHING
        out.append("\n".join([f"## {heading}", *(said or [nothing])]))
    text = "\n\n".join(out)
    return f"{text}\n\n{_LINES}\n{lines}" if lines else text
