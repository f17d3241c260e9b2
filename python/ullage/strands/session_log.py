"""What a session's log holds of a conversation, and what it does not."""

from __future__ import annotations

import copy
from operator import is_
from typing import TYPE_CHECKING, Any

from strands.types.session import decode_bytes_values, encode_bytes_values

from ullage.pins import has_pin

if TYPE_CHECKING:
    from strands.types.content import Message

# What has left the conversation is forgotten when there is this much more in the log than in it, so
# that a long run costs no memory and a message costs no pass over all of them.
_SLACK = 64


class Logged:
    """A message as it was when the log took it."""

    __slots__ = ("_blocks", "_content", "_pinned", "_stored", "message")

    def __init__(self, message: Any) -> None:
        self.message = message
        self._content = message.get("content")
        self._blocks = tuple(self._content or ())
        self._pinned = has_pin(message)
        self._stored: Any = None

    def is_still(self, message: Any) -> bool:
        """Whether this is that message, and nothing was changed in it.

        It is compared block by block for identity: what replaces a block or the content, or sets a
        pin, is seen; what writes into a block is not.
        """
        content = message.get("content")
        return (
            message is self.message
            and content is self._content
            and len(content or ()) == len(self._blocks)
            and all(map(is_, content or (), self._blocks))
            and has_pin(message) is self._pinned
        )

    def stored(self) -> Any:
        """A copy as a session stores it: JSON, with what is bytes as text."""
        # Strands gives an id to a message that came without, when the agent is next invoked.
        if self._stored is None or len(self._stored) != len(self.message):
            self._stored = encode_bytes_values(self.message)
        return self._stored


class SessionLog:
    """What a session's log holds of one conversation, and what it does not.

    The conversation is a *head*, which the log does not have as it is now, and a *tail*, which is
    word for word the end of the log. Both are found by comparing the messages with those that were
    logged, whoever changed them and however: nobody has to say what was done.

    The log is taken to hold the messages that are there when it is first asked, but for those that
    a session has put in front of it, and after that what :meth:`added` names.

    Attributes:
        offset: How many messages of the log lie in front of the tail.
        head: The messages in front of the tail.
    """

    def __init__(self) -> None:
        self.offset = 0
        self.head: list[Message] = []
        self._tail: list[Logged] = []
        self._head: list[Logged] = []
        # Whether the conversation was seen yet. What a session restores is known only after it has
        # asked for the head.
        self.begun = False
        # Whether the last message of the log is not one of the conversation any more.
        self._replaced = False

    def added(self, messages: list[Message], message: Message) -> None:
        """The conversation has got this message, at its end, and the log takes it too."""
        if self.begun:
            self._tail.append(Logged(message))
        self.begin(messages)
        if len(self._tail) > 2 * len(messages) + _SLACK:
            self.settle(messages)

    def settle(self, messages: list[Message]) -> None:
        """Finds anew where the tail of the conversation begins: one pass over the tail."""
        self.begin(messages)
        kept = 0
        for message, logged in zip(reversed(messages), reversed(self._tail), strict=False):
            if not logged.is_still(message):
                break
            kept += 1
        gone = len(self._tail) - kept
        self.offset += gone
        del self._tail[:gone]
        self.head = messages[: len(messages) - kept]

    def state(self) -> dict[str, Any]:
        """What a session keeps of it."""
        # An agent that finds no message in its log writes the next over the first. So it always
        # finds the last one, and is told where another stands in its place.
        replaced = bool(self.offset and not self._tail)
        known = {id(logged.message): logged for logged in self._head}
        self._head = [
            logged
            if (logged := known.get(id(message))) and logged.is_still(message)
            else Logged(message)
            for message in self.head
        ]
        return {
            "removed_message_count": self.offset - replaced,
            "head": [logged.stored() for logged in self._head],
            "head_is_all": replaced,
        }

    def restore(self, state: dict[str, Any]) -> list[Message]:
        """Takes up what was left of a conversation; the messages to put in front of the log.

        They are copies: a state may be restored any number of times.
        """
        head = decode_bytes_values(copy.deepcopy(state["head"]))
        if self.begun:
            # A running agent goes back to a snapshot, and its log goes on: all of it lies behind.
            self.offset += len(self._tail)
            self._tail.clear()
        else:
            self.offset, self.head = state["removed_message_count"], head
            self._replaced = state["head_is_all"]
        return head[:-1] if state["head_is_all"] else list(head)

    def begin(self, messages: list[Message]) -> None:
        """Takes what stands behind the head for the tail, if the conversation was not seen yet."""
        if self.begun:
            return
        if self._replaced:
            self.offset += 1
            messages[:] = self.head
        self._tail = [Logged(message) for message in messages[len(self.head) :]]
        self.begun = True
