"""Calls that wait: for a person, or for something that takes its time."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.genai import types

# What the model reads in place of a result that is still to come.
PENDING = {"status": "pending", "message": "There is no result yet; it comes when it is there."}

# Calls that may still wait, the newest: more than an agent waits for at a time. Older ones are
# taken for done, since a tool that takes long may also answer at once.
_WAITING = 8


def open_calls(
    contents: Sequence[types.Content], request: LlmRequest, context: CallbackContext
) -> list[int]:
    """The indices of calls that take long and were answered once, and of those answers.

    The first answer of such a tool says that it waits. When the last one comes, ADK puts it in the
    place of the first.
    """
    if not any(_may_take_long(name, request) for name in request.tools_dict):
        return []
    events = context._invocation_context.session.events  # noqa: SLF001 - the public way copies all of it
    answers = Counter(answer.id for event in events for answer in event.get_function_responses())
    waiting: list[str | None] = []
    places: dict[str | None, list[int]] = {}
    for index, content in enumerate(contents):
        for part in content.parts or []:
            piece = part.function_call or part.function_response
            if piece is None or not _may_take_long(piece.name, request) or answers[piece.id] > 1:
                continue
            places.setdefault(piece.id, []).append(index)
            if part.function_call is not None:
                waiting.append(piece.id)
    return [index for call in waiting[-_WAITING:] for index in places[call]]


def with_pending_answers(
    fitted: list[types.Content], contents: Sequence[types.Content], request: LlmRequest
) -> list[types.Content]:
    """The contents to send, where a call without an answer that may take long is said to wait.

    Args:
        fitted: What the view gave, with an answer for each call that has none.
        contents: What it was made of.
        request: What knows the tools.
    """
    known = {id(content) for content in contents}
    return [
        content if id(content) in known else _waiting(content, request) or content
        for content in fitted
    ]


def _waiting(content: types.Content, request: LlmRequest) -> types.Content | None:
    """The content with words of its own for calls that wait, if it answers any."""
    parts, found = [], False
    for part in content.parts or []:
        response = part.function_response
        if response is not None and _may_take_long(response.name, request) and _is_made(response):
            found = True
            told = response.model_copy(update={"response": dict(PENDING)})
            parts.append(part.model_copy(update={"function_response": told}))
        else:
            parts.append(part)
    return content.model_copy(update={"parts": parts}) if found else None


def _may_take_long(name: str | None, request: LlmRequest) -> bool:
    tool = request.tools_dict.get(name or "")
    return bool(tool is not None and (tool.is_long_running or getattr(tool, "_defers_response", 0)))


def _is_made(response: types.FunctionResponse) -> bool:
    """Whether the answer was put in by the repair, whose only word it is."""
    said = response.response or {}
    return set(said) == {"error"} and str(said["error"]).startswith("[ullage: ")
