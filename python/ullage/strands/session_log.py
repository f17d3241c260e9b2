"""``SessionLog``: which messages of a conversation a session's log holds as they are now."""

from __future__ import annotations

import base64
import binascii
import copy
import json
import zlib
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from strands.types.session import decode_bytes_values, encode_bytes_values

from ullage._engine.logger import Logger
from ullage.strands.snapshot import MessageSnapshot

if TYPE_CHECKING:
    from strands.types.content import Message

logger = Logger(__name__)

# Messages that left the conversation are forgotten when the log has this many more than it. So a
# long run costs no memory, and a message costs no pass over all of them.
_SLACK = 64

# Strands writes this text as the result of a call if the log has none.
_FILLER = "Tool was interrupted."

# JSON of up to so many characters is stored as it is, so that people can read a session: a task, a
# summary and a few pins. Longer JSON is mostly tool results, which pack to a fraction.
_READABLE = 4_000
# The fastest level: a state is made in the event loop whenever its messages have changed.
_LEVEL = 1


class SessionLog:
    """The part of one conversation that a session's log holds, and the part that it does not.

    The conversation is a *head*, which the log does not have as it is now, and a *tail*, which is
    word for word the end of the log. Both are found by comparing the messages with those that were
    logged, whoever changed them and however: nobody has to say what was done. At first the log has
    the messages that are there, but for the head that a session restored; then what is appended.

    Attributes:
        offset: The number of messages in the log before the tail.
        head: The messages in front of the tail.
        has_begun: True once the conversation was seen. The messages that a session restores are
            known only after it has asked for the head.
    """

    def __init__(self) -> None:
        self.offset = 0
        self.head: list[Message] = []
        self.has_begun = False
        self._tail = MessageSnapshot()
        # The head as it is stored, and what it was made from.
        self._stored_head: list[Any] | str = []
        self._stored_from: tuple[MessageSnapshot, list[int]] = (MessageSnapshot(), [])
        # True if the last message of the log is no longer one of the conversation.
        self._is_last_replaced = False
        # The state that was restored last, until the conversation is seen again.
        self._restored: tuple[int, list[Message], bool] | None = None
        # True if a session restored a running agent, which may get messages before it is seen.
        self._was_running = False

    def append(self, messages: list[Message], message: Message) -> None:
        """Notes a message that the conversation has got at its end, and the log too."""
        if self.has_begun:
            self._tail.add([message])
        self.begin(messages)
        if len(self._tail) > 2 * len(messages) + _SLACK:
            self.find_tail(messages)

    def find_tail(self, messages: list[Message]) -> None:
        """Finds again where the tail of the conversation begins: one pass over the tail."""
        self.begin(messages)
        kept = self._tail.count_at_end(messages)
        gone = len(self._tail) - kept
        self.offset += gone
        self._tail.forget(gone)
        self.head = messages[: len(messages) - kept]

    def state(self) -> dict[str, Any]:
        """Returns what a session keeps of it."""
        # An agent that finds no message in its log writes the next over the first. So it always
        # finds the last one, and is told where another stands in its place.
        replaced = bool(self.offset and not self._tail)
        # Strands gives an id to a message that came without, when the agent is next invoked.
        snapshot, sizes = self._stored_from[0], [*map(len, self.head)]
        if sizes != self._stored_from[1] or not snapshot.is_prefix_of(self.head):
            self._stored_from = MessageSnapshot(self.head), sizes
            self._stored_head = _pack([encode_bytes_values(message) for message in self.head])
        return {
            "removed_message_count": self.offset - replaced,
            "head": self._stored_head,
            "head_is_all": replaced,
        }

    def restore(self, count: int, head: list[Any], *, is_all: bool) -> list[Message]:
        """Restores a conversation, and returns the messages to put before those of the log.

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

    def begin(self, messages: list[Message], agent: Any = None) -> None:
        """Takes the messages after the head as the tail, if the conversation was not seen yet.

        ``agent`` is given if its session restored them. Strands adds and removes messages where
        calls and results in a log do not match: the messages that it repaired are of the head.
        """
        self._restored = None
        if self.has_begun:
            return
        self.has_begun = True
        if self._is_last_replaced:
            self.offset += 1
            messages[:] = [*self.head, *(messages[len(self.head) :] if self._was_running else [])]
        tail = messages[len(self.head) :]
        length = _length_of_log(agent)
        if length is not None:
            is_filled = any(_FILLER in str(message.get("content")) for message in tail)
            if is_filled or self.offset + len(tail) != length:
                tail = tail[len(tail) - _count_in_log(agent, tail, length) :]
            self.offset = length - len(tail)
            self.head = messages[: len(messages) - len(tail)]
        self._tail.add(tail)


# No public name of Strands leads to the log of an agent's session, but each agent has its session
# manager, and every manager with a log has a repository and notes the last message of each agent.


def _length_of_log(agent: Any) -> int | None:
    """Returns the number of messages in the log of an agent's session, or None if unknown."""
    latest = getattr(getattr(agent, "_session_manager", None), "_latest_agent_message", None)
    last = latest.get(agent.agent_id) if isinstance(latest, dict) else None
    number = getattr(last, "message_id", None)
    return number + 1 if isinstance(number, int) else None


def _count_in_log(agent: Any, messages: list[Message], length: int) -> int:
    """Returns how many messages at the end are also at the end of the log; 0 if it is not read."""
    sessions = agent._session_manager  # noqa: SLF001
    try:
        stored = sessions.session_repository.list_messages(
            session_id=sessions.session_id,
            agent_id=agent.agent_id,
            offset=max(0, length - len(messages)),
        )
    except Exception:
        # Any session of anybody's; what it could not read is stored once more.
        logger.warning("the log of the session could not be read again", exc_info=True)
        return 0
    pairs = zip(reversed(messages), reversed(stored), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1].to_message(), pairs))


def _pack(messages: list[Any]) -> list[Any] | str:
    """Returns the messages, or if they are long their JSON, packed by zlib, in base64."""
    try:
        text = json.dumps(messages, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        # A value that is not JSON is for the session to judge, as everything else in a message.
        return messages
    if len(text) <= _READABLE:
        return messages
    return base64.b64encode(zlib.compress(text.encode("ascii"), _LEVEL)).decode("ascii")


def unpack(stored: Any) -> Any:
    """Returns the messages that were packed.

    Raises:
        ValueError: If it is a text that was not.
    """
    if not isinstance(stored, str):
        return stored
    try:
        return json.loads(zlib.decompress(base64.b64decode(stored, validate=True)))
    except (binascii.Error, zlib.error, RecursionError) as error:
        raise ValueError("it is damaged") from error
