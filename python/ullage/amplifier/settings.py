"""The settings of a context manager, and the policy of the engine that they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from ullage._core import Policy, PolicyError

StrategyName: TypeAlias = Literal["simple", "smart", "custom"]
STRATEGIES = get_args(StrategyName)
Verbosity: TypeAlias = Literal["off", "minimal", "normal", "verbose"]
VERBOSITIES = get_args(Verbosity)

# Amplifier counts four characters for a token; its sizes in characters are tokens here by that.
CHARACTERS_A_TOKEN = 4
# The room of an account, as a share of what a compaction goes down to: a line for each statement of
# a long talk. It is taken from lines that tools printed: in 87 cuts of recorded coding sessions one
# of 700 tokens left 89.8 % of the names that were needed later, where without it 91.4 % were left.
_ACCOUNT_SHARE = 0.2
# The levels of "amplifier-smart" that spare the last results.
_RESULT_LEVELS = (0, 1, 3, 5)
# The tool results that its first two levels may shorten, as parts of `truncate_boundary`.
_FIRST_RESULTS = (0.5, 1.0)


@dataclass(frozen=True)
class Settings:
    """The sizes that shape a compaction.

    Attributes:
        strategy: "simple", "smart" or "custom".
        threshold: Share of the budget at which it starts.
        target: Share of the budget to which "smart" goes down.
        keep: Messages at the end that "simple" keeps.
        recent: Share of the messages, the newest, that "smart" leaves alone as long as it can.
        results: Tool results at the end that "smart" leaves alone as long as it can.
        boundary: Share of the tool results, the oldest, that "smart" shortens before messages go.
        shorten_to: Characters that are left of a tool result.
    """

    strategy: StrategyName
    threshold: float
    target: float
    keep: int
    recent: float
    results: int
    boundary: float
    shorten_to: int

    def policy(self, room: int, *, with_account: bool = False) -> Policy:
        """The preset of the strategy with these settings, for a request of so many tokens.

        Args:
            room: The tokens.
            with_account: Whether "smart" leaves an account of what was asked, said and decided
                beside the lines that are likely to be needed.

        Raises:
            PolicyError: If a setting is out of range.
        """
        if self.strategy not in STRATEGIES:
            raise PolicyError(
                f"compaction_strategy is {self.strategy!r}; it must be one of"
                f" {', '.join(STRATEGIES)}"
            )
        name = "simple" if self.strategy == "simple" else "smart"
        preset = Policy.preset(f"amplifier-{name}")
        changes = self._simple() if name == "simple" else self._smart()
        if with_account:
            changes |= {
                "stages": [*preset.stages, "summarize"],
                "summaries": "always",
                "summary_tokens": max(1, int(room * self.target * _ACCOUNT_SHARE)),
            }
        return preset.replace(window=room, reserve_output=0, **changes)

    def _simple(self) -> dict[str, Any]:
        return {
            "high": self.threshold,
            "escalate": self.threshold,
            "keep_recent": self.keep,
            "offload_preview": self._shortened,
        }

    def _smart(self) -> dict[str, Any]:
        low = min(self.target, self.threshold)
        levels: dict[int, dict[str, Any]] = {
            number: {"keep_results": self.results} for number in _RESULT_LEVELS
        }
        for number, part in enumerate(_FIRST_RESULTS):
            levels[number]["results"] = self.boundary * part
        return {
            "high": self.threshold,
            "low": low,
            "escalate": low,
            "keep_recent_share": self.recent,
            "offload_above": self._shortened,
            "offload_preview": self._shortened,
            "compress_to": self._shortened,
            "levels": levels,
        }

    @property
    def _shortened(self) -> int:
        return max(1, self.shorten_to // CHARACTERS_A_TOKEN)
