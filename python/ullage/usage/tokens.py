"""``Usage``: the usage of model calls, as numbers that can be added."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import add, attrgetter, sub
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ullage.usage.prices import Prices

_MILLION = 1_000_000
_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class Usage:
    """The tokens of model calls.

    Attributes:
        calls: Number of calls.
        prompt: Tokens of the prompts, cached ones included.
        candidates: Tokens of the answers, without reasoning.
        cached: Tokens of the prompts that were read from the provider's cache.
        thoughts: Tokens of reasoning.
        tool_prompt: Tokens that tools of the provider added to the prompt.
        cache_written: Tokens of the prompts that were written into the provider's cache.
        nanoseconds: Time until the last piece of the answers.
        estimated: Tokens among these that are estimated, because the provider reported none.
    """

    calls: int = 0
    prompt: int = 0
    candidates: int = 0
    cached: int = 0
    thoughts: int = 0
    tool_prompt: int = 0
    cache_written: int = 0
    nanoseconds: int = 0
    estimated: int = 0

    @property
    def input(self) -> int:
        """Tokens that went in."""
        return self.prompt + self.tool_prompt

    @property
    def output(self) -> int:
        """Tokens of the answers with reasoning, which providers charge as output."""
        return self.candidates + self.thoughts

    @property
    def total(self) -> int:
        """Tokens in and out."""
        return self.input + self.output

    @property
    def seconds(self) -> float:
        """The time in seconds."""
        return self.nanoseconds / _NANOSECONDS

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, _numbers(self), _numbers(other)))

    def __sub__(self, other: Usage) -> Usage:
        return Usage(*map(sub, _numbers(self), _numbers(other)))

    def at_least(self, other: Usage) -> Usage:
        """Returns the larger of each number."""
        return Usage(*map(max, _numbers(self), _numbers(other)))

    def cost(self, prices: Prices) -> float:
        """Returns the cost at these prices of a million tokens.

        ``fresh * input + cached * cache_read + written * cache_write + output * output``, where
        fresh is the input that was neither read from the cache nor written into it. An unknown
        price of the cache counts as that of plain input. Higher rates for long prompts, and fees
        for storing a cache, are not included.
        """
        read = prices.input if prices.cache_read is None else prices.cache_read
        write = prices.input if prices.cache_write is None else prices.cache_write
        fresh = max(0, self.input - self.cached - self.cache_written)
        paid = fresh * prices.input + self.cached * read + self.cache_written * write
        return (paid + self.output * prices.output) / _MILLION


# A copy of the fields as `dataclasses.astuple` makes it takes ten times as long.
_numbers = attrgetter(*(field.name for field in fields(Usage)))
