"""``Economics``: the cost and the savings of a compaction at a provider that caches prompts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ullage._core import PolicyError, cache_factors, plan_cost, unchanged_tokens
from ullage.models.catalog import BUILT_IN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage._core import Plan, TokenCounter
    from ullage.models.catalog import ModelCatalog


@dataclass(frozen=True)
class PlanCost:
    """The cost and the savings of a plan, while the provider has the history in its cache.

    Attributes:
        unchanged: Tokens before the first change, which stay in the cache.
        rewritten: Tokens from the first change on, which must be cached again.
        saved: Tokens that each later request saves.
        once: The extra cost of caching again instead of reading, once, at the next request.
        each: The savings of each request from then on, the next one included.
        pays_back_after: The number of requests after which the plan has cost less than doing
            nothing, or None if it never does.
    """

    unchanged: int
    rewritten: int
    saved: int
    once: float
    each: float
    pays_back_after: int | None

    def __str__(self) -> str:
        if self.pays_back_after is None:
            pays = "never pays back"
        elif self.pays_back_after == 0:
            pays = "pays back at once"
        else:
            requests = "request" if self.pays_back_after == 1 else "requests"
            pays = f"pays back after {self.pays_back_after:,} {requests}"
        return f"saves {self.saved:,} tokens, rewrites {self.rewritten:,}, {pays}"


@dataclass(frozen=True)
class Economics:
    """The prices of a model's tokens.

    The defaults are factors only, in millions of tokens of plain input. They are those of
    Anthropic's cache, where a change of the prompt costs most.

    Attributes:
        input: The price of a million tokens of plain input.
        output: The price of a million tokens of output.
        cache_write: The price of a token written into the cache, as a multiple of ``input``.
        cache_read: The price of a token read from it, likewise.
    """

    input: float = 1.0
    output: float = 1.0
    cache_write: float = 1.25
    cache_read: float = 0.1

    @classmethod
    def for_model(cls, model: str, catalog: ModelCatalog | None = None) -> Economics:
        """Returns the prices of a model.

        They come from the catalog's tables, if a table has the model. Otherwise the prices are 1,
        and the factors are those of the model's provider, if they are known.

        Raises:
            PolicyError: If ``model`` is not a string.
        """
        if not isinstance(model, str):
            raise PolicyError(f"model: it is a {type(model).__name__}, not an id")
        factors = cache_factors(model) or (cls.cache_write, cls.cache_read)
        prices = (BUILT_IN if catalog is None else catalog).prices(model)
        if prices is None:
            return cls(cache_write=factors[0], cache_read=factors[1])

        def factor(price: float | None, known: float) -> float:
            return known if price is None or not prices.input else price / prices.input

        return cls(
            prices.input,
            prices.output,
            factor(prices.cache_write, factors[0]),
            factor(prices.cache_read, factors[1]),
        )

    @classmethod
    def known_for_model(
        cls, model: str | None, catalog: ModelCatalog | None = None
    ) -> Economics | None:
        """Returns the prices of a model in money; None if the catalog's tables do not have it."""
        catalog = BUILT_IN if catalog is None else catalog
        if model is None or catalog.prices(model) is None:
            return None
        return cls.for_model(model, catalog)

    def of(self, plan: Plan, messages: Sequence[Any], counter: TokenCounter) -> PlanCost:
        """Returns the cost of a plan.

        Args:
            plan: The plan.
            messages: The messages that it was made for, before it is applied.
            counter: The counter of the plan.

        Raises:
            PolicyError: If a price is negative or no number.
            MessageError: If the messages cannot be read.
        """
        unchanged = unchanged_tokens(plan, messages, counter)
        return self.of_tokens(plan.tokens_before, plan.tokens_after, unchanged)

    def of_tokens(self, before: int, after: int, unchanged: int) -> PlanCost:
        """Returns the cost of ``before`` tokens becoming ``after``, the first ``unchanged`` kept.

        Raises:
            PolicyError: If a price is negative or no number.
        """
        return PlanCost(**plan_cost(before, after, unchanged, prices=self.prices()))

    def prices(self) -> dict[str, float]:
        """The prices as the core takes them."""
        return asdict(self)
