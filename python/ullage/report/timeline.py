"""The requests of a session, one by one, with and without its compactions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ullage.report.recorded import Arrived, Changes, Failure, SentRequest
from ullage.report.reports import Report, StageReport
from ullage.usage.savings import Savings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage.report.recorded import Entry
    from ullage.usage.economics import Economics

_MILLION = 1_000_000
# The name of the stage that shortens results as they arrive.
SHRINK = "shrink"


@dataclass(frozen=True)
class TimelineStep:
    """One request.

    Attributes:
        prompt: Tokens of its prompt.
        without: Tokens that the prompt would have had without any removal.
        read: Tokens of the prompt that were read from the provider's cache.
        new: Tokens that were cached for the first time.
        rewritten: Tokens that were cached again because of a change, with the new messages after
            the change.
        cost: The cost of the prompt.
        cost_without: The cost of the prompt without any removal.
    """

    prompt: int
    without: int
    read: int
    new: int
    rewritten: int
    cost: float
    cost_without: float


@dataclass(frozen=True)
class Timeline:
    """A session.

    Attributes:
        steps: Its requests.
        compactions: Each compaction, with the number of requests before it.
        changes: The recorded changes of compactions, by the index in ``compactions``.
        arrived: Results that were shortened as they arrived.
        stages: The sums for each stage.
    """

    steps: list[TimelineStep] = field(default_factory=list)
    compactions: list[tuple[int, Report | Failure]] = field(default_factory=list)
    changes: dict[int, Changes] = field(default_factory=dict)
    arrived: list[Arrived] = field(default_factory=list)
    stages: dict[str, StageReport] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[Entry], economics: Economics) -> Timeline:
        """Returns the timeline of a recording. O(entries)."""
        found = cls()
        saved = shrunk = 0
        for entry in entries:
            if isinstance(entry, SentRequest):
                found.steps.append(found._step(entry, saved + shrunk, economics))
                continue
            if isinstance(entry, Arrived):
                shrunk += entry.saved
                found.arrived.append(entry)
                found._did(SHRINK, StageReport(1, entry.saved))
                continue
            if isinstance(entry, Changes):
                found.changes[len(found.compactions)] = entry
                continue
            found.compactions.append((len(found.steps), entry))
            if isinstance(entry, Report):
                saved = found._savings(saved, shrunk, entry)
                for name, stage in entry.stages.items():
                    found._did(name, stage)
        return found

    def savings(self, window: int | None, prices: Economics | None = None) -> Savings:
        """Returns the savings of the session against doing nothing.

        Args:
            window: The context window. Doing nothing goes on from the request that would not have
                fit. None if doing nothing fits any window.
            prices: The prices for a sum of money.
        """
        new = cached = new_without = cached_without = before = removed = 0
        for step in self.steps:
            written, without = step.new + step.rewritten, step.without - removed
            new, cached = new + written, cached + step.read
            if window is not None and without > window:
                removed, read = step.without - step.prompt, step.read
                without = step.prompt
            else:
                read = min(before, without) if before else step.read
            cached_without, new_without = cached_without + read, new_without + without - read
            before = without
        sums = {
            "requests": len(self.steps),
            "new": new,
            "cached": cached,
            "new_without": new_without,
            "cached_without": cached_without,
        }
        return Savings.of_sums(sums, prices)

    def _savings(self, saved: int, shrunk: int, report: Report) -> int:
        """Returns the tokens that all compactions saved.

        A host may compact a view of its whole history each time. Then the last compaction saved
        everything. A list that is compacted in place can look the same, if it grew by at least as
        much as was saved before. Then too little is counted.
        """
        before = self.steps[-1].without - shrunk if self.steps else 0
        began_anew = saved > 0 and report.tokens_before >= before
        return report.saved if began_anew else saved + report.saved

    def _step(self, sent: SentRequest, saved: int, economics: Economics) -> TimelineStep:
        without, before, rewritten = sent.prompt + saved, 0, 0
        if self.steps:
            before = min(self.steps[-1].without, without)
            rewritten = min(sent.written, max(0, self.steps[-1].prompt - sent.read))

        def cost(read: int, written: int) -> float:
            paid = read * economics.cache_read + written * economics.cache_write
            return paid * economics.input / _MILLION

        return TimelineStep(
            prompt=sent.prompt,
            without=without,
            read=sent.read,
            new=sent.written - rewritten,
            rewritten=rewritten,
            cost=cost(sent.read, sent.written),
            cost_without=cost(before, without - before),
        )

    def _did(self, name: str, stage: StageReport) -> None:
        before = self.stages.get(name, StageReport(0, 0))
        self.stages[name] = StageReport(before.edits + stage.edits, before.saved + stage.saved)
