"""Recognizes the errors by which providers refuse a request as too long."""

from __future__ import annotations

import re

# The words of Gemini, Vertex, Anthropic, Bedrock and OpenAI, and the names of the errors of
# LiteLLM, LangChain, Pydantic AI and Strands.
_TOO_LONG = re.compile(
    r"exceeds? the maximum number of (?:input )?tokens"
    r"|input token count\b.{0,60}\bexceeds"
    r"|prompt is too long"
    r"|input is too long"
    r"|context[_ ](?:length|window)[_ ]?exceeded"
    r"|context(?:window)?(?:exceeded|overflow)"
    r"|maximum context length"
    r"|exceeds? (?:(?:the|your) )?(?:model'?s? )?context (?:window|length|limit)"
    r"|request payload size exceeds"
    r"|too many (?:total )?(?:text bytes|input tokens)",
    re.IGNORECASE,
)

# The tokens that the provider counted, if it says so: "The input token count (1,200,000) exceeds",
# "prompt is too long: 210000 tokens > 200000 maximum", "your messages resulted in 130000 tokens".
_COUNTED = re.compile(
    r"input token count\s*(?:is\s*)?\(?\s*(\d[\d,]*)"
    r"|too long:\s*(\d[\d,]*)\s*tokens"
    r"|resulted in\s*(\d[\d,]*)\s*tokens",
    re.IGNORECASE,
)

# A quota speaks of tokens too, but a shorter request does not help.
_TOO_MANY_REQUESTS = 429
# The body of the request is too large: Anthropic's limit of 32 MB, and those of proxies.
_TOO_LARGE = 413

# An exception chain that is longer than this is a loop.
_MOST_CAUSES = 8


def is_overflow(error: BaseException) -> bool:
    """True if a provider refused a request because it is too long, so that a shorter one may pass.

    It reads the status, the code, the class name and the text of the error and of its causes, as
    the SDKs of OpenAI, Anthropic, Google and AWS, LiteLLM, LangChain, Pydantic AI and Strands
    raise them. A quota (status 429) is not an overflow. O(length of the text).

    Args:
        error: Any exception that a request raised.
    """
    statuses = {getattr(error, name, None) for name in ("status_code", "code", "status")}
    if _TOO_MANY_REQUESTS in statuses:
        return False
    return _TOO_LARGE in statuses or _TOO_LONG.search(_text(error)) is not None


def counted_tokens(error: BaseException) -> int | None:
    """Returns the tokens that the provider counted in a refused request, or None."""
    found = _COUNTED.search(_text(error))
    if found is None:
        return None
    digits = next(group for group in found.groups() if group)
    return int(digits.replace(",", ""))


def _text(error: BaseException) -> str:
    """Returns the names, codes and texts of an error and of its causes."""
    words: list[str] = []
    current: BaseException | None = error
    while current is not None and len(words) < _MOST_CAUSES:
        words.append(f"{type(current).__name__}: {getattr(current, 'code', None)} {current}")
        current = current.__cause__ or current.__context__
    return "\n".join(words)
