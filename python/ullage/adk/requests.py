"""``Requests``: bringing the contents of a request inside the model's window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage import BudgetError, MessageError, StoreError
from ullage.adk.contents import beside, current_request
from ullage.adk.newest import Newest
from ullage.adk.open_calls import is_whole, mended
from ullage.adk.remembered import Remembered
from ullage.logger import Logger

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.genai import types

    from ullage.adk.conversations import Conversation
    from ullage.adk.engines import Engines

logger = Logger(__name__)

# Conversations whose last compaction is remembered. Each takes what the low mark leaves, of which
# the strings are the session's own; one that was forgotten is compacted anew.
_CONVERSATIONS = 64

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


class Requests:
    """Brings contents inside their window, and keeps their beginning the same in between.

    Args:
        engines: What decides.
    """

    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        self._known: Newest[Remembered] = Newest(_CONVERSATIONS)

    async def fitted(
        self, conversation: Conversation, context: CallbackContext, request: LlmRequest
    ) -> list[types.Content]:
        """The contents for a request, which is not changed: those it has, or a shorter list.

        Where even the shortest is above the limit, the shortest; the provider has the last word.
        """
        # Two requests of one conversation at once do not share what they change: the second begins
        # anew, and the one that is done last is remembered.
        known = self._known.take(conversation) or Remembered()
        view = known.taken_up(request.contents)
        done = await self._compacted(view, None, context, request, hard=False)
        if done is not None and known.most is not None and done.tokens > known.most:
            more = await self._compacted(view, known.most, context, request, hard=False)
            done = more and more.after(done)
        self._keep(conversation, known, view, done)
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
        known = self._known.take(conversation) or Remembered()
        known.most = max(done.tokens, int(status.tokens * _REFUSED_SHARE))
        self._keep(conversation, known, view, done)
        return view

    def rest(self, conversation: Conversation) -> None:
        """Lets go of what only the running invocation needs."""
        known = self._known.get(conversation)
        if known is not None:
            known.rest()

    def _keep(
        self,
        conversation: Conversation,
        known: Remembered,
        view: list[types.Content],
        done: _Done | None,
    ) -> None:
        """Remembers what came of a request."""
        if done is not None and done.changed and known.seen:
            known.compacted(view)
        elif done is None or done.mended:
            # What was mended for one request is mended again for the next.
            known.rest()
        self._known.put(conversation, known)

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
