"""What a context manager was asked to be, and the policy of the engine that this makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from ullage._core import Policy, PolicyError

StrategyName: TypeAlias = Literal["simple", "smart", "custom"]
STRATEGIES = get_args(StrategyName)
Told: TypeAlias = Literal["lines", "account"]
Verbosity: TypeAlias = Literal["off", "minimal", "normal", "verbose"]
VERBOSITIES = get_args(Verbosity)

# Amplifier counts four characters for a token; its sizes in characters are tokens here by that.
CHARACTERS_A_TOKEN = 4
# The room of an account, as a share of what a compaction goes down to: a line for each statement of
# a long talk. It is taken from lines that tools printed: in 87 cuts of recorded coding sessions one
# of 700 tokens left 89.8 % of the names that were needed later, where without it 91.4 % were left.
_ACCOUNT_SHARE = 0.2
# The shares of `protected_recent` that Amplifier's third, fifth and seventh level leave alone.
_MESSAGE_LEVELS = frozenset({2, 4, 6})
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
        told: What "smart" leaves of what goes: the "lines" that are likely to be needed, or with
            them an "account" of what was asked, said and decided.
    """

    strategy: StrategyName
    threshold: float
    target: float
    keep: int
    recent: float
    results: int
    boundary: float
    shorten_to: int
    told: Told = "lines"

    def policy(self, room: int) -> Policy:
        """The policy of a request that may take so many tokens.

        Raises:
            PolicyError: If a setting is out of range.
        """
        if self.strategy not in STRATEGIES:
            raise PolicyError(
                f"compaction_strategy is {self.strategy!r}; it must be one of"
                f" {', '.join(STRATEGIES)}"
            )
        made = self._simple() if self.strategy == "simple" else self._smart()
        if self.told == "account":
            made |= {
                "stages": [*made["stages"], "summarize"],
                "summaries": "always",
                "summary_tokens": max(1, int(room * self.target * _ACCOUNT_SHARE)),
            }
        return Policy.from_dict({**made, "window": room, "reserve_output": 0})

    def _simple(self) -> dict[str, Any]:
        """The system messages, the task and the last ones; what of these is too long is cut."""
        last = [
            {"stages": ["window"]},
            {"stages": ["compress"], "recent": 0.0, "recent_results": 0.0},
            {
                "stages": ["window", "compress"],
                "recent": 0.0,
                "recent_results": 0.0,
                "shorten_to": "offload_preview",
            },
        ]
        return {
            **Policy.preset("amplifier-simple").to_dict(),
            "high": self.threshold,
            "escalate": self.threshold,
            "keep_recent": self.keep,
            "offload_preview": self._shortened,
            "stages": ["compress", "window"],
            "levels": last,
        }

    def _smart(self) -> dict[str, Any]:
        """Amplifier's eight levels, and the lines of what goes that are likely to be needed."""
        preset = Policy.preset("amplifier-smart").to_dict()
        low = min(self.target, self.threshold)
        levels = [dict(level) for level in preset["levels"]]
        for index, level in enumerate(levels):
            if index not in _MESSAGE_LEVELS:
                level["keep_results"] = self.results if index < len(levels) - 1 else 0
        for level, part in zip(levels, _FIRST_RESULTS, strict=False):
            level["results"] = self.boundary * part
        return {
            **preset,
            "high": self.threshold,
            "low": low,
            "escalate": low,
            "keep_recent_share": self.recent,
            "offload_above": self._shortened,
            "offload_preview": self._shortened,
            "compress_to": self._shortened,
            "stages": [*preset["stages"], "digest"],
            "levels": levels,
        }

    @property
    def _shortened(self) -> int:
        return max(1, self.shorten_to // CHARACTERS_A_TOKEN)
