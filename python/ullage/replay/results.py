"""The measures of a replay, and their sums."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from ullage.usage.savings import Savings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ullage.usage.economics import Economics

# The samples for an interval, and the share of them inside the interval.
_SAMPLES = 1_000
_INSIDE = 0.95


@dataclass(frozen=True)
class Share:
    """A share as two numbers that can be added up.

    Attributes:
        kept: The part that is left; below 0 for a context that misleads a prediction.
        of: The whole.
    """

    kept: int = 0
    of: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(self.kept + other.kept, self.of + other.of)

    @property
    def value(self) -> float | None:
        """The share; None if the whole is 0."""
        return self.kept / self.of if self.of else None


@dataclass(frozen=True)
class Retention:
    """The shares that are left of the text needed after a cut.

    An anchor is a path, name, id or number that a tool brought up before the cut and that the agent
    was the first to repeat after it. Presence is the most that a model could use, not what it
    would.

    The help of a context is measured in bytes. A compressor (PPMd of order 8) writes the agent's
    next messages: after reading nothing, after reading the whole history, and after reading the
    context. The whole history saves a number of bytes; the help is the part of them that the
    context saves. Acts are the arguments of calls, and words are the agent's text. Near means the
    next 8 messages, far the next 40.

    Attributes:
        needed: Anchors that were needed.
        anchors: Needed anchors in the context.
        lines: Needed anchors in the context, in a line that a tool printed.
        recoverable: Needed anchors in the context, or in stored content that it refers to.
        edits: Edits after the cut that change lines which were known before it.
        grounded: Such edits with every known line in the context.
        acts_near: The help of the context for the arguments of the next calls.
        acts_far: The same for more calls.
        words_near: The help of the context for the agent's next words.
        words_far: The same for more words.
        sentences: Sentences that the agent said in the 20 messages before the cut, word for word.
        tasks: The tasks of the agent's list.
        files: The files that the agent changed, by name.
        user_words: The different words of the user.
    """

    needed: int = 0
    anchors: int = 0
    lines: int = 0
    recoverable: int = 0
    edits: int = 0
    grounded: int = 0
    acts_near: Share = Share()
    acts_far: Share = Share()
    words_near: Share = Share()
    words_far: Share = Share()
    sentences: Share = Share()
    tasks: Share = Share()
    files: Share = Share()
    user_words: Share = Share()

    @staticmethod
    def read(found: Mapping[str, Any]) -> Retention:
        """Returns the retention from the values of the core."""
        values: dict[str, Any] = dict(found)
        for name, value in found.items():
            if isinstance(value, dict):
                values[name] = Share(**value)
        return Retention(**values)

    def __add__(self, other: Retention) -> Retention:
        return Retention(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        )

    def share(self, name: str) -> float | None:
        """Returns an attribute as a share of what was needed; None if nothing was needed."""
        return self.counts(name).value

    def counts(self, name: str) -> Share:
        """Returns an attribute, with what was needed."""
        kept: int | Share = getattr(self, name)
        if isinstance(kept, Share):
            return kept
        return Share(kept, self.edits if name == "grounded" else self.needed)


@dataclass(frozen=True)
class Cut:
    """One compaction of one session at one place.

    Attributes:
        session: The name of the session.
        policy: The name of the policy or the baseline.
        context: Tokens at which the session is first cut.
        share: The share of the history that was its budget.
        message: The index of the message before which the session was cut.
        tokens_before: Tokens of the history before the cut.
        budget: The budget in tokens.
        tokens_after: Tokens after the compaction.
        violations: Violations of the provider's rules, which should be 0.
        retention: The shares that are left of the needed text.
        seconds: The time of the compaction, without the first count of the messages.
        failure: The reason why the compaction failed, or None. After a failure nothing counts as
            kept.
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
    """The cost of one session's requests with compactions, and without any.

    Costs are in tokens of plain input. Cached tokens are read, the others are written.

    Attributes:
        session: The name of the session.
        policy: The name of the policy.
        high: Tokens above which the history was compacted.
        requests: Requests in the session.
        compactions: Number of compactions.
        cost: The cost with compactions.
        append_only: The cost of a history that only grows.
        new: Tokens that were not cached, with compactions.
        cached: Tokens that were read from the cache, with compactions.
        append_only_new: Tokens of a history that only grows that were not cached.
        append_only_cached: Tokens of such a history that were read from the cache.
    """

    session: str
    policy: str
    high: int
    requests: int
    compactions: int
    cost: float
    append_only: float
    new: int
    cached: int
    append_only_new: int
    append_only_cached: int


@dataclass(frozen=True)
class Row:
    """The cuts of all sessions under one policy, added up.

    Attributes:
        policy: The name of the policy or the baseline.
        context: Tokens at which sessions were first cut.
        share: The share of the history that was the budget.
        cuts: Number of cuts.
        failed: Cuts whose compaction failed.
        retention: The sums over all cuts, so its shares are micro averages.
        used: The share of their budgets that was used.
        overshoot: The most tokens beyond a budget.
        violations: Violations of the provider's rules in all cuts.
        milliseconds: The median time of a compaction.
        cost: The cost relative to a history that only grows, or None if it was not measured.
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
        problem: The reason.
    """

    name: str
    problem: str


@dataclass(frozen=True)
class Replay:
    """The results of a replay.

    Attributes:
        cuts: Each compaction, by session.
        costs: The cost of each session, if it was asked for.
        repaired: Sessions that were repaired first, since a provider would reject them.
        unreadable: Sessions whose messages cannot be read. They are left out.
    """

    cuts: list[Cut]
    costs: list[Cost]
    repaired: list[str]
    unreadable: list[UnreadableSession] = field(default_factory=list)

    def rows(self) -> list[Row]:
        """Returns a row for each policy, context and share, in the order of the sweep."""
        groups: dict[tuple[int, float, str], list[Cut]] = {}
        for cut in self.cuts:
            groups.setdefault((cut.context, cut.share, cut.policy), []).append(cut)
        return [self._row(cuts) for cuts in groups.values()]

    def interval(self, row: Row, name: str) -> tuple[float, float] | None:
        """Returns the 95 % bootstrap interval of a share of a row, over sessions.

        None if nothing was needed. The same figures give the same interval.
        """
        sums: dict[str, Retention] = {}
        for cut in self.cuts:
            if (cut.context, cut.share, cut.policy) == (row.context, row.share, row.policy):
                sums[cut.session] = sums.get(cut.session, Retention()) + cut.retention
        shares = [retention.counts(name) for retention in sums.values()]
        return _bootstrap(shares)

    def cost(self, policy: str) -> float | None:
        """Returns the cost of all sessions under a policy, relative to histories that only grow."""
        costs = [cost for cost in self.costs if cost.policy == policy]
        append_only = sum(cost.append_only for cost in costs)
        return sum(cost.cost for cost in costs) / append_only if append_only else None

    def savings(self, prices: Economics | None = None) -> dict[str, Savings]:
        """Returns the savings of each policy over all sessions, against histories that only grow.

        Args:
            prices: The prices for a sum of money.
        """
        found: dict[str, Savings] = {}
        for cost in self.costs:
            before = found.get(cost.policy, Savings())
            sums = {
                "requests": before.requests + cost.requests,
                "new": before.new + cost.new,
                "cached": before.cached + cost.cached,
                "new_without": before.new_without + cost.append_only_new,
                "cached_without": before.cached_without + cost.append_only_cached,
            }
            found[cost.policy] = Savings.of_sums(sums, prices)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Returns rows, cuts and costs as a JSON-able dict."""
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


def _bootstrap(shares: Sequence[Share]) -> tuple[float, float] | None:
    # The same figures give the same interval.
    draw = random.Random(len(shares))  # noqa: S311
    samples = (
        sum(draw.choices(shares, k=len(shares)), Share()).value
        for _ in range(_SAMPLES if shares else 0)
    )
    values = sorted(value for value in samples if value is not None)
    if not values:
        return None
    outside = int(len(values) * (1 - _INSIDE) / 2)
    return values[outside], values[-1 - outside]


def _median(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else 0.0
