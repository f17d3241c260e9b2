"""``execute_custom_analysis_in_sandbox``: the model's own code over data that is stored."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import TYPE_CHECKING, Any

from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext  # noqa: TC002 - ADK reads the annotation

from ullage._core import StoreError, reference_of
from ullage._engine.artifact_writer import Artifact, ArtifactWriter
from ullage._engine.steps import arun
from ullage.adk.sandbox import Sandbox, SandboxError

if TYPE_CHECKING:
    from ullage.stores.protocol import Store

ANALYSIS_TOOL = "execute_custom_analysis_in_sandbox"

# Most characters of what the code prints that the model sees: as much as of a retrieved output.
DEFAULT_LIMIT = 20_000

_DESCRIPTION = """Runs Python code over the full data of a large result, which is not in this
conversation. The code finds the data as the variable `data` (parsed JSON, or a text) and prints
what it finds out; print aggregates, not the data.

Args:
    reference: The reference of the stored data, as it stands in the result's metadata.
    analysis_code: Python code that reads `data` and prints.

Returns:
    What the code printed, or what went wrong.
"""


def analysis_tool(
    store: Store, sandbox: Sandbox, *, name: str = ANALYSIS_TOOL, limit: int = DEFAULT_LIMIT
) -> FunctionTool:
    """A tool that runs a model's code over stored data.

    It answers ``{"result": printed}``, and ``{"error": words}`` where it cannot. Of more than
    ``limit`` characters the head is shown, and the whole stored.

    Args:
        store: Where the data is; sync or async.
        sandbox: Where the code runs.
        name: What the model calls it by.
        limit: Most characters of an answer.
    """
    artifact_writer = ArtifactWriter(store)

    async def answered(
        reference: str, analysis_code: str, tool_context: ToolContext
    ) -> dict[str, Any]:
        try:
            data = await stored(store, str(reference).strip())
            printed = await sandbox.run(str(analysis_code), as_json(data), tool_context)
        except (SandboxError, StoreError) as error:
            return {"error": str(error)}
        if len(printed) <= limit:
            return {"result": printed}

        def made(salt: int) -> tuple[str, list[Artifact]]:
            content = printed.encode("utf-8", "replace")
            whole = reference_of(name, content, salt)
            return whole, [(whole, name, content)]

        try:
            whole = await arun(artifact_writer.kept(made))
        except StoreError as error:
            return {"result": printed[:limit], "truncated": f"the whole is not stored: {error}"}
        more = f"{len(printed) - limit:,} more characters are stored as {whole}"
        return {"result": printed[:limit], "truncated": more}

    answered.__name__ = name
    answered.__doc__ = _DESCRIPTION
    return FunctionTool(answered)


async def stored(store: Store, reference: str) -> bytes:
    """The content of a reference, from a sync or an async store.

    Raises:
        StoreError: If the store cannot give it.
    """
    try:
        content: Any = await asyncio.to_thread(store.get, reference)
        content = await content if inspect.isawaitable(content) else content
        return bytes(content)
    except StoreError:
        raise
    except Exception as error:
        raise StoreError(
            f"{reference!r} cannot be read: {type(error).__name__}: {error}"
        ) from error


def as_json(content: bytes) -> bytes:
    """Stored content as JSON: as it is where it is JSON, and as a string where it is a text."""
    try:
        json.loads(content)
    except ValueError:
        return json.dumps(content.decode("utf-8", "replace")).encode()
    return content
