"""System prompts that a provider keeps in its prompt cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.strands.agents import last_answer, model_id, usage_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strands.types.content import SystemContentBlock

# Share of a prompt that must have come from the cache for the conversation to count as cached:
# less is a system prompt that anything keeps, and no reason to put off a reduction.
_MOSTLY = 0.5

# Model families that Bedrock caches prompts of; it refuses a cache point in a request to any other.
# https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
_BEDROCK_FAMILIES = ("anthropic.", "claude", "amazon.nova")
_ANTHROPIC = ("anthropic", "claude")


def supports_prompt_cache(model: Any) -> bool:
    """Returns True if the provider of a model takes cache points in a system prompt.

    Amazon Bedrock does for Claude and Nova, Anthropic's own interface does, and LiteLLM where it
    leads to Claude. Others are sent plain text.
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
        The blocks with a cache point behind them where the provider supports that, and the plain
        text otherwise. An empty prompt stays what it is: providers refuse to cache nothing.
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
    said = getattr(agent, "_prompt_cache_hit", None)
    if isinstance(said, bool):
        return said
    messages = getattr(agent, "messages", None)
    if not isinstance(messages, list):
        return False
    prompt, read = usage_counts(last_answer(messages)[1])
    return bool(read and prompt and read >= _MOSTLY * prompt)
