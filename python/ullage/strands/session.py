"""What lets an agent come back from a session as it was.

A session manager that keeps a log (``FileSessionManager``, ``S3SessionManager``) writes every
message down as it arrives and never again. It restores an agent from the log from
``removed_message_count`` on, behind whatever ``restore_from_session`` gives it. So that count is a
place in the log and not a number of removals; and what stands in front of that place, edited, kept
or written by a manager, has to be in the manager's own state.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

from strands.agent.conversation_manager import ConversationManager
from strands.hooks import (
    AgentInitializedEvent,
    BeforeModelCallEvent,
    HookRegistry,
    MessageAddedEvent,
)

from ullage.strands.agents import note_seam
from ullage.strands.history import repair_request
from ullage.strands.session_log import LogOf, SessionLog, unpacked

if TYPE_CHECKING:
    from strands import Agent
    from strands.types.content import Message

# Before and after what is registered without an order: session managers are, and ask for the state
# at the same events.
_FIRST = -1_000.0
_LAST = 1_000.0


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

    __slots__ = ("_agent", "_stand_in", "_unbound")

    # Whether the manager reduces the context itself.
    _is_seam = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._agent: weakref.ref[Any] | None = None
        # The log that was restored before an agent was known; or that of a stand-in for an agent,
        # to which nothing can refer weakly.
        self._unbound: SessionLog | None = None
        self._stand_in: Any = None
        self._logs: weakref.WeakKeyDictionary[Any, SessionLog] = weakref.WeakKeyDictionary()
        self._binding = threading.Lock()
        super().__init__(*args, **kwargs)

    @property
    def removed_message_count(self) -> int:
        """How many logged messages lie in front of those that still stand as they were logged.

        Where nothing but the oldest messages were removed, it is their number.
        """
        restored = self._log().load_offset()
        return self._settled().offset if restored is None else restored

    @removed_message_count.setter
    def removed_message_count(self, _: int) -> None:
        """Takes what the base class and its subclasses write; the messages themselves decide."""

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Registers what notes which messages a session's log has."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(AgentInitializedEvent, self._agent_begins, order=_FIRST)
        registry.add_callback(AgentInitializedEvent, self._agent_begun, order=_LAST)
        registry.add_callback(MessageAddedEvent, self._message_added, order=_FIRST)
        if self._is_seam:
            registry.add_callback(BeforeModelCallEvent, self._before_request, order=_FIRST)

    def get_state(self) -> dict[str, Any]:
        """What a session keeps: the place in its log, and the messages in front of it.

        It is JSON; the messages are copies.
        """
        return {"__name__": type(self).__name__, **self._settled().state()}

    def restore_from_session(self, state: dict[str, Any]) -> list[Message] | None:
        """Takes the state back; what it returns goes in front of the log.

        Raises:
            ValueError: If it is the state of another class, or none.
        """
        if state.get("__name__") != type(self).__name__:
            raise ValueError("Invalid conversation manager state.")
        count, is_all = state.get("removed_message_count"), state.get("head_is_all", False)
        try:
            head = unpacked(_head_of(state))
        except ValueError as error:
            raise ValueError("Invalid conversation manager state.") from error
        if (
            not (isinstance(count, int) and count >= 0)
            or not (isinstance(head, list) and all(isinstance(one, dict) for one in head))
            or not isinstance(is_all, bool)
        ):
            raise ValueError("Invalid conversation manager state.")
        if self._bound() is None:
            self._unbound, self._stand_in = SessionLog(), None
        return self._log().restore(count, head, is_all=is_all) or None

    def follow(self, agent: Agent) -> SessionLog:
        """The log of this agent; begun with its messages as they are, if it has none yet."""
        log = self._log_of(agent)
        log.begin(agent.messages)
        return log

    def _log_of(self, agent: Agent) -> SessionLog:
        try:
            log = self._logs.get(agent)
            if log is None:
                log = self._logs[agent] = SessionLog()
                if self._bound() is None:
                    self._agent = weakref.ref(agent)
        except TypeError:
            # No agent of Strands, but something that looks like one and that nothing can refer to.
            if self._stand_in is not None and self._stand_in is not agent:
                self._unbound = None
            self._stand_in = agent
            log = self._unbound = self._unbound or SessionLog()
        return log

    def _bound(self) -> Any:
        return None if self._agent is None else self._agent()

    def _log(self) -> SessionLog:
        """The log of the agent that this manager is for."""
        agent = self._bound()
        return (self._unbound or SessionLog()) if agent is None else self._logs[agent]

    def _settled(self) -> SessionLog:
        log, agent = self._log(), self._bound() or self._stand_in
        if agent is not None:
            log.settle(agent.messages)
        return log

    def _agent_begins(self, event: AgentInitializedEvent) -> None:
        """Ties the agent to a manager before its session restores it."""
        agent = event.agent
        with self._binding:
            if self._bound() is None:
                handle = self
                # Someone without a session manager may have restored the state by hand.
                waiting = self._unbound is not None and not self._unbound.begun
                log = self._unbound if waiting else None
                self._unbound = None
            else:
                handle, log = object.__new__(type(self)), None
                handle.__dict__, handle._unbound = self.__dict__, None
                handle._stand_in = None
            handle._agent = weakref.ref(agent)
            self._logs[agent] = log or SessionLog()
        if handle is not self:
            agent.conversation_manager = handle
        if self._is_seam:
            note_seam(agent, type(self).__name__)

    def _agent_begun(self, event: AgentInitializedEvent) -> None:
        agent = event.agent
        self._logs[agent].begin(agent.messages, LogOf(agent))

    def _before_request(self, event: BeforeModelCallEvent) -> None:
        """Repairs what the provider would reject, before anything else looks at the history."""
        self.follow(event.agent)
        repair_request(event.agent, event.agent.messages)

    def _message_added(self, event: MessageAddedEvent) -> None:
        self._log_of(event.agent).added(event.agent.messages, event.message)


def _head_of(state: dict[str, Any]) -> Any:
    """The messages in front of the log: of managers that are not ours, their summary if any."""
    summary = state.get("summary_message")
    return state.get("head", [] if summary is None else [summary])
