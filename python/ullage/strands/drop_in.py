"""The base of the managers that replace those of Strands under the same names."""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from strands.hooks import AfterModelCallEvent

from ullage import TokenCounter
from ullage.strands.agents import PerAgent
from ullage.strands.engines import Refusals
from ullage.strands.history import with_pin
from ullage.strands.session import RestorableConversationManager

if TYPE_CHECKING:
    from collections.abc import Awaitable, Container

    from strands.hooks import HookRegistry
    from strands.types.content import Message

# Strands keeps so many characters at each end of a text, and this mark between them.
_KEPT = 200
_MARK = "... [truncated:"

# It compares messages with one another, so a rough count will do.
_COUNTER = TokenCounter.with_ratio(4)

# The share that has to be removed before a refused request is sent again. The rest fits more often
# than not; if the provider refuses it too, three tenths of it are removed again.
_SHARE = 0.3


@dataclass
class DropInState:
    """The state of one agent.

    Attributes:
        refusals: Refusals since the provider last answered.
        pinned_first: True once the first messages were pinned.
        model_calls: Number of model calls; ``per_turn`` may apply the window every few of them.
        summary: The last summary.
    """

    refusals: Refusals = field(default_factory=Refusals)
    pinned_first: bool = False
    model_calls: int = 0
    summary: Any = None


class DropInConversationManager(RestorableConversationManager):
    """A manager with a state for each agent, which a session keeps.

    A subclass has ``pin_first`` from the class of Strands that it takes the place of.

    Attributes:
        stored: The attributes of ``DropInState`` that a session keeps, as pairs of the name in
            the session and the name of the attribute.
    """

    pin_first: int | None
    stored: tuple[tuple[str, str], ...]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._known: PerAgent[DropInState] = PerAgent(self._new_state)

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Registers the hooks of Strands' manager, and one for refusals and answers."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(AfterModelCallEvent, self._after_model_call)

    @abstractmethod
    def _after_model_call(self, event: AfterModelCallEvent) -> Awaitable[None] | None:
        """Handles an answer, or a refusal."""

    def get_state(self) -> dict[str, Any]:
        """Returns what a session keeps, see :class:`RestorableConversationManager`."""
        known = self._own_state()
        return {**super().get_state(), **{key: getattr(known, name) for key, name in self.stored}}

    def restore_from_session(self, state: dict[str, Any]) -> list[Message] | None:
        """Takes the state back, also that of Strands' class of this name.

        Raises:
            ValueError: If it is the state of another class, or none.
        """
        head = super().restore_from_session(state)
        known, new = self._own_state(), DropInState()
        for key, name in self.stored:
            setattr(known, name, state.get(key, getattr(new, name)))
        return head

    def _pin_first(self, messages: list[Any], known: DropInState) -> None:
        """Pins the first messages, once."""
        if self.pin_first and not known.pinned_first:
            messages[: self.pin_first] = map(with_pin, messages[: self.pin_first])
            known.pinned_first = True

    def _new_state(self, agent: Any) -> DropInState:
        # A state that was restored before an agent was known is that of the next agent.
        return DropInState() if agent is self else replace(self._known.of(self))

    def _own_state(self) -> DropInState:
        agent = self._agent()
        return self._known.of(self if agent is None else agent)


def truncate_results(messages: list[Any], spared: Container[int]) -> bool:
    """Shortens tool results in place, and returns True if there was one to shorten.

    The largest are shortened first, wherever they stand, until three tenths of the conversation are
    removed. A text keeps its first and last 200 characters, JSON becomes such a text, and a picture
    or a document becomes a note. The status of a result stays, and so does a text that would become
    longer.

    Args:
        messages: The messages.
        spared: Indices of those that stay as they are.

    Cost: one pass over all texts.
    """
    whole, found = 0, []
    for index, message in enumerate(messages):
        size = _tokens(message)
        whole += size
        if index in spared:
            continue
        content = [_truncate_block(block) for block in message["content"]]
        if any(new is not old for new, old in zip(content, message["content"], strict=True)):
            shorter = {**message, "content": content}
            found.append((size - _tokens(shorter), index, shorter))
    gone = 0
    for gain, index, message in sorted(found, key=lambda each: (-each[0], each[1])):
        messages[index] = message
        gone += gain
        if gone >= whole * _SHARE:
            break
    return bool(found)


def _tokens(message: Any) -> int:
    return _COUNTER.count_messages([message], "bedrock")


def _truncate_block(block: Any) -> Any:
    """Returns the block, or a copy if something in it is shorter."""
    result = block.get("toolResult")
    if result is None:
        return block
    items = result.get("content") or []
    shorter = [_truncate_item(item) for item in items]
    if all(new is old for new, old in zip(shorter, items, strict=True)):
        return block
    return {**block, "toolResult": {**result, "content": shorter}}


def _truncate_item(item: Any) -> Any:
    for kind in ("image", "document", "video"):
        if kind in item:
            return {"text": _media_note(kind, item[kind])}
    text = item.get("text")
    if text is None and "json" in item:
        text = json.dumps(item["json"], ensure_ascii=False, default=str)
    if not isinstance(text, str) or _MARK in text:
        return item
    removed = len(text) - 2 * _KEPT
    mark = f"...\n\n{_MARK} {removed} chars removed] ...\n\n..."
    return {"text": text[:_KEPT] + mark + text[-_KEPT:]} if removed > len(mark) else item


def _media_note(kind: str, medium: Any) -> str:
    source = medium.get("source") or {}
    data = source.get("bytes") or b""
    name = f", {medium['name']}" if medium.get("name") else ""
    return f"[{kind}: {medium.get('format', 'unknown')}{name}, {len(data)} bytes]"
