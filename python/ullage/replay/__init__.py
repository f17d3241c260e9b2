"""Measures compactions on recorded sessions, to show their quality and to choose settings.

    >>> from ullage import replay
    >>> sweep = replay.Sweep([replay.read_policy("default")], contexts=[40_000])
    >>> replay.replay(replay.read_sessions("sessions/"), sweep).rows()  # doctest: +SKIP

No model is called. A session is cut where its history is long. The agent needed what it repeated
after the cut from the tool results before it.
"""

from ullage.replay.follow import follow
from ullage.replay.measure import BASELINES, Sweep
from ullage.replay.page import html
from ullage.replay.results import Cost, Cut, Replay, Retention, Row, Share, UnreadableSession
from ullage.replay.run import replay
from ullage.replay.settings import Setting, grid, read_policy
from ullage.replay.table import table
from ullage.replay.workers import replay_files
from ullage.sessions import Session, UnreadableSessionError, read_sessions

__all__ = [
    "BASELINES",
    "Cost",
    "Cut",
    "Replay",
    "Retention",
    "Row",
    "Session",
    "Setting",
    "Share",
    "Sweep",
    "UnreadableSession",
    "UnreadableSessionError",
    "follow",
    "grid",
    "html",
    "read_policy",
    "read_sessions",
    "replay",
    "replay_files",
    "table",
]
