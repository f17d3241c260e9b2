"""Reading what stands in rows of data."""

import calendar
import math
import re
from typing import Any

SHOWN = 15
EXAMPLES = 10
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?"
TIME = (
    r"([12]\d{3})-(0[1-9]|1[0-2])-(\d\d)[T ](\d\d):(\d\d):(\d\d)([.,]\d+)?\s*"
    r"(Z|([+-]\d\d):?(\d\d))?"
)


def field(row: Any, *names: str) -> Any:
    """The first of the fields that a row has, whatever joins the words of its name."""
    if isinstance(row, dict):
        known = {re.sub("[_-]", "", str(key)).lower(): value for key, value in row.items()}
        for name in names:
            if known.get(name) is not None:
                return known[name]
    return None


def some(values: Any) -> bool:
    """True if any of the values is true."""
    return bool(list(filter(None, values)))


def first(values: Any) -> Any:
    """The first of the values, or None."""
    for value in values:
        return value
    return None


def number(value: Any) -> Any:
    """A finite number, or None."""
    text = str(value).strip() if isinstance(value, (int, float, str)) else ""
    value = float(text) if re.fullmatch(NUMBER, text, re.IGNORECASE) else math.nan
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
        known = re.fullmatch(TIME, str(value).strip())
        if known is None:
            return None
        *parts, fraction, _, hours, minutes = known.groups()
        east = int(hours or 0) * 60 + int((hours or "+")[0] + (minutes or "0"))
        fraction = float("0." + (fraction or ".0")[1:])
        return calendar.timegm((*map(int, parts), 0, 0, 0)) + fraction - east * 60
    for unit, least in ((1e9, 1e17), (1e6, 1e14), (1e3, 1e11)):
        if time >= least:
            return time / unit
    return time
