"""Checks the settings of a context, and turns them into a policy."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from ullage._core import Policy, PolicyError
from ullage._engine.arguments import require_bool, require_choice, require_number, require_share

if TYPE_CHECKING:
    from collections.abc import Mapping

StrategyName: TypeAlias = Literal["simple", "smart", "custom"]
Verbosity: TypeAlias = Literal["off", "minimal", "normal", "verbose"]

# The levels of Amplifier.
LEVELS = 8
# The smallest valid value of each whole number.
_LEAST = {
    "max_tokens": 1,
    "protected_tool_results": 0,
    "truncate_chars": 1,
    "compaction_notice_token_reserve": 0,
    "compaction_notice_min_level": 0,
    "keep_last": 0,
}
# Numbers from 0 to 1. The last two are shares of the budget and must be above 0.
_SHARES = ("protected_recent", "truncate_boundary", "compact_threshold", "target_usage")
_FLAGS = ("compaction_notice_enabled", "auto_compact", "export_on_compact", "lock")
_STRATEGIES, _VERBOSITIES = get_args(StrategyName), get_args(Verbosity)

# Amplifier counts four characters as a token. This converts its sizes in characters to tokens.
CHARACTERS_A_TOKEN = 4
# The share of the target for an account with a line for each statement of a long conversation. The
# account leaves less room for lines that tools printed. In 87 cuts of recorded coding sessions,
# 89.8 % of the later needed names were kept with an account of 700 tokens, and 91.4 % without one.
_ACCOUNT_SHARE = 0.2
# The levels of "amplifier-smart" that do not shorten the last results.
_RESULT_LEVELS = (0, 1, 3, 5)
# The shares of the tool results that the first two levels may shorten, times `truncate_boundary`.
_FIRST_RESULTS = (0.5, 1.0)


def require(settings: Mapping[str, Any]) -> None:
    """Checks settings by their names. Unknown names are ignored.

    Raises:
        PolicyError: If a setting is invalid. It names the setting.
    """
    for name, value in settings.items():
        if name in _LEAST:
            most = LEVELS if name == "compaction_notice_min_level" else None
            require_number(name, value, least=_LEAST[name], most=most)
        elif name in _SHARES:
            require_share(name, value, above_zero=name in _SHARES[2:])
        elif name in _FLAGS:
            require_bool(name, value)
        elif name == "compaction_strategy":
            require_choice(name, value, _STRATEGIES)
        elif name == "compaction_notice_verbosity":
            require_choice(name, value, _VERBOSITIES)
    if settings.get("compaction_strategy") == "custom" and not settings.get("compaction_function"):
        raise PolicyError("compaction_strategy 'custom' needs a compaction_function; pass one")


@dataclass(frozen=True)
class CompactionSettings:
    """The settings of a ``SimpleContextManager`` that affect a compaction."""

    compaction_strategy: StrategyName
    compact_threshold: float
    target_usage: float
    keep_last: int
    protected_recent: float
    protected_tool_results: int
    truncate_boundary: float
    truncate_chars: int

    @classmethod
    def of(cls, context: object) -> CompactionSettings:
        """Returns the current settings of a context."""
        return cls(**{field.name: getattr(context, field.name) for field in fields(cls)})

    def policy(self, room: int, *, with_account: bool = False) -> Policy:
        """Returns the preset of the strategy with these settings.

        Args:
            room: The tokens of the request.
            with_account: True if "smart" adds an account of requests, statements and decisions
                before the lines that are likely to be needed.

        Raises:
            PolicyError: If a setting is out of range.
        """
        # A host may change the attribute after the context is created.
        require_choice("compaction_strategy", self.compaction_strategy, _STRATEGIES)
        is_simple = self.compaction_strategy == "simple"
        preset = Policy.preset("amplifier-simple" if is_simple else "amplifier-smart")
        changes = self._simple() if is_simple else self._smart()
        if with_account:
            changes |= {
                "stages": [*preset.stages, "summarize"],
                "summaries": "always",
                "summary_tokens": max(1, int(room * self.target_usage * _ACCOUNT_SHARE)),
            }
        return preset.replace(window=room, reserve_output=0, high=self.compact_threshold, **changes)

    def _simple(self) -> dict[str, Any]:
        return {
            "escalate": self.compact_threshold,
            "keep_recent": self.keep_last,
            "offload_preview": self._preview,
        }

    def _smart(self) -> dict[str, Any]:
        low = min(self.target_usage, self.compact_threshold)
        levels: dict[int, dict[str, Any]] = {
            number: {"keep_results": self.protected_tool_results} for number in _RESULT_LEVELS
        }
        for number, part in enumerate(_FIRST_RESULTS):
            levels[number]["results"] = self.truncate_boundary * part
        return {
            "low": low,
            "escalate": low,
            "keep_recent_share": self.protected_recent,
            "offload_above": self._preview,
            "offload_preview": self._preview,
            "compress_to": self._preview,
            "levels": levels,
        }

    @property
    def _preview(self) -> int:
        return max(1, self.truncate_chars // CHARACTERS_A_TOKEN)
