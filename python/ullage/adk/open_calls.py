"""Calls that wait: for a person, or for something that takes its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage import repair
from ullage.adk.contents import current_request

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.genai import types

# What the model reads in place of a result that is still to come.
PENDING = {"status": "pending", "message": "There is no result yet; it comes when it is there."}


def is_whole(contents: list[types.Content]) -> bool:
    """Whether the user comes first, and each call is followed by its results.

    An engine that reads only what is new does not look at the rest. This takes a small part of what
    building the request took.
    """
    if contents and contents[0].role not in {"user", None}:
        return False
    waiting: list[tuple[str | None, str | None]] = []
    for content in contents:
        calls, results = [], 0
        for part in content.parts or []:
            if (call := part.function_call) is not None:
                calls.append((call.id, call.name))
            elif (response := part.function_response) is not None:
                results += 1
                if (response.id, response.name) not in waiting:
                    return False
                waiting.remove((response.id, response.name))
        if waiting and not results:
            return False
        waiting += calls
    return True


def mended(
    contents: list[types.Content], request: LlmRequest, context: CallbackContext
) -> tuple[list[types.Content], list[int]]:
    """Contents that a provider takes, and the indices of what must stay in them.

    A call without a result gets one, which says that it is still to come where its tool may take
    long. Those that wait stay, with the current request.

    Raises:
        MessageError: If the contents cannot be read.
    """
    fixed: list[types.Content] = list(repair(contents, "gemini"))
    known = {id(content) for content in contents}
    pins = current_request(fixed, context)
    for index, content in enumerate(fixed):
        if id(content) in known:
            continue
        waiting = _waiting(content, request)
        if waiting is not None:
            fixed[index] = waiting
            pins += [index - 1, index]
    return fixed, sorted(set(pins))


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
