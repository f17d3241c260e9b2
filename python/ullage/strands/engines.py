"""The engines that decide for the agents of a conversation manager."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands.session.file_session_manager import FileSessionManager

from ullage import (
    ContextManager,
    FileStore,
    MemoryStore,
    ModelCatalog,
    ModelLimits,
    Policy,
    PolicyError,
    TokenCounter,
    UllageError,
)
from ullage._engine.logger import Logger
from ullage.strands.agents import (
    answers,
    model_id,
    model_window,
    tool_specs,
    usage_counts,
)
from ullage.strands.settings import ESCALATION_THRESHOLD_RATIO, UNKNOWN_WINDOW

if TYPE_CHECKING:
    from ullage.stores.protocol import Store
    from ullage.strands.summaries import AgentSummarizer

logger = Logger(__name__)

_MODELS = ModelCatalog(default={"window": UNKNOWN_WINDOW})

# Of the originals, in the folder of a session.
_FOLDER = "artifacts"

_PRESET = Policy.preset("cyber-autoagent")
# So many times would what a summary is made from fit into the window: it is counted by our count.
_SUMMARY_INPUTS = 2


@dataclass(frozen=True)
class Engines:
    """What decides for one agent of a cascade.

    Attributes:
        window: Removes the oldest messages where there are too many, and does nothing else.
        reduction: Does all that brings a conversation inside a budget.
    """

    window: ContextManager
    reduction: ContextManager


def require_engine(engine: Any) -> None:
    """Rejects what is given for an engine and is not one.

    Raises:
        PolicyError: If it is neither a ``ContextManager`` nor None.
    """
    if engine is None or isinstance(engine, ContextManager):
        return
    if isinstance(engine, Policy):
        name = "policy"
    elif isinstance(engine, str):
        name = "model"
    else:
        name = "store" if hasattr(engine, "put") and hasattr(engine, "get") else ""
    remedy = f"; give it as {name}=" if name else ""
    raise PolicyError(f"engine must be a ContextManager; got {type(engine).__name__}{remedy}")


def engine_for(
    agent: Any, *, policy: Policy | None, store: Store | None, model: str | None
) -> ContextManager:
    """Returns an engine with what is given. The rest is for the agent's model and session.

    Raises:
        PolicyError: If an argument is not what it should be.
    """
    if model is None:
        agent_model = getattr(agent, "model", None)
        model, window = model_id(agent_model), model_window(agent_model)
        if policy is None and window is not None:
            policy = ModelLimits(model or "", window, window, None, "override").policy()
    return ContextManager(
        policy,
        store=_store_beside_session(agent) if store is None else store,
        model=model,
        catalog=_MODELS,
        format="bedrock",
        append_only=True,
    )


def _store_beside_session(agent: Any) -> Store:
    """Returns a store in the folder of the agent's session, or in memory if there is none."""
    session = getattr(agent, "_session_manager", None)
    if not isinstance(session, FileSessionManager):
        return MemoryStore()
    folder = Path(session._get_session_path(session.session_id)) / _FOLDER  # noqa: SLF001
    # Nothing is cleaned: other agents of the session may refer to it.
    return FileStore(folder, keep=None, clean_above=None)


def warn_of_lost_originals(agent: Any, store: Store | None) -> None:
    """Warns if a session keeps references to originals that only this process has."""
    if getattr(agent, "_session_manager", None) is not None and isinstance(store, MemoryStore):
        logger.warning(
            "agent=<%s> | originals are in memory: an agent that a session restores cannot"
            " retrieve them; give a store that lasts",
            getattr(agent, "name", None),
        )


def engines_of(
    model: Any,
    *,
    counter: TokenCounter | None,
    limit: int,
    low: float,
    window: int,
    zones: tuple[int, int],
    store: Store | None,
    summarizer: AgentSummarizer,
) -> Engines:
    """The engines of a cascade for the model.

    Args:
        model: A model of Strands.
        counter: What counts; if not given, a new one for the model.
        limit: The tokens that a prompt may have.
        low: The share of the limit to which a reduction goes down.
        window: Messages that a conversation may have.
        zones: Messages of the first and of the last zone.
        store: Keeps what leaves.
        summarizer: Asks for summaries.
    """
    identity = model_id(model)
    if counter is None:
        counter = TokenCounter() if identity is None else TokenCounter.for_model(identity)
    first, last = zones
    limits = ModelLimits(identity or "", limit, limit, None, "override").policy()
    policy = _PRESET.replace(
        window=limits.window,
        reserve_output=min(limits.reserve_output, _PRESET.reserve_output),
        # The cascade compares its own estimate with the preset's mark. The engine counts better,
        # and acts by itself only on what the estimate has not seen coming.
        high=ESCALATION_THRESHOLD_RATIO,
        low=low,
        keep_first=first,
        keep_recent=last,
        max_messages=window,
        # The model that is asked for the summary has the same window.
        summary_input=max(1, min(_PRESET.summary_input, limit // _SUMMARY_INPUTS)),
    )

    def made(policy: Policy, asks: AgentSummarizer | None) -> ContextManager:
        return ContextManager(
            policy,
            counter=counter,
            store=store,
            summarizer=asks,
            format="bedrock",
            model=identity,
            append_only=True,
        )

    # The cascade counts the messages first, and reduces what is still too large after that.
    return Engines(
        made(policy.replace(stages=["window"]), None),
        made(policy.replace(max_messages=None), summarizer),
    )


def fixed(agent: Any) -> dict[str, Any]:
    """What takes its part of the window beside the messages of an agent."""
    return {"system": getattr(agent, "system_prompt", None), "tools": tool_specs(agent)}


def observe(engine: ContextManager, messages: list[Any], seen: Any) -> Any:
    """Learns from the usage of the last answer; what came before it was its prompt.

    So it comes before every compaction, which changes what came before.

    Args:
        engine: What learns.
        messages: The messages of the agent.
        seen: The answer that was learned from last.

    Returns:
        The answer to give next time.
    """
    index, answer = next(answers(messages), (0, None))
    return seen if answer is None else observe_answer(engine, messages[:index], answer, seen)


def observe_answer(engine: ContextManager, request: list[Any], answer: Any, seen: Any) -> Any:
    """Learns from the usage of an answer to these messages, unless it was learned from before.

    Returns:
        The answer to give as ``seen`` next time.
    """
    reported, cached = usage_counts(answer)
    if answer is seen or reported is None:
        return answer
    said = {} if cached is None else {"cached_tokens": cached}
    try:
        engine.observe(request, reported, **said)
    except UllageError as error:
        logger.debug("error=<%s> | the usage taught nothing", error)
    return answer
