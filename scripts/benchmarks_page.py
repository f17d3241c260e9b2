"""Writes docs/benchmarks.md from the tables that the benches left in a folder.

`make bench` sets ULLAGE_BENCH_RESULTS, so that each bench leaves its tables there, and runs this
script last.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
# The sections in their order. A topic that is not listed comes after them.
TOPICS = {
    "counting": "Counting tokens",
    "turn": "A turn with nothing due",
    "compaction": "A compaction",
    "arrival": "A tool result on arrival",
    "hosts": "Overhead in each host",
    "retention": "What is kept",
    "cost": "Cost with a prompt cache",
}
# The remarks that explain a section to its reader.
NOTES = {
    "counting": """\
Both libraries count the same strings and must agree on each. A *fresh* string is new to the
process. Of a *known* one, the words have been seen, but never the whole. *Again* means the same
string in a new object.""",
    "turn": """\
What is done before a model call when the history fits its window. Most turns are such turns.""",
    "compaction": """\
One history is made smaller. What is left is counted by o200k_base, the same for all. No model is
asked: where one would write a summary, the summary is there at once. headroom shortens single
outputs, and those of this history have 2,000 characters each.""",
    "arrival": """\
What is removed from one output before it enters the history, in percent of its tokens. headroom
runs offline here, without models of its own. Each rate is beside that of counting the text.""",
    "hosts": """\
What the adapter adds to the host's own work before a model call.""",
    "retention": """\
Recorded sessions are cut at many places. Each figure is the share of what the agent used after a
cut that the compacted history still has, with a 95 % interval over sessions. `window` keeps the
newest messages, and `line-cover` the lines with the most distinct words. The weights of the default
policy were chosen on the other half of the sessions. The sessions are not in this repository: set
`ULLAGE_SESSIONS` to a folder of your own, in a format that [`ullage replay`](replay.md) reads.""",
    "cost": """\
Whole sessions are simulated with the prices of a prompt cache: writing costs 1.25 and reading 0.1
of the price of input. 100 % is a history that is never compacted.""",
}
INTRODUCTION = """\
# Benchmarks

`make bench` measures all of this and writes this page. Each table is one run on one machine, so
only its ratios carry over to yours. Times are medians of processor time.

Measured on {day} at commit {commit}: {machine}, Python {python}, the release build of the core.
"""


def tables(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Returns the tables of a folder by topic, in the order of the page."""
    found: dict[str, list[dict[str, Any]]] = {topic: [] for topic in TOPICS}
    for file in sorted(folder.glob("*.json")):
        table = json.loads(file.read_text(encoding="utf-8"))
        found.setdefault(table["topic"], []).append(table)
    return {topic: some for topic, some in found.items() if some}


def markdown(table: dict[str, Any]) -> str:
    """Returns one table with its title and its command."""
    lines = [table["columns"], ["---"] * len(table["columns"]), *table["rows"]]
    against = f"; against {table['against']}" if table["against"] else ""
    return (
        f"**{table['title']}** (`{table['command']}`{against})\n\n"
        + "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
        + "\n"
    )


def commit() -> str:
    """Returns the commit that is measured, and whether files differ from it."""
    git = ["git", "-C", str(ROOT)]
    short = subprocess.check_output([*git, "rev-parse", "--short=8", "HEAD"], text=True).strip()
    changed = subprocess.check_output(
        [*git, "status", "--porcelain", "--", "src", "python", "benches"], text=True
    )
    return f"`{short}`" + (" with changes" if changed else "")


def page(found: dict[str, list[dict[str, Any]]], machine: str) -> str:
    """Returns the page."""
    text = [
        INTRODUCTION.format(
            day=dt.datetime.now(dt.timezone.utc).strftime("%d %B %Y").lstrip("0"),
            commit=commit(),
            machine=machine,
            python=platform.python_version(),
        )
    ]
    for topic, some in found.items():
        text.append(f"## {TOPICS.get(topic, topic.capitalize())}\n")
        text += [f"{NOTES[topic]}\n"] if topic in NOTES else []
        text += map(markdown, some)
    return "\n".join(text)


def main() -> None:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    found = tables(options.folder)
    if not found:
        raise SystemExit(f"no tables in {options.folder}: run `make bench`")
    sys.path.insert(0, str(ROOT / "benches"))
    from support.machine import processor

    machine = f"{processor()}, {os.cpu_count()} cores"
    if hasattr(os, "getloadavg"):
        # On a busy machine all times are longer.
        machine += f" at a load of {os.getloadavg()[1]:.0f}"
    PAGE.write_text(page(found, machine), encoding="utf-8")
    print(f"{sum(map(len, found.values()))} tables in {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
