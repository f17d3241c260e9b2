"""``SessionState``: the views of conversations in the state of their session.

ADK stores the state with an agent's answer, so a view outlives the process when the answer does.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING, Any, Literal

from ullage._engine.logger import Logger
from ullage.adk.conversations import is_nested

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext

    from ullage.adk.conversations import Conversation

logger = Logger(__name__)

Remember = Literal["session", "process"]
"""The place where compactions are remembered: the session's state too, or this process alone."""

# Characters of a view in a session's state. Some services keep a session in one document of at
# most a mebibyte; a view that is longer is made again by the next process.
_LONGEST = 250_000

# The text begins with its form. A text of another form is not read.
_FORM = "view:"

# Branches of nodes that run once have the id of that run in them, and are never gone on with.
_RUN = "@"


class SessionState:
    """Writes views into sessions, and reads them.

    Args:
        remember: Whether the session has them at all.
    """

    def __init__(self, remember: Remember) -> None:
        self._remember = remember

    def has_place(self, conversation: Conversation, context: CallbackContext) -> bool:
        """True if the session has a place for the view of a conversation."""
        return self._key(conversation, context) is not None

    def text(self, conversation: Conversation, context: CallbackContext) -> str | None:
        """The text that the session holds for a conversation."""
        key = self._key(conversation, context)
        text = None if key is None else context.state.get(key)
        return text if isinstance(text, str) else None

    def keep(self, conversation: Conversation, context: CallbackContext, text: str) -> None:
        """Writes a view into the session's state, where it is not there yet.

        What was written is only stored with the event of the model's answer, so it is looked for
        each time; and every piece of a streamed answer would carry it if it were written before
        the last.
        """
        key = self._key(conversation, context)
        if key is None:
            return
        try:
            if context.state.get(key) != text:
                context.state[key] = text
        except Exception as error:  # noqa: BLE001 - an app may declare which keys there are
            logger.debug("key=<%s>, error=<%s> | a view is not in the session", key, error)

    def written(self, state: dict[str, Any]) -> str | None:
        """The state of a view as text; None where it cannot be written, or is too long."""
        try:
            packed = zlib.compress(
                json.dumps(state, ensure_ascii=False).encode("utf-8", "surrogatepass")
            )
        except (TypeError, ValueError) as error:
            logger.debug("error=<%s> | a view cannot be written", error)
            return None
        text = _FORM + base64.b64encode(packed).decode("ascii")
        if len(text) > _LONGEST:
            logger.debug("characters=<%d> | a view is too long for the session", len(text))
            return None
        return text

    def read(self, text: str) -> dict[str, Any] | None:
        """The state of a view from a text; None where it cannot be read."""
        form, _, packed = text.partition(":")
        if f"{form}:" != _FORM:
            return None
        try:
            state = zlib.decompress(base64.b64decode(packed)).decode("utf-8", "surrogatepass")
            read: dict[str, Any] = json.loads(state)
        except (ValueError, zlib.error) as error:
            logger.debug("error=<%s> | a view in the session cannot be read", error)
            return None
        return read

    def _key(self, conversation: Conversation, context: CallbackContext) -> str | None:
        """What the state has it under; None where it has no place there."""
        passing = conversation.scope is not None or _RUN in (conversation.branch or "")
        if self._remember == "process" or passing or is_nested(context):
            return None
        return f"ullage/{conversation.agent}/{conversation.branch or ''}/{conversation.model}"
