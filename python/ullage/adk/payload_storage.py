"""Keeping the whole of a large result: in a store, and as an artifact of the session."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from google.genai import types

from ullage._core import reference_of
from ullage._engine.logger import Logger
from ullage._engine.steps import arun

if TYPE_CHECKING:
    from google.adk.tools.tool_context import ToolContext

    from ullage._core import Payload
    from ullage._engine.artifact_writer import Artifact, ArtifactWriter

logger = Logger(__name__)


@dataclass(frozen=True)
class Stored:
    """Where the whole of a result is.

    Args:
        reference: What the data is stored as; a line for each row.
        whole: What all of the result is stored as, where there is a frame around the data.
        artifact: The artifact of the session, as file name and version.
    """

    reference: str | None = None
    whole: str | None = None
    artifact: tuple[str, int] | None = None

    def __bool__(self) -> bool:
        return self.reference is not None or self.artifact is not None

    def with_artifact(self, artifact: tuple[str, int] | None) -> Stored:
        """The same with the artifact."""
        return replace(self, artifact=artifact)

    def metadata(self) -> dict[str, Any]:
        """The same as fields of a result's metadata."""
        said: dict[str, Any] = {}
        if self.reference is not None:
            said["reference"] = self.reference
        if self.whole is not None:
            said["original_reference"] = self.whole
        if self.artifact is not None:
            said["artifact"] = {"filename": self.artifact[0], "version": self.artifact[1]}
        return said


async def store_payload(artifact_writer: ArtifactWriter, tool: str, payload: Payload) -> Stored:
    """Stores a payload so that it can be read by rows, and whole.

    Raises:
        StoreError: If the store cannot keep it.
    """
    data, is_whole = await asyncio.to_thread(payload.stored)
    content = payload.json.encode()

    def made(salt: int) -> tuple[Stored, list[Artifact]]:
        reference = reference_of(tool, data, salt)
        artifacts = [(reference, tool, data)]
        whole = None
        if not is_whole:
            whole = reference_of(tool, content, salt)
            artifacts.append((whole, tool, content))
        return Stored(reference, whole), artifacts

    return await arun(artifact_writer.kept(made))


async def save_artifact(
    tool_context: ToolContext, tool: str, payload: Payload
) -> tuple[str, int] | None:
    """Saves the result as JSON; the file name and the version, or None where that cannot be."""
    content = payload.json.encode()
    name = f"{reference_of(tool, content, 0)}.json"
    part = types.Part(inline_data=types.Blob(data=content, mime_type="application/json"))
    try:
        return name, await tool_context.save_artifact(name, part)
    except ValueError as error:
        # What ADK raises where the app has no artifact service.
        logger.debug("tool=<%s>, reason=<%s> | no artifact", tool, error)
    except Exception as error:  # noqa: BLE001 - the store has it, or nothing is taken out
        logger.warning("tool=<%s>, reason=<%s> | the artifact was not saved", tool, error)
    return None
