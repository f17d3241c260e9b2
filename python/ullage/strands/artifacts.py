"""Layer 0 of the cascade: large tool results in a store, their head in the conversation."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage import FileStore, ReferenceTakenError
from ullage._core import reference_of
from ullage._engine.logger import Logger

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ullage.stores.protocol import Store

logger = Logger(__name__)

# Characters of a result that stay in front of the path to the whole. With the lines around them
# they are well below the size from which on tool results are compressed.
PREVIEW_CHARS = 4_000

# References that are tried for content whose own is taken by other content.
_TRIES = 3


@dataclass(frozen=True)
class Output:
    """What a tool returned, as one text.

    Attributes:
        text: Its texts, and its JSON as text.
        others: Its blocks that are neither, such as images.
        blocks: How many blocks the text is of.
    """

    text: str
    others: tuple[Any, ...]
    blocks: int

    @classmethod
    def of(cls, content: Iterable[Any]) -> Output:
        """The output of the content of a tool result."""
        texts, others = [], []
        for item in content:
            if isinstance(item, dict) and isinstance(item.get("text"), str):
                texts.append(item["text"])
            elif isinstance(item, dict) and "json" in item:
                texts.append(_printed(item["json"]))
            else:
                others.append(item)
        return cls("\n".join(texts), tuple(others), len(texts))


def truncate(text: str, most: int) -> str:
    """The first characters of a text, and how many there were."""
    return f"{text[:most]}\n\n[Truncated: {len(text):,} chars total]"


def preview(text: str, place: str, most: int) -> str:
    """The first characters of a text in the words that name its artifact.

    The engine reads them back: what is stored is not stored again.
    """
    head = text[:most]
    return (
        f"[Tool output: {len(text):,} chars total | Preview: {len(head):,} chars below"
        f" | Full: {place}]\n\n{head}\n\n[Complete output saved to: {place}]"
    )


class ArtifactFolder:
    """Where the outputs of tools are kept.

    Args:
        store: The store, sync or async.
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    def put(self, tool: str, text: str) -> tuple[str, Any]:
        """Offers the text to the store: its reference, and what the store returned.

        Where a reference is taken by other content, the next one is tried.

        Raises:
            StoreError: If the store cannot keep it.
        """
        content = text.encode("utf-8", "surrogatepass")
        for attempt in range(_TRIES - 1):
            reference = reference_of(tool, content, attempt)
            try:
                return reference, self.store.put(content, reference=reference, tool=tool)
            except ReferenceTakenError:
                logger.debug("reference=<%s> | taken", reference)
        reference = reference_of(tool, content, _TRIES)
        return reference, self.store.put(content, reference=reference, tool=tool)

    def place(self, reference: str) -> str:
        """The path of an artifact from the folder that holds the artifacts; else the reference."""
        if not isinstance(self.store, FileStore):
            return reference
        path: Path | None = self.store.relative_path(reference)
        return reference if path is None else (self.store.folder.name / path).as_posix()


def _printed(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=1)
    except (TypeError, ValueError, RecursionError):
        return str(value)
