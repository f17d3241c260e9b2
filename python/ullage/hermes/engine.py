"""``CompactionEngine``: the compactions of ullage in the context-engine slot of Hermes Agent."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from agent.context_engine import ContextEngine

from ullage import RetrievalTool, UllageError
from ullage._engine.logger import Logger
from ullage._engine.steps import run
from ullage._hosts.compaction import compact_rows
from ullage._hosts.engines import Engines
from ullage._hosts.results import shrink_result

if TYPE_CHECKING:
    from ullage import ContextManager, Policy
    from ullage.stores.protocol import Store

logger = Logger(__name__)

FORMAT = "openai"

# The part of a conversation that is left after a refusal, at most.
_AFTER_REFUSAL = 0.7
# Tokens for one of those that Hermes estimates for new output of tools, at most: it counts four
# characters each, and logs have two.
_DENSITY = 2


class CompactionEngine(ContextEngine):
    """Compacts the conversations of an agent in place of Hermes' own compressor.

        def register(ctx):
            CompactionEngine(policy=policy, store=store).register(ctx)

    Its compactions take the place of the transcript. Hermes makes a deep copy for each agent: the
    copies share the engine and the store, and each has its own counts.

    Args:
        engine: What decides. If not given, each model has an engine of its own, by the window that
            Hermes names.
        policy: The settings, if no engine is given; those for the model if not given either.
        store: Where removed content is kept, if no engine is given; in memory if not given either.
        model: The id of the model, if no engine is given; that of the agent if not given.

    Raises:
        PolicyError: If an argument is invalid, or an engine is given together with what it has.
    """

    def __init__(
        self,
        engine: ContextManager | None = None,
        *,
        policy: Policy | None = None,
        store: Store | None = None,
        model: str | None = None,
    ) -> None:
        self._engines = Engines(
            engine, policy=policy, store=store, model=model, format=FORMAT, append_only=False
        )
        self._engine = self._engines.last
        own = self._engine.store
        self._retrieval = None if own is None else RetrievalTool(own)
        # Hermes reads this of its own compressor: the last prompt that a provider has counted.
        self.last_real_prompt_tokens = 0
        # By these two it reports why a compaction failed, and Hermes shows it to the user.
        self._last_compress_aborted = False
        self._last_summary_error: str | None = None
        self._estimate = 0
        # The provider's count of a request, and the estimate of Hermes for the same one.
        self._counted: tuple[int, int] | None = None
        # Tokens of the largest step: an answer and the results of its calls.
        self._step = 0
        self._limit_to(self._engine.policy.window)

    @property
    def name(self) -> str:
        """The name for ``context.engine`` in Hermes' configuration."""
        return "ullage"

    def __deepcopy__(self, memo: dict[int, Any]) -> CompactionEngine:
        """Returns an engine for another agent."""
        return copy.copy(self)

    def register(self, ctx: Any) -> None:
        """Registers the engine, and a hook that shortens the results of tools as they arrive.

        Args:
            ctx: The context that Hermes gives to the ``register`` function of a plugin.
        """
        ctx.register_context_engine(self)
        ctx.register_hook("transform_tool_result", self.shorten_result)

    def shorten_result(self, *, tool_name: str, result: Any, **_: Any) -> str | None:
        """Returns the shortened result of a tool; None if it is short enough."""
        short: Any = run(shrink_result(self._engines.last, tool_name, result))
        return None if short is result or not isinstance(short, str) else short

    def update_model(self, model: str, context_length: int, **_: Any) -> None:
        """Takes the window of another model, or the one that a provider has named."""
        self.context_length = context_length
        self._engine = self._engines.of(model, context_length)
        self._limit_to(min(context_length, self._engine.policy.window))

    def update_from_response(self, usage: dict[str, Any]) -> None:
        """Learns from the usage that the provider reported."""
        tokens = usage.get("prompt_tokens") or 0
        if self.last_real_prompt_tokens:
            self._step = max(self._step, tokens - self.last_real_prompt_tokens)
        self.last_prompt_tokens = self.last_real_prompt_tokens = tokens
        self.last_completion_tokens = usage.get("completion_tokens") or 0
        self.last_total_tokens = usage.get("total_tokens") or 0
        if tokens and self._estimate:
            self._counted = tokens, self._estimate
        self._estimate = 0

    def should_defer_preflight_to_real_usage(self, rough_tokens: int) -> bool:
        """True if a request is small enough by what the provider counts for such an estimate."""
        self._estimate = rough_tokens
        return not self.should_compress(rough_tokens)

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """True if a request of so many tokens is above the high mark."""
        tokens = self.last_prompt_tokens if prompt_tokens is None else prompt_tokens
        expected = self._expected(tokens)
        # The provider has not counted the results that came after its last request.
        coming = min(self._step, self._room // 2) if tokens == self.last_real_prompt_tokens else 0
        return expected > self.threshold_tokens or expected + coming > self._room

    def compress(
        self,
        messages: list[dict[str, Any]],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        force: bool = False,
    ) -> list[dict[str, Any]]:
        """Returns the messages that take the place of the transcript; equal ones if none can go.

        Messages about the focus stay whole, as far as they take half of what is left. Hermes calls
        this for a conversation below the high mark too if a provider has refused it as too long.
        The high mark then goes below its size.
        """
        self._last_compress_aborted, self._last_summary_error = False, None
        try:
            tokens = self._count(messages)
            whole = self._expected(current_tokens or 0) or tokens
            budget = self._room - self._beside(messages, whole)
            if not force and whole <= self.threshold_tokens:
                self._limit_to(whole + self._engine.policy.reserve_output)
                budget = min(budget, int(tokens * _AFTER_REFUSAL))
            compacted = run(compact_rows(self._engine, messages, FORMAT, budget, focus=focus_topic))
        except UllageError as error:
            self._last_compress_aborted, self._last_summary_error = True, str(error)
            logger.warning("error=<%s> | the transcript was left as it is", error)
            return messages
        known = set(map(id, messages))
        compacted = [_stripped(message, is_new=id(message) not in known) for message in compacted]
        self.compression_count += compacted != messages
        return compacted

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """The tool that reads removed text back."""
        if self._retrieval is None:
            return []
        schema: dict[str, Any] = self._retrieval.definition(FORMAT)["function"]
        return [schema]

    def handle_tool_call(self, name: str, args: dict[str, Any], **more: Any) -> str:
        """Answers a call of the tool, as JSON. Mistakes of the model are answers."""
        if self._retrieval is None or name != self._retrieval.name:
            unknown: str = super().handle_tool_call(name, args, **more)
            return unknown
        return json.dumps({"text": self._retrieval.call(args)}, ensure_ascii=False)

    def _expected(self, tokens: int) -> int:
        """The tokens that the provider will count for an estimate of Hermes."""
        if self._counted is None or tokens == self.last_real_prompt_tokens:
            return tokens
        counted, estimate = self._counted
        if tokens <= estimate:
            return tokens * counted // estimate
        return counted + (tokens - estimate) * _DENSITY

    def _count(self, messages: list[dict[str, Any]]) -> int:
        return self._engine.counter.count_messages(messages, format=FORMAT)

    def _beside(self, messages: list[dict[str, Any]], whole: int) -> int:
        """Tokens of the system prompt and the tools, which Hermes does not hand over."""
        answers = [n for n, message in enumerate(messages) if message["role"] == "assistant"]
        last = answers[-1] if answers else len(messages)
        step = self._count(messages[last:])
        self._step = max(self._step, step)
        # The provider has not counted what came after its last request.
        counted = 0 if whole == self.last_real_prompt_tokens else step
        return max(whole - self._count(messages[:last]) - counted, 0)

    def _limit_to(self, window: int) -> None:
        policy = self._engine.policy
        # Tokens of a request. A provider may name a window that is smaller than the reserve.
        self._room: int = max(window - policy.reserve_output, window // 2)
        self.threshold_tokens = int(self._room * policy.high)


def _stripped(message: dict[str, Any], *, is_new: bool) -> dict[str, Any]:
    """A message without the notes of Hermes that would be wrong in the new transcript.

    A row that is marked as written would be left out of the new session. A message whose text was
    changed would be sent as it was before.
    """
    wrong = {"_db_persisted"} | ({"api_content"} if is_new else set())
    return {k: v for k, v in message.items() if k not in wrong} if wrong & set(message) else message
