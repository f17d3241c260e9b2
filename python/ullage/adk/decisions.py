"""What compactions left, in this process and in the session, so that a resumed one begins alike.

A decision stands for the first contents of a conversation. It is kept as they were sent, and in the
state of the session as a packed text: which of the contents stayed, and the others in full. The
state is what ADK stores with an agent's answer, so a decision outlives the process when that does.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal

from google.genai import types

from ullage.adk.conversations import is_nested
from ullage.adk.newest import Newest
from ullage.adk.remembered import Remembered, digest
from ullage.logger import Logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.agents.callback_context import CallbackContext

    from ullage.adk.conversations import Conversation

logger = Logger(__name__)

Remember = Literal["session", "process"]
"""Where decisions are kept: in the session's state too, or in this process alone."""

# Conversations whose last decision is remembered. Each takes what the low mark leaves, of which
# the strings are the session's own; one that was forgotten is read from the session.
_CONVERSATIONS = 64

# Characters of a decision in a session's state. Some services keep a session in one document of at
# most a mebibyte; a decision that is longer is made again by the next process.
_LONGEST = 250_000

# What the text begins with: its form, of which another is not read.
_FORM = "zlib:"

# Branches of nodes that run once have the id of that run in them, and are never gone on with.
_RUN = "@"


@dataclass(frozen=True)
class Decision:
    """What a compaction left.

    Attributes:
        head: What stands for the first contents.
        count: How many those are.
        digest: What tells them from others in this process.
        most: The most tokens that the contents may take, where a provider refused some.
        text: The same for the session's state; None where it is not written there.
        older: Hashes of the texts that it takes the place of, should they still be there.
    """

    head: tuple[types.Content, ...]
    count: int
    digest: int
    most: int | None
    text: str | None
    older: frozenset[int] = frozenset()

    def is_of(self, contents: Sequence[types.Content]) -> bool:
        """Whether it is about these contents."""
        return len(contents) >= self.count and digest(contents[: self.count]) == self.digest

    def begun(self) -> Remembered:
        """What is known when a run begins."""
        return Remembered(head=list(self.head), count=self.count, most=self.most).known_by(
            self.digest
        )


class Decisions:
    """The last decision of each conversation. Threads may share it.

    Args:
        remember: Where they are kept.
    """

    def __init__(self, remember: Remember) -> None:
        self._remember = remember
        self._last: Newest[Decision] = Newest(_CONVERSATIONS)

    def of(
        self,
        conversation: Conversation,
        context: CallbackContext,
        contents: Sequence[types.Content],
    ) -> Decision | None:
        """The last decision about a conversation.

        Another process may have made a later one, which then is the session's.
        """
        mine = self._last.get(conversation)
        text = self._in_session(conversation, context)
        if text is None or (mine is not None and mine.text == text):
            return mine
        # After a rewind the older one may be right again.
        if mine is not None and hash(text) in mine.older and mine.is_of(contents):
            return mine
        theirs = read(text, contents)
        if theirs is None:
            return mine
        self._last.put(conversation, theirs)
        return theirs

    def made(
        self, conversation: Conversation, context: CallbackContext, known: Remembered
    ) -> Decision:
        """Takes over what was decided in a run."""
        raw = known.seen[: known.count]
        text = None
        if self._key(conversation, context) is not None:
            text = written(raw, known.head, known.most)
        before = self._last.get(conversation)
        older = frozenset() if before is None else before.older
        # An answer that failed has left the session with an earlier one.
        for one in (self._in_session(conversation, context), before and before.text):
            older |= {hash(one)} if one is not None and one != text else frozenset()
        decision = Decision(tuple(known.head), known.count, digest(raw), known.most, text, older)
        self._last.put(conversation, decision)
        return decision

    def keep(
        self, conversation: Conversation, context: CallbackContext, decision: Decision
    ) -> None:
        """Writes a decision into the session's state, where it is not there yet.

        What was written is only stored with the event of the model's answer, so it is looked for
        each time; and every piece of a streamed answer would carry it if it were written before
        the last.
        """
        key = self._key(conversation, context)
        if key is None or decision.text is None:
            return
        try:
            if context.state.get(key) != decision.text:
                context.state[key] = decision.text
        except Exception as error:  # noqa: BLE001 - an app may declare which keys there are
            logger.debug("key=<%s>, error=<%s> | a decision is not in the session", key, error)

    def _in_session(self, conversation: Conversation, context: CallbackContext) -> str | None:
        key = self._key(conversation, context)
        text = None if key is None else context.state.get(key)
        return text if isinstance(text, str) else None

    def _key(self, conversation: Conversation, context: CallbackContext) -> str | None:
        """What the state has it under; None where it has no place there."""
        passing = conversation.scope is not None or _RUN in (conversation.branch or "")
        if self._remember == "process" or passing or is_nested(context):
            return None
        return f"ullage/{conversation.agent}/{conversation.branch or ''}/{conversation.model}"


def written(
    raw: Sequence[types.Content], head: Sequence[types.Content], most: int | None
) -> str | None:
    """A decision as a text; None where it cannot be written, or is too long.

    Args:
        raw: The contents that it stands for.
        head: What stands for them.
        most: The most tokens that the contents may take.
    """
    places = {id(content): place for place, content in enumerate(raw)}
    items: list[Any] = []
    for content in head:
        place = places.get(id(content))
        if place is None:
            items.append(_plain(content))
        elif items and isinstance(items[-1], list) and items[-1][1] == place:
            items[-1][1] = place + 1
        else:
            items.append([place, place + 1])
    try:
        said = {
            "of": lasting_digest(raw),
            "count": len(raw),
            "head": items,
            "most": most,
        }
        packed = zlib.compress(
            json.dumps(said, ensure_ascii=False).encode("utf-8", "surrogatepass")
        )
        text = _FORM + base64.b64encode(packed).decode("ascii")
    except (TypeError, ValueError) as error:
        logger.debug("error=<%s> | a decision cannot be written", error)
        return None
    if len(text) > _LONGEST:
        logger.debug("characters=<%d> | a decision is too long for the session", len(text))
        return None
    return text


def read(text: str, contents: Sequence[types.Content]) -> Decision | None:
    """A decision from a text; None where it is about other contents, or cannot be read."""
    try:
        form, _, packed = text.partition(":")
        if f"{form}:" != _FORM:
            return None
        said = json.loads(
            zlib.decompress(base64.b64decode(packed)).decode("utf-8", "surrogatepass")
        )
        count = said["count"]
        raw = contents[:count]
        if count > len(contents) or said["of"] != lasting_digest(raw):
            return None
        head: list[types.Content] = []
        for item in said["head"]:
            if isinstance(item, list):
                head.extend(raw[item[0] : item[1]])
            else:
                head.append(types.Content.model_validate(item))
        return Decision(tuple(head), count, digest(raw), said["most"], text)
    except (LookupError, TypeError, ValueError, zlib.error) as error:
        logger.debug("error=<%s> | a decision in the session cannot be read", error)
        return None


def lasting_digest(contents: Sequence[types.Content]) -> str:
    """What tells contents from others in every process, also after a store has sorted their keys.

    Takes some ten milliseconds for a thousand contents of 2 KB.
    """
    total = blake2b(digest_size=16)
    for content in contents:
        total.update(json.dumps(_plain(content), sort_keys=True).encode())
    return total.hexdigest()


def _plain(content: types.Content) -> Any:
    return content.model_dump(mode="json", exclude_none=True)
