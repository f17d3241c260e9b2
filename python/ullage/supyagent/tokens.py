"""Counts tokens and looks up windows, with Supyagent's function names.

Supyagent counts every model with ``cl100k_base``. ullage counts each model with the tokenizer of
its family, so a Japanese text for GPT-4o no longer counts a third too much. The text of a special
token, such as ``<|endoftext|>``, counts as ordinary text. No vocabulary is downloaded.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ullage import ModelCatalog
from ullage._engine.counting import count_messages, counter_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ullage import TokenCounter

# The public encodings, by a part of the model's id. The first match is used. Claude's and Gemini's
# tokenizers are not public. They have the name that Supyagent uses, and their counts are estimates.
MODEL_ENCODINGS = {
    "gpt-4o": "o200k_base",
    "gpt-4.1": "o200k_base",
    "gpt-5": "o200k_base",
    "gpt-4": "cl100k_base",
    "gpt-3.5": "cl100k_base",
    "claude": "cl100k_base",
    "default": "cl100k_base",
}

# Supyagent's windows by a part of the model's id, for models that are in no other table.
CONTEXT_LIMITS = {
    "gpt-4o": 128_000,
    "gpt-4-turbo": 128_000,
    "gpt-4": 8_192,
    "gpt-3.5-turbo": 16_384,
    "claude-3-5-sonnet": 200_000,
    "claude-3-opus": 200_000,
    "claude-3-haiku": 200_000,
    "claude-4": 200_000,
    "gemini-2": 1_048_576,
    "gemini-3": 1_048_576,
    "gemini-1.5": 1_048_576,
    "gemini-pro": 32_768,
    "llama": 128_000,
    "mistral": 128_000,
    "qwen": 128_000,
    "kimi": 128_000,
    "deepseek": 64_000,
    "default": 128_000,
}

DEFAULT_MODEL = "default"
# Supyagent adds this to the messages of a request.
CONVERSATION_TOKENS = 3
# The format of Supyagent's messages.
FORMAT = "openai"
_CATALOG = ModelCatalog(litellm="auto")


def _matching(table: Mapping[str, Any], model: str) -> Any:
    matches = (value for name, value in table.items() if name in model.lower())
    return next(matches, table["default"])


def counter_of(model: str = DEFAULT_MODEL) -> TokenCounter:
    """Returns the counter for a model. All callers share the counter and its cache."""
    return counter_for(MODEL_ENCODINGS["default"] if model == DEFAULT_MODEL else model)


def get_encoding(model: str = DEFAULT_MODEL) -> TokenCounter:
    """Returns the counter of the public encoding that is nearest to a model's tokenizer.

    The counter has the ``name`` of the encoding.
    """
    return counter_for(_matching(MODEL_ENCODINGS, model))


def count_tokens(text: str, model: str = DEFAULT_MODEL) -> int:
    """Returns the tokens of a text, as :meth:`TokenCounter.for_model` counts them. O(length)."""
    return counter_of(model).count(text) if text else 0


def count_message_tokens(message: Mapping[str, Any], model: str = DEFAULT_MODEL) -> int:
    """Returns the tokens of a message with its frame. Pictures count by their size."""
    return count_messages(counter_of(model), [message], FORMAT)


def count_messages_tokens(messages: Iterable[Mapping[str, Any]], model: str = DEFAULT_MODEL) -> int:
    """Returns the tokens of the messages of a request."""
    return count_messages(counter_of(model), list(messages), FORMAT) + CONVERSATION_TOKENS


def count_tools_tokens(tools: list[dict[str, Any]] | None, model: str = DEFAULT_MODEL) -> int:
    """Returns the tokens of tool definitions, written as JSON."""
    return count_tokens(json.dumps(tools, default=str), model) if tools else 0


def get_context_limit(model: str) -> int:
    """Returns the greatest number of tokens in a request to a model.

    Uses the table of litellm if litellm is installed, and otherwise the built-in table. For a model
    that is in neither table, ``CONTEXT_LIMITS`` is used, and at last 128,000.
    """
    limits = _CATALOG.limits(model)
    if limits.source == "default":
        return int(_matching(CONTEXT_LIMITS, model))
    return limits.max_input
