"""What time series and single values say."""

from collections import defaultdict
from typing import Any

from ullage.adk.program.reading import SHOWN, field, number, some, statistics

# A time and a value.
PAIR = 2


def amount(value: Any) -> Any:
    """The number of a point, whatever is around it."""
    if isinstance(value, (list, tuple)):
        return amount(value[1]) if len(value) == PAIR else None
    for _ in range(3):
        if isinstance(value, dict):
            value = field(value, "value", "doublevalue", "int64value", "distributionvalue", "mean")
    return number(value)


def series(rows: Any) -> Any:
    """The statistics of each series."""
    listed = [(row, field(row, "points", "values", "datapoints", "samples")) for row in rows]
    if not some(isinstance(points, list) for _, points in listed):
        lists = not some(not isinstance(row, list) or len(row) == PAIR for row in rows)
        listed = [({}, row) for row in rows] if lists else [({}, rows)]
    described = []
    everything = []
    for row, points in listed:
        values = [amount(point) for point in (points if isinstance(points, list) else [])]
        values = [value for value in values if value is not None]
        everything += values
        if values:
            labels = {key: inner for key, inner in row.items() if not isinstance(inner, list)}
            ends = {"labels": labels, "first": values[0], "last": values[-1]}
            described.append({**ends, **statistics(values)})
    described.sort(key=lambda one: one["min"] - one["max"])
    return {
        "kind": "time_series",
        "series": len(described),
        "values": statistics(everything),
        "by_series": described[:SHOWN],
    }


def metrics(rows: Any) -> Any:
    """The statistics of single values, by metric."""
    groups: Any = defaultdict(list)
    for row in rows:
        metric = field(row, "metric", "metricname", "metrictype", "name")
        name = field(metric, "name", "type") if isinstance(metric, dict) else metric
        groups[str(name)].append(amount(field(row, "value", "val", "v")))
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    return {
        "kind": "metrics",
        "series": len(rows),
        "by_metric": [
            {"metric": name, "values": statistics(values)} for name, values in ordered[:SHOWN]
        ],
    }
