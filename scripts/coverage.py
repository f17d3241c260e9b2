"""Puts the coverage of both languages into one report, from what `make coverage` measured.

`coverage/lcov.info` has every line, for editors and services; `coverage/summary.md` has a table by
module. There is no threshold: a test is written for a rule, and not for a line.
"""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "coverage"
# Neither the crates of others nor the tests themselves.
FOREIGN = r"(/\.cargo/|/rustc/|/rustlib/|/tests/|/target/)"
# The module of a file is named by so many parts of its path: `src/compress`, `python/ullage/adk`.
PARTS = {"src": 2, "python": 3}


def rust(objects: list[Path]) -> str:
    """Returns the lines of Rust that the tests of both languages ran, as lcov."""
    libraries = subprocess.check_output(
        ["rustc", "--print", "target-libdir"], text=True, cwd=ROOT
    ).strip()
    tools = Path(libraries).parent / "bin"
    merged = FOLDER / "rust.profdata"
    raw = sorted(FOLDER.glob("*.profraw"))
    if not raw:
        raise SystemExit(f"no profiles in {FOLDER}: run `make coverage`")
    # A process that a test kills leaves half a profile, which is passed over.
    merge: list[Path | str] = [
        tools / "llvm-profdata",
        "merge",
        "--sparse",
        "--failure-mode=all",
        "-o",
        merged,
        *raw,
    ]
    subprocess.run(merge, check=True)
    named = [part for one in objects[1:] for part in ("--object", str(one))]
    export: list[Path | str] = [
        tools / "llvm-cov",
        "export",
        "--format=lcov",
        f"--instr-profile={merged}",
    ]
    export += [f"--ignore-filename-regex={FOREIGN}", str(objects[0]), *named]
    return subprocess.check_output(export, text=True, cwd=ROOT)


def lines_by_module(lcov: str) -> dict[str, tuple[int, int]]:
    """Returns the lines that ran and all lines, by module, of both languages' records."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    module = ""
    for line in lcov.splitlines():
        if line.startswith("SF:"):
            path = Path(line.removeprefix("SF:"))
            path = path.relative_to(ROOT) if path.is_absolute() else path
            module = "/".join(path.parts[: PARTS.get(path.parts[0], 1)])
        elif line.startswith("DA:"):
            counts[module][0] += line.split(",")[1] != "0"
            counts[module][1] += 1
    return {name: (ran, total) for name, (ran, total) in sorted(counts.items())}


def table(modules: dict[str, tuple[int, int]]) -> str:
    """Returns the summary as Markdown."""
    rows = ["| module | lines | run by a test |", "|---|---|---|"]
    groups = [("Rust", "src"), ("Python", "python"), ("both", "")]
    shown = list(modules.items())
    for name, prefix in groups:
        chosen = [count for module, count in modules.items() if module.startswith(prefix)]
        shown.append((f"**{name}**", (sum(c[0] for c in chosen), sum(c[1] for c in chosen))))
    rows += [f"| {name} | {total:,} | {ran / max(total, 1):.0%} |" for name, (ran, total) in shown]
    return "\n".join(rows) + "\n"


def main() -> None:
    """Writes the report from the objects that the command line names."""
    lcov = rust([Path(name) for name in sys.argv[1:]]) + (FOLDER / "python.lcov").read_text(
        encoding="utf-8"
    )
    (FOLDER / "lcov.info").write_text(lcov, encoding="utf-8")
    summary = table(lines_by_module(lcov))
    (FOLDER / "summary.md").write_text(summary, encoding="utf-8")
    print(summary)


if __name__ == "__main__":
    main()
