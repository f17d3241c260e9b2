"""Writes the rows of a replay as a table for other programs."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from ullage._core import PolicyError
from ullage.replay.results import Retention

if TYPE_CHECKING:
    from ullage.replay.results import Replay, Row


def table(measured: Replay, ending: str = ".csv") -> bytes:
    """Returns the rows as the content of a file: a line for each policy, context and share.

    Times are left out, so the same sessions and policies give the same bytes.

    Args:
        measured: The results.
        ending: ".csv", or ".parquet" with pyarrow.

    Raises:
        PolicyError: If ``ending`` is neither of the two.
        ModuleNotFoundError: If pyarrow is not installed.
    """
    rows = [_flat(row) for row in measured.rows()]
    if ending == ".csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().encode()
    if ending != ".parquet":
        raise PolicyError(f"rows are written as .csv or .parquet, not as {ending or 'this'!r}")
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ModuleNotFoundError(
            "a table in Parquet needs pyarrow: pip install 'ullage[parquet]', or write .csv",
            name="pyarrow",
        ) from error
    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()


def _flat(row: Row) -> dict[str, Any]:
    values = asdict(row)
    del values["retention"], values["milliseconds"]
    for field in fields(Retention):
        value = getattr(row.retention, field.name)
        if isinstance(value, int):
            values[field.name] = value
        else:
            # Each share comes after its two numbers.
            values[f"{field.name}_kept"] = value.kept
            values[f"{field.name}_of"] = value.of
            values[f"{field.name}_share"] = value.value
    return values
