"""The engines of agents: their compactions in place, and what follows a refusal."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands.session.file_session_manager import FileSessionManager
from strands.tools import PythonAgentTool
from strands.types.exceptions import ContextWindowOverflowException

from ullage import (
    BudgetError,
    ContextManager,
    FileStore,
    MemoryStore,
    ModelCatalog,
    ModelLimits,
    Policy,
    PolicyError,
    UllageError,
)
from ullage._engine.logger import Logger
from ullage._engine.steps import Step
from ullage._engine.warning import warn
from ullage._hosts.checks import require_engine
from ullage.stores.retrieval import DEFAULT_LIMIT
from ullage.stores.tools import RetrievalTool
from ullage.strands.agents import model_id, model_window, tool_specs, usage_counts
from ullage.strands.history import identify, limit_count
from ullage.strands.settings import UNKNOWN_WINDOW

if TYPE_CHECKING:
    from collections.abc import Callable

    from strands.types.tools import ToolResult, ToolUse

    from ullage import Report
    from ullage._engine.steps import Steps
    from ullage.stores.protocol import Store

logger = Logger(__name__)

_MODELS = ModelCatalog(default={"window": UNKNOWN_WINDOW})

# The folder of the originals, in the folder of a session.
_FOLDER = "artifacts"


def engine_factory(
    engine: ContextManager | None,
    *,
    policy: Policy | None,
    store: Store | None,
    model: str | None,
) -> Callable[[Any], ContextManager]:
    """Returns a function that returns the engine of an agent: ``engine``, or one for its model.

    Raises:
        PolicyError: If an argument is not what it should be, or an engine is given together with
            what it has.
    """
    require_engine(engine)
    if engine is not None and (policy, store, model) != (None, None, None):
        raise PolicyError("give an engine, or policy, store and model to make one of")

    def engine_for(agent: Any) -> ContextManager:
        found = engine or _new_engine(agent, policy, store, model)
        has_session = getattr(agent, "_session_manager", None) is not None
        if has_session and isinstance(found.store, MemoryStore):
            logger.warning(
                "agent=<%s> | originals are in memory: an agent that a session restores cannot"
                " retrieve them; give a store that lasts",
                getattr(agent, "name", None),
            )
            warn(
                "the originals of removed content are in memory, but the agent has a session: once"
                " the process ends, they cannot be retrieved; give store=ullage.FileStore(folder)"
            )
        return found

    engine_for(None)
    return engine_for


def _new_engine(
    agent: Any, policy: Policy | None, store: Store | None, model: str | None
) -> ContextManager:
    """Returns an engine with what is given. The rest is for the agent's model and session."""
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


def system_and_tools(agent: Any) -> dict[str, Any]:
    """Returns the system prompt and the tools, which take part of the window too."""
    return {"system": getattr(agent, "system_prompt", None), "tools": tool_specs(agent)}


def compaction(
    agent: Any,
    engine: ContextManager,
    messages: list[Any],
    *,
    room: int | None = None,
    **options: Any,
) -> Steps[Report]:
    """Compacts the messages in place, gives new ones an id, and holds a limit on their number.

    If the budget cannot be met, the messages that must stay may have ``room`` tokens more, if it is
    given. The options are those of ``ContextManager.compact``.
    """
    before, options = [*messages], {**system_and_tools(agent), **options}
    try:
        report: Report = yield Step(
            partial(engine.compact, messages, **options),
            partial(engine.acompact, messages, **options),
        )
    except BudgetError as error:
        if room is None:
            raise
        options["budget"] = error.floor + room
        return (yield from compaction(agent, engine, messages, **options))
    if report.stages or report.repairs:
        identify(messages, before)
    limit_count(messages, engine.policy, options.get("pins", ()))
    return report


def reduction(
    agent: Any,
    engine: ContextManager,
    messages: list[Any],
    share: float,
    *,
    refusal: Exception | None = None,
    first: Callable[[], object] | None = None,
) -> Steps[Report]:
    """Compacts to a share of what was refused, or as near to it as it goes.

    ``refusal`` is the provider's error; ``first`` is called before the engine.

    Raises:
        ContextWindowOverflowException: If the messages cannot be made smaller.
    """
    try:
        refused = engine.status(messages, **system_and_tools(agent))
        if first is not None:
            first()
        budget = max(1, min(refused.available, int(refused.tokens * share)))
        try:
            report = yield from compaction(agent, engine, messages, budget=budget, hard=True)
        except BudgetError as error:
            if error.floor >= refused.tokens:
                raise
            options = {"budget": error.floor, "hard": True}
            report = yield from compaction(agent, engine, messages, **options)
    except UllageError as error:
        raise ContextWindowOverflowException(f"the history cannot be made smaller: {error}") from (
            refusal or error
        )
    if report.tokens_after >= refused.tokens:
        raise ContextWindowOverflowException(
            "the history cannot be made smaller: nothing in it may be shortened or removed"
        ) from refusal
    return report


def observe(engine: ContextManager, request: list[Any], answer: Any) -> None:
    """Learns from the usage that came with the answer to these messages, if any came.

    Call it before a compaction, which changes the messages that the usage is about.
    """
    reported, cached = usage_counts(answer)
    if reported is None:
        return
    try:
        engine.observe(request, reported, cached)
    except UllageError as error:
        logger.debug("error=<%s> | the reported usage was not used", error)


def retrieval_tool(
    store: Store, *, name: str = "retrieve", limit: int = DEFAULT_LIMIT
) -> PythonAgentTool:
    """Returns a tool that reads stored outputs back.

    The first line of its results marks them, so they are not stored again. If a call cannot be
    answered, its result has the status ``error`` and says why.

    Args:
        store: The store of the engine; sync or async.
        name: The name of the tool.
        limit: Most characters of an answer.
    """
    tool = RetrievalTool(store, name=name, limit=limit)

    async def answer_call(tool_use: ToolUse, **_: Any) -> ToolResult:
        answer = await tool.aanswer(tool_use["input"])
        return {
            "toolUseId": tool_use["toolUseId"],
            "status": "success" if answer.ok else "error",
            "content": [{"text": answer.text}],
        }

    spec = tool.definition("bedrock")["toolSpec"]
    return PythonAgentTool(name, spec, answer_call)
