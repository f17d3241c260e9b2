"""Calculates the tokens that a request may take, as Amplifier does, from the provider's figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ullage._engine.logger import Logger

logger = Logger(__name__)

# As in Amplifier: most answers are much shorter than the model's limit.
OUTPUT_SHARE = 0.5
# As in Amplifier: the tokens that a provider adds to a request.
MARGIN = 1_000
# Amplifier reserves 800 tokens for the notice. That may be more than a small budget, so the notice
# reserves at most this share of the budget.
NOTICE_SHARE = 0.25


@dataclass(frozen=True)
class Budget:
    """The tokens that a request may take.

    Attributes:
        tokens: Their number.
        model: The id of the model, if the provider names it.
    """

    tokens: int
    model: str | None = None

    def beside(self, notice: int) -> int:
        """Returns the tokens that are left after a notice of ``notice`` tokens."""
        return max(1, self.tokens - min(notice, int(self.tokens * NOTICE_SHARE)))


def budget_of(token_budget: int | None, provider: Any, max_tokens: int) -> Budget:
    """Returns the budget of a request, of at least one token.

    The budget is ``token_budget`` if the caller gives it. Otherwise it is the window of the
    provider's model, minus half of its longest answer, minus 1,000 tokens. The window comes from
    ``get_model_info()`` or from ``get_info().defaults``. If the provider has neither, or raises an
    exception, the budget is ``max_tokens``.
    """
    info = _answer(provider, "get_model_info")
    model = getattr(info, "id", None)
    model = model if isinstance(model, str) else None
    if token_budget is not None:
        return Budget(max(1, int(token_budget)), model)
    defaults = getattr(_answer(provider, "get_info"), "defaults", None)
    defaults = defaults if isinstance(defaults, dict) else {}
    for window, answer in (
        (getattr(info, "context_window", None), getattr(info, "max_output_tokens", None)),
        (defaults.get("context_window"), defaults.get("max_output_tokens")),
    ):
        if isinstance(window, int) and isinstance(answer, int) and window > 0 and answer > 0:
            return Budget(max(1, window - int(answer * OUTPUT_SHARE) - MARGIN), model)
    return Budget(max(1, int(max_tokens)), model)


def expected_budget(coordinator: Any, max_tokens: int) -> Budget | None:
    """Returns the budget that the first request of a session will probably have.

    None if the coordinator has no provider yet, or more than one.
    """
    providers = _answer(coordinator, "get", "providers")
    if not isinstance(providers, Mapping) or len(providers) != 1:
        return None
    return budget_of(None, next(iter(providers.values())), max_tokens)


def _answer(provider: Any, question: str, *of: str) -> Any:
    """Calls a method of a provider and returns its result, or None if it has none."""
    ask = getattr(provider, question, None)
    if not callable(ask):
        return None
    try:
        return ask(*of)
    except Exception as error:  # noqa: BLE001 - a provider may raise anything
        logger.debug("question=<%s>, error=<%s> | the provider did not answer", question, error)
        return None
