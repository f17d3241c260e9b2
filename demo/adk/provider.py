"""A model for ADK that is as strict as Gemini, and knows its task by heart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import errors, types
from pydantic import Field

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from google.adk.models.llm_request import LlmRequest

# The provider's characters for each token, as Gemini's in logs full of digits, and its window.
CHARS_A_TOKEN = 2
WINDOW = 100_000

ANSWER = "The connection pool of the payments database is exhausted."


class Gemini(BaseLlm):
    """Looks at one service after the other, and then answers.

    Refuses what Gemini refuses: a prompt above the window, a call without its result, a result
    without its call. Says of each prompt what it came to, and what of it was in the cache.
    """

    model: str = "gemini-2.5-pro"
    calls: int
    made: int = 0
    largest: int = 0
    prompts: int = 0
    cached: int = 0
    rewritten: int = 0
    before: list[str] = Field(default_factory=list)
    knows_its_task: bool = True

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """One call of the tool, or the answer."""
        del stream
        sent = [
            json.dumps(content.model_dump(mode="json", exclude_none=True))
            for content in llm_request.contents
        ]
        tokens = sum(map(len, sent)) // CHARS_A_TOKEN
        _check(llm_request.contents, tokens)
        shared = self._shared(sent)
        self.largest = max(self.largest, tokens)
        self.prompts += tokens
        self.cached += shared
        self.rewritten += sent[: len(self.before)] != self.before
        self.before = sent
        self.knows_its_task &= any("Why is checkout slow?" in content for content in sent)
        part = types.Part(text=ANSWER)
        if self.made < self.calls:
            self.made += 1
            part = types.Part.from_function_call(name="fetch_logs", args={"page": self.made})
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=tokens,
            candidates_token_count=len(str(part)) // CHARS_A_TOKEN,
            cached_content_token_count=shared,
        )
        content = types.Content(role="model", parts=[part])
        yield LlmResponse(content=content, usage_metadata=usage, model_version=self.model)

    def _shared(self, sent: list[str]) -> int:
        """Tokens at the beginning that were in the prompt before."""
        shared = 0
        for one, other in zip(self.before, sent, strict=False):
            if one != other:
                break
            shared += len(one)
        return shared // CHARS_A_TOKEN


def _check(contents: list[types.Content], tokens: int) -> None:
    if tokens > WINDOW:
        _refuse(
            f"The input token count ({tokens}) exceeds the maximum number of tokens allowed"
            f" ({WINDOW})."
        )
    waiting = 0
    for content in contents:
        parts = content.parts or []
        results = sum(part.function_response is not None for part in parts)
        if results != waiting:
            _refuse("the number of function responses is not that of the function calls.")
        waiting = sum(part.function_call is not None for part in parts)
    if waiting or not contents or contents[0].role != "user":
        _refuse("a turn is missing.")


def _refuse(message: str) -> None:
    details: dict[str, Any] = {"error": {"message": message, "status": "INVALID_ARGUMENT"}}
    raise errors.ClientError(400, details)
