"""Warnings: once, at the caller's line, and never an exception in the middle of a compaction."""

import logging
import warnings

import pytest

import ullage

from .commands import inside, lines


def long_messages():
    messages = [{"role": "user", "content": "Sum up the pages."}]
    for number in range(40):
        messages.append({"role": "assistant", "content": f"page {number} " * 300})
        messages.append({"role": "user", "content": "Go on."})
    return messages


def engine_that_summarizes(summarizer):
    policy = ullage.Policy(window=4_000, stages=["window", "summarize"])
    return ullage.ContextManager(policy, summarizer=summarizer)


def no_key(_request):
    raise ValueError("no key")


def test_an_unknown_model_is_a_warning_at_the_callers_line_with_the_nearest_id():
    catalog = ullage.ModelCatalog()
    with pytest.warns(ullage.UllageWarning, match=r"unknown model 'gtp-4o' .*'gpt-4o'") as found:
        ullage.ContextManager(model="gtp-4o", catalog=catalog)
    assert found[0].filename == __file__
    catalog.limits("gtp-4o")  # The second time it would be an error: each id warns once.
    with pytest.warns(ullage.UllageWarning, match="unknown model 'my-own'") as found:
        catalog.limits("my-own")
    assert "did you mean" not in str(found[0].message)
    # Doing what the warning says ends it.
    overrides = {"my-own": {"window": 128_000}}
    with warnings.catch_warnings(record=True) as none:
        warnings.simplefilter("always")
        ullage.ContextManager(model="my-own", catalog=ullage.ModelCatalog(overrides=overrides))
    assert none == []


def test_a_summarizer_that_fails_is_a_warning_once_and_the_compaction_is_done():
    engine = engine_that_summarizes(no_key)
    with pytest.warns(ullage.UllageWarning, match="no key") as found:
        reports = [engine.compact(long_messages()) for _ in range(3)]
    assert len(found) == 1
    assert "summaries='required'" in str(found[0].message)
    assert found[0].filename == __file__
    assert {report.summary.by for report in reports} == {"engine"}


def test_a_filter_that_turns_warnings_into_errors_ends_no_compaction(caplog):
    caplog.set_level(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ullage.ModelCatalog().limits("my-own")
        assert engine_that_summarizes(no_key).compact(long_messages()).removed_messages
    assert "unknown model" in caplog.text
    assert "no key" in caplog.text


def test_a_command_shows_a_warning_as_a_line_of_its_own():
    file = lines(long_messages())
    code, _, errors = inside("plan", "--model", "gtp-4.9-turbo", "-", stdin=file)
    assert code in {0, 1}
    assert errors.startswith("ullage: unknown model 'gtp-4.9-turbo'")
    assert "UllageWarning" not in errors
