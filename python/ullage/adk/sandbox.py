"""Runs code over stored data: in a code executor of ADK or a function, and as a tool."""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import zlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from google.adk.code_executors.base_code_executor import BaseCodeExecutor
from google.adk.code_executors.code_execution_utils import (
    CodeExecutionInput,
    CodeExecutionResult,
    File,
)
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext  # noqa: TC002 - ADK reads the annotation

from ullage._core import StoreError
from ullage._engine.artifact_writer import ArtifactWriter
from ullage._engine.steps import arun
from ullage.stores.retrieval import DEFAULT_LIMIT, content_of

if TYPE_CHECKING:
    from ullage.stores.protocol import Store

ANALYSIS_TOOL = "execute_custom_analysis_in_sandbox"

_DESCRIPTION = """Runs Python code over the full data of a large result, which is not in this
conversation. The code finds the data as the variable `data` (parsed JSON, or a text) and prints
what it finds out; print aggregates, not the data.

Args:
    reference: The reference of the stored data, as it stands in the result's metadata.
    analysis_code: Python code that reads `data` and prints.

Returns:
    What the code printed, or what went wrong.
"""

Runs: TypeAlias = Callable[[str, bytes], "str | Awaitable[str]"]
"""Runs code that finds its data as ``data``, given as bytes of JSON; gives what it printed."""

# Executors that put the files of an input beside the code, and executors derived from them. The
# others get the data in the code, because the contract of an executor does not tell.
_TAKE_FILES = frozenset({"VertexAiCodeExecutor", "AgentEngineSandboxCodeExecutor"})

_FILE = "ullage_data.json"

_FROM_FILE = f"""
import json
with open({_FILE!r}, encoding="utf-8") as _file:
    data = json.loads(_file.read())
"""

_FROM_CODE = """
import base64, json, zlib
data = json.loads(zlib.decompress(base64.b64decode("{}")))
"""

# The last characters of an error, where Python names the problem.
_ERROR_TAIL = 2_000

# Python writes this if code failed, for executors that report no exit code.
_TRACEBACK = "Traceback (most recent call last)"


class SandboxError(Exception):
    """The code did not run, or failed."""


class Sandbox:
    """Runs code over data.

    Args:
        runs: A code executor of ADK, or a function, plain or async, that takes the code and the
            data and returns the printed text. It raises if the code fails. In an executor of ADK
            the code finds ``data``; a function must provide it.
        seconds: The time limit. A thread is then left behind, so give an executor its own limit
            too.

    Executors that accept no files get the data in the code, compressed. ``ContainerCodeExecutor``
    passes code as an argument, which Linux limits to 128 KiB.
    """

    def __init__(self, runs: BaseCodeExecutor | Runs, *, seconds: float = 60.0) -> None:
        self._runs = runs
        self._seconds = seconds

    async def run(self, code: str, data: bytes, tool_context: ToolContext) -> str:
        """Runs the code and returns its output.

        Raises:
            SandboxError: If it does not run, fails, prints nothing or takes too long.
        """
        try:
            printed = await asyncio.wait_for(self._printed(code, data, tool_context), self._seconds)
        except (SandboxError, asyncio.CancelledError):
            raise
        except (TimeoutError, asyncio.TimeoutError) as error:
            raise SandboxError(f"no answer within {self._seconds:g} seconds") from error
        except Exception as error:
            raise SandboxError(f"{type(error).__name__}: {error}") from error
        if not isinstance(printed, str) or not printed.strip():
            raise SandboxError("the code printed nothing; print what is to be seen")
        return printed

    async def _printed(self, code: str, data: bytes, tool_context: ToolContext) -> Any:
        if isinstance(self._runs, BaseCodeExecutor):
            return await asyncio.to_thread(self._executed, self._runs, code, data, tool_context)
        if inspect.iscoroutinefunction(self._runs):
            return await self._runs(code, data)
        # In a thread, because it may block. An awaitable that it returns is awaited here.
        printed = await asyncio.to_thread(self._runs, code, data)
        return await printed if inspect.isawaitable(printed) else printed

    @staticmethod
    def _executed(
        executor: BaseCodeExecutor, code: str, data: bytes, tool_context: ToolContext
    ) -> str:
        if _takes_files(executor):
            files = [File(name=_FILE, content=data, mime_type="application/json")]
            asked = CodeExecutionInput(code=_FROM_FILE + code, input_files=files)
        else:
            packed = base64.b64encode(zlib.compress(data)).decode("ascii")
            asked = CodeExecutionInput(code=_FROM_CODE.format(packed) + code)
        result = executor.execute_code(tool_context._invocation_context, asked)  # noqa: SLF001 - ADK asks for it
        if not isinstance(result, CodeExecutionResult):
            # Such as the executor built into Gemini.
            raise SandboxError(f"{type(executor).__name__} runs no code but the model's own")
        if _failed(result):
            # Some put both outputs into one of the two.
            said = result.stderr or result.stdout or f"exit code {result.exit_code}"
            raise SandboxError(said.strip()[-_ERROR_TAIL:])
        return result.stdout


def _takes_files(executor: BaseCodeExecutor) -> bool:
    return any(kind.__name__ in _TAKE_FILES for kind in type(executor).__mro__)


def _failed(result: CodeExecutionResult) -> bool:
    """True if the code failed. A warning beside its output is not a failure."""
    if result.exit_code is not None:
        return result.exit_code != 0
    return bool(result.stderr) and (not result.stdout or _TRACEBACK in result.stderr)


def analysis_tool(
    store: Store, sandbox: Sandbox, *, name: str = ANALYSIS_TOOL, limit: int = DEFAULT_LIMIT
) -> FunctionTool:
    """Returns a tool that runs a model's code over stored data.

    It answers ``{"result": printed}``, or ``{"error": explanation}``. An output of more than
    ``limit`` characters is stored, and its beginning is shown.

    Args:
        store: The store of the data; sync or async.
        sandbox: Runs the code.
        name: The name of the tool for the model.
        limit: The most characters of an answer.
    """
    artifact_writer = ArtifactWriter(store)

    async def answered(
        reference: str, analysis_code: str, tool_context: ToolContext
    ) -> dict[str, Any]:
        try:
            data = await arun(content_of(store, str(reference).strip()))
            printed = await sandbox.run(str(analysis_code), as_json(data), tool_context)
        except (SandboxError, StoreError) as error:
            return {"error": str(error)}
        if len(printed) <= limit:
            return {"result": printed}
        content = printed.encode("utf-8", "replace")
        try:
            (whole,) = await arun(artifact_writer.references(name, content))
        except StoreError as error:
            return {"result": printed[:limit], "truncated": f"the whole is not stored: {error}"}
        more = f"{len(printed) - limit:,} more characters are stored as {whole}"
        return {"result": printed[:limit], "truncated": more}

    answered.__name__ = name
    answered.__doc__ = _DESCRIPTION
    return FunctionTool(answered)


def as_json(content: bytes) -> bytes:
    """Returns stored content as JSON: unchanged if it is JSON, otherwise as a string."""
    try:
        json.loads(content)
    except ValueError:
        return json.dumps(content.decode("utf-8", "replace")).encode()
    return content
