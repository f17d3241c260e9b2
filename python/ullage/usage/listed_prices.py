"""The built-in prices, the last source of a ``ModelCatalog``."""

from __future__ import annotations

import re

from ullage.usage.prices import Prices, row_of

# The source and the date of the prices below. Makers change prices, so prefer a table or an
# override.
LISTED_FROM = "litellm 1.109.1"
LISTED_ON = "2026-11-22"

# US dollars for a million tokens: the makers' standard rates for text, for prompts below the size
# from which some models cost more. The first three are those of an SRE agent's document, whose
# reports they have to match: Google itself asks 0.30 and 2.50 for Gemini 2.5 Flash, and Vertex 0.15
# and 0.60 for Gemini 2.0 Flash. Their cached input is at the maker's share of the input price. What
# the table no longer has of a maker (Claude 3 to Opus 4.1, Gemini 2.0) has the price at which
# Bedrock and Vertex still list it.
LISTED: dict[str, Prices] = {
    "gemini-2.5-flash": Prices(0.15, 0.60, None, 0.015),
    "gemini-2.5-pro": Prices(1.25, 10.00, None, 0.125),
    "gemini-2.0-flash": Prices(0.10, 0.40, None, 0.025),
    "gemini-2.0-flash-lite": Prices(0.075, 0.30, None, None),
    "gemini-2.5-flash-lite": Prices(0.10, 0.40, None, 0.01),
    "gemini-3-flash": Prices(0.50, 3.00, None, 0.05),
    "gemini-3.1-flash-lite": Prices(0.25, 1.50, None, 0.025),
    "gemini-3.1-pro": Prices(2.00, 12.00, None, 0.20),
    "gemini-3.5-flash": Prices(1.50, 9.00, None, 0.15),
    "gemini-3.5-flash-lite": Prices(0.30, 2.50, None, 0.03),
    "gemini-3.6-flash": Prices(0.75, 3.75, None, 0.075),
    "gemini-3.7-flash": Prices(0.75, 3.75, None, 0.075),
    "gemini-3.8-flash": Prices(0.75, 3.75, None, 0.075),
    "claude-3-5-haiku": Prices(0.80, 4.00, 1.00, 0.08),
    "claude-3-5-sonnet": Prices(3.00, 15.00, 3.75, 0.30),
    "claude-3-7-sonnet": Prices(3.00, 15.00, 3.75, 0.30),
    "claude-haiku-4-5": Prices(1.00, 5.00, 1.25, 0.10),
    "claude-haiku-5-5": Prices(0.10, 0.50, 0.125, 0.01),
    "claude-opus-4": Prices(15.00, 75.00, 18.75, 1.50),
    "claude-opus-4-1": Prices(15.00, 75.00, 18.75, 1.50),
    "claude-opus-4-5": Prices(5.00, 25.00, 6.25, 0.50),
    "claude-opus-4-6": Prices(5.00, 25.00, 6.25, 0.50),
    "claude-opus-4-7": Prices(5.00, 25.00, 6.25, 0.50),
    "claude-opus-4-8": Prices(5.00, 25.00, 6.25, 0.50),
    "claude-opus-5": Prices(5.00, 25.00, 6.25, 0.50),
    "claude-opus-5-5": Prices(4.00, 20.00, 5.00, 0.20),
    "claude-sonnet-4": Prices(3.00, 15.00, 3.75, 0.30),
    "claude-sonnet-4-5": Prices(3.00, 15.00, 3.75, 0.30),
    "claude-sonnet-4-6": Prices(3.00, 15.00, 3.75, 0.30),
    "claude-sonnet-5": Prices(2.00, 10.00, 2.50, 0.20),
    "claude-sonnet-5-5": Prices(2.00, 10.00, 2.50, 0.10),
    "gpt-4.1": Prices(2.00, 8.00, None, 0.50),
    "gpt-4.1-mini": Prices(0.40, 1.60, None, 0.10),
    "gpt-4.1-nano": Prices(0.10, 0.40, None, 0.025),
    "gpt-4o": Prices(2.50, 10.00, None, 1.25),
    "gpt-4o-mini": Prices(0.15, 0.60, None, 0.075),
    "gpt-5": Prices(1.25, 10.00, None, 0.125),
    "gpt-5-chat": Prices(1.25, 10.00, None, 0.125),
    "gpt-5-codex": Prices(1.25, 10.00, None, 0.125),
    "gpt-5-mini": Prices(0.25, 2.00, None, 0.025),
    "gpt-5-nano": Prices(0.05, 0.40, None, 0.005),
    "gpt-5-pro": Prices(15.00, 120.00, None, None),
    "gpt-5.1": Prices(1.25, 10.00, None, 0.125),
    "gpt-5.1-codex": Prices(1.25, 10.00, None, 0.125),
    "gpt-5.1-codex-max": Prices(1.25, 10.00, None, 0.125),
    "gpt-5.1-codex-mini": Prices(0.25, 2.00, None, 0.025),
    "gpt-5.2": Prices(1.75, 14.00, None, 0.175),
    "gpt-5.2-codex": Prices(1.75, 14.00, None, 0.175),
    "gpt-5.4": Prices(2.50, 15.00, None, 0.25),
    "gpt-5.4-mini": Prices(0.75, 4.50, None, 0.075),
    "gpt-5.4-nano": Prices(0.20, 1.25, None, 0.02),
    "gpt-5.5": Prices(5.00, 30.00, None, 0.50),
    "gpt-5.6": Prices(4.00, 20.00, 5.00, 0.40),
    "gpt-5.6-luna": Prices(0.20, 1.20, 0.25, 0.02),
    "gpt-5.6-sol": Prices(4.00, 20.00, 5.00, 0.40),
    "gpt-5.6-terra": Prices(2.00, 12.00, 2.50, 0.20),
    "gpt-6-luna": Prices(0.10, 0.50, 0.125, 0.01),
    "gpt-6-sol": Prices(2.00, 10.00, 2.50, 0.20),
    "gpt-6.1-sol": Prices(2.00, 10.00, 2.50, 0.10),
    "gpt-6.1-terra": Prices(1.00, 5.00, 1.25, 0.05),
    "o1": Prices(15.00, 60.00, None, 7.50),
    "o3": Prices(2.00, 8.00, None, 0.50),
    "o3-mini": Prices(1.10, 4.40, None, 0.55),
    "o3-pro": Prices(20.00, 80.00, None, None),
    "o4-mini": Prices(1.10, 4.40, None, 0.275),
}

# Words that may follow the name of a model without changing its price: a date, a version number, or
# a stage. Any other word makes another model: `gpt-5-pro`, `gpt-5.2` and
# `claude-opus-4-7` do not cost what `gpt-5` and `claude-opus-4` do.
_VERSION = re.compile(
    r"(?:[-@:](?:\d{4}-\d\d-\d\d|\d\d-\d{2,4}|\d{3,8}|v\d+(?::\d+)?|latest|default|preview|exp))+$"
)

# A fine-tuned model costs more than its base model.
_TUNED = re.compile(r"(?:^|/)ft:")

_SEPARATORS = re.compile(r"[-._@]")


def listed_prices(model: str) -> Prices | None:
    """Returns the listed prices of a model by its id, with or without a version or a prefix.

    Returns None for another model of the family. A wrong price is worse than none, because a
    missing price is reported.
    """
    if _TUNED.search(model):
        return None
    name = _VERSION.sub("", model.lower())
    found = row_of(name, LISTED)
    if found is None:
        return None
    known, prices = found
    # Gateways write separators differently. Their prefixes do not matter.
    whole = _SEPARATORS.sub("", name).endswith(_SEPARATORS.sub("", known))
    return prices if whole else None
