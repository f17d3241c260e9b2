"""``Requests``: keeps the contents of a request inside the model's window."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from google.genai import types

from ullage import BudgetError, MessageError, StoreError
from ullage._engine.logger import Logger
from ullage._engine.lru_cache import LruCache
from ullage.adk.conversations import (
    caller_of,
    conversation_of,
    current_request,
    invocation_of,
    open_calls,
    with_pending_answers,
)
from ullage.adk.meter import add_estimate

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest

    from ullage import ContextManager, Report, View
    from ullage.adk.conversations import Conversation
    from ullage.adk.engines import Engines

logger = Logger(__name__)

FORMAT = "gemini"

Remember = Literal["session", "process"]
"""The place where compactions are remembered: the session's state too, or this process alone."""

# Conversations whose view is remembered. One that was forgotten is restored from the session.
_CONVERSATIONS = 64

# Characters of a view in a session's state. Some services keep a session in one document of at
# most a mebibyte; a view that is longer is made again by the next process.
_LONGEST = 250_000

# The text begins with its form. A text of another form is not read.
_FORM = "view:"

# Branches of nodes that run once have the id of that run in them, and are never continued.
_RUN = "@"


@dataclass
class _ConversationView:
    """The view of a conversation.

    Attributes:
        view: The view.
        engine: The engine of the view.
        state: Its state as text; None before its first compaction, or if it is too long.
        written: The compaction and the ceiling in the text.
        texts: Hashes of the texts that the session may have of it. Another process wrote any other
            text.
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

    ADK stores the session's state with an agent's answer, so a view outlives the process when the
    answer does.

    Args:
        engines: Gives each model its engine.
        remember: The place to keep views.
    """

    def __init__(self, engines: Engines, remember: Remember) -> None:
        self._engines = engines
        self._remember = remember
        self._known: LruCache[_ConversationView] = LruCache(_CONVERSATIONS)

    async def fit(self, context: CallbackContext, request: LlmRequest) -> list[types.Content]:
        """Returns the contents for a request, and does not change the request.

        If even the shortest contents are above the limit, they are sent, and the provider decides.
        """
        conversation, contents = conversation_of(context, request.model), request.contents
        known = self._view_of(conversation, context, request)
        waiting = open_calls(contents, request, context)
        asked: dict[str, Any] = {
            "pins": sorted({*current_request(contents, context), *waiting}),
            "system": getattr(request.config, "system_instruction", None),
            "tools": getattr(request.config, "tools", None),
        }
        try:
            fitted = await self._fit(known.engine, known.view, contents, **asked)
        except MessageError as error:
            # Its first contents may have been rewritten, by a compaction of ADK's own.
            logger.debug("error=<%s> | a view is begun anew", error)
            known = self._new_view(conversation, known.engine)
            fitted = await self._fit(known.engine, known.view, contents, **asked)
        self._note(conversation, context, known)
        return with_pending_answers(fitted, contents, request)

    async def _fit(
        self, engine: ContextManager, view: View, contents: list[types.Content], **asked: Any
    ) -> list[types.Content]:
        """The contents by a view: without a store that fails, and as short as they can be."""
        try:
            return await view.amessages(contents, **asked)
        except StoreError as error:
            engine = self._engines.without_store(engine, error)
            return await self._fit(engine, _opened(engine, view.state()), contents, **asked)
        except BudgetError as error:
            if "budget" in asked:
                raise
            logger.warning("error=<%s> | the request stays above its limit", error)
            asked["budget"] = max(1, error.floor)
            return await self._fit(engine, view, contents, **asked)

    async def shrink_refused(
        self, context: CallbackContext, request: LlmRequest, counted: int | None
    ) -> list[types.Content] | None:
        """Returns shorter contents in place of refused ones; None if there are none.

        Args:
            context: The callback's.
            request: The request, with its configuration as it was.
            counted: The tokens that the provider counted, if it says so.
        """
        conversation = conversation_of(context, request.model)
        known = self._view_of(conversation, context, request)
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

    def keep_in_session(self, conversation: Conversation, context: CallbackContext) -> None:
        """Stores the view in the session, with the answer to the last request.

        The state is only stored with the event of the model's answer, so this checks it each time.
        It waits for the last piece of a streamed answer, because every piece would carry the
        state otherwise.
        """
        known = self._known.get(conversation)
        key = self._key(conversation, context)
        if known is None or known.state is None or key is None:
            return
        try:
            if context.state.get(key) != known.state:
                context.state[key] = known.state
        except Exception as error:  # noqa: BLE001 - an app may declare which keys there are
            logger.debug("key=<%s>, error=<%s> | a view is not in the session", key, error)

    def release(self, conversation: Conversation) -> None:
        """Releases the data of the running invocation."""
        known = self._known.get(conversation)
        if known is None:
            return
        if known.view.report is None and known.state is None and known.view.ceiling is None:
            # Nothing was decided.
            self._known.take(conversation)
        known.view.release()

    def _view_of(
        self, conversation: Conversation, context: CallbackContext, request: LlmRequest
    ) -> _ConversationView:
        """The view of a conversation. Another process may have a later one in the session."""
        known = self._known.get(conversation)
        engine = self._engines.of(request.model)
        key = self._key(conversation, context)
        text = None if key is None else context.state.get(key)
        if not isinstance(text, str) or (known is not None and hash(text) in known.texts):
            return known or self._new_view(conversation, engine)
        state = read_state(text)
        if state is not None:
            try:
                theirs = _ConversationView(_opened(engine, state), engine, text, texts={hash(text)})
            except MessageError as error:
                logger.debug("error=<%s> | the view in the session cannot be read", error)
            else:
                theirs.written = (None, theirs.view.ceiling)
                self._known.put(conversation, theirs)
                return theirs
        return known or self._new_view(conversation, engine)

    def _new_view(self, conversation: Conversation, engine: ContextManager) -> _ConversationView:
        known = _ConversationView(_opened(engine, None), engine)
        self._known.put(conversation, known)
        return known

    def _note(
        self, conversation: Conversation, context: CallbackContext, known: _ConversationView
    ) -> None:
        """Writes the state if a compaction has changed it, and counts its summary."""
        report = known.view.report
        if report is not None and report is not known.counted:
            known.counted = report
            add_estimate(report, known.engine.policy.summary_input)
        now = (report, known.view.ceiling)
        if now == known.written or self._key(conversation, context) is None:
            return
        known.written = now
        text = written_state(known.view.state())
        if text is not None:
            known.state = text
            known.texts.add(hash(text))

    def _key(self, conversation: Conversation, context: CallbackContext) -> str | None:
        """The key of a view in the session's state; None if the session has no place for it."""
        passing = conversation.scope is not None or _RUN in (conversation.branch or "")
        if self._remember == "process" or passing or caller_of(invocation_of(context)) is not None:
            return None
        return f"ullage/{conversation.agent}/{conversation.branch or ''}/{conversation.model}"


def written_state(state: dict[str, Any]) -> str | None:
    """Returns the state of a view as text; None if it cannot be written, or is too long."""
    try:
        packed = json.dumps(state, ensure_ascii=False).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError) as error:
        logger.debug("error=<%s> | a view cannot be written", error)
        return None
    text = _FORM + base64.b64encode(zlib.compress(packed)).decode("ascii")
    if len(text) > _LONGEST:
        logger.debug("characters=<%d> | a view is too long for the session", len(text))
        return None
    return text


def read_state(text: str) -> dict[str, Any] | None:
    """Returns the state of a view from a text; None if it cannot be read."""
    if not text.startswith(_FORM):
        return None
    try:
        packed = zlib.decompress(base64.b64decode(text[len(_FORM) :]))
        state: dict[str, Any] = json.loads(packed.decode("utf-8", "surrogatepass"))
    except (ValueError, zlib.error) as error:
        logger.debug("error=<%s> | a view in the session cannot be read", error)
        return None
    return state


def _opened(engine: ContextManager, state: dict[str, Any] | None) -> View:
    return engine.open(
        state,
        append_only=False,
        dump=lambda content: content.model_dump(mode="json", exclude_none=True),
        load=types.Content.model_validate,
    )
