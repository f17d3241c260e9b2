"""``UsageTracker``: the usage and the cost of sessions, and a budget for each."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from ullage._core import PolicyError
from ullage._engine.arguments import require_number
from ullage.models.catalog import BUILT_IN, ModelCatalog
from ullage.usage.prices import Prices
from ullage.usage.tokens import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from typing_extensions import Self

# The variable with an SRE agent's budget in tokens; 0 for none.
BUDGET_VARIABLE = "SRE_AGENT_TOKEN_BUDGET"

# Prices for a model without known prices: the SRE agent's own assumption.
DEFAULT_PRICES = Prices(0.50, 2.00, None, None)

# Sessions that are remembered. One takes about a kilobyte, and a process works on far fewer.
_SESSIONS = 1_024

# Pairs of agent and model that are counted separately, in a session and in all of them. A new name
# for each run would otherwise grow without end. Further pairs have the name below.
_MOST_ROWS = 64
_MOST_ROWS_IN_ALL = 1_024
OTHERS = "(others)"

_NOTHING = Usage()

# The usage of a session by agent and model.
_Rows = dict[tuple[str, str], Usage]


class UsageTracker:
    """Adds up the usage of model calls: by session, by agent, by model, and in total.

    Any number of threads may use one tracker. Tokens and times are whole numbers, so the sums are
    exact in any order. Costs are computed from the sums.

    A session of ADK is named ``app/user/session``. Its own id is enough if no other session has it.
    An unknown session has used nothing.

    Memory is bounded. Above ``sessions`` sessions, the least recently used ones are forgotten,
    except for their part in the total. A session has at most 64 pairs of agent and model (the total
    1,024). The rest is counted as ``"(others)"``.

    Args:
        budget: The most tokens, in and out, that a session may use; 0 for no limit.
        catalog: The source of prices: ``ModelCatalog(prices={...})`` for your own.
        default: The prices of a model that the catalog does not know.
        sessions: Number of sessions that are remembered.

    Raises:
        PolicyError: If an argument is invalid, or several sessions have the id.
    """

    def __init__(
        self,
        budget: int = 0,
        *,
        catalog: ModelCatalog | None = None,
        default: Prices = DEFAULT_PRICES,
        sessions: int = _SESSIONS,
    ) -> None:
        for name, value, least in (("budget", budget, 0), ("sessions", sessions, 1)):
            require_number(name, value, least=least)
        if catalog is not None and not isinstance(catalog, ModelCatalog):
            raise PolicyError(f"catalog: it is a {type(catalog).__name__}, not a ModelCatalog")
        if not isinstance(default, Prices):
            raise PolicyError(f"default: it is a {type(default).__name__}, not Prices")
        self.budget = budget
        self._catalog = BUILT_IN if catalog is None else catalog
        self._default = default
        self._most_sessions = sessions
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, _Rows] = OrderedDict()
        self._all: _Rows = {}

    def __getstate__(self) -> dict[str, Any]:
        """Returns the usage so far, without the lock. A copy continues separately."""
        with self._lock:
            sessions = OrderedDict((name, dict(rows)) for name, rows in self._sessions.items())
            copied = {"_sessions": sessions, "_all": dict(self._all)}
        return {name: value for name, value in vars(self).items() if name != "_lock"} | copied

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def __repr__(self) -> str:
        return f"UsageTracker(budget={self.budget}, sessions={len(self._sessions)})"

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **settings: Any) -> Self:
        """Returns a tracker with the budget in ``SRE_AGENT_TOKEN_BUDGET``, or without one.

        Raises:
            PolicyError: If the variable is not a number, because a limit must not be ignored.
        """
        said = (os.environ if environ is None else environ).get(BUDGET_VARIABLE, "").strip()
        try:
            budget = int(said or 0)
        except ValueError:
            raise PolicyError(f"{BUDGET_VARIABLE}: {said!r} is not a number of tokens") from None
        return cls(budget, **settings)

    def record(self, session: str, agent: str, model: str, usage: Usage) -> None:
        """Adds usage."""
        with self._lock:
            _add(self._rows(session), agent, model, usage, _MOST_ROWS)
            _add(self._all, agent, model, usage, _MOST_ROWS_IN_ALL)

    def restore(self, session: str, used: Iterable[tuple[str, str, Usage]]) -> bool:
        """Adds the earlier usage of a session, if the tracker does not know the session.

        It counts towards the budget of the session, and not to the total.

        Returns:
            True if the session was unknown.
        """
        with self._lock:
            if session in self._sessions:
                return False
            rows = self._rows(session)
            for agent, model, usage in used:
                _add(rows, agent, model, usage, _MOST_ROWS)
        return True

    def knows(self, session: str) -> bool:
        """True if the session is remembered."""
        with self._lock:
            return session in self._sessions

    def usage(self, session: str | None = None, agent: str | None = None) -> Usage:
        """Returns the usage of a session, or of all; with an agent's name, its part."""
        rows = self._of(session)
        return sum((used for (who, _), used in rows if agent in (None, who)), _NOTHING)

    def cost(self, session: str | None = None, agent: str | None = None) -> float:
        """Returns the cost of the same usage in US dollars, at the catalog's prices."""
        rows = [(model, used) for (who, model), used in self._of(session) if agent in (None, who)]
        return sum(used.cost(self.prices(model)) for model, used in rows)

    def prices(self, model: str) -> Prices:
        """Returns the prices of a model's usage."""
        return self._catalog.prices(model) or self._default

    def is_over_budget(self, session: str | None = None) -> bool:
        """True if a session has used up its budget, or all sessions together if none is named.

        The budget counts used tokens, so the call that exceeds it is the last one.
        """
        return self.budget > 0 and self.usage(session).total >= self.budget

    def paused(self, session: str | None = None) -> str:
        """Returns the answer in place of the model's once the budget is used up."""
        return (
            f"Investigation paused: token budget exhausted ({self.usage(session).total:,} /"
            f" {self.budget:,} tokens used). Please summarize findings with available data."
        )

    def reset(self, session: str | None = None) -> None:
        """Forgets a session, or everything."""
        with self._lock:
            if session is not None:
                self._sessions.pop(session, None)
                return
            self._sessions.clear()
            self._all = {}

    def get_summary(self, session: str | None = None) -> dict[str, Any]:
        """Returns the usage of a session, or of all sessions, as a JSON-able dict.

        ``unpriced`` names the models that are charged at the default prices.
        """
        rows = self._of(session)
        agents: dict[str, list[tuple[str, Usage]]] = {}
        models: dict[str, list[tuple[str, Usage]]] = {}
        for (agent, model), used in rows:
            agents.setdefault(agent, []).append((model, used))
            models.setdefault(model, []).append((model, used))
        whole = self._totals([(model, used) for (_, model), used in rows])
        return {
            **whole,
            "budget": self.budget,
            "over_budget": self.budget > 0 and whole["total_tokens"] >= self.budget,
            "by_agent": {agent: self._totals(parts) for agent, parts in sorted(agents.items())},
            "by_model": {model: self._totals(parts) for model, parts in sorted(models.items())},
            "unpriced": sorted(m for m in models if self._catalog.prices(m) is None),
        }

    @property
    def total_calls(self) -> int:
        """Calls of all sessions."""
        return self.usage().calls

    @property
    def total_input_tokens(self) -> int:
        """Tokens that went in, of all sessions."""
        return self.usage().input

    @property
    def total_output_tokens(self) -> int:
        """Tokens that came out, of all sessions, reasoning included."""
        return self.usage().output

    @property
    def total_tokens(self) -> int:
        """Tokens in and out, of all sessions."""
        return self.usage().total

    @property
    def total_cost_usd(self) -> float:
        """The cost of all sessions."""
        return self.cost()

    def _totals(self, parts: list[tuple[str, Usage]]) -> dict[str, Any]:
        used = sum((used for _, used in parts), _NOTHING)
        return {
            "total_calls": used.calls,
            "total_input_tokens": used.input,
            "total_output_tokens": used.output,
            "total_cached_tokens": used.cached,
            "total_thought_tokens": used.thoughts,
            "total_tokens": used.total,
            "total_estimated_tokens": used.estimated,
            "total_cost_usd": sum(part.cost(self.prices(model)) for model, part in parts),
            "total_duration_seconds": used.seconds,
        }

    def _rows(self, session: str) -> _Rows:
        """Returns the rows of a session, which becomes the newest. The caller holds the lock."""
        rows = self._sessions.setdefault(session, {})
        self._sessions.move_to_end(session)
        while len(self._sessions) > self._most_sessions:
            self._sessions.popitem(last=False)
        return rows

    def _of(self, session: str | None) -> list[tuple[tuple[str, str], Usage]]:
        with self._lock:
            rows = self._all if session is None else self._sessions.get(session)
            if rows is None:
                # ADK's sessions are named app/user/session, and known to their users by the id.
                named = [key for key in self._sessions if key.endswith(f"/{session}")]
                if len(named) > 1:
                    raise PolicyError(
                        f"session: {session!r} is ambiguous: it may be {' or '.join(named[:2])}"
                    )
                rows = self._sessions[named[0]] if named else {}
            return list(rows.items())


def _add(rows: _Rows, agent: str, model: str, usage: Usage, most: int) -> None:
    row = (agent, model)
    if row not in rows and len(rows) >= most:
        row = (OTHERS, OTHERS)
    rows[row] = rows.get(row, _NOTHING) + usage
