"""The figures of a bench, kept for docs/benchmarks.md where ULLAGE_BENCH_RESULTS names a folder."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def record(
    topic: str,
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    against: str = "",
) -> None:
    """Keeps a table of the page, in place of an earlier one with this title.

    Args:
        topic: The section of the page, such as "counting"; `scripts/benchmarks_page.py` lists them.
        title: What the table measures, in a few words.
        columns: The headings of the columns.
        rows: The cells, with their units.
        against: Names and versions of what ullage is compared with.
    """
    folder = os.environ.get("ULLAGE_BENCH_RESULTS")
    if not folder:
        return
    bench = Path(sys.argv[0])
    table = {
        "topic": topic,
        "title": title,
        "columns": list(columns),
        "rows": [list(row) for row in rows],
        "against": against,
        "command": f"python benches/{bench.name}",
    }
    slug = re.sub(r"\W+", "-", f"{topic} {title}".lower()).strip("-")
    file = Path(folder) / f"{bench.stem}-{slug}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(table, indent=1), encoding="utf-8")
