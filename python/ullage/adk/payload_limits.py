"""The sizes of large results, and the kinds of data of known tools."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage._core import Payload

# The kinds of the results of known tools, as the core names them. The rows decide, not the name.
KIND_OF_TOOL: dict[str, str] = {
    "list_log_entries": "logs",
    "mcp_list_log_entries": "logs",
    "list_error_events": "logs",
    "extract_log_patterns": "logs",
    "fetch_trace": "traces",
    "list_traces": "traces",
    "analyze_trace_comprehensive": "traces",
    "list_time_series": "time_series",
    "mcp_list_timeseries": "time_series",
    "query_promql": "time_series",
    "mcp_query_range": "time_series",
    "analyze_aggregate_metrics": "metrics",
}

# A list of many items in fewer characters is about as long as its replacement: a thousand
# tokens, as estimated.
_WORTH_REPLACING = 4_000


@dataclass(frozen=True)
class PayloadLimits:
    """The sizes from which on a result is large.

    Args:
        enabled: If False, no result is large.
        items: A list of more items is large, unless it has few characters. Keys are not items.
        chars: A result of more characters as compact JSON is large.
    """

    enabled: bool = True
    items: int = 50
    chars: int = 100_000

    @classmethod
    def from_env(
        cls, prefix: str = "SRE_AGENT_LARGE_PAYLOAD_", environ: Mapping[str, str] | None = None
    ) -> PayloadLimits:
        """Returns the limits of the environment variables.

        ``SRE_AGENT_LARGE_PAYLOAD_ENABLED`` turns all of it off with "false", "0", "no" or "off";
        ``..._THRESHOLD_ITEMS`` and ``..._THRESHOLD_CHARS`` are whole numbers. An
        invalid or negative value counts as not set.
        """
        environ = os.environ if environ is None else environ
        enabled = environ.get(f"{prefix}ENABLED", "true").strip().lower()
        return cls(
            enabled=enabled not in {"false", "0", "no", "off"},
            items=_number(environ.get(f"{prefix}THRESHOLD_ITEMS"), cls.items),
            chars=_number(environ.get(f"{prefix}THRESHOLD_CHARS"), cls.chars),
        )

    def is_large(self, payload: Payload) -> bool:
        """True if a payload is above a limit."""
        many = payload.items > self.items and payload.chars > min(_WORTH_REPLACING, self.chars)
        return many or payload.chars > self.chars


def _number(text: str | None, default: int) -> int:
    try:
        number = int((text or "").replace(",", "").replace("_", "").strip())
    except ValueError:
        return default
    return number if number >= 0 else default
