"""What is where in a request of ADK's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.genai import types


def beside(request: LlmRequest) -> dict[str, Any]:
    """What stands beside the contents of a request: its system instruction and its tools."""
    config = request.config
    return {
        "system": getattr(config, "system_instruction", None),
        "tools": getattr(config, "tools", None),
    }


def current_request(contents: list[types.Content], context: CallbackContext) -> list[int]:
    """The index of what the user asked in this invocation, where the engine has to be told.

    It keeps the user's last words by itself; but in a request of ADK's, what other agents say is
    words of the user too.
    """
    asked = texts_of(context.user_content)
    if not asked:
        return []
    others = False
    for index in range(len(contents) - 1, -1, -1):
        content = contents[index]
        said = texts_of(content) if content.role == "user" else []
        if said == asked:
            return [index] if others else []
        others = others or bool(said)
    return []


def texts_of(content: types.Content | None) -> list[str]:
    """The texts of a content."""
    parts = (content.parts if content is not None else None) or []
    return [part.text for part in parts if part.text]
