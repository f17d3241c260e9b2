"""One session under one policy, request by request, for its report."""

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

    Each answer of the model is taken for a request with all that stands before it. The history is
    compacted in front of it, as far as the policy has it; results come in as they are. A session
    that no provider would take is repaired first. O(requests) compactions.

    Args:
        session: The session.
        policy: The policy; that for the model if not given.
        model: The id of the model, for its window, tokens and prices.
        store: Where what leaves is kept; in memory if not given.
        progress: Called after each request, with its number and that of all.

    Raises:
        MessageError: If the messages cannot be read.
        PolicyError: If an argument is not what it should be.
        StoreError: If the store cannot keep what leaves.
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
            recorder.failure(error)  # What cannot be made to fit is sent as it is.
        recorder.request(history)
        if progress is not None:
            progress(number, len(requests))
    return recorder
