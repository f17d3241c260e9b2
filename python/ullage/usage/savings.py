"""``Savings``: the input of requests, beside the input of doing nothing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage.usage.economics import Economics

_MILLION = 1_000_000


@dataclass(frozen=True)
class Savings:
    """The input tokens of requests, as they were sent and as doing nothing would have sent them.

    Doing nothing sends the whole history with each request. The provider reads the messages of the
    request before from its cache, and the others are new. That is possible until the history is
    larger than the window. The request that would not have fit costs the same in both, and doing
    nothing goes on from the messages of that request. So a saving is never claimed for requests
    that nobody could have sent.

    Results that were shortened as they arrived count as part of the history.

    Attributes:
        requests: Number of requests with reported tokens.
        new: Input tokens that were not in the provider's cache.
        cached: Input tokens that were read from the cache.
        new_without: Input tokens that would not have been in the cache.
        cached_without: Input tokens that would have been read from the cache.
        money: The money saved, in the currency of the prices (US dollars for the built-in ones);
            negative if the requests cost more than doing nothing. None if the model has no known
            prices.
    """

    requests: int = 0
    new: int = 0
    cached: int = 0
    new_without: int = 0
    cached_without: int = 0
    money: float | None = None

    @classmethod
    def of_sums(cls, sums: Mapping[str, int], prices: Economics | None) -> Savings:
        """Returns the savings of sums by name, with the money at these prices, if known."""
        found = cls(**sums)
        money = None if prices is None else found.saved(prices) * prices.input / _MILLION
        return cls(**sums, money=money)

    @property
    def saved_new(self) -> int:
        """New tokens saved; negative if there were more than doing nothing would have sent."""
        return self.new_without - self.new

    @property
    def saved_cached(self) -> int:
        """Cached tokens saved; negative likewise."""
        return self.cached_without - self.cached

    def saved(self, economics: Economics) -> float:
        """Returns the saving in tokens of plain input, at the factors of these prices."""
        return self.saved_new * economics.cache_write + self.saved_cached * economics.cache_read

    def to_dict(self) -> dict[str, Any]:
        """The savings as a JSON-able dict."""
        return asdict(self)

    def __str__(self) -> str:
        parts = [
            f"{abs(tokens):,} {kind} tokens {'more' if tokens < 0 else 'fewer'}"
            for tokens, kind in ((self.saved_new, "new"), (self.saved_cached, "cached"))
        ]
        if self.money is not None:
            parts.append(f"{'lost' if self.money < 0 else 'saved'} ${abs(self.money):,.4f}")
        requests = "1 request" if self.requests == 1 else f"{self.requests:,} requests"
        return f"{requests}: {', '.join(parts)}"
