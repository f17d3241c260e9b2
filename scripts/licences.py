"""Writes THIRD-PARTY.md: what is inside the wheel that others wrote, and its licences.

The crates are those that cargo links into the extension module on the systems that wheels are built
for; their texts come from the crates themselves, which cargo downloads if they are not there.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "THIRD-PARTY.md"

# The platforms of wheels, see .github/workflows/ci.yml.
TARGETS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
)

# If a crate offers a choice, the first of these is taken. The text of Apache-2.0 is in the wheel
# anyway, as one of our own.
CHOICE = ("MIT", "Apache-2.0", "MIT-0", "BSL-1.0", "Zlib", "Unicode-3.0")

# The names of licence files in crates.
FILES = {
    "MIT": ("LICENSE-MIT", "LICENSE_MIT", "license-mit", "LICENSE.txt", "LICENSE.md", "LICENSE"),
    "MIT-0": ("LICENSE-MIT-0.md",),
    "BSL-1.0": ("LICENSE",),
    "Zlib": ("LICENSE",),
}

# Data that the build script bakes into the module; not code.
DATA = (
    (
        "The vocabularies `o200k_base` and `cl100k_base` of tiktoken, as `tiktoken-rs` has them",
        "MIT",
        "Copyright (c) 2022 OpenAI, Shantanu Jain",
    ),
)

# Tables of Unicode inside crates, whose licence stands beside them.
TABLES = {"regex-syntax": "src/unicode_tables/LICENSE-UNICODE"}

INTRODUCTION = """\
# Third-party software in the wheel

The extension module `ullage._core` contains the crates and the data below, beside Rust's standard
library (MIT OR Apache-2.0, copyright The Rust Project contributors). Where a crate leaves the
choice, the licence that is taken is named. The text of Apache-2.0 is
[`LICENSE-APACHE`](LICENSE-APACHE); the others follow the tables.

`make licences` writes this page from `Cargo.lock`.
"""


def linked(*more: str) -> dict[str, dict[str, Any]]:
    """The crates that are linked into the module, by name and version.

    Args:
        more: More arguments for cargo, such as the target.
    """
    command = ["cargo", "metadata", "--locked", "--format-version=1", "--features=python", *more]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    packages = {package["id"]: package for package in found["packages"]}
    needs = {
        node["id"]: [
            need["pkg"]
            for need in node["deps"]
            if any(kind["kind"] is None for kind in need["dep_kinds"])
        ]
        for node in found["resolve"]["nodes"]
    }
    root = found["resolve"]["root"]
    seen, todo = {root}, [root]
    while todo:
        for need in needs[todo.pop()]:
            # A macro runs in the compiler, with all that it needs.
            if need not in seen and not _is_macro(packages[need]):
                seen.add(need)
                todo.append(need)
    inside = [packages[one] for one in seen - {root}]
    return {f"{package['name']} {package['version']}": package for package in inside}


def host() -> str:
    """The system that is built for here, in cargo's words."""
    said = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    return next(line for line in said.splitlines() if line.startswith("host: "))[len("host: ") :]


def _is_macro(package: dict[str, Any]) -> bool:
    return any("proc-macro" in target["kind"] for target in package["targets"])


def chosen(package: dict[str, Any]) -> str:
    """The licence under which a crate is used."""
    offered = package["license"].replace("/", " OR ").replace("(", "").replace(")", "")
    if " AND " in offered:
        return str(offered)
    choices = [choice.strip() for choice in offered.split(" OR ")]
    for licence in CHOICE:
        if licence in choices:
            return licence
    raise SystemExit(f"{package['name']}: no licence of {offered} is known here; add it to CHOICE")


def text_of(package: dict[str, Any], licence: str) -> str:
    """The text of a licence as the crate has it."""
    folder = Path(package["manifest_path"]).parent
    for name in FILES[licence]:
        if (folder / name).is_file():
            return _trimmed((folder / name).read_text(encoding="utf-8"))
    raise SystemExit(f"{package['name']}: {folder} has no text of {licence}; name it in FILES")


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def page() -> str:
    """All of THIRD-PARTY.md."""
    crates: dict[str, dict[str, Any]] = {}
    for target in TARGETS:
        crates |= linked(f"--filter-platform={target}")
    rows: list[str] = []
    texts: dict[str, list[str]] = {}
    for _, crate in sorted(crates.items()):
        licence = chosen(crate)
        source = crate["repository"] or f"the crate {crate['name']}"
        rows.append(f"| {crate['name']} | {crate['version']} | {licence} | {source} |")
        if licence != "Apache-2.0":
            texts.setdefault(text_of(crate, licence), []).append(crate["name"])
        if table := TABLES.get(crate["name"]):
            text = (Path(crate["manifest_path"]).parent / table).read_text(encoding="utf-8")
            texts.setdefault(_trimmed(text), []).append(f"tables of Unicode in {crate['name']}")
    ours = _trimmed((ROOT / "LICENSE-MIT").read_text(encoding="utf-8"))
    data = []
    for name, licence, owner in DATA:
        data.append(f"| {name} | {licence} |")
        # The licence is the same but for whose it is.
        line = next(line for line in ours.splitlines() if line.startswith("Copyright"))
        texts.setdefault(ours.replace(line, owner), []).append("the vocabularies")
    parts = [
        INTRODUCTION,
        "| crate | version | licence | source |\n|---|---|---|---|",
        *rows,
        "\n| data | licence |\n|---|---|",
        *data,
    ]
    for text, names in texts.items():
        parts.append(f"\n## {', '.join(names)}\n\n```text\n{text}\n```")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}", file=sys.stderr)
