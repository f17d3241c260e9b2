"""``Requests``: keeps the contents of a request inside the model's window."""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING, Any, Literal

from google.genai import types

from ullage import MessageError
from ullage._engine.logger import Logger
from ullage._engine.steps import arun
from ullage._hosts.conversations import Conversations
from ullage._hosts.rows import PlainReading
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

    from ullage._hosts import conversations as hosts
    from ullage.adk.conversations import Conversation
    from ullage.adk.engines import Engines

logger = Logger(__name__)

FORMAT = "gemini"

Remember = Literal["session", "process"]
"""The place where compactions are remembered: the session's state too, or this process alone."""

# Characters of a view in a session's state. Some services keep a session in one document of at
# most a mebibyte; a view that is longer is made again by the next process.
_LONGEST = 250_000

# The text begins with its form. A text of another form is not read.
_FORM = "view:"

# Branches of nodes that run once have the id of that run in them, and are never continued.
_RUN = "@"


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
        self._conversations = Conversations(_ContentCodec(), PlainReading, may_lag=True)

    async def fit(self, context: CallbackContext, request: LlmRequest) -> list[types.Content]:
        """Returns the contents for a request, and does not change the request.

        If even the shortest contents are above the limit, they are sent, and the provider decides.
        """
        conversation = conversation_of(context, request.model)
        engine = self._engines.of(request.model)
        text = self._text(conversation, context)
        saved = None if text is None else _SavedView(text)
        known, reading = self._conversations.of(engine, request.contents, conversation, saved)
        beside = _beside(request.contents, request, context)
        fitted = await arun(known.request(reading, **beside))
        return self._shown(known, fitted, request.contents, request)

    async def shrink_refused(
        self, context: CallbackContext, request: LlmRequest, error: Exception
    ) -> list[types.Content] | None:
        """Returns shorter contents in place of refused ones; None if there are none.

        Args:
            context: The callback's.
            request: The request, with its configuration as it was.
            error: The refusal.
        """
        known = self._known(conversation_of(context, request.model))
        if known is None or known.reading is None:
            return None
        contents: Any = known.reading.rows
        beside = _beside(contents, request, context)
        try:
            fitted = await arun(known.smaller(known.reading, error, **beside))
        except Exception as problem:
            if problem is not error:
                raise
            logger.warning("error=<%s> | nothing is left to remove", problem.__cause__)
            return None
        return self._shown(known, fitted, contents, request)

    def keep_in_session(self, conversation: Conversation, context: CallbackContext) -> None:
        """Stores the view in the session, with the answer to the last request.

        The state is only stored with the event of the model's answer, so this checks it each time.
        It waits for the last piece of a streamed answer, because every piece would carry the
        state otherwise.
        """
        known, key = self._known(conversation), self._key(conversation, context)
        if known is None or key is None:
            return
        try:
            text = self._text(conversation, context)
            saved = known.saved(None if text is None else _SavedView(text))
            if saved is not None:
                context.state[key] = written_view(saved)
        except Exception as error:  # noqa: BLE001 - an app may declare which keys there are
            logger.debug("key=<%s>, error=<%s> | a view is not in the session", key, error)

    def release(self, conversation: Conversation) -> None:
        """Releases the data of the running invocation."""
        self._conversations.release(self._engines.of(conversation.model), conversation)

    def _known(self, conversation: Conversation) -> hosts.Conversation | None:
        return self._conversations.known(self._engines.of(conversation.model), conversation)

    @staticmethod
    def _shown(
        known: hosts.Conversation,
        fitted: list[types.Content],
        contents: list[types.Content],
        request: LlmRequest,
    ) -> list[types.Content]:
        """Returns the contents to send, and counts the summary of a compaction."""
        report = known.take_report()
        if report is not None:
            add_estimate(report, known.engine.policy.summary_input)
        return with_pending_answers(fitted, contents, request)

    def _text(self, conversation: Conversation, context: CallbackContext) -> str | None:
        """Returns the view in the session; None if there is none that can be read."""
        key = self._key(conversation, context)
        text = None if key is None else context.state.get(key)
        return text if isinstance(text, str) and text.startswith(_FORM) else None

    def _key(self, conversation: Conversation, context: CallbackContext) -> str | None:
        """The key of a view in the session's state; None if the session has no place for it."""
        passing = conversation.scope is not None or _RUN in (conversation.branch or "")
        if self._remember == "process" or passing or caller_of(invocation_of(context)) is not None:
            return None
        return f"ullage/{conversation.agent}/{conversation.branch or ''}/{conversation.model}"


class _ContentCodec:
    """Makes contents JSON-like for the state of a view, and back."""

    def dump(self, message: types.Content) -> dict[str, Any]:
        return message.model_dump(mode="json", exclude_none=True)

    def load(self, dumped: Any) -> types.Content:
        return types.Content.model_validate(dumped)


class _SavedView(dict[str, Any]):
    """A view in a session's state. The state is unpacked only when it is asked for.

    Args:
        text: The text of :func:`written_view`.
    """

    def __init__(self, text: str) -> None:
        mark, _, self._packed = text.removeprefix(_FORM).rpartition(":")
        # Texts of earlier versions have no mark.
        super().__init__(mark=mark or text)

    def __missing__(self, key: str) -> Any:
        """Returns the state.

        Raises:
            MessageError: If it cannot be read.
        """
        try:
            packed = zlib.decompress(base64.b64decode(self._packed))
            return json.loads(packed.decode("utf-8", "surrogatepass"))
        except (ValueError, zlib.error) as error:
            raise MessageError(f"the view in the session cannot be unpacked: {error}") from error


def written_view(saved: dict[str, Any]) -> str:
    """Returns a saved view as text; without its state if that cannot be written, or is too long."""
    head = f"{_FORM}{saved['mark']}:"
    try:
        packed = json.dumps(saved["state"], ensure_ascii=False).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError) as error:
        logger.debug("error=<%s> | a view cannot be written", error)
        return head
    text = head + base64.b64encode(zlib.compress(packed)).decode("ascii")
    if len(text) > _LONGEST:
        logger.debug("characters=<%d> | a view is too long for the session", len(text))
        return head
    return text


def _beside(
    contents: list[types.Content], request: LlmRequest, context: CallbackContext
) -> dict[str, Any]:
    """Returns the other arguments of a request: what must stay, and what is beside the contents."""
    waiting = open_calls(contents, request, context)
    return {
        "pins": sorted({*current_request(contents, context), *waiting}),
        "system": getattr(request.config, "system_instruction", None),
        "tools": getattr(request.config, "tools", None),
    }
