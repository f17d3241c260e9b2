"""The program's face: a survey of data of some kind."""

from typing import Any

from ullage.adk.program.log_entries import logs
from ullage.adk.program.rows import rows_of
from ullage.adk.program.spans import traces
from ullage.adk.program.unknown import fields
from ullage.adk.program.values import metrics, series


def survey(data: Any, kind: str) -> Any:
    """What can be said of all rows of the data."""
    return {"logs": logs, "traces": traces, "time_series": series, "metrics": metrics}.get(
        kind, fields
    )(rows_of(data))
