"""What stands in rows of which nothing is known."""

import json
from collections import Counter, defaultdict
from typing import Any

from ullage.adk.program.reading import number, statistics

# Levels of objects whose fields count as those of the row.
LEVELS = 3
# Longer texts are bodies, of which none is like another.
LONGEST_VALUE = 200


def fields(rows: Any) -> Any:
    """The types of each field, and what stands in it."""
    known: Any = defaultdict(lambda: (Counter(), [], Counter()))

    def walk(path: str, value: Any, level: int) -> None:
        if isinstance(value, dict) and level < LEVELS:
            for key, inner in value.items():
                walk(f"{path}.{key}" if path else str(key), inner, level + 1)
            return
        types, numbers, values = known[path]
        types[value.__class__.__name__] += 1
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            numbers.append(number(value))
        elif isinstance(value, (str, bool)) and len(str(value)) <= LONGEST_VALUE:
            values[str(value)[:120]] += 1

    for row in rows:
        walk("", row, 0)
    described = {}
    for path, (types, numbers, values) in list(known.items())[:40]:
        described[path] = {"types": list(types), "present_in": sum(types.values())}
        if numbers:
            described[path]["numbers"] = statistics(numbers)
        if values:
            described[path]["distinct"] = len(values)
            described[path]["most_frequent"] = dict(values.most_common(5))
    samples = [json.dumps(row, default=str)[:2000] for row in rows[:3]]
    return {"kind": "other", "length": len(rows), "fields": described, "samples": samples}
