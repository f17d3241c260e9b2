"""``Engines``: the engines of the cascade for one agent, made for its model and its limit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ullage import ContextManager, ModelLimits, Policy, TokenCounter
from ullage.strands.agents import model_id
from ullage.strands.settings import ESCALATION_THRESHOLD_RATIO
from ullage.strands.summaries import AgentSummarizer

if TYPE_CHECKING:
    from ullage.stores.protocol import Store

_PRESET = Policy.preset("cyber-autoagent")

# The input of a summary takes at most half of the window. The other half is for the error of our
# count.
_SUMMARY_INPUTS = 2


@dataclass(frozen=True)
class EngineSettings:
    """All that the engines of an agent depend on.

    Attributes:
        model: The agent's model.
        limit: Tokens of its window.
        low: Share of the limit to which a reduction goes down.
        window: Messages of the window.
        keep_first: Messages of the first zone.
        keep_last: Messages of the last zone.
        store: The store of removed content, or None.
        summarization_agent: Summarizes in place of the agent's own model.
        summarization_prompt: The system prompt of summaries, or None for ullage's.
    """

    model: Any
    limit: int
    low: float
    window: int
    keep_first: int
    keep_last: int
    store: Store | None
    summarization_agent: Any
    summarization_prompt: str | None

    def policy(self) -> Policy:
        """Returns the preset of the cascade, for these settings."""
        limits = ModelLimits("", self.limit, self.limit, None, "override").policy()
        return _PRESET.replace(
            window=limits.window,
            reserve_output=min(limits.reserve_output, _PRESET.reserve_output),
            # The cascade compares its own estimate with the preset's mark. The engine counts
            # better, and acts by itself only on what the estimate has not seen coming.
            high=ESCALATION_THRESHOLD_RATIO,
            low=self.low,
            keep_first=self.keep_first,
            keep_recent=self.keep_last,
            max_messages=self.window,
            # The model that is asked for the summary has the same window.
            summary_input=max(1, min(_PRESET.summary_input, self.limit // _SUMMARY_INPUTS)),
        )


@dataclass(frozen=True)
class Engines:
    """The engines of one agent.

    Attributes:
        settings: The settings that they were made with.
        window: Removes the oldest messages if there are too many, and does nothing else.
        reduction: Does everything that brings a conversation within a budget.
    """

    settings: EngineSettings
    window: ContextManager
    reduction: ContextManager

    @classmethod
    def of(cls, agent: Any, settings: EngineSettings, previous: Engines | None) -> Engines:
        """Makes the engines of an agent.

        Args:
            agent: The agent.
            settings: Its settings.
            previous: Its engines so far. If the model is the same, the counter stays: what it has
                learned is about the model.
        """
        identity = model_id(settings.model)
        if previous is not None and previous.settings.model is settings.model:
            counter = previous.reduction.counter
        else:
            counter = TokenCounter() if identity is None else TokenCounter.for_model(identity)
        engine = partial(
            ContextManager,
            counter=counter,
            store=settings.store,
            format="bedrock",
            model=identity,
            append_only=True,
        )
        policy = settings.policy()
        summarizer = AgentSummarizer(
            agent, settings.summarization_agent, settings.summarization_prompt
        )
        # The cascade counts the messages first, and reduces what is still too large after that.
        return cls(
            settings,
            engine(policy.replace(stages=["window"])),
            engine(policy.replace(max_messages=None), summarizer=summarizer),
        )
