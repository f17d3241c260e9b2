"""A preset is what its adapter runs where nothing else is asked for, in every setting."""

# mypy: disable-error-code="no-untyped-def"

import importlib
from types import SimpleNamespace

import pytest

import ullage
from ullage.amplifier.budget import MARGIN
from ullage.cli.policy import PRESETS
from ullage.valis import ContextConfig


def needs_host(name):
    """Skips where the host is not installed, or is too old for its adapter."""
    try:
        return importlib.import_module(f"ullage.{name}")
    except ImportError as error:
        pytest.skip(str(error))


def amplifier(strategy):
    from ullage.amplifier import SimpleContextManager
    from ullage.amplifier.settings import CompactionSettings

    manager = SimpleContextManager(compaction_strategy=strategy)
    policy = CompactionSettings.of(manager).policy(manager.max_tokens)
    # The window of a request is what Amplifier leaves of the window of a model.
    assert policy.reserve_output == 0
    return policy.replace(reserve_output=manager.compaction_notice_token_reserve + MARGIN)


def strands():
    strands = needs_host("strands")
    manager = strands.MappingConversationManager()
    agent = SimpleNamespace(messages=[], model=None)
    layers = manager._layers(agent)
    window, tokens = layers._window.policy, layers.engine.policy
    # The cascade's two engines share the work: one the number of messages, one their tokens.
    assert window.stages == ["window"]
    assert tokens.max_messages is None
    policy = tokens.replace(max_messages=window.max_messages)
    assert policy == window.replace(stages=tokens.stages)
    # The preset's high mark is the hook's; the engines act by themselves where it did not help.
    assert policy.high == policy.escalate
    return policy.replace(high=manager.settings.prompt_telemetry_threshold)


def supyagent():
    from ullage.supyagent import ContextManager, ContextSettings

    policy = ContextManager("a-model-that-nobody-knows")._requests.policy
    # An engine by itself has to leave room for what the manager does by a summary.
    assert policy == ContextSettings().policy().replace(low=policy.low)
    return policy


def sre_agent():
    return needs_host("adk").sre_agent().policy


def adk_session():
    return needs_host("adk").ContextCompactor()._engine.policy


def valis():
    from ullage.valis.summaries import longest, policy_of

    config, limit = ContextConfig(), 128_000
    return policy_of(limit, longest(limit)).replace(
        window=limit,
        reserve_output=config.response_reserve or 0,
        high=config.compaction_threshold,
        escalate=config.summarization_threshold,
        shrink_above=config.large_result_tokens,
    )


RUN = {
    "default": lambda: ullage.ContextManager().policy,
    "cyber-autoagent": strands,
    "amplifier-simple": lambda: amplifier("simple"),
    "amplifier-smart": lambda: amplifier("smart"),
    "supyagent": supyagent,
    "sre-agent": sre_agent,
    "adk-session": adk_session,
    "valis": valis,
}


def test_every_preset_is_compared():
    assert set(RUN) == set(PRESETS)


@pytest.mark.parametrize("preset", RUN)
def test_a_preset_is_what_its_adapter_runs(preset):
    assert RUN[preset]().to_dict() == ullage.Policy.preset(preset).to_dict()
