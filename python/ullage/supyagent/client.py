"""Asking a client as litellm's are: ``chat(messages)``, plain or async."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from ullage.summarizer import Summarizer, SummaryRequest


def summarizer_of(llm: Any) -> Summarizer:
    """What asks the client for a summary."""

    def ask(request: SummaryRequest) -> str | Awaitable[str]:
        response = llm.chat([{"role": "user", "content": str(request)}])
        return _awaited(response) if inspect.isawaitable(response) else _said(response)

    async def aask(request: SummaryRequest) -> str:
        return await _awaited(llm.chat([{"role": "user", "content": str(request)}]))

    return aask if inspect.iscoroutinefunction(llm.chat) else ask


async def _awaited(response: Awaitable[Any]) -> str:
    return _said(await response)


def _said(response: Any) -> str:
    """The words of an answer."""
    if isinstance(response, str):
        return response
    content = response.choices[0].message.content
    return content if isinstance(content, str) else ""
