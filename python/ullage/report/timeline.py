"""The requests of a session, one by one, with and without its compactions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ullage.report.recorded import Arrived, Changes, Failure, SentRequest
from ullage.report.reports import Report, StageReport

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage.report.recorded import Entry
    from ullage.usage.economics import Economics

_MILLION = 1_000_000
# The name under which an engine counts what was shortened at arrival.
SHRINK = "shrink"


@dataclass(frozen=True)
class Step:
    """One request.

    Attributes:
        prompt: Tokens of its prompt.
        without: Tokens that the prompt would have had if nothing had ever left.
        read: What of the prompt was read from the provider's cache.
        new: What was written into it behind all that the request before had left there.
        rewritten: What was written into it although the request before had left as much there: the
            price of a change. New messages behind the change are in it.
        cost: What its prompt cost.
        cost_without: What that would have been if nothing had ever left.
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
        compactions: What was done, each with the number of requests before it.
        changes: What each compaction did to single pieces, where that is known, by its place in
            ``compactions``.
        arrived: Results that were shortened as they arrived.
        stages: What each stage did in all.
    """

    steps: list[Step] = field(default_factory=list)
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
                saved = found._saved(saved, shrunk, entry)
                for name, stage in entry.stages.items():
                    found._did(name, stage)
        return found

    def _saved(self, saved: int, shrunk: int, report: Report) -> int:
        """Tokens that compactions have taken away in all.

        A host that keeps its history and compacts a view of it begins with all of the history each
        time: then this compaction saved all of it. Where a list that is compacted in place grew by
        as much as all compactions before had saved, the two look the same, and less is counted.
        """
        before = self.steps[-1].without - shrunk if self.steps else 0
        began_anew = saved > 0 and report.tokens_before >= before
        return report.saved if began_anew else saved + report.saved

    def _step(self, sent: SentRequest, saved: int, economics: Economics) -> Step:
        without, before, rewritten = sent.prompt + saved, 0, 0
        if self.steps:
            before = min(self.steps[-1].without, without)
            rewritten = min(sent.written, max(0, self.steps[-1].prompt - sent.read))

        def cost(read: int, written: int) -> float:
            paid = read * economics.cache_read + written * economics.cache_write
            return paid * economics.input / _MILLION

        return Step(
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
