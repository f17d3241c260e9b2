"""Layer 0 of the cascade: the hook that looks at each tool call, before and after."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from strands.hooks import (
    AfterToolCallEvent,
    BeforeToolCallEvent,
    HookProvider,
    HookRegistry,
)
from strands.tools import PythonAgentTool
from strands.types.tools import AgentTool

from ullage import FileStore, PolicyError
from ullage._core import is_retrieved, references_in
from ullage._engine.artifact_writer import ArtifactWriter
from ullage._engine.logger import Logger
from ullage._engine.steps import arun
from ullage._hosts.checks import require_engine
from ullage._hosts.results import shrink_result
from ullage.strands.agents import PerAgent
from ullage.strands.settings import PREFIX, CascadeSettings

if TYPE_CHECKING:
    from os import PathLike

    from ullage import ContextManager
    from ullage.stores.protocol import Store

logger = Logger(__name__)

# Characters of a result that stay in front of the path to the whole. With the lines around them
# they are well below the size from which on tool results are compressed.
_PREVIEW_CHARS = 4_000

# Inputs that hold a command line already, and those that stand alone on one.
_OPTIONS = ("options", "args", "arguments", "flags")
_TARGETS = ("target", "host", "url", "ip")
_OPTION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class ToolRouterHook(HookProvider):
    """Shrinks tool results before they enter the conversation, and runs unknown tools in a shell.

    A result above ``artifact_threshold`` characters is written to the artifacts, whole, and the
    conversation gets its head with the path. Without artifacts, or where they cannot be written, a
    result above ``max_result_chars`` keeps its beginning. All texts and JSON of a result are one
    output; images and documents stay beside it. After any error the tool's own result stays.

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
        env_prefix: The prefix of the variables' names.

    Raises:
        PolicyError: If more than one of ``artifacts_dir``, ``store`` and ``engine`` is given, or
            ``engine`` is not an engine.
        TypeError: If ``shell_tool`` is no tool.
    """

    # A folder of artifacts keeps so many, and is cleaned above the other number.
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
        self.shell_tool = _as_tool(shell_tool)
        self.max_result_chars = max(1, max_result_chars)
        self.artifact_threshold = max(1, artifact_threshold)
        self.store = store
        self._writer = ArtifactWriter(store)
        # The agents whose conversations may refer to an artifact.
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
        logger.info(
            "tool=<%s> | there is no such tool, the call runs in the shell", call.get("name")
        )
        event.tool_use = {**call, "input": {"command": command}}
        event.selected_tool = self.shell_tool

    async def _after_tool_call(self, event: AfterToolCallEvent) -> None:
        tool = str(event.tool_use.get("name"))
        if self.engine is not None:
            event.result = await arun(shrink_result(self.engine, tool, event.result))
            return
        self._agents.of(event.agent)
        try:
            event.result = await self._shrink(tool, event.result)
        except Exception:
            # A hook that raised would end the agent between a call and its result.
            logger.exception("tool=<%s> | the result was left as it is", tool)

    async def _shrink(self, tool: str, result: Any) -> Any:
        """Returns the result with an excerpt of its texts and JSON, and its media."""
        outputs = [(item, _output_of(item)) for item in result["content"]]
        text = "\n".join(output for _, output in outputs if output is not None)
        if is_retrieved(text):
            return result
        kept = await self._excerpt(tool, text)
        media = [item for item, output in outputs if output is None]
        return {**result, "content": [{"text": kept}, *media]} if len(kept) < len(text) else result

    async def _excerpt(self, tool: str, text: str) -> str:
        """Returns the text that enters the conversation."""
        most = min(self.artifact_threshold, self.max_result_chars)
        if self.store is not None and len(text) > most:
            try:
                place = await self._store(tool, text)
            except Exception:
                logger.exception("tool=<%s> | the result was not stored", tool)
            else:
                head = text[: min(_PREVIEW_CHARS, most // 2)]
                # The engine reads these words, so stored text is not stored again.
                return (
                    f"[Tool output: {len(text):,} chars total | Preview: {len(head):,} chars below"
                    f" | Full: {place}]\n\n{head}\n\n[Complete output saved to: {place}]"
                )
        if len(text) <= self.max_result_chars:
            return text
        return f"{text[: self.max_result_chars]}\n\n[Truncated: {len(text):,} chars total]"

    async def _store(self, tool: str, text: str) -> str:
        """Stores the text and returns where it can be read.

        That is its path from the folder that holds the artifacts, or else its reference.
        """
        content = text.encode("utf-8", "surrogatepass")
        (reference,) = await arun(self._writer.references(tool, content))
        store: Any = self.store
        if getattr(store, "above_limit", False):
            try:
                live = [[*agent.messages] for agent in self._agents.agents()]
                await asyncio.to_thread(_clean, store, live)
            except Exception:
                logger.exception("the artifacts were not cleaned up")
        if not isinstance(store, FileStore):
            return reference
        path = await asyncio.to_thread(store.relative_path, reference)
        return reference if path is None else (store.folder.name / path).as_posix()


def command_line(name: str, given: Any) -> str:
    """Returns the command ``<name> <options> <target|host|url|ip> --key value ...`` of a call.

    Every word is quoted for a POSIX shell, so it stays a word: no second command, no redirection,
    no variable. The program decides what the words mean.
    """
    if not isinstance(given, Mapping):
        given = {} if given is None else {"options": given}
    targets = [key for key in _TARGETS if given.get(key) not in (None, "")][:1]
    words = [name, *(word for key in _OPTIONS for word in _words_of(given.get(key)))]
    words += [str(given[key]) for key in targets]
    for key, value in given.items():
        if key not in _OPTIONS and key not in targets:
            words += _option(str(key), value)
    return " ".join(map(shlex.quote, words))


def _words_of(value: Any) -> list[str]:
    """Returns the words of options that are one line, or a list of words."""
    if value in (None, ""):
        return []
    if isinstance(value, Mapping):
        return [word for key, each in value.items() for word in _option(str(key), each)]
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [*map(str, value)]
    try:
        return shlex.split(value) if isinstance(value, str) else [str(value)]
    except ValueError:
        # An open quote: the whole is one word.
        return [value]


def _option(key: str, value: Any) -> list[str]:
    if value is None or value is False:
        return []
    name = f"--{key}" if _OPTION_NAME.fullmatch(key) else key
    if value is True:
        return [name]
    values = value if isinstance(value, (list, tuple)) else [value]
    return [word for each in values for word in (name, str(each))]


def _as_tool(tool: Any) -> AgentTool | None:
    """Returns the tool that runs command lines, from a tool or a module such as strands_tools.

    Raises:
        TypeError: If it is neither.
    """
    if tool is None or isinstance(tool, AgentTool):
        return tool
    if isinstance(tool, ModuleType):
        spec: Any = getattr(tool, "TOOL_SPEC", None)
        if spec is not None:
            return PythonAgentTool(spec["name"], spec, getattr(tool, spec["name"]))
        decorated = [each for each in vars(tool).values() if isinstance(each, AgentTool)]
        if len(decorated) == 1:
            return decorated[0]
    raise TypeError(
        f"shell_tool is a {type(tool).__name__}; give a tool of Strands, such as a function with"
        " @tool or strands_tools.shell"
    )


def _clean(store: Any, conversations: list[Any]) -> None:
    live = {reference for messages in conversations for reference in references_in(messages)}
    store.clean(live, spare_own=False)


def _output_of(item: Any) -> str | None:
    """Returns an item of a result as text; None for media."""
    if not isinstance(item, dict):
        return None
    if isinstance(text := item.get("text"), str):
        return text
    if "json" not in item:
        return None
    try:
        return json.dumps(item["json"], ensure_ascii=False, indent=1)
    except (TypeError, ValueError, RecursionError):
        return str(item["json"])
