"""Prices of models: a caller's own, and those in tables of others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ullage._core import PolicyError, longest_beginning
from ullage.models.tables import MAKERS, entries_of

# models.dev's prices are for this number of tokens, litellm's for one token.
_MILLION = 1_000_000


class Prices(NamedTuple):
    """The price of a million tokens, in the currency of the table (US dollars in both).

    A price of None is not in the table.
    """

    input: float
    output: float
    cache_write: float | None
    cache_read: float | None

    @classmethod
    def of(cls, about: Mapping[str, Any], names: tuple[str, ...]) -> Prices | None:
        """Returns the prices under these names; None if input or output has no price."""
        given, made, write, read = (_price(about.get(name)) for name in names)
        return None if given is None or made is None else cls(given, made, write, read)

    def times(self, factor: int) -> Prices:
        """Returns the prices multiplied by a factor."""
        write, read = (None if p is None else p * factor for p in self[2:])
        return Prices(self.input * factor, self.output * factor, write, read)


def row_of(model: str, rows: Mapping[str, Prices]) -> tuple[str, Prices] | None:
    """Returns the row with the longest beginning of the id, or None; skips gateways' prefixes."""
    exact = rows.get(model.lower())
    if exact is not None:
        return model.lower(), exact
    beginnings = list(rows)
    index = longest_beginning(model, beginnings)
    return None if index is None else (beginnings[index], rows[beginnings[index]])


def given(rows: Any) -> dict[str, Prices]:
    """Returns a caller's checked prices by id or its beginning: ``Prices``, or mappings.

    Raises:
        PolicyError: If they have another form.
    """
    if not isinstance(rows, Mapping):
        raise PolicyError(f"prices: it is a {type(rows).__name__}, not a dict")
    checked = {}
    for name, row in rows.items():
        fields = row._asdict() if isinstance(row, Prices) else row
        if not isinstance(name, str) or not name or not isinstance(fields, Mapping):
            raise PolicyError(f"prices: {name!r} has {row!r}, which are not prices of a model")
        wrong = set(fields) - set(Prices._fields)
        wrong |= {
            key for key, price in fields.items() if price is not None and _price(price) is None
        }
        prices = Prices.of(fields, Prices._fields)
        if wrong or prices is None:
            problem = ", ".join(sorted(map(str, wrong))) or "input and output are required"
            raise PolicyError(f"prices[{name!r}]: {problem}; known are {', '.join(Prices._fields)}")
        checked[name.lower()] = prices
    return checked


def _price(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def models_dev(content: Any) -> dict[str, Prices]:
    """Returns the prices of models.dev's ``api.json`` by id, with and without the provider.

    An id without a provider has the prices of its maker. If no maker is among its providers, it has
    the highest prices.
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
    """Returns the prices in litellm's table by id."""
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
