"""The tokens that sessions use, their cost, and the budget."""

import threading

import pytest

import ullage
from ullage import Usage, UsageTracker
from ullage.usage.tracker import OTHERS


def usage(prompt=0, candidates=0, cached=0, thoughts=0, **more):
    return Usage(1, prompt, candidates, cached, thoughts, **more)


def test_sums_are_kept_by_session_agent_and_model():
    tracker = UsageTracker()
    tracker.record("s1", "lead", "gemini-2.5-pro", usage(1_000, 100, thoughts=50))
    tracker.record("s1", "logs", "gemini-2.5-flash", usage(2_000, 10, cached=500))
    tracker.record("s2", "lead", "gemini-2.5-pro", usage(7, 1))
    assert tracker.usage("s1").total == 3_160
    assert tracker.usage("s1", "lead") == usage(1_000, 100, thoughts=50)
    assert tracker.usage("unknown") == Usage()
    assert (tracker.total_calls, tracker.total_input_tokens) == (3, 3_007)
    assert (tracker.total_output_tokens, tracker.total_tokens) == (161, 3_168)
    summary = tracker.get_summary("s1")
    assert summary["total_tokens"] == 3_160
    assert list(summary["by_agent"]) == ["lead", "logs"]
    assert summary["by_model"]["gemini-2.5-flash"]["total_cached_tokens"] == 500
    assert tracker.get_summary()["total_calls"] == 3


@pytest.mark.parametrize(
    ("model", "given", "made"),
    [
        ("gemini-2.5-flash", 0.15, 0.60),
        ("gemini-2.5-pro", 1.25, 10),
        ("gemini-2.0-flash", 0.10, 0.40),
    ],
)
def test_a_million_tokens_cost_what_the_document_says(model, given, made):
    tracker = UsageTracker()
    tracker.record("s", "a", f"models/{model}-001", usage(1_000_000))
    assert tracker.cost("s") == pytest.approx(given)
    tracker.record("s", "a", f"models/{model}-001", usage(0, 600_000, thoughts=400_000))
    assert tracker.total_cost_usd == pytest.approx(given + made), "reasoning is output"


def test_cached_input_costs_less_and_written_input_more():
    prices = ullage.Prices(3, 15, 3.75, 0.3)
    spent = usage(1_000_000, cached=600_000, cache_written=300_000)
    assert spent.cost(prices) == pytest.approx(0.1 * 3 + 0.6 * 0.3 + 0.3 * 3.75)
    assert spent.cost(ullage.Prices(3, 15, None, None)) == pytest.approx(3)


def test_prices_can_be_given_and_what_has_none_is_said():
    catalog = ullage.ModelCatalog(prices={"gemini-2.5-flash": {"input": 0.3, "output": 2.5}})
    tracker = UsageTracker(catalog=catalog)
    tracker.record("s", "a", "gemini-2.5-flash", usage(1_000_000))
    assert tracker.cost() == pytest.approx(0.3)
    tracker.record("s", "a", "home-made", usage(1_000_000, 1_000_000))
    assert tracker.cost() == pytest.approx(0.3 + 2.5), "the document's default of 0.50 and 2.00"
    assert tracker.get_summary("s")["unpriced"] == ["home-made"]


def test_a_session_over_its_budget_says_so_in_the_words_of_the_document():
    tracker = UsageTracker(1_000)
    tracker.record("s", "a", "m", usage(999))
    assert not tracker.is_over_budget("s")
    tracker.record("s", "a", "m", usage(235))
    assert tracker.is_over_budget("s")
    assert not tracker.is_over_budget("other")
    assert tracker.paused("s") == (
        "Investigation paused: token budget exhausted (1,234 / 1,000 tokens used). Please summarize"
        " findings with available data."
    )
    assert not UsageTracker().is_over_budget("s")


def test_the_budget_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("SRE_AGENT_TOKEN_BUDGET", "5000")
    assert UsageTracker.from_env().budget == 5_000
    monkeypatch.delenv("SRE_AGENT_TOKEN_BUDGET")
    assert UsageTracker.from_env().budget == 0
    with pytest.raises(ullage.PolicyError, match="SRE_AGENT_TOKEN_BUDGET"):
        UsageTracker.from_env({"SRE_AGENT_TOKEN_BUDGET": "lots"})
    with pytest.raises(ullage.PolicyError, match="budget"):
        UsageTracker.from_env({"SRE_AGENT_TOKEN_BUDGET": "-1"})


def test_sums_are_exact_under_100_threads():
    tracker = UsageTracker(sessions=10)
    one = usage(3, 5, cached=2, thoughts=7, nanoseconds=11)

    def work(number):
        for _ in range(200):
            tracker.record(f"s{number % 10}", f"a{number % 3}", "m", one)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = tracker.usage()
    assert everything == Usage(20_000, 60_000, 100_000, 40_000, 140_000, 0, 0, 220_000)
    parts = [tracker.usage(f"s{n}") for n in range(10)]
    assert sum(parts, Usage()) == everything


def test_memory_is_bounded_and_the_sum_of_all_stays_exact():
    tracker = UsageTracker(sessions=8)
    for number in range(5_000):
        tracker.record(f"s{number}", f"agent {number}", "m", usage(1))
        tracker.record("busy", f"agent {number}", "m", usage(1))
    assert tracker.usage().prompt == 10_000
    assert tracker.usage("s1") == Usage()
    busy = tracker.get_summary("busy")
    assert busy["total_input_tokens"] == 5_000
    assert len(busy["by_agent"]) == 65
    assert OTHERS in busy["by_agent"]


def test_an_id_that_several_sessions_have_is_refused():
    tracker = UsageTracker()
    tracker.record("app/you/s", "a", "m", usage(7))
    assert tracker.usage("s").prompt == 7
    tracker.record("app/they/s", "a", "m", usage(1))
    assert tracker.usage("app/you/s").prompt == 7
    with pytest.raises(ullage.PolicyError, match="app/you/s or app/they/s"):
        tracker.get_summary("s")


def test_what_a_session_used_before_is_taken_over_once():
    tracker = UsageTracker(100)
    before = [("a", "m", usage(60)), ("b", "m", usage(60))]
    assert tracker.restore("s", before)
    assert not tracker.restore("s", before)
    assert tracker.usage("s").prompt == 120
    assert tracker.is_over_budget("s")
    assert tracker.usage() == Usage(), "it was not used in this process"
    tracker.reset("s")
    assert not tracker.knows("s")
    tracker.record("s", "a", "m", usage(1))
    tracker.reset()
    assert tracker.total_tokens == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": -1},
        {"budget": "5"},
        {"budget": True},
        {"sessions": 0},
        {"catalog": {}},
        {"default": (1, 2)},
    ],
)
def test_what_an_argument_should_be_is_said(wrong):
    with pytest.raises(ullage.PolicyError, match=next(iter(wrong))):
        UsageTracker(**wrong)
