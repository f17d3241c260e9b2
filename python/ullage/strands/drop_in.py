"""What the managers share that take the place of Strands' own."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from strands.hooks import AfterModelCallEvent
from strands.types.exceptions import ContextWindowOverflowException

from ullage.strands.agents import PerAgent
from ullage.strands.history import with_pin
from ullage.strands.session import RestorableConversationManager

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from strands.hooks import HookRegistry
    from strands.types.content import Message

# Refusals in a row after which an overflow is raised. Each takes three tenths of the conversation
# or a quarter of its messages, so a provider that goes on does not refuse the size.
MOST_REFUSALS = 10


@dataclass
class DropInState:
    """What is known of one agent.

    Attributes:
        refusals: Refusals since the provider last answered.
        pinned_first: Whether the first messages were pinned.
    """

    refusals: int = 0
    pinned_first: bool = False

    def refused(self, error: Exception) -> None:
        """Counts a refusal.

        Raises:
            ContextWindowOverflowException: If there were too many.
        """
        self.refusals += 1
        if self.refusals > MOST_REFUSALS:
            raise ContextWindowOverflowException(
                f"refused {MOST_REFUSALS} times in a row"
            ) from error


_State = TypeVar("_State", bound=DropInState)


class DropInConversationManager(RestorableConversationManager, Generic[_State]):
    """A manager that knows something of each agent that it serves, and says it to a session.

    A subclass has ``pin_first`` from the class of Strands that it takes the place of.

    Attributes:
        stored: What of an agent's a session keeps: the name in the state, and that of the
            attribute.
    """

    pin_first: int | None
    state_type: type[_State]
    stored: tuple[tuple[str, str], ...]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._known: PerAgent[_State] = PerAgent(self._begun)

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Registers what Strands' own does, and what a refusal and an answer change."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(AfterModelCallEvent, self._after_model_call)

    @abstractmethod
    def _after_model_call(self, event: AfterModelCallEvent) -> Awaitable[None] | None:
        """What follows on an answer, or on a refusal."""

    def get_state(self) -> dict[str, Any]:
        """What a session keeps, see :class:`RestorableConversationManager`."""
        known = self._own()
        return {**super().get_state(), **{key: getattr(known, name) for key, name in self.stored}}

    def restore_from_session(self, state: dict[str, Any]) -> list[Message] | None:
        """Takes the state back, also that of Strands' class of this name.

        Raises:
            ValueError: If it is the state of another class, or none.
        """
        head = super().restore_from_session(state)
        known, new = self._own(), self.state_type()
        for key, name in self.stored:
            setattr(known, name, state.get(key, getattr(new, name)))
        return head

    def _pin_first(self, messages: list[Any], known: _State) -> None:
        """Pins the first messages, once."""
        if self.pin_first and not known.pinned_first:
            messages[: self.pin_first] = map(with_pin, messages[: self.pin_first])
            known.pinned_first = True

    def _begun(self, agent: Any) -> _State:
        # What was restored before there was an agent is the first that comes.
        return self.state_type() if agent is self else replace(self._known.of(self))

    def _own(self) -> _State:
        agent = self._bound()
        return self._known.of(self if agent is None else agent)
