"""Finding the rows of data."""

import json
from typing import Any

from ullage.adk.program.groups import answer, grouped


def rows_of(value: Any) -> Any:
    """The list that most of the data consists of."""
    for _ in range(8):
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except json.JSONDecodeError:
                return value.splitlines()
        rows = grouped(value)
        if rows is not None:
            return rows
        if answer(value) is not None:
            value = answer(value)
        elif isinstance(value, dict):
            sizes = {key: len(json.dumps(inner, default=str)) for key, inner in value.items()}
            largest = max(sizes, key=lambda key: sizes[key], default=None)
            inner = None if largest is None else value[largest]
            if not isinstance(inner, (dict, list, str)) or sizes[largest] * 3 < 2 * sum(
                sizes.values()
            ):
                return list(value.values())
            value = inner
        elif isinstance(value, list) and len(value) == 1 and isinstance(value[0], (dict, str)):
            value = value[0]
        else:
            break
    return value if isinstance(value, list) else [value]
