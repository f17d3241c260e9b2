"""``Requests``: bringing the contents of a request inside the model's window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage import BudgetError, MessageError, StoreError
from ullage.adk.contents import beside, current_request
from ullage.adk.conversations import invocation_of
from ullage.adk.decisions import Decisions
from ullage.adk.newest import Newest
from ullage.adk.open_calls import is_whole, mended
from ullage.adk.remembered import Remembered
from ullage.adk.summary_usage import add_estimate
from ullage.logger import Logger

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.genai import types

    from ullage.adk.conversations import Conversation
    from ullage.adk.decisions import Decision, Remember
    from ullage.adk.engines import Engines

logger = Logger(__name__)

# Runs that go on at once. Each has the contents of its last request, whose strings are the
# session's own; one that was forgotten begins again with what was decided.
_RUNS = 64

# When a provider refuses contents that counted as fitting, its own count is higher than ours by a
# share that nobody knows. The next try aims so far below what was refused.
_OVERFLOW_SHARE = 0.7

# After that, requests of this conversation stay so far below what was refused.
_REFUSED_SHARE = 0.9

# Broken contents, a store that fails, a limit below the floor, each once, and the last try.
_WAYS_OUT = 4


@dataclass(frozen=True)
class _Done:
    """What came of a compaction.

    Attributes:
        tokens: What the contents come to.
        changed: Whether it did anything.
        mended: Whether the contents had to be mended for it.
    """

    tokens: int
    changed: bool
    mended: bool

    def after(self, other: _Done) -> _Done:
        """Both, one after the other."""
        return _Done(self.tokens, self.changed or other.changed, self.mended or other.mended)


@dataclass
class _Run:
    """What an invocation knows of a conversation, and the decision that it goes by."""

    known: Remembered
    decision: Decision | None = None


class Requests:
    """Brings contents inside their window, and keeps their beginning the same in between.

    Args:
        engines: What decides.
        remember: Where what was decided is kept.
    """

    def __init__(self, engines: Engines, remember: Remember) -> None:
        self._engines = engines
        self._decisions = Decisions(remember)
        # By invocation too: runs of one session at the same time see different contents.
        self._runs: Newest[_Run] = Newest(_RUNS)

    async def fitted(
        self, conversation: Conversation, context: CallbackContext, request: LlmRequest
    ) -> list[types.Content]:
        """The contents for a request, which is not changed: those it has, or a shorter list.

        Where even the shortest is above the limit, the shortest; the provider has the last word.
        """
        run = self._begun(conversation, context, request.contents)
        known = run.known
        view = known.taken_up(request.contents)
        if known.count == 0:
            # What was decided is of other contents.
            run.decision = None
        done = await self._compacted(view, None, context, request, hard=False)
        if done is not None and known.most is not None and done.tokens > known.most:
            more = await self._compacted(view, known.most, context, request, hard=False)
            done = more and more.after(done)
        self._keep(conversation, context, run, view, done)
        return view

    async def refused(
        self,
        conversation: Conversation,
        context: CallbackContext,
        request: LlmRequest,
        sent: list[types.Content],
    ) -> list[types.Content] | None:
        """Shorter contents in place of ``sent``, which was refused; None if there are none.

        Args:
            conversation: What it is about.
            context: The callback's.
            request: The request, with its configuration as it was.
            sent: The contents that were refused.
        """
        status = self._engines.of(request.model).status(sent, **beside(request))
        budget = max(1, min(status.available, int(status.tokens * _OVERFLOW_SHARE)))
        view = list(sent)
        done = await self._compacted(view, budget, context, request, hard=True)
        if done is None or done.tokens >= status.tokens:
            return None
        run = self._begun(conversation, context, request.contents)
        run.known.most = max(done.tokens, int(status.tokens * _REFUSED_SHARE))
        self._keep(conversation, context, run, view, done)
        return view

    def answered(self, conversation: Conversation, context: CallbackContext) -> None:
        """Has the session keep what was decided, with the answer that came to the last request."""
        run = self._runs.get((conversation, invocation_of(context)))
        if run is not None and run.decision is not None:
            self._decisions.keep(conversation, context, run.decision)

    def rest(self, conversation: Conversation, context: CallbackContext) -> None:
        """Lets go of what only the running invocation needs."""
        self._runs.take((conversation, invocation_of(context)))

    def _begun(
        self, conversation: Conversation, context: CallbackContext, contents: list[types.Content]
    ) -> _Run:
        """The run that a request is of. Nobody else has it until it is kept again."""
        run = self._runs.take((conversation, invocation_of(context)))
        if run is not None:
            return run
        decision = self._decisions.of(conversation, context, contents)
        return _Run(Remembered() if decision is None else decision.begun(), decision)

    def _keep(
        self,
        conversation: Conversation,
        context: CallbackContext,
        run: _Run,
        view: list[types.Content],
        done: _Done | None,
    ) -> None:
        """Remembers what came of a request."""
        known = run.known
        if done is not None and done.changed and known.seen:
            known.compacted(view)
            run.decision = self._decisions.made(conversation, context, known)
        elif done is None or done.mended:
            # What was mended for one request is mended again for the next.
            known.rest()
        self._runs.put((conversation, invocation_of(context)), run)

    async def _compacted(
        self,
        left: list[types.Content],
        budget: int | None,
        context: CallbackContext,
        request: LlmRequest,
        *,
        hard: bool,
    ) -> _Done | None:
        """Compacts ``left`` in place, whatever it takes; None where nothing can be done."""
        engine = self._engines.of(request.model)
        is_mended = not is_whole(left)
        if is_mended:
            left[:], pins = mended(left, request, context)
        else:
            pins = current_request(left, context)
        asked: dict[str, Any] = {"budget": budget, "hard": hard, **beside(request)}
        for _ in range(_WAYS_OUT):
            try:
                report = await engine.acompact(left, pins=pins, **asked)
                add_estimate(report, engine.policy.summary_input)
            except MessageError as error:  # noqa: PERF203 - each way out is tried again
                logger.debug("error=<%s> | the contents were mended for this request", error)
                left[:], pins = mended(left, request, context)
                is_mended = True
            except StoreError as error:
                engine = self._engines.without_store(engine, error)
            except BudgetError as error:
                logger.warning("error=<%s> | the request stays above its limit", error)
                asked |= {"budget": max(1, error.floor), "hard": True}
            else:
                return _Done(report.tokens_after, bool(report.stages), is_mended)
        return None
