"""Conversation managers whose agents a session restores as they were.

A session manager with a log (``FileSessionManager``, ``S3SessionManager``) writes each message
once, as it arrives. To restore an agent it reads the log from ``removed_message_count`` on, and
puts the messages that ``restore_from_session`` returns in front. So that count is a place in the
log, not a number of removals. The messages in front of that place, edited, kept or written by a
manager, have to be in the manager's own state.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from strands.agent.conversation_manager import (
    ConversationManager,
    NullConversationManager,
    SlidingWindowConversationManager,
)
from strands.hooks import (
    AgentInitializedEvent,
    BeforeModelCallEvent,
    HookRegistry,
    MessageAddedEvent,
)

from ullage._engine.logger import Logger
from ullage.strands.agents import PerAgent, note_seam, reference
from ullage.strands.history import repair_request
from ullage.strands.refusals import refusals_of
from ullage.strands.session_log import SessionLog, unpack

if TYPE_CHECKING:
    from collections.abc import Callable

    from strands import Agent
    from strands.types.content import Message

logger = Logger(__name__)

# These hooks run before and after those without an order. Session managers have none, and ask for
# the state at the same events.
_FIRST = -1_000.0
_LAST = 1_000.0


def _no_agent() -> None:
    """Stands for an agent that is not known yet."""


class RestorableConversationManager(ConversationManager):
    """A conversation manager whose agents come back from a session as they were.

    Whatever the manager, or anyone else, does to the messages in place, ``get_state`` has what a
    session's log lacks: notes, summaries, edits, pins, and what was kept in front of them. A
    ``SnapshotSessionManager`` stores the conversation whole and needs none of it.

    One manager may serve several agents. A host asks ``agent.conversation_manager`` for its state
    without saying for which agent, so each agent after the first gets a manager of its own class
    that shares every attribute with the first and knows its agent.

    A subclass changes ``agent.messages`` in place and calls :meth:`follow` before it does.
    """

    __slots__ = ("_agent",)

    # True if the manager reduces the context itself.
    _is_seam = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._agent: Callable[[], Any] = _no_agent
        # A state may be restored before an agent is known. Its log is that of the manager itself
        # until then.
        self._logs: PerAgent[SessionLog] = PerAgent(lambda _: SessionLog())
        self._bind_lock = threading.Lock()
        super().__init__(*args, **kwargs)

    @property
    def removed_message_count(self) -> int:
        """The number of logged messages before those that are still as they were logged.

        If only the oldest messages were removed, it is their number.
        """
        restored = self._log().load_offset()
        return self._current_log().offset if restored is None else restored

    @removed_message_count.setter
    def removed_message_count(self, _: int) -> None:
        """Takes what the base class and its subclasses write; the messages themselves decide."""

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Registers the hooks that note which messages a session's log has."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(AgentInitializedEvent, self._bind_agent, order=_FIRST)
        registry.add_callback(AgentInitializedEvent, self._begin_log, order=_LAST)
        registry.add_callback(MessageAddedEvent, self._log_message, order=_FIRST)
        if self._is_seam:
            registry.add_callback(BeforeModelCallEvent, self._before_request, order=_FIRST)

    def get_state(self) -> dict[str, Any]:
        """Returns what a session keeps: the place in its log, and the messages before it.

        It is JSON; the messages are copies.
        """
        return {"__name__": type(self).__name__, **self._current_log().state()}

    def restore_from_session(self, state: dict[str, Any]) -> list[Message] | None:
        """Restores the state, and returns the messages to put before those of the log.

        Raises:
            ValueError: If it is the state of another class, or none.
        """
        if state.get("__name__") != type(self).__name__:
            raise ValueError("Invalid conversation manager state.")
        count: Any = state.get("removed_message_count")
        is_all = state.get("head_is_all", False)
        # In a state of Strands' managers, the summary if there is one stands before the log.
        summary = state.get("summary_message")
        try:
            head = unpack(state.get("head", [] if summary is None else [summary]))
        except ValueError as error:
            raise ValueError("Invalid conversation manager state.") from error
        is_count = isinstance(count, int) and count >= 0
        is_head = isinstance(head, list) and all(isinstance(message, dict) for message in head)
        if not (is_count and is_head and isinstance(is_all, bool)):
            raise ValueError("Invalid conversation manager state.")
        return self._log().restore(count, head, is_all=is_all) or None

    def follow(self, agent: Agent) -> SessionLog:
        """Returns the log of this agent. A new one begins with its messages as they are."""
        log = self._log_of(agent)
        log.begin(agent.messages)
        return log

    def _log_of(self, agent: Any) -> SessionLog:
        with self._bind_lock:
            if self._agent() is None:
                self._bind(agent)
        return self._logs.of(agent)

    def _log(self) -> SessionLog:
        """Returns the log of the agent that this manager is for."""
        agent = self._agent()
        return self._logs.of(self if agent is None else agent)

    def _current_log(self) -> SessionLog:
        log, agent = self._log(), self._agent()
        if agent is not None:
            log.find_tail(agent.messages)
        return log

    def _bind(self, agent: Any) -> None:
        self._agent = reference(agent)
        self._logs.move(self, agent)

    def _bind_agent(self, event: AgentInitializedEvent) -> None:
        """Ties the agent to a manager before its session restores it."""
        agent, handle = event.agent, self
        with self._bind_lock:
            if self._agent() is not None:
                handle = object.__new__(type(self))
                handle.__dict__ = self.__dict__
            handle._bind(agent)
        if handle is not self:
            agent.conversation_manager = handle
        if self._is_seam:
            note_seam(agent, type(self).__name__)

    def _begin_log(self, event: AgentInitializedEvent) -> None:
        self._logs.of(event.agent).begin(event.agent.messages, event.agent)

    def _before_request(self, event: BeforeModelCallEvent) -> None:
        """Repairs what the provider would reject, before anything else looks at the history."""
        self.follow(event.agent)
        repair_request(event.agent, event.agent.messages)

    def _log_message(self, event: MessageAddedEvent) -> None:
        self._log_of(event.agent).append(event.agent.messages, event.message)


class PassiveConversationManager(RestorableConversationManager):
    """Changes nothing, and remembers for a session what others have changed.

    Strands' ``NullConversationManager`` changes nothing either, but an agent that comes back from
    a session with it has its messages as they arrived: what a plugin, a strategy or a user did to
    them is undone.
    """

    _is_seam = False

    def apply_management(self, agent: Agent, **_: Any) -> None:
        """Leaves the messages as they are."""

    def reduce_context(self, agent: Agent, e: Exception | None = None, **_: Any) -> None:
        """Leaves the messages as they are.

        Raises:
            ContextWindowOverflowException: If ``e`` is given and it is known why the messages
                cannot be made smaller.
            Exception: ``e``, if it is given and nothing is known.
        """
        refusals_of(agent).raise_problem(e)
        if e is not None:
            raise e

    @classmethod
    def take_over(cls, agent: Agent) -> None:
        """Takes the place of a manager that does nothing, or that the agent was not given.

        It has to be called before the agent is initialized, as plugins and strategies are.
        """
        manager = agent.conversation_manager
        if type(manager) is not NullConversationManager and not _is_default(manager):
            return
        own = cls()
        agent.conversation_manager = own
        agent.hooks.add_hook(own)
        logger.debug("manager=<%s> | the default manager was replaced", type(manager).__name__)


def _is_default(manager: Any) -> bool:
    """Returns True if this is the manager of an agent that was given none."""
    return type(manager) is SlidingWindowConversationManager and _settings(manager) == _settings(
        SlidingWindowConversationManager()
    )


def _settings(manager: Any) -> dict[str, Any]:
    return {key: value for key, value in vars(manager).items() if key != "removed_message_count"}
