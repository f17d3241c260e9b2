"""Layer 0 of the cascade: the hook that looks at each tool call, before and after."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from strands.hooks import (
    AfterToolCallEvent,
    BeforeToolCallEvent,
    HookProvider,
    HookRegistry,
)

from ullage import FileStore, PolicyError
from ullage._core import is_retrieved, references_in
from ullage._engine.logger import Logger
from ullage.strands.agents import PerAgent
from ullage.strands.artifacts import (
    PREVIEW_CHARS,
    ArtifactFolder,
    Output,
    preview,
    truncate,
)
from ullage.strands.engines import require_engine
from ullage.strands.settings import PREFIX, CascadeSettings
from ullage.strands.shell import as_tool, command_line

if TYPE_CHECKING:
    from os import PathLike

    from ullage import ContextManager
    from ullage.stores.protocol import Store

logger = Logger(__name__)


class ToolRouterHook(HookProvider):
    """Shrinks tool results before they enter the conversation, and runs unknown tools in a shell.

    A result above ``artifact_threshold`` characters is written to the artifacts, whole, and the
    conversation gets its head with the path. Without artifacts, or where they cannot be written, a
    result above ``max_result_chars`` keeps its beginning. All texts and JSON of a result are one
    output; images and documents stay beside it. The result is replaced and never changed in place,
    and whatever goes wrong, the tool's own result stays: a hook that raised would end the agent
    between a call and its result.

    A call of a tool that the agent does not have is run by ``shell_tool``, as a command line in
    which every word is quoted. Without ``shell_tool`` the model is told that there is no such tool.

    Files are written beside the event loop.

    Args:
        shell_tool: A tool with an input ``command``: a function with ``@tool``, or a module such as
            ``strands_tools.shell``.
        max_result_chars: ``CYBER_TOOL_MAX_RESULT_CHARS`` or 30,000 if not given.
        artifacts_dir: The folder of the artifacts. The newest 100 are kept once there are 150, and
            beside them all that a conversation of an agent with this hook refers to.
        artifact_threshold: ``CYBER_TOOL_RESULT_ARTIFACT_THRESHOLD`` or 10,000 if not given.
        engine: Decides in place of the thresholds what stays of a result; its store keeps the
            originals.
        store: Keeps the artifacts in place of a folder; sync or async.
        env_prefix: What the names of the variables begin with.

    Raises:
        PolicyError: If more than one of ``artifacts_dir``, ``store`` and ``engine`` is given, or
            ``engine`` is not an engine.
        TypeError: If ``shell_tool`` is no tool.
    """

    # What `artifacts_dir` keeps, and when it cleans up.
    MAX_ARTIFACTS_PER_SESSION = 100
    ARTIFACT_CLEANUP_THRESHOLD = 150

    def __init__(
        self,
        shell_tool: Any = None,
        max_result_chars: int | None = None,
        artifacts_dir: str | PathLike[str] | None = None,
        artifact_threshold: int | None = None,
        *,
        engine: ContextManager | None = None,
        store: Store | None = None,
        env_prefix: str = PREFIX,
    ) -> None:
        require_engine(engine)
        if [artifacts_dir, store, engine].count(None) < 2:  # noqa: PLR2004 - all but one
            raise PolicyError(
                "give one of artifacts_dir, store and engine: each keeps the originals"
            )
        settings = CascadeSettings.from_env(env_prefix)
        if max_result_chars is None:
            max_result_chars = settings.tool_max_result_chars
        if artifact_threshold is None:
            artifact_threshold = settings.tool_result_artifact_threshold
        if artifacts_dir is not None:
            store = FileStore(
                artifacts_dir,
                keep=self.MAX_ARTIFACTS_PER_SESSION,
                clean_above=self.ARTIFACT_CLEANUP_THRESHOLD,
            )
        self.engine = engine
        self.shell_tool = as_tool(shell_tool)
        self.max_result_chars = max(1, max_result_chars)
        self.artifact_threshold = max(1, artifact_threshold)
        self.artifacts = None if store is None else ArtifactFolder(store)
        # Whose conversations may refer to an artifact.
        self._agents: PerAgent[None] = PerAgent(lambda _: None)

    def register_hooks(self, registry: HookRegistry, **_: Any) -> None:
        """Registers the hook before and after each tool call."""
        registry.add_callback(BeforeToolCallEvent, self._before_tool_call)
        registry.add_callback(AfterToolCallEvent, self._after_tool_call)

    async def _before_tool_call(self, event: BeforeToolCallEvent) -> None:
        if event.selected_tool is not None or self.shell_tool is None or event.cancel_tool:
            return
        call = event.tool_use
        command = command_line(str(call.get("name", "")), call.get("input"))
        logger.info("tool=<%s> | run in the shell, since there is no such tool", call.get("name"))
        event.tool_use = {**call, "input": {"command": command}}
        event.selected_tool = self.shell_tool

    async def _after_tool_call(self, event: AfterToolCallEvent) -> None:
        tool = str(event.tool_use.get("name", "tool"))
        try:
            if self.engine is not None:
                result = await self.engine.ashrink(tool, event.result)
            else:
                self._agents.of(event.agent)
                result = await self._shrunk(tool, event.result)
        except Exception:
            logger.exception("tool=<%s> | the result was left as it is", tool)
            return
        if result is not event.result:
            event.result = result

    async def _shrunk(self, tool: str, result: Any) -> Any:
        output = Output.of(result["content"])
        if is_retrieved(output.text):
            return result
        kept = await self._kept(tool, output.text)
        if len(kept) >= len(output.text):
            return result
        return {**result, "content": [{"text": kept}, *output.others]}

    async def _kept(self, tool: str, text: str) -> str:
        """What enters the conversation."""
        most = min(self.artifact_threshold, self.max_result_chars)
        if self.artifacts is not None and len(text) > most:
            try:
                place = await self._stored(self.artifacts, tool, text)
            except Exception:
                logger.exception("tool=<%s> | the result was not stored", tool)
            else:
                return preview(text, place, min(PREVIEW_CHARS, most // 2))
        return truncate(text, self.max_result_chars) if len(text) > self.max_result_chars else text

    async def _stored(self, artifacts: ArtifactFolder, tool: str, text: str) -> str:
        """Where the whole can be read, once it can."""
        reference, returned = await asyncio.to_thread(artifacts.put, tool, text)
        if inspect.isawaitable(returned):
            await returned
        if getattr(artifacts.store, "above_limit", False):
            try:
                live = [[*agent.messages] for agent in self._agents.agents()]
                await asyncio.to_thread(_clean, artifacts.store, live)
            except Exception:
                logger.exception("the artifacts were not cleaned up")
        return await asyncio.to_thread(artifacts.place, reference)


def _clean(store: Any, conversations: list[Any]) -> None:
    live = {reference for messages in conversations for reference in references_in(messages)}
    store.clean(live, spare_own=False)
