"""A model of ADK's as a summarizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.registry import LLMRegistry
from google.genai import types

from ullage._core import PolicyError
from ullage.adk.meter import add_usage, usage_of

if TYPE_CHECKING:
    from ullage._engine.summarizer import Summarizer, SummaryRequest

SummarizerOrModel: TypeAlias = "Summarizer | BaseLlm | str"
"""A function that summarizes, a model of ADK's, or the id of one."""


def summarizer_of(given: SummarizerOrModel | None) -> Summarizer | None:
    """Returns the function that summarizes.

    Raises:
        PolicyError: If it is no function and no model, or ADK does not know the id.
    """
    if isinstance(given, str):
        try:
            given = LLMRegistry.new_llm(given)
        except (ValueError, ImportError) as error:
            raise PolicyError(f"summarizer: ADK has no model {given!r}: {error}") from error
    if isinstance(given, BaseLlm):
        return _ModelSummarizer(given)
    if given is not None and not callable(given):
        raise PolicyError(
            f"summarizer: must be a model of ADK, a model's id or a function;"
            f" got a {type(given).__name__}"
        )
    return given


class _ModelSummarizer:
    """Asks a model for a summary, and notes its usage.

    Args:
        llm: The model.
    """

    def __init__(self, llm: BaseLlm) -> None:
        self._llm = llm

    async def __call__(self, request: SummaryRequest) -> str:
        """Returns the text of the model, without its thoughts."""
        asked = types.Content(role="user", parts=[types.Part(text=request.prompt)])
        config = types.GenerateContentConfig(system_instruction=request.system)
        said: list[str] = []
        asking = LlmRequest(model=self._llm.model, contents=[asked], config=config)
        async for response in self._llm.generate_content_async(asking, stream=False):
            parts = (response.content.parts if response.content else None) or []
            said += [part.text for part in parts if part.text and not part.thought]
            used = usage_of(response.usage_metadata)
            if used is not None:
                add_usage(response.model_version or self._llm.model, used)
        return "".join(said)
