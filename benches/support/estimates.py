"""Token estimates of hosts, and of the systems that ullage replaces."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from strands.models import Model

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


class Heuristic(Model):
    """A model that is only asked for Strands' own estimate."""

    def update_config(self, **model_config: Any) -> None:
        """Has no settings."""

    def get_config(self) -> dict[str, Any]:
        """Has no settings."""
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        """Is never asked."""
        raise NotImplementedError

    def stream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        """Is never asked."""
        raise NotImplementedError


MODEL = Heuristic()


def of_strands(messages: list[dict[str, Any]]) -> int:
    """``Model.count_tokens``: characters / 4, and / 2 where they are JSON."""
    return asyncio.run(MODEL.count_tokens(messages))  # type: ignore[arg-type]


def of_adk(messages: list[dict[str, Any]]) -> int:
    """Characters / 4, as Google ADK has it for a history without reported usage."""
    return sum(characters(block) for message in messages for block in message["content"]) // 4


def of_cyber_autoagent(messages: list[dict[str, Any]]) -> int:
    """Its formula with the ratio for Claude."""
    total = sum(characters(block) for message in messages for block in message["content"])
    return 8_000 + 3_000 + 50 * len(messages) + max(1, int(total / 3.7))


def of_sre_agent(messages: list[dict[str, Any]]) -> int:
    """Characters / 2.5 of everything, written out."""
    return int(sum(len(str(message)) for message in messages) / 2.5)


def characters(block: dict[str, Any]) -> int:
    """Characters of a block of text, of a call or of a result."""
    if "text" in block:
        return len(block["text"])
    if "toolUse" in block:
        return len(block["toolUse"]["name"]) + len(str(block["toolUse"]["input"]))
    result = block["toolResult"]
    content = sum(len(item["text"]) for item in result["content"])
    return len(result["status"]) + len(result["toolUseId"]) + content
