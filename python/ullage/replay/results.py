"""What a replay measures, and how it adds up."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Retention:
    """How much of what was needed after a cut is still there.

    An anchor is a path, name, id or number that a tool brought up before the cut and that the agent
    was the first to repeat after it. Presence is the most that a model could use, not what it
    would.

    Attributes:
        needed: Anchors that were needed.
        anchors: Those of them that are in the context.
        lines: Those of them that stand there in a line that a tool had printed.
        recoverable: Those of them that are in the context or stored where it refers to.
        edits: Edits after the cut that rest on lines known before it.
        grounded: Those of them of which every such line is in the context.
    """

    needed: int = 0
    anchors: int = 0
    lines: int = 0
    recoverable: int = 0
    edits: int = 0
    grounded: int = 0

    def __add__(self, other: Retention) -> Retention:
        return Retention(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        )

    def share(self, name: str) -> float | None:
        """The share of one of the counts in what was needed; None where nothing was."""
        of: int = self.edits if name == "grounded" else self.needed
        return getattr(self, name) / of if of else None


@dataclass(frozen=True)
class Cut:
    """One compaction of one session at one place.

    Attributes:
        session: The name of the session.
        policy: The name of the policy or the baseline.
        context: Tokens at which the session is first cut.
        share: The share of the history that was its budget.
        message: The index of the message in front of which the session was cut.
        tokens_before: Tokens of the history there.
        budget: Tokens that it had to come down to.
        tokens_after: Tokens that it came down to.
        violations: What a provider would reject in it, which should be 0.
        retention: How much of what was needed is still there.
        seconds: What the compaction took, without counting what was counted before.
        failure: Why there was no compaction, or None. Then nothing counts as kept.
    """

    session: str
    policy: str
    context: int
    share: float
    message: int
    tokens_before: int
    budget: int
    tokens_after: int
    violations: int
    retention: Retention
    seconds: float
    failure: str | None = None

    @property
    def overshoot(self) -> int:
        """Tokens beyond the budget, which should be 0."""
        return max(0, self.tokens_after - self.budget)


@dataclass(frozen=True)
class Cost:
    """What the requests of one session cost with compactions, and without any.

    Costs are in tokens of plain input: what the provider has cached is read, the rest written.

    Attributes:
        session: The name of the session.
        policy: The name of the policy.
        high: Tokens above which the history was compacted.
        requests: Requests in the session.
        compactions: How often it was.
        cost: The cost with compactions.
        append_only: The cost of a history that only grows.
    """

    session: str
    policy: str
    high: int
    requests: int
    compactions: int
    cost: float
    append_only: float


@dataclass(frozen=True)
class Row:
    """The cuts of all sessions under one policy, added up.

    Attributes:
        policy: The name of the policy or the baseline.
        context: Tokens at which sessions were first cut.
        share: The share of the history that was the budget.
        cuts: Number of cuts.
        failed: Those of them that could not be compacted.
        retention: What was needed and kept in all of them: shares of these are micro averages.
        used: The share of their budgets that was used.
        overshoot: The most tokens beyond a budget.
        violations: What a provider would reject in all of them.
        milliseconds: The median time of a compaction.
        cost: Cost against a history that only grows, or None where that was not measured.
    """

    policy: str
    context: int
    share: float
    cuts: int
    failed: int
    retention: Retention
    used: float
    overshoot: int
    violations: int
    milliseconds: float
    cost: float | None


@dataclass(frozen=True)
class UnreadableSession:
    """A session whose messages cannot be read.

    Attributes:
        name: The name of the session.
        problem: Why they cannot be read.
    """

    name: str
    problem: str


@dataclass(frozen=True)
class Replay:
    """What a replay measured.

    Attributes:
        cuts: Each compaction, by session.
        costs: What each session costs, where that was asked for.
        repaired: Sessions that no provider would take as they were recorded, and so were
            repaired.
        unreadable: Sessions that were left out, as their messages cannot be read.
    """

    cuts: list[Cut]
    costs: list[Cost]
    repaired: list[str]
    unreadable: list[UnreadableSession] = field(default_factory=list)

    def rows(self) -> list[Row]:
        """A row for each policy, context and share, in the order in which they were asked for."""
        groups: dict[tuple[int, float, str], list[Cut]] = {}
        for cut in self.cuts:
            groups.setdefault((cut.context, cut.share, cut.policy), []).append(cut)
        return [self._row(cuts) for cuts in groups.values()]

    def cost(self, policy: str) -> float | None:
        """The cost of all sessions under a policy against that of histories that only grow."""
        costs = [cost for cost in self.costs if cost.policy == policy]
        append_only = sum(cost.append_only for cost in costs)
        return sum(cost.cost for cost in costs) / append_only if append_only else None

    def to_dict(self) -> dict[str, Any]:
        """Rows, cuts and costs as a JSON-able dict."""
        return {"rows": [asdict(row) for row in self.rows()], **asdict(self)}

    def _row(self, cuts: list[Cut]) -> Row:
        done = [cut for cut in cuts if cut.failure is None]
        budgets = sum(cut.budget for cut in done)
        return Row(
            policy=cuts[0].policy,
            context=cuts[0].context,
            share=cuts[0].share,
            cuts=len(cuts),
            failed=len(cuts) - len(done),
            retention=sum((cut.retention for cut in cuts), Retention()),
            used=sum(cut.tokens_after for cut in done) / budgets if budgets else 0.0,
            overshoot=max((cut.overshoot for cut in done), default=0),
            violations=sum(cut.violations for cut in done),
            milliseconds=_median(cut.seconds for cut in done) * 1_000,
            cost=self.cost(cuts[0].policy),
        )


def _median(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else 0.0
