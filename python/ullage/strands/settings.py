"""The numbers of the cascade, and the environment variables that change them."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from ullage._engine.logger import Logger

if TYPE_CHECKING:
    from collections.abc import Mapping

logger = Logger(__name__)

PREFIX = "CYBER_"

# The window that Strands itself assumes of an unknown model.
UNKNOWN_WINDOW = 200_000
# Share of the limit above which a prompt that was never reduced is worth a warning.
NO_REDUCTION_WARNING_RATIO = 0.8
# Share of the window, in messages, from which on tool results are compressed.
PROACTIVE_COMPRESSION_THRESHOLD = 0.7
# Share of the limit above which one reduction was not enough.
ESCALATION_THRESHOLD_RATIO = 0.9
# Share of the window, in messages, above which the oldest messages leave.
WINDOW_OVERFLOW_THRESHOLD = 1.0
# Whatever relaxes the threshold, it stays below this share.
MAX_THRESHOLD_RATIO = 0.98
ESCALATION_MAX_PASSES = 2
ESCALATION_MAX_TIME_SECONDS = 30.0
# Conversations of so few messages are left alone.
SMALL_CONVERSATION_THRESHOLD = 3
# Reductions that an agent remembers.
MAX_REDUCTION_HISTORY = 5

# The formula of the estimate adds these to the messages, and the last one to each message.
SYSTEM_PROMPT_OVERHEAD_TOKENS = 8_000
TOOL_DEFINITIONS_OVERHEAD_TOKENS = 3_000
PROMPT_OVERHEAD_TOKENS = SYSTEM_PROMPT_OVERHEAD_TOKENS + TOOL_DEFINITIONS_OVERHEAD_TOKENS
MESSAGE_METADATA_OVERHEAD_TOKENS = 50
DEFAULT_CHAR_TO_TOKEN_RATIO = 3.7

# A result above so many characters is compressed, down to so many.
TOOL_COMPRESS_THRESHOLD = 10_000
# Keys of an object and elements of a list that stay, and characters of each value of an object.
TOOL_COMPRESS_SAMPLES = 3
TOOL_COMPRESS_SAMPLE_CHARS = 100

# The least messages of the last zone, if it is not set.
PRESERVE_LAST_LEAST = 8
# Shares of the window: of the last zone, and of both together at most.
PRESERVE_LAST_SHARE = 0.15
PRESERVE_SHARE_MOST = 0.5

# The ranges of the variables. A share of nothing would reduce always, a share of all never.
_RANGES: dict[str, tuple[float, float]] = {
    "context_limit": (1, math.inf),
    "prompt_telemetry_threshold": (0.1, 0.95),
    "prompt_cache_relax": (0.0, 0.3),
    "tool_compress_truncate": (1, math.inf),
    "tool_max_result_chars": (1, math.inf),
    "tool_result_artifact_threshold": (1, math.inf),
    "conversation_window": (1, math.inf),
    "conversation_preserve_first": (0, math.inf),
    "conversation_preserve_last": (0, math.inf),
}


@dataclass(frozen=True)
class CascadeSettings:
    """The settings of the environment. Each field is the variable of its name after the prefix.

    Attributes:
        context_limit: Tokens of the window, if neither agent nor model has a limit.
        prompt_telemetry_threshold: Share of the limit from which on a prompt is reduced.
        prompt_cache_relax: Added to that share while the provider answers from its prompt cache.
        prompt_cache_hint: True if the cache is in use, whatever the provider reports.
        tool_compress_truncate: Characters that stay of a compressed tool result.
        tool_max_result_chars: The most characters of a result in the conversation.
        tool_result_artifact_threshold: Characters above which a result becomes an artifact.
        conversation_window: Messages of the window.
        conversation_preserve_first: Messages of the first zone.
        conversation_preserve_last: Messages of the last zone; None for a share of the window.
    """

    context_limit: int = UNKNOWN_WINDOW
    prompt_telemetry_threshold: float = 0.65
    prompt_cache_relax: float = 0.1
    prompt_cache_hint: bool = False
    tool_compress_truncate: int = 8_000
    tool_max_result_chars: int = 30_000
    tool_result_artifact_threshold: int = 10_000
    conversation_window: int = 100
    conversation_preserve_first: int = 1
    conversation_preserve_last: int | None = None

    @classmethod
    def from_env(
        cls, prefix: str = PREFIX, environ: Mapping[str, str] | None = None
    ) -> CascadeSettings:
        """Returns the settings of the environment, such as ``CYBER_CONTEXT_LIMIT``.

        A number out of range is clamped. A value that is not a number is ignored, with a warning.

        Args:
            prefix: The prefix of the names.
            environ: The variables; those of the process if not given.
        """
        environ = os.environ if environ is None else environ
        given: dict[str, Any] = {}
        for field in fields(cls):
            name = prefix + field.name.upper()
            text = environ.get(name, "").strip()
            if not text:
                continue
            try:
                given[field.name] = _value(field.name, text)
            except ValueError as error:
                logger.warning("variable=<%s>, error=<%s> | the default is used", name, error)
        return replace(cls(), **given)

    def relaxed_threshold(self, *, cached: bool) -> float:
        """Returns the share of the limit from which on a prompt is reduced."""
        relaxed = self.prompt_cache_relax if cached or self.prompt_cache_hint else 0.0
        return min(self.prompt_telemetry_threshold + relaxed, MAX_THRESHOLD_RATIO)


def zones(window: int, first: int, last: int | None) -> tuple[int, int]:
    """Returns the messages of the first and the last zone, together at most half of the window.

    If ``last`` is None, the last zone is 15 % of the window and at least eight.
    """
    window, first = max(1, window), max(0, first)
    if last is None:
        last = max(PRESERVE_LAST_LEAST, int(window * PRESERVE_LAST_SHARE))
    most = int(window * PRESERVE_SHARE_MOST)
    # The first request always stays, even if the window has no room for a zone.
    first = min(first, max(most, 1))
    return first, min(max(0, last), max(0, most - first))


def _value(name: str, text: str) -> Any:
    if name == "prompt_cache_hint":
        return text.lower() in {"1", "true", "yes", "on"}
    number = float(text)
    if math.isnan(number):
        raise ValueError("it is not a number")
    low, high = _RANGES[name]
    number = min(max(number, low), high)
    if name in {"prompt_telemetry_threshold", "prompt_cache_relax"}:
        return number
    if math.isinf(number):
        raise ValueError("it is without end")
    return int(number)


# The names under which Cyber-AutoAgent exports its settings. As there, they are read from the
# environment once, when the module is imported.
_ENVIRONMENT = CascadeSettings.from_env()
CONTEXT_LIMIT = PROMPT_TOKEN_FALLBACK_LIMIT = _ENVIRONMENT.context_limit
PROMPT_TELEMETRY_THRESHOLD = _ENVIRONMENT.prompt_telemetry_threshold
PROMPT_CACHE_RELAX = _ENVIRONMENT.prompt_cache_relax
TOOL_COMPRESS_TRUNCATE = _ENVIRONMENT.tool_compress_truncate
