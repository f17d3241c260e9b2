"""Behaviour that only the adapter of Hermes Agent has."""

from __future__ import annotations

import copy
import importlib.util
import json
from typing import Any

import pytest

import ullage

# Hermes must not be imported before its configuration is written.
if importlib.util.find_spec("run_agent") is None:
    pytest.skip("hermes-agent is not installed: run make test-hosts", allow_module_level=True)

from .hermes_host import HOME, HermesHost  # isort: skip

import hermes_cli.plugins
from agent.context_engine import ContextEngine

from ullage.hermes import CompactionEngine

from .provider import Provider, read_log

# Hermes warns of its own code, and starts slowly.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(300)]

POLICY = ullage.Policy(window=20_000, reserve_output=2_000)


def engine(**more: Any) -> CompactionEngine:
    return CompactionEngine(policy=POLICY, store=ullage.MemoryStore(), **more)


def tokens(messages: list[Any]) -> int:
    return ullage.TokenCounter().count_messages(messages, format="openai")


def history(steps: int = 16, **marks: Any) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": "Why does the checkout fail?"}]
    for step in range(steps):
        arguments = json.dumps({"part": step})
        call: dict[str, Any] = {"id": f"c{step}", "type": "function"}
        call["function"] = {"name": "read_log", "arguments": arguments}
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{step}", "content": read_log(step), **marks},
        ]
    messages.append({"role": "assistant", "content": "It is the card."})
    return messages


def test_hermes_finds_the_plugin_by_its_entry_point():
    manager = hermes_cli.plugins._ensure_plugins_discovered()
    registered = manager._context_engine
    assert isinstance(registered, CompactionEngine)
    assert registered.name == "ullage"
    long = "\n".join(map(read_log, range(90)))
    (short,) = hermes_cli.plugins.invoke_hook(
        "transform_tool_result", tool_name="read_log", args={}, result=long
    )
    assert len(short) < len(long) // 2
    assert list((HOME / "ullage").rglob("*read_log*"))
    kept = hermes_cli.plugins.invoke_hook(
        "transform_tool_result", tool_name="read_log", args={}, result="It is."
    )
    assert kept == []


def test_a_deep_copy_shares_the_store_and_has_its_own_counts():
    first = engine()
    second = copy.deepcopy(first)
    second.update_model("some-model", 10_000)
    second.update_from_response({"prompt_tokens": 9_000})
    assert first.threshold_tokens > second.threshold_tokens
    assert (first.last_prompt_tokens, second.last_prompt_tokens) == (0, 9_000)
    second.compress(history())
    assert (first.compression_count, second.compression_count) == (0, 1)
    found = json.loads(first.handle_tool_call("retrieve", {"pattern": "12:007:30"}))
    assert "12:007:30 GET" in found["text"]


def jobs() -> list[Any]:
    messages = history(30)
    for step, message in enumerate(messages[2:-1:2]):
        lines = [f"job {number} ran for {number * step % 77} s" for number in range(40)]
        # The lines of these parts differ from the others in nothing but the name.
        lines[20] = f"job {'billing_nightly' if step in {4, 9, 14} else 'other'} ran for {step} s"
        message["content"] = "\n".join(lines)
    return messages


def test_messages_about_the_focus_stay_whole():
    whole = [m for m in jobs() if "billing_nightly" in m["content"]]
    own = engine()
    assert not [m for m in own.compress(jobs(), force=True) if m in whole]
    kept = own.compress(jobs(), focus_topic="the job billing_nightly", force=True)
    assert [m for m in kept if m in whole] == whole
    assert not ullage.validate(kept, "openai")
    # A topic that nobody talked about, or that all did, changes nothing.
    plain = own.compress(jobs(), force=True)
    assert own.compress(jobs(), focus_topic="zebra", force=True) == plain


def test_a_focus_that_is_everywhere_takes_its_part_and_no_more():
    own = engine()
    kept = own.compress(jobs(), focus_topic="what other jobs ran", force=True)
    assert tokens(kept) < tokens(jobs()) // 2


def test_notes_of_hermes_do_not_outlive_what_they_are_about():
    marks: dict[str, Any] = {"_db_persisted": True, "api_content": "sent before"}
    given = history(**marks)
    before = copy.deepcopy(given)
    kept = engine().compress(given)
    assert given == before, "the caller's list stays"
    assert tokens(kept) < tokens(given) // 2
    assert not any("_db_persisted" in message for message in kept)
    for message in kept:
        whole = any(message["content"] == other["content"] for other in given)
        assert ("api_content" in message) == (whole and message["role"] == "tool")


def test_nothing_to_remove_is_no_compaction():
    own, given = engine(), history(0)
    assert own.compress(given, force=True) == given
    assert own.compression_count == 0


def test_a_failed_compaction_says_why_and_changes_nothing():
    own, given = engine(), history()
    given[0] = {"role": "nobody"}
    assert own.compress(given) == given
    assert own._last_compress_aborted
    assert own._last_summary_error
    own.compress(history())
    assert not own._last_compress_aborted


def test_a_store_that_fails_does_not_stop_a_compaction():
    class Full(ullage.MemoryStore):
        def put(self, *_: Any, **__: Any) -> str:
            raise ullage.StoreError("the disk is full")

    kept = CompactionEngine(policy=POLICY, store=Full()).compress(history())
    assert tokens(kept) < tokens(history()) // 2


def test_reported_usage_corrects_the_estimates_of_hermes():
    own = engine()
    estimate = own.threshold_tokens + 1_000
    assert not own.should_defer_preflight_to_real_usage(estimate)
    own.update_from_response({"prompt_tokens": estimate // 2})
    # The provider counts half as many.
    assert own.should_defer_preflight_to_real_usage(estimate + 500)
    assert not own.should_compress(estimate + 500)
    # A count by the provider itself is not corrected.
    own.update_from_response({"prompt_tokens": own.threshold_tokens + 1})
    assert own.should_compress(own.threshold_tokens + 1)


def test_a_window_that_the_provider_names_is_kept():
    provider = Provider(steps=30, limit=4_000)
    store = ullage.MemoryStore()
    agent = HermesHost().agent(provider, ullage.ContextManager(POLICY, store=store), is_async=False)
    assert agent.ask("Why does the checkout fail?") == "It is the card."
    assert agent.agent.context_compressor.threshold_tokens < 4_000
    assert 1 <= len(provider.refused) <= 3


def test_the_slot_is_that_of_the_installed_hermes():
    assert issubclass(CompactionEngine, ContextEngine)
    assert not CompactionEngine.__abstractmethods__
