"""Which conversation a callback is about, and who pays for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.sessions import Session

# Agent tools inside agent tools: no app nests them as deep, and a loop must end.
_MOST_NESTED = 32


class Conversation(NamedTuple):
    """What one agent sees of one session: every request is an extension of the one before.

    Parallel agents have branches of their own. A request to another model is another conversation,
    since its window is.
    """

    session: str
    agent: str
    branch: str | None
    scope: str | None
    model: str


def session_key(session: Session) -> str:
    """What a session is called in a ``UsageTracker``: ``app/user/session``."""
    return f"{session.app_name}/{session.user_id}/{session.id}"


def conversation_of(context: CallbackContext, model: str | None) -> Conversation:
    """The conversation of a model callback."""
    invocation = context._invocation_context  # noqa: SLF001 - the public way copies all of it
    return Conversation(
        session_key(invocation.session),
        context.agent_name,
        invocation.branch,
        getattr(invocation, "isolation_scope", None),
        model or "",
    )


def invocation_of(context: CallbackContext) -> str:
    """The id of the invocation that a callback is of."""
    invocation: Any = context._invocation_context  # noqa: SLF001 - as above
    return str(invocation.invocation_id)


def is_nested(context: CallbackContext) -> bool:
    """Whether the agent was called as a tool: its session is gone with the call."""
    invocation: Any = context._invocation_context  # noqa: SLF001 - as above
    return getattr(invocation.artifact_service, "tool_context", None) is not None


def paying_session(context: CallbackContext) -> Session:
    """The session that a model call is charged to: that of the user.

    An agent that is called as a tool has a session of its own for the time of the call. Its
    artifacts go to the session of its caller, which is how it is found.
    """
    invocation: Any = context._invocation_context  # noqa: SLF001 - as above
    for _ in range(_MOST_NESTED):
        caller = getattr(invocation.artifact_service, "tool_context", None)
        above = getattr(caller, "_invocation_context", None)
        if above is None:
            break
        invocation = above
    session: Session = invocation.session
    return session
