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

# The newest calls that may still wait, more than an agent waits for at a time. Older ones count as
# done, because a long-running tool may also answer at once.
_WAITING = 8

# The depth of agent tools inside agent tools. No app nests them deeper, and a loop must end.
_MOST_NESTED = 32


class ConversationKey(NamedTuple):
    """The requests of one agent in one session: each extends the one before.

    Parallel agents have their own branches. A request to another model is another conversation,
    because the window differs.
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
    """Returns the invocation of a callback."""
    return context._invocation_context  # noqa: SLF001 - the public way copies all of it


def conversation_of(context: CallbackContext, model: str | None) -> ConversationKey:
    """Returns the key of the conversation of a model callback."""
    invocation = invocation_of(context)
    scope = getattr(invocation, "isolation_scope", None)
    key = session_key(invocation.session)
    return ConversationKey(key, context.agent_name, invocation.branch, scope, model or "")


def caller_of(invocation: Any) -> Any:
    """Returns the invocation whose agent called this one's agent as a tool, or None.

    Such an agent has its own session during the call. Its artifacts go to the session of its
    caller, so the caller is found by them.
    """
    caller = getattr(invocation.artifact_service, "tool_context", None)
    return getattr(caller, "_invocation_context", None)


def paying_session(context: CallbackContext) -> Session:
    """Returns the session that pays for a model call: the user's."""
    invocation = invocation_of(context)
    for _ in range(_MOST_NESTED):
        invocation = caller_of(invocation) or invocation
    session: Session = invocation.session
    return session


def current_request(contents: list[types.Content], context: CallbackContext) -> list[int]:
    """Returns the index of the user's request in this invocation, if the engine must know it.

    The engine keeps the user's last message by itself. But in a request of ADK, messages of other
    agents are the user's too.
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
    """Returns the indices of long-running calls with one answer, and of these answers.

    The first answer of such a tool says that it waits. ADK replaces it with the last answer.
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
    """Returns the contents to send, in which an unanswered long-running call is said to wait.

    Args:
        fitted: The contents of the view, with an answer for each call that has none.
        contents: The contents before.
        request: The request, which has the tools.
    """
    known = {id(content) for content in contents}
    return [one if id(one) in known else _waiting(one, request) for one in fitted]


def _waiting(content: types.Content, request: LlmRequest) -> types.Content:
    """Returns the content with its own text for waiting calls, if it answers any."""
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
    """True if the repair added the answer."""
    said = response.response or {}
    return set(said) == {"error"} and str(said["error"]).startswith("[ullage: ")


def _texts(content: types.Content | None) -> list[str]:
    parts = (content.parts if content is not None else None) or []
    return [part.text for part in parts if part.text]
