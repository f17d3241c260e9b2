"""``ClientSummarizer`` lets a client summarize messages, and ``Turns`` allows one at a time."""

from __future__ import annotations

import asyncio
import contextvars
import math
import threading
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import ullage
from ullage._engine.calling import is_in_event_loop
from ullage._engine.clients import client_summarizer
from ullage._engine.forks import renew_after_fork
from ullage._engine.steps import Step
from ullage.supyagent.history import with_other_system_messages
from ullage.supyagent.summary import ContextSummary, fingerprint
from ullage.supyagent.tokens import FORMAT

if TYPE_CHECKING:
    from ullage._engine.steps import Steps

_Outcome = TypeVar("_Outcome")

# The share of the window that the request for a summary may take.
_REQUEST_SHARE = 0.8
# The tokens of the instructions in that request.
_REQUEST_FRAME = 600
# A later system message is shown as the user's, and begins with this text.
_SYSTEM = "[system message]\n"
# The greatest number of words that Supyagent asks for. The lines after the summary count too.
_MOST_WORDS = 600

# The turns that the current code is part of.
_within: contextvars.ContextVar[tuple[Future[None], ...]] = contextvars.ContextVar(
    "ullage_supyagent_turns", default=()
)


class ClientSummarizer:
    """Asks a client for summaries.

    Args:
        policy: The settings: the prompt, the size of summaries and the timeout.
        counter: Counts tokens.
        llm: The client.
        context_limit: The greatest number of tokens in a request to the client.
    """

    def __init__(
        self, policy: ullage.Policy, counter: ullage.TokenCounter, llm: Any, context_limit: int
    ) -> None:
        room = int(context_limit * _REQUEST_SHARE) - _REQUEST_FRAME
        policy = policy.replace(
            summary_input=max(1, min(policy.summary_input, room)), summaries="required"
        )
        self._counter = counter
        # Another prompt asks for a length of its own, which `summary_tokens` limits.
        self._most_words = _MOST_WORDS if policy.summary_prompt == "supyagent" else math.inf

        def ask(request: ullage.SummaryRequest) -> Any:
            return llm.chat([{"role": "user", "content": str(request)}])

        summarizer = client_summarizer(llm.chat, ask, _text)
        self._engine = ullage.ContextManager(
            policy, counter=counter, summarizer=summarizer, format=FORMAT
        )

    def summarize(
        self, messages: list[Any], begin: int, end: int, previous: ContextSummary | None
    ) -> Steps[ContextSummary]:
        """Returns the summary of the messages from ``begin`` on, in Supyagent's form.

        The client may be async.

        Args:
            messages: The whole conversation.
            begin: The first message that is not in the previous summary.
            end: The index after the last message to summarize.
            previous: The summary that the new one continues, or None.

        Raises:
            SummaryError: If the client gave no summary.
        """
        options: dict[str, Any] = {
            "messages": with_other_system_messages(messages, "user", _SYSTEM),
            "range": (begin, end),
            "previous": None
            if previous is None
            else ullage.Summary(previous.content, previous.lines),
        }
        summary = yield Step(
            partial(self._engine.summarize, **options), partial(self._engine.asummarize, **options)
        )
        kept = [] if previous is None else previous.kept
        out = ContextSummary(
            content=summary.text,
            messages_summarized=end,
            first_message_idx=0,
            last_message_idx=end - 1,
            lines=summary.lines,
            kept=[*kept, *summary.left_out(range(begin, end))],
            seen=len(messages),
            fingerprint=fingerprint(messages[:end]),
        )
        while out.lines and len(out.text().split()) > self._most_words:
            out.lines = out.lines.rpartition("\n")[0]
        out.token_count = self._counter.count(out.text())
        return out


class Turns:
    """Lets one caller work at a time. Callers may be threads or asyncio tasks."""

    def __init__(self) -> None:
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Frees the turn in a forked child, because the thread that had it does not exist there."""
        self._lock = threading.Lock()
        self._current: Future[None] | None = None

    def alone(self, work: Steps[_Outcome]) -> Steps[_Outcome]:
        """Does the work when the work of all earlier callers is done.

        Raises:
            SummaryError: If the caller would wait for work that it is a part of.
        """
        turn: Future[None] = Future()
        while (before := self._take(turn)) is not None:
            if before in _within.get():
                raise ullage.SummaryError("the client asked for a summary while it made one")
            if not (yield Step(partial(_wait, before), partial(_await, before))):
                break
        outer = _within.get()
        _within.set((*outer, turn))
        try:
            return (yield from work)
        finally:
            _within.set(outer)
            with self._lock:
                if self._current is turn:
                    self._current = None
            turn.set_result(None)

    def _take(self, turn: Future[None]) -> Future[None] | None:
        """Takes the turn, or returns the turn of another caller."""
        with self._lock:
            if self._current is None:
                self._current = turn
                return None
            return self._current


def _wait(turn: Future[None]) -> bool:
    """Waits for the end of a turn. Returns False if this thread may have to do that work."""
    if is_in_event_loop():
        return False
    turn.result()
    return True


async def _await(turn: Future[None]) -> bool:
    # A caller who stops waiting must not cancel the turn.
    await asyncio.shield(asyncio.wrap_future(turn))
    return True


def _text(response: Any) -> str:
    """Returns the text of an answer in the form of OpenAI's or litellm's client."""
    if isinstance(response, str):
        return response
    content = response.choices[0].message.content
    return content if isinstance(content, str) else ""
