"""The limits of a model, by its id, and the policy and the counter that they make."""

import logging
import math
from typing import Any

import pytest

import ullage

MESSAGES = [{"role": "user", "content": [{"text": "What is in this folder?"}]}]


def warnings_of(caplog):
    return [record for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize(
    ("model", "window", "max_input", "max_output"),
    [
        ("claude-sonnet-4-5", 200_000, 200_000, 64_000),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, 200_000, 64_000),
        ("openrouter/anthropic/claude-3.5-sonnet", 200_000, 200_000, 8_192),
        ("openai:gpt-5-mini", 400_000, 272_000, 128_000),
        ("vertex_ai/gemini-2.5-pro", 1_048_576, 1_048_576, 65_536),
        ("mistral/mistral-large-2411", 128_000, 128_000, None),
    ],
)
def test_a_known_model_needs_no_table(model, window, max_input, max_output):
    found = ullage.model_limits(model)
    assert found == ullage.ModelLimits(model, window, max_input, max_output, "built-in")


def test_an_unknown_model_gets_the_stated_default_and_a_warning_once(caplog):
    catalog = ullage.ModelCatalog()
    for _ in range(3):
        found = catalog.limits("my-own-model")
    assert (found.window, found.max_output, found.source) == (128_000, None, "default")
    assert [record.getMessage() for record in warnings_of(caplog)] == [
        "model=<my-own-model>, window=<128000> | unknown model"
    ]
    catalog = ullage.ModelCatalog(default={"window": 16_000, "max_output": 2_000})
    found = catalog.limits("my-own-model")
    assert (found.window, found.max_input, found.max_output) == (16_000, 16_000, 2_000)


def test_overrides_know_beginnings_and_leave_the_rest_to_the_next_source():
    catalog = ullage.ModelCatalog(
        overrides={
            "llama-3.1": {"window": 8_192},
            "GPT-5": {"max_output": 1_000},
            "gpt-5-mini": {"max_input": 50_000},
            "ollama/llama3.1": {"window": 4_096},
            "\ud800": {"window": 2_048},
        }
    )
    assert catalog.limits("\ud800").window == 2_048
    assert catalog.limits("x\udfff").source == "default"
    for model, figures in {
        "groq/llama-3.1-8b-instant": (8_192, 8_192, None),
        "llama3.1": (8_192, 8_192, None),
        "ollama/llama3.1": (4_096, 4_096, None),
        "gpt-5.1": (400_000, 272_000, 1_000),
        "gpt-5-mini-2025-08-07": (400_000, 50_000, 128_000),
    }.items():
        found = catalog.limits(model)
        assert (found.window, found.max_input, found.max_output) == figures, model
        assert found.source == "override"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"overrides": ["gpt-5"]}, id="overrides-a-list"),
        pytest.param({"overrides": {"gpt-5": 100}}, id="override-a-number"),
        pytest.param({"overrides": {"gpt-5": {}}}, id="override-empty"),
        pytest.param({"overrides": {"": {"window": 1}}}, id="no-id"),
        pytest.param({"overrides": {7: {"window": 1}}}, id="id-a-number"),
        pytest.param({"overrides": {"gpt-5": {"windows": 1}}}, id="unknown-key"),
        pytest.param({"default": {"max_output": 1}}, id="default-without-window"),
        pytest.param({"models_dev": 7}, id="models-dev-a-number"),
        pytest.param({"litellm": ["auto"]}, id="litellm-a-list"),
        *(
            pytest.param({"overrides": {"gpt-5": {"window": window}}}, id=f"window-{window!r}")
            for window in (0, -1, "8192", None, True, math.nan, math.inf, 10**12, 1.5)
        ),
    ],
)
def test_what_a_caller_says_wrongly_is_refused_by_name(arguments):
    with pytest.raises(ullage.PolicyError, match=next(iter(arguments))):
        ullage.ModelCatalog(**arguments)


@pytest.mark.parametrize("model", [None, 7, b"gpt-5", ["gpt-5"]])
def test_a_model_that_is_no_string_is_refused(model):
    with pytest.raises(ullage.PolicyError, match="model"):
        ullage.model_limits(model)


@pytest.mark.parametrize(
    ("model", "settings", "window", "reserve"),
    [
        pytest.param("claude-sonnet-4-5", {}, 200_000, 8_000, id="the-usual"),
        pytest.param("gpt-5", {}, 280_000, 8_000, id="the-input-is-limited"),
        pytest.param("gpt-5", {"reserve_output": 128_000}, 400_000, 128_000, id="longest-answer"),
        pytest.param("gpt-5", {"window": 50_000}, 50_000, 8_000, id="a-window-given"),
        pytest.param("command-r", {}, 128_000, 4_000, id="short-answers"),
        pytest.param("gpt-4", {}, 8_192, 2_048, id="a-small-window"),
    ],
)
def test_a_policy_leaves_what_the_model_takes(model, settings, window, reserve):
    limits = ullage.model_limits(model)
    policy = limits.policy(**settings, high=0.7)
    assert (policy.window, policy.reserve_output, policy.high) == (window, reserve, 0.7)
    assert policy.window - policy.reserve_output <= limits.max_input


@pytest.mark.parametrize(("window", "reserve"), [(4_000, 1_000), (8_000, 2_000), (64_000, 8_000)])
def test_a_window_that_is_given_has_its_own_reserve(window, reserve):
    policy = ullage.model_limits("claude-sonnet-4-5").policy(window=window)
    assert (policy.window, policy.reserve_output) == (window, reserve)


@pytest.mark.parametrize("setting", ["window", "reserve_output", "high", "keep_first"])
def test_a_setting_that_is_true_or_false_is_refused(setting):
    for value in (True, False):
        given: dict[str, Any] = {setting: value}
        for make in (ullage.Policy, ullage.model_limits("gpt-5").policy):
            with pytest.raises(ullage.PolicyError, match=setting):
                make(**given)


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"hihg": 0.5}, "hihg"), ({"reserve_output": "8k"}, "reserve"), ({"low": 2}, "low")],
)
def test_a_wrong_setting_of_a_policy_is_named(settings, named):
    with pytest.raises(ullage.PolicyError, match=named):
        ullage.model_limits("gpt-5").policy(**settings)


def test_a_manager_for_a_model_has_its_window_and_counter():
    engine = ullage.ContextManager(model="gpt-5", system="Be brief.", tools=[{"name": "ls"}])
    assert engine.counter.name == "o200k_base"
    status = engine.status(MESSAGES)
    assert status.window == 280_000
    assert status.fixed > 0
    assert status.available == 280_000 - 8_000 - status.fixed
    assert ullage.ContextManager(model="bedrock/claude-sonnet-4-5").counter.name == "claude"


def test_a_policy_and_a_counter_that_are_given_win():
    policy, counter = ullage.Policy(window=50_000), ullage.TokenCounter("cl100k_base")
    engine = ullage.ContextManager(policy, counter=counter, model="claude-sonnet-4-5")
    assert engine.policy == policy
    assert engine.counter is counter
    engine = ullage.ContextManager(policy, model="claude-sonnet-4-5")
    assert engine.policy == policy
    assert engine.counter.name == "claude"


def test_a_manager_looks_in_the_catalog_that_it_is_given():
    rocket = {"window": 64_000, "max_output": 4_000}
    catalog = ullage.ModelCatalog(overrides={"rocket-1": rocket})
    engine = ullage.ContextManager(model="acme/rocket-1", catalog=catalog)
    assert (engine.policy.window, engine.policy.reserve_output) == (64_000, 4_000)


@pytest.mark.parametrize("arguments", [{"model": 7}, {"model": "gpt-5", "catalog": {}}])
def test_a_model_or_a_catalog_of_another_kind_is_refused(arguments):
    with pytest.raises(ullage.PolicyError, match=list(arguments)[-1]):
        ullage.ContextManager(**arguments)
