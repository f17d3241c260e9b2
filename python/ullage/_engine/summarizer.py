"""Calls the host's summarizer: plain or async, with any error, within a time limit.

Nothing of ullage is locked while the summarizer runs. A compaction inside the summarizer does not
call it again: an agent that summarizes with itself would otherwise compact its own request.
"""

from __future__ import annotations

import contextvars
import hashlib
import inspect
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ullage._core import SummaryError
from ullage._engine.calling import Call, OutOfTimeError, SelfCancelledError, awaited, in_thread
from ullage._engine.logger import Logger
from ullage._engine.reasons import error_line, one_line
from ullage._engine.steps import Step
from ullage._engine.warning import warn
from ullage.stores.retrieval import discard
from ullage.telemetry import MAX_TOKENS, OTHER, TIMEOUT, kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage._core import Plan, Policy, Reading
    from ullage._engine.steps import Steps
    from ullage.telemetry import Telemetry

logger = Logger(__name__)

# Summaries that are cached for repeated requests: a view of the same messages, or a plan that is
# made again because others changed. One engine serves many conversations.
_REMEMBERED = 64

# Characters for each requested token above which an answer is not cached. A token of prose or code
# has about four, so only an answer that is cut to a small part is longer.
_LONGEST_REMEMBERED = 16

# The reason for no answer without a summarizer.
NOBODY = "no summarizer was given"

# The callers whose summarizer runs in this context.
_calling: contextvars.ContextVar[tuple[object, ...]] = contextvars.ContextVar(
    "ullage_asking", default=()
)


@dataclass(frozen=True)
class SummaryRequest:
    """A request for a summary.

    ``str(request)`` is the whole as one prompt, for a model that takes only that.

    Attributes:
        prompt: The request: the previous summary, the messages as text, and the instructions.
        system: The system prompt.
        text: The messages as text, the newest last; bounded by ``Policy.summary_input``.
        previous: The summary of the messages removed before; empty if there is none.
        messages: The removed messages, as the host's own objects.
        max_tokens: Tokens that the summary may take. A longer one is cut.
        max_words: The words that the prompt asks for.
    """

    prompt: str
    system: str
    text: str
    previous: str
    messages: Sequence[Any]
    max_tokens: int
    max_words: int

    def __str__(self) -> str:
        return f"{self.system}\n\n{self.prompt}"

    @classmethod
    def _of(cls, values: dict[str, Any], messages: Sequence[Any]) -> SummaryRequest:
        ranges = values.pop("messages")
        chosen = [m for span in ranges for m in messages[span["start"] : span["end"]]]
        return cls(**values, messages=chosen)


Summarizer: TypeAlias = Callable[[SummaryRequest], "str | Awaitable[str]"]


@dataclass(frozen=True)
class SummaryAnswer:
    """The summarizer's answer.

    Attributes:
        text: The summary, or None.
        reason: The reason for no summary.
        late: True if the time was over.
        kind: The class of the error, if an error was the reason.
    """

    text: str | None
    reason: str = ""
    late: bool = False
    kind: str = OTHER


class SummaryCaller:
    """Calls a summarizer for plans that wait for a summary.

    Args:
        summarizer: The host's, or None.
        policy: Has the time limit, and says if a summary is required.
        telemetry: Reports each call.
    """

    def __init__(
        self,
        summarizer: Summarizer | None,
        policy: Policy,
        telemetry: Telemetry,
    ) -> None:
        self._summarizer = summarizer
        self._telemetry = telemetry
        self._timeout = policy.summary_timeout
        self._required = policy.summaries == "required"
        self._remembered: OrderedDict[bytes, str] = OrderedDict()
        self._has_warned = False

    @property
    def can_ask(self) -> bool:
        """True if there is a summarizer."""
        return self._summarizer is not None

    @property
    def unasked(self) -> str | None:
        """The reason why no plan waits for an answer; None if one is requested or required."""
        return None if self.can_ask or self._required else NOBODY

    @property
    def is_async(self) -> bool:
        """True if the summarizer is an async function."""
        called = getattr(self._summarizer, "__call__", None)  # noqa: B004 - of an object, its method
        return inspect.iscoroutinefunction(self._summarizer) or inspect.iscoroutinefunction(called)

    def request(self, plan: Plan, reading: Reading) -> SummaryRequest | None:
        """Returns the request that the plan waits for."""
        values = None if self._summarizer is None else reading.request(plan)
        return None if values is None else SummaryRequest._of(values, reading.messages)  # noqa: SLF001

    def call(
        self, request: SummaryRequest | None, seconds: float | None = None
    ) -> Steps[SummaryAnswer]:
        """Returns the answer of the summarizer; without a loop from a thread that can be left.

        The wait is limited by the policy and by the seconds that are left.

        An error that is not an `Exception`, such as a `KeyboardInterrupt`, passes through.

        Raises:
            SummaryError: If a summary is required, and there is none.
        """
        if (known := self._known(request)) is not None:
            return known
        request = cast("SummaryRequest", request)
        patience = self._timeout if seconds is None else min(self._timeout, seconds)
        asked = partial(self._answer, request, patience), partial(self._aanswer, request, patience)
        operating = self._telemetry.operation("summarize", **{MAX_TOKENS: request.max_tokens})
        with operating as operation:
            operation.begin()
            answer: SummaryAnswer = yield Step(*asked)
            if answer.text is None:
                operation.failed(answer.kind)
            return answer

    def _answer(self, request: SummaryRequest, patience: float) -> SummaryAnswer:
        token = _calling.set((*_calling.get(), self))
        try:
            called = Call(partial(self._summarize, request), patience)
        finally:
            _calling.reset(token)
        return self._judge(request, *called.wait(patience), patience)

    async def _aanswer(self, request: SummaryRequest, patience: float) -> SummaryAnswer:
        import asyncio

        deadline = asyncio.get_running_loop().time() + patience
        token = _calling.set((*_calling.get(), self))
        try:
            if self.is_async:
                returned: Any = self._summarize(request)
            else:
                # Its own thread, because one that is left behind must not take a place in a pool.
                returned = await awaited(in_thread(partial(self._summarize, request)), patience)
            if inspect.isawaitable(returned):
                left = max(0.0, deadline - asyncio.get_running_loop().time())
                returned = await awaited(returned, left)
        except Exception as error:  # noqa: BLE001 - whatever keeps the summarizer from answering
            return self._judge(request, None, error, patience)
        finally:
            _calling.reset(token)
        return self._judge(request, returned, None, patience)

    def no_answer(self, reason: str) -> SummaryAnswer:
        """Returns no answer, without a call.

        Raises:
            SummaryError: If a summary is required.
        """
        return self._no_answer(reason, None)

    def _summarize(self, request: SummaryRequest) -> Any:
        return cast("Summarizer", self._summarizer)(request)

    def _known(self, request: SummaryRequest | None) -> SummaryAnswer | None:
        if self._summarizer is None or request is None:
            return self._no_answer(NOBODY, None)
        if self in _calling.get():
            return SummaryAnswer(None, "the summarizer itself started the compaction")
        text = self._remembered.get(_key(request))
        return None if text is None else SummaryAnswer(text)

    def _judge(
        self,
        request: SummaryRequest,
        returned: Any,
        error: BaseException | None,
        patience: float,
    ) -> SummaryAnswer:
        if error is not None:
            if isinstance(error, OutOfTimeError):
                return self._no_answer(f"no answer within {patience:.3g} seconds", error)
            if isinstance(error, SelfCancelledError):
                return self._no_answer("it raised CancelledError without being cancelled", error)
            return self._no_answer(error_line(error, str(request)), error)
        if not issubclass(type(returned), str):
            if inspect.isawaitable(returned):
                discard(returned)
            return self._no_answer(f"it returned {type(returned).__name__}, not text", None)
        # A subclass may have any methods.
        text = str.__str__(returned)
        if not text.strip():
            return self._no_answer("it returned no text", None)
        self._remember(request, text)
        return SummaryAnswer(text)

    def _remember(self, request: SummaryRequest, text: str) -> None:
        if len(text) > _LONGEST_REMEMBERED * request.max_tokens:
            return
        self._remembered[_key(request)] = text
        while len(self._remembered) > _REMEMBERED:
            self._remembered.popitem(last=False)

    def _no_answer(self, reason: str, error: BaseException | None) -> SummaryAnswer:
        reason = one_line(reason)
        if self._required:
            raise SummaryError(
                f"the policy requires a summary, and none was made: {reason}"
            ) from error
        if self._summarizer is not None:
            logger.warning("reason=<%s> | no summary from the summarizer", reason)
            self._warn(reason)
        late = isinstance(error, OutOfTimeError)
        kind = TIMEOUT if late else OTHER if error is None else kind_of(error)
        return SummaryAnswer(None, reason, late, kind)

    def _warn(self, reason: str) -> None:
        """Warns of the first failure; the log has every one."""
        if not self._has_warned:
            self._has_warned = True
            warn(
                f"the summarizer gave no summary: {reason}; ullage wrote one without it. Fix the"
                " summarizer, or set Policy(summaries='required') to get an error instead"
            )


def _key(request: SummaryRequest) -> bytes:
    prompt = f"{request.max_tokens} {request.prompt}"
    return hashlib.blake2b(prompt.encode("utf-8", "surrogatepass"), digest_size=16).digest()
