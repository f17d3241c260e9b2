"""``Parts``: what an engine is made of, put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ullage._core import Engine
from ullage.arrival import Arrival
from ullage.chooser import Chooser
from ullage.compactor import Compactor
from ullage.fixed import FixedTokens
from ullage.keeper import Keeper
from ullage.stopwatch import Stopwatch
from ullage.summarizer import Asker
from ullage.summary import RangeSummarizer
from ullage.telemetry import Telemetry

if TYPE_CHECKING:
    from ullage._core import Policy, TokenCounter
    from ullage.listener import Listener
    from ullage.recorder import Recorder
    from ullage.store import Store
    from ullage.summarizer import Summarizer


@dataclass(frozen=True)
class Parts:
    """The parts that share an engine of the core.

    Attributes:
        engine: Decides.
        stopwatch: Takes the time of all but the summaries.
        telemetry: Is told what is done.
        listener: Likewise, for the host.
        compactor: Carries out what is decided of messages.
        arrival: Carries out what is decided of results as they arrive.
        fixed: Counts what stands beside the messages.
        summarizer: Summarizes messages that the host has chosen.
    """

    engine: Engine
    stopwatch: Stopwatch
    telemetry: Telemetry
    listener: Listener
    compactor: Compactor
    arrival: Arrival
    fixed: FixedTokens
    summarizer: RangeSummarizer

    @classmethod
    def of(
        cls,
        policy: Policy,
        counter: TokenCounter,
        *,
        store: Store | None,
        summarizer: Summarizer | None,
        listener: Listener,
        recorder: Recorder | None,
        format: str | None,
        model: str | None,
        append_only: bool,
    ) -> Parts:
        """Puts them together; the arguments are those of a ``ContextManager``, settled."""
        engine = Engine(policy, counter, store=store, format=format, summarizer=summarizer)
        keeper, stopwatch, telemetry = Keeper(store), Stopwatch(), Telemetry(model)
        asker = Asker(summarizer, policy, telemetry)
        chooser = Chooser(engine, asker, stopwatch, policy)
        compactor = Compactor(
            engine,
            keeper,
            chooser,
            stopwatch=stopwatch,
            listener=listener,
            telemetry=telemetry,
            append_only=append_only,
        )
        arrival = Arrival(engine, keeper, stopwatch, telemetry, recorder)
        fixed = FixedTokens(engine, counter, append_only=append_only)
        summaries = RangeSummarizer(engine, asker, stopwatch)
        return cls(engine, stopwatch, telemetry, listener, compactor, arrival, fixed, summaries)
