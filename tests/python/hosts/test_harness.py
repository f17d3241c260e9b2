"""The strategy for Pydantic AI's harness."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

import ullage

pytest.importorskip(
    "pydantic_ai_harness", reason="pydantic-ai-harness is not installed: run make test-hosts"
)

from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, ToolReturnPart
from pydantic_ai_harness.compaction import (
    CompactionStrategy,
    SupportsFocus,
    TieredCompaction,
    compact_now,
    pin,
)

from ullage.pydantic_ai.codec import MessageCodec
from ullage.pydantic_ai.harness import EngineStrategy

from .provider import SYSTEM, Provider, read_log
from .pydantic_ai_host import UNLIMITED, scripted

POLICY = ullage.Policy(window=20_000, reserve_output=2_000)


def strategy() -> EngineStrategy:
    return EngineStrategy(ullage.ContextManager(POLICY, store=ullage.MemoryStore()))


def run(provider: Provider, **more: Any) -> list[Any]:
    agent: Any = Agent(scripted(provider), instructions=SYSTEM, tools=[read_log], **more)
    asked = agent.run("Why does the checkout fail?", usage_limits=UNLIMITED)
    return list(asyncio.run(asked).all_messages())


def compacted(messages: list[Any], **more: Any) -> list[Any]:
    return asyncio.run(compact_now(strategy(), messages, model="test", **more))


def tokens(messages: list[Any]) -> int:
    rows = list(map(MessageCodec().row, messages))
    assert not ullage.validate(rows, "anthropic")
    return ullage.TokenCounter().count_messages(rows, format="anthropic")


def returned(messages: list[Any]) -> list[Any]:
    return [p.content for m in messages for p in m.parts if isinstance(p, ToolReturnPart)]


def test_it_is_a_strategy_that_takes_a_focus():
    assert isinstance(strategy(), SupportsFocus)
    own: CompactionStrategy[Any] = strategy()
    assert own


def test_tiers_keep_the_run_below_their_target():
    provider = Provider(steps=30, format="anthropic")
    tiers = TieredCompaction([strategy()], target_tokens=9_000)
    messages = run(provider, capabilities=[tiers])
    # The provider of the tests refuses invalid requests.
    assert len(provider.requests) == 31
    assert max(provider.tokens) < 12_000
    assert len(messages) < 61


def test_a_history_is_compacted_whatever_its_size():
    messages = run(Provider(steps=8, format="anthropic"))
    before = copy.deepcopy(messages)
    short = compacted(messages)
    assert tokens(short) < tokens(messages) // 2
    assert messages == before, "the caller's list and its parts stay"
    assert any(message is other for message in short for other in messages)


def test_messages_about_the_focus_stay_whole():
    messages = run(Provider(steps=16, format="anthropic"))
    whole = read_log(5)
    assert whole not in returned(compacted(messages))
    assert whole in returned(compacted(messages, focus="what happened at 12:005"))


def test_pinned_messages_stay_whole():
    messages = run(Provider(steps=16, format="anthropic"))
    note = ModelRequest([pin("The deploy window is Tuesday. " * 40)])
    kept = compacted([*messages[:9], note, *messages[9:]])
    assert note in kept


def test_what_is_no_engine_is_an_error():
    given: Any = POLICY
    with pytest.raises(ullage.PolicyError, match="got Policy"):
        EngineStrategy(given)
