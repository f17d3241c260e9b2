"""``Components``: the parts of an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ullage._core import Engine
from ullage._engine.arrival import Arrival
from ullage._engine.artifact_writer import ArtifactWriter
from ullage._engine.compactor import Compactor
from ullage._engine.fixed_tokens import FixedTokens
from ullage._engine.stopwatch import Stopwatch
from ullage._engine.summarizer import SummaryCaller
from ullage._engine.summary_source import SummarySource
from ullage.summary import RangeSummarizer
from ullage.telemetry import Telemetry
from ullage.usage.economics import Economics

if TYPE_CHECKING:
    from ullage._core import Policy, TokenCounter
    from ullage._engine.listener import Listener
    from ullage._engine.summarizer import Summarizer
    from ullage.models.catalog import ModelCatalog
    from ullage.report.recorder import Recorder
    from ullage.stores.protocol import Store


@dataclass(frozen=True)
class Components:
    """The parts that share an engine of the core.

    Attributes:
        engine: Decides.
        stopwatch: Measures the time without the summaries.
        telemetry: Reports to OpenTelemetry.
        listener: Reports to the host.
        compactor: Carries out decisions about messages.
        arrival: Carries out decisions about arriving results.
        fixed: Counts the system prompt and the tools.
        summarizer: Summarizes messages that the host chooses.
        prices: The prices of the model, or None if they are not known.
    """

    engine: Engine
    stopwatch: Stopwatch
    telemetry: Telemetry
    listener: Listener
    compactor: Compactor
    arrival: Arrival
    fixed: FixedTokens
    summarizer: RangeSummarizer
    prices: Economics | None

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
        catalog: ModelCatalog | None,
        append_only: bool,
    ) -> Components:
        """Creates the parts; the arguments are the checked ones of a ``ContextManager``."""
        if summarizer is not None and hasattr(store, "write_cell"):
            # The store is shared by workers, so one of them asks for all.
            from ullage.stores.summarizer import shared_summarizer

            summarizer = shared_summarizer(summarizer, store)
        prices = Economics.known_for_model(model, catalog)
        factors = None if model is None else Economics.for_model(model, catalog).prices()
        engine = Engine(
            policy, counter, store=store, format=format, summarizer=summarizer, prices=factors
        )
        artifact_writer, stopwatch, telemetry = ArtifactWriter(store), Stopwatch(), Telemetry(model)
        caller = SummaryCaller(summarizer, policy, telemetry)
        summary_source = SummarySource(engine, caller, stopwatch, policy)
        compactor = Compactor(
            engine,
            artifact_writer,
            summary_source,
            stopwatch=stopwatch,
            listener=listener,
            telemetry=telemetry,
            prices=prices,
            append_only=append_only,
        )
        arrival = Arrival(engine, artifact_writer, stopwatch, telemetry, recorder)
        fixed = FixedTokens(engine, counter, append_only=append_only)
        summaries = RangeSummarizer(engine, caller, stopwatch)
        return cls(
            engine, stopwatch, telemetry, listener, compactor, arrival, fixed, summaries, prices
        )
