"""Run `python -m demo [--keep DIR]` from the project's root: three runs, then a report.

The exit status is 1 if the run with ullage breaks one of its promises.
"""

from __future__ import annotations

import argparse
import csv
import io
import logging
import sys
import tempfile
import time
from pathlib import Path

import ullage

from . import pages, report
from .checkout import Checkout
from .progress import Progress
from .runs import Outcome, run_sliding_window, run_ullage, run_unmanaged
from .script import write_script

_PROJECT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Run the demo; 0 if every promise holds."""
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    keeps = "keep the store, the numbers and the report in this folder"
    parser.add_argument("--keep", metavar="DIR", type=Path, help=keeps)
    folder: Path | None = parser.parse_args().keep
    # Strands logs the failures that this demo provokes; the report tells them.
    logging.getLogger("strands").setLevel(logging.CRITICAL)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal without these block characters shows question marks rather than a traceback.
        sys.stdout.reconfigure(errors="replace")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        return _demo(folder, folder / pages.PAGE)
    with tempfile.TemporaryDirectory(prefix="ullage-demo-") as temporary:
        return _demo(Path(temporary), None)


def _demo(folder: Path, page: Path | None) -> int:
    began = time.perf_counter()
    progress = Progress()
    checkout = Checkout(_PROJECT)
    script = write_script(checkout, progress.show)
    print(report.header(script), flush=True)
    outcomes: list[Outcome] = []
    for run in (run_unmanaged, run_sliding_window):
        outcomes.append(run(script, checkout, progress))
        print(report.run_section(outcomes[-1]), flush=True)
    # Removes the recording of an earlier run.
    recording = folder / "ullage.jsonl"
    recording.unlink(missing_ok=True)
    recorder = ullage.Recorder(recording, name="the demo's run with ullage")
    managed, evidence = run_ullage(script, checkout, progress, folder / "store", recorder)
    outcomes.append(managed)
    print(report.run_section(managed))
    print(report.comparison(outcomes))
    print(report.ullage_section(managed, evidence))
    pages.write(recorder, outcomes, folder)
    for outcome in outcomes:
        _write_requests(outcome, folder)
    kept = report.promises(managed, evidence)
    print(report.closing(kept, time.perf_counter() - began, page))
    return 0 if all(held for _, held in kept) else 1


def _write_requests(outcome: Outcome, folder: Path) -> None:
    path = folder / f"{outcome.name.replace(' ', '-')}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["request", "tokens", "messages", "accepted"])
        rows.writerows(
            [i, r.tokens, r.messages, r.accepted] for i, r in enumerate(outcome.requests, 1)
        )


if __name__ == "__main__":
    sys.exit(main())
