"""Reading what stands in rows of data."""

import math
import re
from datetime import datetime, timezone
from typing import Any

SHOWN = 15
EXAMPLES = 10


def field(row: Any, *names: str) -> Any:
    """The first of the fields that a row has, whatever joins the words of its name."""
    if isinstance(row, dict):
        known = {re.sub("[_-]", "", str(key)).lower(): value for key, value in row.items()}
        for name in names:
            if known.get(name) is not None:
                return known[name]
    return None


def number(value: Any) -> Any:
    """A finite number, or None."""
    try:
        value = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def statistics(values: Any) -> Any:
    """Count, range, mean and percentiles."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return {"count": 0}
    p50, p95, p99 = (known[(len(known) - 1) * part // 100] for part in (50, 95, 99))
    mean = round(math.fsum(known) / len(known), 6)
    ends = {"count": len(known), "min": known[0], "max": known[-1], "mean": mean}
    return {**ends, "p50": p50, "p95": p95, "p99": p99}


def seconds(value: Any) -> Any:
    """A time in seconds since 1970, from ISO 8601 or a number in any unit."""
    time = number(value)
    if time is None:
        text = re.sub(r"\.(\d{1,6})\d*", lambda part: "." + part[1].ljust(6, "0"), str(value))
        try:
            moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError:
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
    for unit, least in ((1e9, 1e17), (1e6, 1e14), (1e3, 1e11)):
        if time >= least:
            return time / unit
    return time
