"""``Request``: a request of a conversation, and what stands beside its messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ullage._hosts.usage import input_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ullage._engine.steps import Steps
    from ullage._hosts.conversations import HostConversation
    from ullage._hosts.rows import Reading


@dataclass(frozen=True)
class Request:
    """A request of a conversation.

    Attributes:
        conversation: The conversation.
        reading: Its history.
        before: The newest state that the host has kept.
        beside: The system prompt and the tools, as :meth:`View.messages` takes them.
    """

    conversation: HostConversation
    reading: Reading
    before: Mapping[str, Any] | None = None
    beside: dict[str, Any] = field(default_factory=dict)

    def messages(self) -> Steps[list[Any]]:
        """Returns a view of the messages."""
        return self.conversation.request(self.reading, **self.beside)

    def exchange(self, send: Callable[[list[Any]], Any]) -> Steps[Any]:
        """Returns the answer of ``send`` to a view of the messages."""
        return self.conversation.exchange(self.reading, send, **self.beside)

    def observe(self, usage: Any) -> None:
        """Learns from the usage that the provider reported."""
        self.conversation.observe(*input_tokens(usage))

    def saved(self) -> dict[str, Any] | None:
        """Returns the state, if it changed."""
        return self.conversation.saved(self.before)
