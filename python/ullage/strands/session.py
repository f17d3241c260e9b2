"""Restores an agent from a session in the state in which it was.

A session manager that keeps a log (``FileSessionManager``, ``S3SessionManager``) writes every
message down as it arrives and never again. It restores an agent from the log from
``removed_message_count`` on, behind whatever ``restore_from_session`` gives it. So that count is a
place in the log and not a number of removals; and what stands in front of that place, edited, kept
or written by a manager, has to be in the manager's own state.
"""

from __future__ import annotations

import base64
import binascii
import copy
import json
import threading
import weakref
import zlib
from typing import TYPE_CHECKING, Any

from strands.agent.conversation_manager import ConversationManager
from strands.hooks import (
    AgentInitializedEvent,
    BeforeModelCallEvent,
    HookRegistry,
    MessageAddedEvent,
)
from strands.types.session import decode_bytes_values, encode_bytes_values

from ullage._engine.logger import Logger
from ullage.strands.agents import note_seam
from ullage.strands.history import MessageSnapshot, repair_request

if TYPE_CHECKING:
    from strands import Agent
    from strands.types.content import Message

logger = Logger(__name__)

# Before and after what is registered without an order: session managers are, and ask for the state
# at the same events.
_FIRST = -1_000.0
_LAST = 1_000.0

# Messages that left the conversation are forgotten once the log has this many more than it. So a
# long run costs no memory, and a message costs no pass over all of them.
_SLACK = 64

# Strands puts this in the place of a result that a log lacks.
_FILLER = "Tool was interrupted."

# JSON of so many characters is stored as it is, for whoever reads a session: a task, a summary and
# a few pins. What is longer is mostly tool results, which pack to a fraction.
_READABLE = 4_000
# The fastest: a state is made in the event loop, when what is packed has changed.
_LEVEL = 1


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

    __slots__ = ("_agent", "_spare_log", "_stand_in")

    # True if the manager reduces the context itself.
    _is_seam = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._agent: weakref.ref[Any] | None = None
        # The log that was restored before an agent was known; or that of a stand-in for an agent,
        # to which nothing can refer weakly.
        self._spare_log: SessionLog | None = None
        self._stand_in: Any = None
        self._logs: weakref.WeakKeyDictionary[Any, SessionLog] = weakref.WeakKeyDictionary()
        self._bind_lock = threading.Lock()
        super().__init__(*args, **kwargs)

    @property
    def removed_message_count(self) -> int:
        """Counts the logged messages in front of those that still are as they were logged.

        Where nothing but the oldest messages were removed, it is their number.
        """
        restored = self._log().load_offset()
        return self._settle().offset if restored is None else restored

    @removed_message_count.setter
    def removed_message_count(self, _: int) -> None:
        """Takes what the base class and its subclasses write; the messages themselves decide."""

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Registers what notes which messages a session's log has."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(AgentInitializedEvent, self._bind_agent, order=_FIRST)
        registry.add_callback(AgentInitializedEvent, self._begin_log, order=_LAST)
        registry.add_callback(MessageAddedEvent, self._log_message, order=_FIRST)
        if self._is_seam:
            registry.add_callback(BeforeModelCallEvent, self._before_request, order=_FIRST)

    def get_state(self) -> dict[str, Any]:
        """Returns the state for a session: the place in its log, and the messages in front of it.

        It is JSON; the messages are copies.
        """
        return {"__name__": type(self).__name__, **self._settle().state()}

    def restore_from_session(self, state: dict[str, Any]) -> list[Message] | None:
        """Takes the state back; what it returns goes in front of the log.

        Raises:
            ValueError: If it is the state of another class, or none.
        """
        if state.get("__name__") != type(self).__name__:
            raise ValueError("Invalid conversation manager state.")
        count, is_all = state.get("removed_message_count"), state.get("head_is_all", False)
        try:
            head = _unpack(_head_of(state))
        except ValueError as error:
            raise ValueError("Invalid conversation manager state.") from error
        if (
            not (isinstance(count, int) and count >= 0)
            or not (isinstance(head, list) and all(isinstance(one, dict) for one in head))
            or not isinstance(is_all, bool)
        ):
            raise ValueError("Invalid conversation manager state.")
        if self._known_agent() is None:
            self._spare_log, self._stand_in = SessionLog(), None
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
                if self._known_agent() is None:
                    self._agent = weakref.ref(agent)
        except TypeError:
            # No agent of Strands, but something that looks like one and that nothing can refer to.
            if self._stand_in is not None and self._stand_in is not agent:
                self._spare_log = None
            self._stand_in = agent
            log = self._spare_log = self._spare_log or SessionLog()
        return log

    def _known_agent(self) -> Any:
        return None if self._agent is None else self._agent()

    def _log(self) -> SessionLog:
        """The log of the agent that this manager is for."""
        agent = self._known_agent()
        return (self._spare_log or SessionLog()) if agent is None else self._logs[agent]

    def _settle(self) -> SessionLog:
        log, agent = self._log(), self._known_agent() or self._stand_in
        if agent is not None:
            log.settle(agent.messages)
        return log

    def _bind_agent(self, event: AgentInitializedEvent) -> None:
        """Ties the agent to a manager before its session restores it."""
        agent = event.agent
        with self._bind_lock:
            if self._known_agent() is None:
                handle = self
                # Someone without a session manager may have restored the state by hand.
                waiting = self._spare_log is not None and not self._spare_log.has_begun
                log = self._spare_log if waiting else None
                self._spare_log = None
            else:
                handle, log = object.__new__(type(self)), None
                handle.__dict__, handle._spare_log = self.__dict__, None
                handle._stand_in = None
            handle._agent = weakref.ref(agent)
            self._logs[agent] = log or SessionLog()
        if handle is not self:
            agent.conversation_manager = handle
        if self._is_seam:
            note_seam(agent, type(self).__name__)

    def _begin_log(self, event: AgentInitializedEvent) -> None:
        agent = event.agent
        self._logs[agent].begin(agent.messages, _AgentLog(agent))

    def _before_request(self, event: BeforeModelCallEvent) -> None:
        """Repairs what the provider would reject, before anything else looks at the history."""
        self.follow(event.agent)
        repair_request(event.agent, event.agent.messages)

    def _log_message(self, event: MessageAddedEvent) -> None:
        self._log_of(event.agent).append(event.agent.messages, event.message)


def _head_of(state: dict[str, Any]) -> Any:
    """The messages in front of the log: of managers that are not ours, their summary if any."""
    summary = state.get("summary_message")
    return state.get("head", [] if summary is None else [summary])


class _AgentLog:
    """The log of an agent's session, where its session manager keeps one.

    No public name of Strands leads to it, but each agent has its session manager, and every manager
    with a log has a repository and notes the last message of each agent.
    """

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._sessions = getattr(agent, "_session_manager", None)

    @property
    def length(self) -> int | None:
        """Returns the number of its messages, or None if nobody knows."""
        latest = getattr(self._sessions, "_latest_agent_message", None)
        last = latest.get(self._agent.agent_id) if isinstance(latest, dict) else None
        number = getattr(last, "message_id", None)
        return number + 1 if isinstance(number, int) else None

    def kept_at_end(self, messages: list[Message]) -> int:
        """Counts the messages at the end that are those at the end of the log, which it reads.

        None of them, where it cannot be read.
        """
        length = self.length
        if length is None or self._sessions is None:
            return 0
        try:
            stored = self._sessions.session_repository.list_messages(
                session_id=self._sessions.session_id,
                agent_id=self._agent.agent_id,
                offset=max(0, length - len(messages)),
            )
        except Exception:
            # Any session of anybody's; what it could not read is stored once more.
            logger.warning("the log of the session could not be read again", exc_info=True)
            return 0
        kept = 0
        for message, one in zip(reversed(messages), reversed(stored), strict=False):
            if message != one.to_message():
                break
            kept += 1
        return kept


class SessionLog:
    """The part of one conversation that a session's log holds, and the part that it does not.

    The conversation is a *head*, which the log does not have as it is now, and a *tail*, which is
    word for word the end of the log. Both are found by comparing the messages with those that were
    logged, whoever changed them and however: nobody has to say what was done.

    The log is taken to hold the messages that are there when it is first asked, but for those that
    a session has put in front of it, and after that what :meth:`append` names.

    Attributes:
        offset: How many messages of the log lie in front of the tail.
        head: The messages in front of the tail.
    """

    def __init__(self) -> None:
        self.offset = 0
        self.head: list[Message] = []
        self._tail = MessageSnapshot()
        # The head as it is stored, and what it was made from.
        self._stored_head: list[Any] | str = []
        self._stored_from: tuple[MessageSnapshot, list[int]] = (MessageSnapshot(), [])
        # True once the conversation was seen. The messages of a session are known only after it
        # has asked for the head.
        self.has_begun = False
        # True if the last message of the log is no longer in the conversation.
        self._is_last_replaced = False
        # The state that was restored last, until the conversation is seen again.
        self._restored: tuple[int, list[Message], bool] | None = None
        # True if a session restored a running agent, which may get messages before it is seen.
        self._was_running = False

    def append(self, messages: list[Message], message: Message) -> None:
        """The conversation has got this message, at its end, and the log takes it too."""
        if self.has_begun:
            self._tail.add([message])
        self.begin(messages)
        if len(self._tail) > 2 * len(messages) + _SLACK:
            self.settle(messages)

    def settle(self, messages: list[Message]) -> None:
        """Finds anew where the tail of the conversation begins: one pass over the tail."""
        self.begin(messages)
        kept = self._tail.kept_at_end(messages)
        gone = len(self._tail) - kept
        self.offset += gone
        self._tail.forget(gone)
        self.head = messages[: len(messages) - kept]

    def state(self) -> dict[str, Any]:
        """Returns the state that a session keeps."""
        # An agent that finds no message in its log writes the next over the first. So it always
        # finds the last one, and is told where another stands in its place.
        replaced = bool(self.offset and not self._tail)
        # Strands gives an id to a message that came without, when the agent is next invoked.
        snapshot, sizes = self._stored_from[0], [*map(len, self.head)]
        if sizes != self._stored_from[1] or not snapshot.begins(self.head):
            self._stored_from = MessageSnapshot(self.head), sizes
            self._stored_head = _pack([encode_bytes_values(message) for message in self.head])
        return {
            "removed_message_count": self.offset - replaced,
            "head": self._stored_head,
            "head_is_all": replaced,
        }

    def restore(self, count: int, head: list[Any], *, is_all: bool) -> list[Message]:
        """Takes up what was left of a conversation; the messages to put in front of the log.

        They are copies: a state may be restored any number of times.
        """
        head = decode_bytes_values(copy.deepcopy(head))
        self._restored = (count, head, is_all)
        if self.has_begun:
            # If a running agent returns to a snapshot, its log continues: all of it comes before.
            self.offset += len(self._tail)
            self._tail = MessageSnapshot()
        else:
            self.load_offset()
        return head[:-1] if is_all else list(head)

    def load_offset(self) -> int | None:
        """Returns the place in the log that a session manager loads the messages from.

        A session manager asks for it right after :meth:`restore`, also for a running agent. Returns
        None if nothing was restored since the conversation was seen last.
        """
        if self._restored is not None:
            self._was_running, self.has_begun = self.has_begun or self._was_running, False
            self.offset, self.head, self._is_last_replaced = self._restored
        return None if self.has_begun else self.offset

    def begin(self, messages: list[Message], log: _AgentLog | None = None) -> None:
        """Takes what stands behind the head for the tail, if the conversation was not seen yet.

        Args:
            messages: The conversation.
            log: The log that it was restored from, if it was. Strands fills in and takes away
                messages where calls and results in a log do not match: what it has mended is of
                the head.
        """
        self._restored = None
        if self.has_begun:
            return
        self.has_begun = True
        if self._is_last_replaced:
            self.offset += 1
            messages[:] = [*self.head, *(messages[len(self.head) :] if self._was_running else [])]
        tail = messages[len(self.head) :]
        length = None if log is None else log.length
        if log is not None and length is not None:
            if self.offset + len(tail) != length or any(
                _FILLER in str(message.get("content")) for message in tail
            ):
                kept = log.kept_at_end(tail)
                tail = tail[len(tail) - kept :]
            self.offset = length - len(tail)
            self.head = messages[: len(messages) - len(tail)]
        self._tail.add(tail)


def _pack(messages: list[Any]) -> list[Any] | str:
    """The messages, or one text where they are long: their JSON, by zlib, in base64."""
    try:
        text = json.dumps(messages, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        # The session judges values that are not JSON, as it judges the rest of a message.
        return messages
    if len(text) <= _READABLE:
        return messages
    return base64.b64encode(zlib.compress(text.encode("ascii"), _LEVEL)).decode("ascii")


def _unpack(stored: Any) -> Any:
    """Unpacks a packed state.

    Raises:
        ValueError: If it is a text that was not.
    """
    if not isinstance(stored, str):
        return stored
    try:
        return json.loads(zlib.decompress(base64.b64decode(stored, validate=True)))
    except (binascii.Error, zlib.error, RecursionError) as error:
        raise ValueError("it is damaged") from error
