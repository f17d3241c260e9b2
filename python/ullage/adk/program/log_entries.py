"""What entries of a log say."""

import re
from collections import Counter, defaultdict
from typing import Any

from ullage.adk.program.reading import SHOWN, field

# Where an entry says what happened; in Cloud Logging one of three payloads has it.
WORDS = (
    "message",
    "textpayload",
    "msg",
    "jsonpayload",
    "payload",
    "protopayload",
    "log",
    "text",
    "body",
)
FAILING = {"ERROR", "ERR", "CRITICAL", "ALERT", "EMERGENCY", "FATAL", "SEVERE"}


def logs(rows: Any) -> Any:
    """Entries by severity, and by what they say when numbers are taken out."""
    shapes: Any = defaultdict(lambda: [0, ""])
    severities: Any = Counter()
    for row in rows:
        said = field(row, *WORDS)
        said = (
            field(said, "message", "msg", "text", "methodname") if isinstance(said, dict) else said
        )
        said = str(row if said is None else said)
        severity = str(field(row, "severity", "level", "loglevel") or "").upper()
        severities[severity] += 1
        shape = shapes[severity, re.sub("[0-9a-f-]*[0-9][0-9a-f-]*", "#", said[:400])]
        shape[0] += 1
        shape[1] = shape[1] or said[:240]
    ordered = sorted(shapes.items(), key=lambda item: (item[0][0] not in FAILING, -item[1][0]))
    times = sorted(str(field(row, "timestamp", "time", "ts") or "") for row in rows)
    return {
        "kind": "logs",
        "entries": len(rows),
        "failures": sum(count for name, count in severities.items() if name in FAILING),
        "time": {"first": times[0], "last": times[-1]} if times else None,
        "severities": dict(severities.most_common(SHOWN)),
        "distinct_patterns": len(shapes),
        "patterns": [
            {"count": count, "severity": key[0], "example": example}
            for key, (count, example) in ordered[:SHOWN]
        ],
    }
