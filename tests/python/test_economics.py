"""Costs and savings of a plan, and the source of prices."""

import json
from typing import Any

import pytest

import ullage
from ullage._core import cache_factors
from ullage.usage.listed_prices import LISTED, listed_prices

from .conversations import long_conversation, render

MODELS_DEV = {
    "anthropic": {
        "models": {
            "claude-sonnet-4-5": {
                "limit": {"context": 200_000, "output": 64_000},
                "cost": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75},
            },
            "claude-free": {"limit": {"context": 200_000, "output": 64_000}},
        }
    },
    "reseller": {
        "models": {
            "claude-sonnet-4-5": {
                "limit": {"context": 100_000, "output": 64_000},
                "cost": {"input": 9, "output": 30},
            }
        }
    },
}
LITELLM = {
    "gpt-5": {
        "max_input_tokens": 272_000,
        "input_cost_per_token": 1.25e-06,
        "output_cost_per_token": 1e-05,
        "cache_read_input_token_cost": 1.25e-07,
    }
}


def test_a_plan_says_what_it_rewrites_and_when_it_pays_back():
    messages = render(long_conversation(20), "anthropic")
    counter = ullage.TokenCounter()
    tokens = counter.count_messages(messages)
    plan = ullage.ContextManager(counter=counter).plan(messages, tokens // 2, hard=True)
    first = plan.report()["first_changed"]
    unchanged = counter.count_messages(messages[:first])

    cost = ullage.Economics(input=3.0).of(plan, messages, counter)
    assert cost.unchanged == unchanged
    assert cost.rewritten == plan.tokens_after - unchanged
    assert cost.saved == plan.tokens_before - plan.tokens_after
    assert cost.once == pytest.approx(cost.rewritten * 1.15 * 3e-6)
    assert cost.each == pytest.approx(cost.saved * 0.1 * 3e-6)
    assert cost.pays_back_after == -(-cost.rewritten * 115 // (cost.saved * 10))
    assert f"pays back after {cost.pays_back_after}" in str(cost)
    assert len(messages) == plan.messages  # nothing was applied


def test_an_empty_plan_costs_nothing():
    messages = render(long_conversation(2), "openai")
    counter = ullage.TokenCounter()
    plan = ullage.ContextManager(counter=counter).plan(messages)
    cost = ullage.Economics().of(plan, messages, counter)
    assert (cost.rewritten, cost.saved, cost.once, cost.pays_back_after) == (0, 0, 0, 0)


def test_what_reports_teach_the_counter_is_no_part_of_the_prefix():
    messages = render(long_conversation(20), "anthropic")
    counter = ullage.TokenCounter()
    for end in range(3, len(messages), 2):
        counter.observe(messages[:end], counter.count_messages(messages[:end]) + 5_000)
    tokens = ullage.TokenCounter().count_messages(messages)
    plan = ullage.ContextManager(counter=counter).plan(messages, tokens // 2, hard=True)
    cost = ullage.Economics().of(plan, messages, counter)
    assert cost.unchanged + cost.rewritten == plan.tokens_after


def test_prices_are_those_of_the_tables_and_factors_of_the_provider():
    catalog = ullage.ModelCatalog(models_dev=MODELS_DEV, litellm=LITELLM)
    economics = ullage.Economics.for_model("us.anthropic.claude-sonnet-4-5", catalog)
    assert (economics.input, economics.output) == (3, 15)
    assert (economics.cache_write, economics.cache_read) == pytest.approx((1.25, 0.1))
    reseller = ullage.Economics.for_model("reseller/claude-sonnet-4-5", catalog)
    assert (reseller.input, reseller.cache_write, reseller.cache_read) == (9, 1.25, 0.1)
    gpt = ullage.Economics.for_model("openai/gpt-5", catalog)
    assert (gpt.input, gpt.output) == pytest.approx((1.25, 10))
    assert (gpt.cache_write, gpt.cache_read) == pytest.approx((1.0, 0.1))
    # In a table without prices, and not in the list: the factors alone.
    for model in ("claude-free", "claude-unheard-of"):
        assert ullage.Economics.for_model(model, catalog) == ullage.Economics()
    assert ullage.Economics.for_model("gpt-4o").cache_read == 0.5
    assert ullage.Economics.for_model("unheard-of") == ullage.Economics()


def test_prices_that_are_none_are_not_read():
    cost = {"input": "3", "output": -1, "cache_read": True}
    limit = {"context": 1_000}
    table = {"x": {"models": {"m": {"limit": limit, "cost": cost}, "n": {"limit": limit}}}}
    assert ullage.ModelCatalog(models_dev=table).prices("m") is None
    table = json.loads('{"m": {"max_input_tokens": 1, "input_cost_per_token": Infinity}}')
    assert ullage.ModelCatalog(litellm=table).prices("m") is None


def test_prices_that_are_given_win_then_tables_then_the_list():
    name = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    assert ullage.ModelCatalog().prices(name) == ullage.Prices(3, 15, 3.75, 0.3)
    dearer = json.loads(json.dumps(MODELS_DEV))
    dearer["anthropic"]["models"]["claude-sonnet-4-5"]["cost"]["input"] = 4
    table = ullage.ModelCatalog(models_dev=dearer).prices("claude-sonnet-4-5")
    assert table is not None
    assert table.input == 4
    own: dict[str, Any] = {
        "claude-sonnet": {"input": 1, "output": 2},
        "GPT-5": ullage.Prices(7, 8, None, None),
    }
    catalog = ullage.ModelCatalog(models_dev=dearer, prices=own)
    assert catalog.prices(name) == ullage.Prices(1, 2, None, None)
    assert catalog.prices("gpt-5-mini") == ullage.Prices(7, 8, None, None)
    assert catalog.prices("unheard-of") is None


# Whose cached input costs half of what the other models of the maker ask for it.
CHEAPER_TO_READ = {"claude-opus-5-5", "claude-sonnet-5-5", "gpt-6.1-sol", "gpt-6.1-terra"}


@pytest.mark.parametrize("model", sorted(LISTED))
def test_the_list_and_the_core_agree_on_what_cached_input_costs(model):
    price = LISTED[model]
    economics = ullage.Economics.for_model(model)
    factors = cache_factors(model)
    assert (economics.input, economics.output) == (price.input, price.output)
    if price.cache_read is not None:
        assert economics.cache_read == pytest.approx(price.cache_read / price.input)
    if factors is not None and price.cache_read is not None and model not in CHEAPER_TO_READ:
        assert economics.cache_read == pytest.approx(factors[1], abs=0.001)


@pytest.mark.parametrize(
    ("model", "row"),
    [
        ("models/gemini-2.5-flash-001", "gemini-2.5-flash"),
        ("gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash"),
        ("vertex_ai/gemini-3-flash-preview", "gemini-3-flash"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("claude-opus-4-6@default", "claude-opus-4-6"),
        ("openrouter/anthropic/claude-3.5-sonnet", "claude-3-5-sonnet"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("openai/gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5-chat-latest", "gpt-5-chat"),
    ],
)
def test_a_version_of_a_listed_model_costs_what_is_listed(model, row):
    assert listed_prices(model) == LISTED[row]


@pytest.mark.parametrize(
    "model",
    [
        "claude-opus-4-9",
        "gpt-5.3",
        "gpt-5.2-pro",
        "o3-deep-research",
        "gemini-2.5-pro-preview-tts",
        "gemini-2.5-flash-image",
        "gpt-4o-audio-preview-2025-06-03",
        "ft:gpt-4.1-2025-04-14:shop::id",
        "openai/ft:gpt-4o-2024-08-06",
        "my-gemini",
        "",
    ],
)
def test_another_model_of_a_family_has_no_listed_price(model):
    assert listed_prices(model) is None


@pytest.mark.parametrize(
    "prices",
    [
        [],
        {"m": 3},
        {"m": {"input": 1}},
        {"m": {"input": -1, "output": 1}},
        {"": {"input": 1, "output": 1}},
        {"m": {"input": 1, "output": 1, "cached": 1}},
    ],
)
def test_prices_of_another_form_are_refused(prices):
    with pytest.raises(ullage.PolicyError, match="prices"):
        ullage.ModelCatalog(prices=prices or [1])  # type: ignore[arg-type]


@pytest.mark.parametrize("prices", [{"input": -1.0}, {"cache_read": float("nan")}])
def test_a_price_that_can_be_none_is_refused(prices):
    with pytest.raises(ullage.PolicyError, match=next(iter(prices))):
        ullage.Economics(**prices).of_tokens(10, 5, 0)


def test_a_model_is_named():
    with pytest.raises(ullage.PolicyError, match="not an id"):
        ullage.Economics.for_model(None)  # type: ignore[arg-type]


def test_savings_are_told_in_words():
    lost = ullage.Savings(1, new=2_000, cached=0, new_without=500, cached_without=9_000, money=-0.5)
    assert str(lost) == "1 request: 1,500 new tokens more, 9,000 cached tokens fewer, lost $0.5000"
    assert "$" not in str(ullage.Savings(2))
