"""What providers say when a prompt is longer than the model's window."""

from __future__ import annotations

import re

# The words of Gemini, Vertex, Anthropic, Bedrock, OpenAI, and of litellm around them.
_SAYS_SO = re.compile(
    r"exceeds? the maximum number of (?:input )?tokens"
    r"|input token count\b.{0,60}\bexceeds"
    r"|prompt is too long"
    r"|input is too long"
    r"|context[_ ](?:length|window)[_ ]?exceeded"
    r"|contextwindowexceeded"
    r"|maximum context length"
    r"|exceeds? (?:the )?(?:model'?s? )?context (?:window|length|limit)"
    r"|request payload size exceeds"
    r"|too many (?:total )?(?:text bytes|input tokens)",
    re.IGNORECASE,
)

# What the provider counted, where it says so: "The input token count (1,200,000) exceeds ...",
# "prompt is too long: 210000 tokens > 200000 maximum", "your messages resulted in 130000 tokens".
_COUNTED = re.compile(
    r"input token count\s*(?:is\s*)?\(?\s*(\d[\d,]*)"
    r"|too long:\s*(\d[\d,]*)\s*tokens"
    r"|resulted in\s*(\d[\d,]*)\s*tokens",
    re.IGNORECASE,
)

# The status of a quota, whose words are of tokens too.
_TOO_MANY_REQUESTS = 429

# An exception chain that is longer than this is a loop.
_MOST_CAUSES = 8


def is_overflow(error: BaseException) -> bool:
    """Whether a provider refused a prompt for its length, rather than for too many in a minute."""
    if getattr(error, "code", None) == _TOO_MANY_REQUESTS:
        return False
    return _SAYS_SO.search(_said(error)) is not None


def counted_tokens(error: BaseException) -> int | None:
    """How many tokens the provider counted in it, where it says so."""
    found = _COUNTED.search(_said(error))
    if found is None:
        return None
    digits = next(group for group in found.groups() if group)
    return int(digits.replace(",", ""))


def _said(error: BaseException) -> str:
    """The names and words of an error and of those that caused it."""
    words: list[str] = []
    current: BaseException | None = error
    while current is not None and len(words) < _MOST_CAUSES:
        words.append(f"{type(current).__name__}: {current}")
        current = current.__cause__ or current.__context__
    return "\n".join(words)
