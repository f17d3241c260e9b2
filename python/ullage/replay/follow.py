"""Follows one policy through a session, request by request, for its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage._core import MemoryStore, StoreError, UllageError
from ullage.manager import ContextManager
from ullage.replay.measure import requests_of, valid
from ullage.report.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ullage._core import Policy
    from ullage.sessions import Session
    from ullage.stores.protocol import Store


def follow(
    session: Session,
    policy: Policy | None = None,
    *,
    model: str | None = None,
    store: Store | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Recorder:
    """Runs an engine over a recorded session, and records it as a real run.

    Each answer of the model counts as a request with everything before it. The history is compacted
    before the request if the policy says so. Results are not shortened as they arrive. A session
    that a provider would reject is repaired first. O(requests) compactions.

    Args:
        session: The session.
        policy: The policy; that of the model if not given.
        model: The id of the model, for its window, tokens and prices.
        store: Keeps removed content; in memory if not given.
        progress: Called after each request, with its number and the total.

    Raises:
        MessageError: If the messages cannot be read.
        PolicyError: If an argument is invalid.
        StoreError: If the store cannot keep the removed content.
    """
    recorder = Recorder(name=session.name, texts=True)
    kept = MemoryStore() if store is None else store
    engine = ContextManager(policy, model=model, store=kept, recorder=recorder)
    messages, _ = valid(session)
    requests = requests_of(messages, engine.counter)
    history: list[Any] = []
    start = 0
    for number, request in enumerate(requests, 1):
        history.extend(messages[start:request])
        start = request
        try:
            engine.compact(history)
        except StoreError:
            raise
        except UllageError as error:
            recorder.failure(error)  # The request is sent without a compaction.
        recorder.request(history)
        if progress is not None:
            progress(number, len(requests))
    return recorder
