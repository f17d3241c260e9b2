"""Summarizers that ask a client of the host's."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ullage._engine.summarizer import Summarizer, SummaryRequest


def client_summarizer(
    method: Callable[..., Any], ask: Callable[[SummaryRequest], Any], text_of: Callable[[Any], str]
) -> Summarizer:
    """Returns a summarizer that asks a client, plain or async.

    Args:
        method: The method of the client. If it is a coroutine function, so is the summarizer.
        ask: Calls the method.
        text_of: Reads the answer.
    """

    async def text_when_ready(answer: Awaitable[Any]) -> str:
        return text_of(await answer)

    async def asummarize(request: SummaryRequest) -> str:
        return text_of(await ask(request))

    def summarize(request: SummaryRequest) -> str | Awaitable[str]:
        answer = ask(request)
        return text_when_ready(answer) if inspect.isawaitable(answer) else text_of(answer)

    return asummarize if inspect.iscoroutinefunction(method) else summarize
