"""``Requests``: keeps the contents of a request inside the model's window."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
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
    from collections.abc import Awaitable, Callable

    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse

    from ullage._hosts.conversations import HostConversation
    from ullage._hosts.engines import Engines
    from ullage._hosts.rows import Reading
    from ullage.adk.conversations import ConversationKey

logger = Logger(__name__)

FORMAT = "gemini"

# Number of times that a call is made again, smaller, after the provider refused it as too long.
RETRIES = 3

# The model may change these in a request's configuration on its way to the provider: with an
# explicit cache, ADK moves them into it.
_CONFIGURED = ("system_instruction", "tools", "tool_config", "cached_content")

# The values beside the contents: the engine's name for each, and its name in a configuration.
_FIXED = {"system": "system_instruction", "tools": "tools"}

Remember = Literal["session", "process"]
"""The place where compactions are remembered: the session's state too, or only this process."""

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

    async def fit(self, context: CallbackContext, request: LlmRequest) -> FittedRequest:
        """Puts contents that fit into a request.

        If even the shortest contents are above the limit, they are sent, and the provider decides.
        """
        conversation = conversation_of(context, request.model)
        engine = self._engines.of(request.model)
        contents = request.contents
        text = self._text(conversation, context)
        saved = None if text is None else _SavedView(text)
        known, reading = self._conversations.of(engine, contents, conversation, saved)
        pins = {*current_request(contents, context), *open_calls(contents, request, context)}
        config = {name: getattr(request.config, name, None) for name in _CONFIGURED}
        beside = {"pins": sorted(pins)} | {name: config[key] for name, key in _FIXED.items()}
        fitted = FittedRequest(conversation, known, reading, request, config, beside)
        fitted.show(await arun(known.request(reading, **beside)))
        return fitted

    def keep_in_session(self, fitted: FittedRequest, context: CallbackContext) -> None:
        """Stores the view in the session, with the answer to the last request.

        The state is only stored with the event of the model's answer, so this checks it each time.
        It waits for the last piece of a streamed answer, because every piece would carry the
        state otherwise.
        """
        key = self._key(fitted.conversation, context)
        if key is None:
            return
        try:
            text = self._text(fitted.conversation, context)
            saved = fitted.known.saved(None if text is None else _SavedView(text))
            if saved is not None:
                context.state[key] = written_view(saved)
        except Exception as error:  # noqa: BLE001 - an app may declare which keys there are
            logger.debug("key=<%s>, error=<%s> | the view was not saved in the session", key, error)

    def release(self, fitted: FittedRequest) -> None:
        """Releases the data of the running invocation."""
        self._conversations.release(fitted.known.engine, fitted.conversation)

    def _text(self, conversation: ConversationKey, context: CallbackContext) -> str | None:
        """Returns the view in the session; None if there is none that can be read."""
        key = self._key(conversation, context)
        text = None if key is None else context.state.get(key)
        return text if isinstance(text, str) and text.startswith(_FORM) else None

    def _key(self, conversation: ConversationKey, context: CallbackContext) -> str | None:
        """The key of a view in the session's state; None if the session has no place for it."""
        passing = conversation.scope is not None or _RUN in (conversation.branch or "")
        if self._remember == "process" or passing or caller_of(invocation_of(context)) is not None:
            return None
        return f"ullage/{conversation.agent}/{conversation.branch or ''}/{conversation.model}"


@dataclass(frozen=True)
class FittedRequest:
    """A request whose contents fit.

    Attributes:
        conversation: The key of the conversation.
        known: The conversation.
        reading: The contents before.
        request: The request, with contents that fit.
        config: The configuration from ADK, which a model may change.
        beside: The contents that must stay, the system instruction and the tools.
    """

    conversation: ConversationKey
    known: HostConversation
    reading: Reading
    request: LlmRequest
    config: dict[str, Any]
    beside: dict[str, Any]

    @property
    def tokens(self) -> int:
        """Tokens of the whole request."""
        engine = self.known.engine
        fixed = {name: self.beside[name] for name in _FIXED}
        return self.known.tokens + engine.status([], **fixed).fixed

    def show(self, contents: list[types.Content]) -> None:
        """Puts contents into the request, and counts the summary of a compaction."""
        report = self.known.take_report()
        if report is not None:
            add_estimate(report, self.known.engine.policy.summary_input)
        for name, value in self.config.items():
            setattr(self.request.config, name, value)
        before: Any = self.reading.rows
        # A list of its own: models may change that of the request.
        self.request.contents = list(with_pending_answers(contents, before, self.request))

    async def recovered(
        self, error: Exception, send: Callable[[], Awaitable[LlmResponse | None]]
    ) -> LlmResponse | None:
        """Sends smaller contents until the provider accepts them, three times at most.

        Args:
            error: The refusal of the last contents.
            send: Sends the request.

        Raises:
            Exception: The provider's error, if it is not an overflow or nothing is left to remove.
        """

        async def answer(contents: list[types.Content]) -> LlmResponse | None:
            logger.info(
                "contents=<%d> | the request was refused, a smaller one is sent", len(contents)
            )
            self.show(contents)
            return await send()

        recovering = self.known.recovered(self.reading, error, answer, tries=RETRIES, **self.beside)
        response: LlmResponse | None = await arun(recovering)
        return response


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
        logger.debug("error=<%s> | the view cannot be saved as JSON", error)
        return head
    text = head + base64.b64encode(zlib.compress(packed)).decode("ascii")
    if len(text) > _LONGEST:
        logger.debug("characters=<%d> | the view is too long for the session", len(text))
        return head
    return text
