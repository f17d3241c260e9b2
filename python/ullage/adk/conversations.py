"""Reads a callback's context and request: the conversation, the payer, and the waiting calls."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.sessions import Session
    from google.genai import types

# The model reads this in place of a result that is still to come.
PENDING = {"status": "pending", "message": "There is no result yet; it comes when it is there."}

# Calls that may still wait, the newest: more than an agent waits for at a time. Older ones are
# taken for done, since a tool that takes long may also answer at once.
_WAITING = 8

# Agent tools inside agent tools: no app nests them as deep, and a loop must end.
_MOST_NESTED = 32


class Conversation(NamedTuple):
    """The requests of one agent in one session: each is an extension of the one before.

    Parallel agents have branches of their own. A request to another model is another conversation,
    since its window is.
    """

    session: str
    agent: str
    branch: str | None
    scope: str | None
    model: str


def session_key(session: Session) -> str:
    """The name of a session in a ``UsageTracker``: ``app/user/session``."""
    return f"{session.app_name}/{session.user_id}/{session.id}"


def invocation_of(context: CallbackContext) -> Any:
    """The invocation that a callback belongs to."""
    return context._invocation_context  # noqa: SLF001 - the public way copies all of it


def conversation_of(context: CallbackContext, model: str | None) -> Conversation:
    """The conversation of a model callback."""
    invocation = invocation_of(context)
    scope = getattr(invocation, "isolation_scope", None)
    key = session_key(invocation.session)
    return Conversation(key, context.agent_name, invocation.branch, scope, model or "")


def caller_of(invocation: Any) -> Any:
    """The invocation whose agent called this one's agent as a tool, or None.

    Such an agent has a session of its own for the time of the call. Its artifacts go to the session
    of its caller, which is how it is found.
    """
    caller = getattr(invocation.artifact_service, "tool_context", None)
    return getattr(caller, "_invocation_context", None)


def paying_session(context: CallbackContext) -> Session:
    """The session that a model call is charged to: that of the user."""
    invocation = invocation_of(context)
    for _ in range(_MOST_NESTED):
        invocation = caller_of(invocation) or invocation
    session: Session = invocation.session
    return session


def current_request(contents: list[types.Content], context: CallbackContext) -> list[int]:
    """The index of what the user asked in this invocation, where the engine has to know it.

    It keeps the user's last words by itself; but in a request of ADK's, what other agents say is
    words of the user too.
    """
    asked = _texts(context.user_content)
    others = False
    for index in range(len(contents) - 1, -1, -1) if asked else ():
        said = _texts(contents[index]) if contents[index].role == "user" else []
        if said == asked:
            return [index] if others else []
        others = others or bool(said)
    return []


def open_calls(
    contents: Sequence[types.Content], request: LlmRequest, context: CallbackContext
) -> list[int]:
    """The indices of calls that take long and were answered once, and of those answers.

    The first answer of such a tool says that it waits. When the last one comes, ADK puts it in the
    place of the first.
    """
    if not any(_may_take_long(name, request) for name in request.tools_dict):
        return []
    events = invocation_of(context).session.events
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
        fitted: The contents of the view, with an answer for each call that has none.
        contents: The contents that it was made of.
        request: What knows the tools.
    """
    known = {id(content) for content in contents}
    return [one if id(one) in known else _waiting(one, request) for one in fitted]


def _waiting(content: types.Content, request: LlmRequest) -> types.Content:
    """The content with words of its own for calls that wait, if it answers any."""
    parts = list(content.parts or [])
    for place, part in enumerate(parts):
        response = part.function_response
        if response is not None and _may_take_long(response.name, request) and _is_made(response):
            pending = response.model_copy(update={"response": dict(PENDING)})
            parts[place] = part.model_copy(update={"function_response": pending})
    return content.model_copy(update={"parts": parts}) if parts != content.parts else content


def _may_take_long(name: str | None, request: LlmRequest) -> bool:
    tool = request.tools_dict.get(name or "")
    return bool(tool is not None and (tool.is_long_running or getattr(tool, "_defers_response", 0)))


def _is_made(response: types.FunctionResponse) -> bool:
    """True if the answer was added by the repair, whose only word it is."""
    said = response.response or {}
    return set(said) == {"error"} and str(said["error"]).startswith("[ullage: ")


def _texts(content: types.Content | None) -> list[str]:
    parts = (content.parts if content is not None else None) or []
    return [part.text for part in parts if part.text]
