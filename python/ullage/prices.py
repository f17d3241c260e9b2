"""Prices of models: those that are listed here, and those in the tables that others keep."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ullage._core import PolicyError, longest_beginning
from ullage.tables import MAKERS, entries_of

# The tables differ in what a price is for: models.dev's are for so many tokens, litellm's for one.
_MILLION = 1_000_000


class Prices(NamedTuple):
    """What a million tokens cost, in the currency of the table (US dollars in both).

    A price of None is not in the table.
    """

    input: float
    output: float
    cache_write: float | None
    cache_read: float | None

    @classmethod
    def of(cls, about: Mapping[str, Any], names: tuple[str, ...]) -> Prices | None:
        """The prices under these names, or None without those of input and output."""
        given, made, write, read = (_price(about.get(name)) for name in names)
        return None if given is None or made is None else cls(given, made, write, read)

    def times(self, factor: int) -> Prices:
        """Each price so many times."""
        write, read = (None if p is None else p * factor for p in self[2:])
        return Prices(self.input * factor, self.output * factor, write, read)


# When the prices below were listed. Makers change them; a table or an override says it better.
LISTED_ON = "2026-01-15"

# US dollars for a million tokens, by the beginning of the id: the makers' standard rates for text,
# for prompts below the size from which some models cost more. The first three rows are those of
# an SRE agent's document, whose reports they have to match; Google itself asks 0.30 and 2.50 for
# Gemini 2.5 Flash since June 2025. Cached input is at the maker's share of the input price.
LISTED: dict[str, Prices] = {
    "gemini-2.5-flash": Prices(0.15, 0.60, None, 0.015),
    "gemini-2.5-pro": Prices(1.25, 10.00, None, 0.125),
    "gemini-2.0-flash": Prices(0.10, 0.40, None, 0.025),
    "gemini-2.0-flash-lite": Prices(0.075, 0.30, None, None),
    "gemini-2.5-flash-lite": Prices(0.10, 0.40, None, 0.01),
    "gemini-3-flash": Prices(0.50, 3.00, None, 0.05),
    "gemini-3-pro": Prices(2.00, 12.00, None, 0.20),
    "claude-3-5-haiku": Prices(0.80, 4.00, 1.00, 0.08),
    "claude-3-5-sonnet": Prices(3.00, 15.00, 3.75, 0.30),
    "claude-3-7-sonnet": Prices(3.00, 15.00, 3.75, 0.30),
    "claude-haiku-4-5": Prices(1.00, 5.00, 1.25, 0.10),
    "claude-opus-4": Prices(15.00, 75.00, 18.75, 1.50),
    "claude-opus-4-5": Prices(5.00, 25.00, 6.25, 0.50),
    "claude-sonnet-4": Prices(3.00, 15.00, 3.75, 0.30),
    "claude-sonnet-4-5": Prices(3.00, 15.00, 3.75, 0.30),
    "gpt-4.1": Prices(2.00, 8.00, None, 0.50),
    "gpt-4.1-mini": Prices(0.40, 1.60, None, 0.10),
    "gpt-4.1-nano": Prices(0.10, 0.40, None, 0.025),
    "gpt-4o": Prices(2.50, 10.00, None, 1.25),
    "gpt-4o-mini": Prices(0.15, 0.60, None, 0.075),
    "gpt-5": Prices(1.25, 10.00, None, 0.125),
    "gpt-5-mini": Prices(0.25, 2.00, None, 0.025),
    "gpt-5-nano": Prices(0.05, 0.40, None, 0.005),
    "o3": Prices(2.00, 8.00, None, 0.50),
    "o4-mini": Prices(1.10, 4.40, None, 0.275),
}


def listed(model: str, rows: Mapping[str, Prices] = LISTED) -> Prices | None:
    """The row with the longest beginning of the id, or None; gateways' prefixes are skipped."""
    exact = rows.get(model.lower())
    if exact is not None:
        return exact
    beginnings = list(rows)
    index = longest_beginning(model, beginnings)
    return None if index is None else rows[beginnings[index]]


def given(rows: Any) -> dict[str, Prices]:
    """A caller's prices, checked: ``Prices``, or mappings with its fields, by id or its beginning.

    Raises:
        PolicyError: If they are of another form.
    """
    if not isinstance(rows, Mapping):
        raise PolicyError(f"prices: it is a {type(rows).__name__}, not a dict")
    checked = {}
    for name, row in rows.items():
        fields = row._asdict() if isinstance(row, Prices) else row
        if not isinstance(name, str) or not name or not isinstance(fields, Mapping):
            raise PolicyError(f"prices: {name!r} has {row!r}, which are no prices of a model")
        wrong = set(fields) - set(Prices._fields)
        wrong |= {
            key for key, price in fields.items() if price is not None and _price(price) is None
        }
        prices = Prices.of(fields, Prices._fields)
        if wrong or prices is None:
            problem = ", ".join(sorted(map(str, wrong))) or "input and output must be there"
            raise PolicyError(f"prices[{name!r}]: {problem}; known are {', '.join(Prices._fields)}")
        checked[name.lower()] = prices
    return checked


def _price(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def models_dev(content: Any) -> dict[str, Prices]:
    """The prices in models.dev's ``api.json`` by id, with and without the provider before it.

    An id without provider is its maker's; where several serve it and none made it, the dearest.
    """
    names = ("input", "output", "cache_write", "cache_read")
    qualified: dict[str, Prices] = {}
    plain: dict[str, tuple[bool, Prices]] = {}
    for provider, entry in entries_of(content):
        for model, about in entries_of(entry.get("models")):
            cost = about.get("cost")
            prices = Prices.of(cost, names) if isinstance(cost, Mapping) else None
            if prices is None:
                continue
            qualified[f"{provider}/{model}".lower()] = prices
            rank = (provider in MAKERS, prices)
            name = model.lower()
            plain[name] = max(plain.get(name, rank), rank, key=lambda rank: (rank[0], rank[1][:2]))
    return {name: prices for name, (_, prices) in plain.items()} | qualified


def litellm(content: Any) -> dict[str, Prices]:
    """The prices in litellm's table by id."""
    names = (
        "input_cost_per_token",
        "output_cost_per_token",
        "cache_creation_input_token_cost",
        "cache_read_input_token_cost",
    )
    found = {}
    for model, about in entries_of(content):
        prices = Prices.of(about, names)
        if prices is not None:
            found[model.lower()] = prices.times(_MILLION)
    return found
