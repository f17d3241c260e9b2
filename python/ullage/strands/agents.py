"""The state of each agent, and its model, tools, last answer, usage and prompt cache."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary, ref

from ullage._engine.logger import Logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strands.types.content import SystemContentBlock

logger = Logger(__name__)

_State = TypeVar("_State")


# The share of a prompt that must come from the cache for the conversation to count as cached. Less
# is only a cached system prompt, which a reduction does not change.
_MOSTLY = 0.5

# Model families that Bedrock caches prompts of; it refuses a cache point in a request to any other.
# https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
_BEDROCK_FAMILIES = ("anthropic.", "claude", "amazon.nova")
_ANTHROPIC = ("anthropic", "claude")


class PerAgent(Generic[_State]):
    """A state for each agent, for as long as the agent lives.

    One manager may serve the agents of a swarm in several threads. Each agent has a state of its
    own.

    Args:
        make: Makes the state of an agent that is seen for the first time.
    """

    def __init__(self, make: Callable[[Any], _State]) -> None:
        self._make = make
        self._lock = threading.RLock()
        self._states: WeakKeyDictionary[Any, _State] = WeakKeyDictionary()
        # The attribute that holds the state of an object without weak references or a hash. Hosts
        # pass such objects in place of agents.
        self._name = f"_ullage_{id(self)}"

    def of(self, agent: Any) -> _State:
        """Returns the state of this agent."""
        with self._lock:
            states, key = self._place(agent)
            if key not in states:
                states[key] = self._make(agent)
            state: _State = states[key]
            return state

    def move(self, source: Any, target: Any) -> None:
        """Gives the state of one object to another that has none yet."""
        with self._lock:
            states, key = self._place(source)
            if key in states:
                state = states.pop(key)
                states, key = self._place(target)
                states.setdefault(key, state)

    def agents(self) -> list[Any]:
        """Returns the agents that still live."""
        with self._lock:
            return list(self._states)

    def _place(self, agent: Any) -> tuple[MutableMapping[Any, Any], Any]:
        """Returns the mapping that holds the state of an agent, and the key in it."""
        try:
            hash(agent)
            ref(agent)
        except TypeError:
            return vars(agent), self._name
        return self._states, agent


def reference(agent: Any) -> Callable[[], Any]:
    """Returns a function that returns the agent, or None once the agent is gone.

    An object that cannot be referred to weakly is kept alive.
    """
    try:
        return ref(agent)
    except TypeError:
        return lambda: agent


_SEAMS: PerAgent[list[str]] = PerAgent(lambda _: [])


def note_seam(agent: Any, name: str) -> None:
    """Notes that a seam reduces the context of an agent. Warns if the agent has one already."""
    seams = _SEAMS.of(agent)
    seams.append(name)
    if len(seams) > 1:
        logger.warning(
            "agent=<%s>, seams=<%s> | ullage is attached more than once; use only one",
            getattr(agent, "name", None),
            ", ".join(seams),
        )


def model_id(model: Any) -> str | None:
    """Returns the id of a model, or None."""
    try:
        config = model.get_config() if hasattr(model, "get_config") else None
    except Exception:  # noqa: BLE001 - the id is unknown then
        return None
    identity = config.get("model_id") if isinstance(config, Mapping) else None
    return identity if isinstance(identity, str) else None


def model_window(model: Any) -> int | None:
    """Returns the window of a model, or None if the model has no such number."""
    window = getattr(model, "context_window_limit", None)
    return window if isinstance(window, int) and _is_count(window) and window > 0 else None


def tool_specs(agent: Any) -> list[Any] | None:
    """Returns the tool definitions of an agent, to be counted. Do not change them."""
    registry = getattr(agent, "tool_registry", None)
    if registry is None:
        return None
    # Not `get_all_tool_specs`, which checks and copies each definition.
    tools = {**registry.registry, **registry.dynamic_tools}
    return [tool.tool_spec for tool in tools.values()]


def last_answer(messages: list[Any]) -> tuple[int, Any]:
    """Returns the index of the last answer of the model and the answer, or 0 and None."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, Mapping) and message.get("role") == "assistant":
            return index, message
    return 0, None


def usage_counts(answer: Any) -> tuple[int | None, int | None]:
    """Returns the tokens of an answer's whole prompt, and of them those read from a cache."""
    metadata = answer.get("metadata") if isinstance(answer, Mapping) else None
    usage = metadata.get("usage") if isinstance(metadata, Mapping) else None
    if not isinstance(usage, Mapping):
        return None, None
    cached = usage.get("cacheReadInputTokens")
    return prompt_tokens(usage), cached if _is_count(cached) else None


def prompt_tokens(usage: Mapping[str, Any]) -> int | None:
    """Returns the tokens of the whole prompt, cached parts included.

    Some providers include cached parts in ``inputTokens``, others do not. The total shows which.
    """
    inputs: Any = usage.get("inputTokens")
    outputs: Any = usage.get("outputTokens") or 0
    cached = [usage.get("cacheReadInputTokens") or 0, usage.get("cacheWriteInputTokens") or 0]
    if not all(_is_count(count) for count in (inputs, outputs, *cached)):
        return None
    inside = inputs + outputs == usage.get("totalTokens")
    return int(inputs if inside else inputs + sum(cached))


def supports_prompt_cache(model: Any) -> bool:
    """Returns True if the provider of a model takes cache points in a system prompt.

    Those are Amazon Bedrock for Claude and Nova, Anthropic's own interface, and LiteLLM for Claude.
    """
    # By name: each of these classes needs the package of its provider to be imported.
    names = {base.__name__ for base in type(model).__mro__}
    identity = (model_id(model) or "").lower()
    if "BedrockModel" in names:
        return any(family in identity for family in _BEDROCK_FAMILIES)
    if "LiteLLMModel" in names:
        return any(family in identity for family in _ANTHROPIC)
    return "AnthropicModel" in names


def system_prompt_for(
    prompt: str | Sequence[SystemContentBlock], model: Any
) -> str | list[SystemContentBlock]:
    """Returns a system prompt in the shape in which the provider of ``model`` can cache it.

    Args:
        prompt: The text, or its blocks.
        model: The model that it is for.

    Returns:
        The blocks and a cache point if the provider supports that, otherwise the plain text. An
        empty prompt gets no cache point, because providers refuse it.
    """
    blocks: list[SystemContentBlock] = [{"text": prompt}] if isinstance(prompt, str) else [*prompt]
    texts = [block["text"] for block in blocks if "text" in block]
    if not any(texts) or not supports_prompt_cache(model):
        return "\n".join(texts)
    if any("cachePoint" in block for block in blocks):
        return blocks
    return [*blocks, {"cachePoint": {"type": "default"}}]


def is_prompt_cached(agent: Any) -> bool:
    """Returns True if the provider answered the last prompt of an agent mostly from its cache.

    If the agent has ``_prompt_cache_hit``, that decides; otherwise the usage of its last answer.
    """
    is_hit = getattr(agent, "_prompt_cache_hit", None)
    if isinstance(is_hit, bool):
        return is_hit
    messages = getattr(agent, "messages", None)
    if not isinstance(messages, list):
        return False
    prompt, read = usage_counts(last_answer(messages)[1])
    return bool(read and prompt and read >= _MOSTLY * prompt)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
