"""``Requests``: bringing the contents of a request inside the model's window."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ullage import BudgetError, MessageError, StoreError
from ullage._engine.logger import Logger
from ullage.adk.contents import beside, current_request
from ullage.adk.newest import Newest
from ullage.adk.open_calls import open_calls, with_pending_answers
from ullage.adk.session_state import SessionState
from ullage.adk.summary_usage import add_estimate

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.genai import types

    from ullage import ContextManager, Report, View
    from ullage.adk.conversations import Conversation
    from ullage.adk.engines import Engines
    from ullage.adk.session_state import Remember

logger = Logger(__name__)

# Conversations whose view is remembered. One that was forgotten is restored from the session.
_CONVERSATIONS = 64

# A store that fails, and a limit below the floor, each once, and the last try.
_WAYS_OUT = 3


@dataclass
class _Known:
    """The view of a conversation.

    Attributes:
        view: The view.
        engine: What made it.
        state: Its state as text; None before its first compaction, or where it is too long.
        written: The compaction and the ceiling that the text is of.
        texts: Hashes of the texts that the session may have of it. Another text is of another
            process.
        counted: The last compaction whose summary was counted.
    """

    view: View
    engine: ContextManager
    state: str | None = None
    written: tuple[Report | None, int | None] = (None, None)
    texts: set[int] = field(default_factory=set)
    counted: Report | None = None


class Requests:
    """Keeps a view of each conversation, in this process and in the session.

    Args:
        engines: What decides.
        remember: Where views are kept.
    """

    def __init__(self, engines: Engines, remember: Remember) -> None:
        self._engines = engines
        self._session = SessionState(remember)
        self._known: Newest[_Known] = Newest(_CONVERSATIONS)

    async def fitted(
        self, conversation: Conversation, context: CallbackContext, request: LlmRequest
    ) -> list[types.Content]:
        """The contents for a request, which is not changed.

        Where even the shortest are above the limit, the shortest; the provider has the last word.
        """
        known = self._of(conversation, context, request)
        contents = request.contents
        waiting = open_calls(contents, request, context)
        asked: dict[str, Any] = {
            "pins": sorted({*current_request(contents, context), *waiting}),
            **beside(request),
        }
        view, tries = known.view, 0
        while True:
            tries += 1
            try:
                fitted = await view.amessages(contents, **asked)
                break
            except StoreError as error:
                if tries == _WAYS_OUT:
                    raise
                view = _opened(self._engines.without_store(known.engine, error), view.state())
            except BudgetError as error:
                if tries == _WAYS_OUT:
                    raise
                logger.warning("error=<%s> | the request stays above its limit", error)
                asked["budget"] = max(1, error.floor)
            except MessageError as error:
                if tries == _WAYS_OUT:
                    raise
                # Its first contents may have been rewritten, by a compaction of ADK's own.
                logger.debug("error=<%s> | a view is begun anew", error)
                known = self._begun(conversation, known.engine)
                view = known.view
        self._note(conversation, context, known)
        return with_pending_answers(fitted, contents, request)

    async def refused(
        self,
        conversation: Conversation,
        context: CallbackContext,
        request: LlmRequest,
        counted: int | None,
    ) -> list[types.Content] | None:
        """Shorter contents in place of those that were refused; None if there are none.

        Args:
            conversation: What it is about.
            context: The callback's.
            request: The request, with its configuration as it was.
            counted: The tokens that the provider counted, where it says so.
        """
        known = self._of(conversation, context, request)
        before = known.view.tokens
        try:
            fitted = await known.view.arefused(counted)
        except BudgetError as error:
            logger.warning("error=<%s> | nothing is left to remove", error)
            return None
        if known.view.tokens >= before:
            return None
        self._note(conversation, context, known)
        return with_pending_answers(fitted, request.contents, request)

    def answered(self, conversation: Conversation, context: CallbackContext) -> None:
        """Has the session keep the view, with the answer that came to the last request."""
        known = self._known.get(conversation)
        if known is not None and known.state is not None:
            self._session.keep(conversation, context, known.state)

    def rest(self, conversation: Conversation) -> None:
        """Lets go of what only the running invocation needs."""
        known = self._known.get(conversation)
        if known is None:
            return
        if known.view.report is None and known.state is None and known.view.ceiling is None:
            # Nothing was decided.
            self._known.take(conversation)
        known.view.release()

    def _of(
        self, conversation: Conversation, context: CallbackContext, request: LlmRequest
    ) -> _Known:
        """The view of a conversation. Another process may have a later one in the session."""
        known = self._known.get(conversation)
        engine = self._engines.of(request.model)
        text = self._session.text(conversation, context)
        if known is not None and (text is None or hash(text) in known.texts):
            return known
        state = None if text is None else self._session.read(text)
        if state is not None:
            try:
                theirs = _Known(_opened(engine, state), engine, text, texts={hash(text)})
                theirs.written = (None, theirs.view.ceiling)
            except MessageError as error:
                logger.debug("error=<%s> | the view in the session cannot be read", error)
            else:
                self._known.put(conversation, theirs)
                return theirs
        return known or self._begun(conversation, engine)

    def _begun(self, conversation: Conversation, engine: ContextManager) -> _Known:
        known = _Known(_opened(engine, None), engine)
        self._known.put(conversation, known)
        return known

    def _note(self, conversation: Conversation, context: CallbackContext, known: _Known) -> None:
        """Writes the state down where a compaction has changed it, and counts its summary."""
        report = known.view.report
        if report is not None and report is not known.counted:
            known.counted = report
            add_estimate(report, known.engine.policy.summary_input)
        now = (known.view.report, known.view.ceiling)
        if now == known.written or not self._session.has_place(conversation, context):
            return
        known.written = now
        text = self._session.written(known.view.state())
        if text is not None:
            known.state = text
            known.texts.add(hash(text))


def _opened(engine: ContextManager, state: dict[str, Any] | None) -> View:
    from google.genai import types

    return engine.open(
        state,
        append_only=False,
        dump=lambda content: content.model_dump(mode="json", exclude_none=True),
        load=types.Content.model_validate,
    )
