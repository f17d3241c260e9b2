"""Compares the table in docs/compatibility.md with pyproject.toml and with what is installed.

The extras in pyproject.toml are the source of the ranges. The table adds the newest version that
the tests passed with, which the nightly job compares with what it has just installed and tested.
"""

from __future__ import annotations

import argparse
import re
import sys
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "compatibility.md"
REQUIREMENT = re.compile(
    r"(?P<name>[\w-]+)(?:\[[\w,]+\])?>=(?P<oldest>[\d.]+)(?:,<(?P<below>\d+))?"
)
ROW = re.compile(
    r"^\| `(?P<extra>[\w-]+)` \| (?P<name>[\w-]+) \| (?P<oldest>[\d.]+) \| (?P<newest>[\d.]+) \|",
    re.MULTILINE,
)


def ranges() -> dict[tuple[str, str], str]:
    """Returns the oldest version of each package of each extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = {}
    for extra, requirements in project["optional-dependencies"].items():
        for requirement in requirements:
            parts = REQUIREMENT.match(requirement)
            if parts is None:
                raise SystemExit(f"pyproject.toml: {requirement!r} has no lower bound")
            found[extra, parts["name"]] = parts["oldest"]
    return found


def rows(page: str) -> dict[tuple[str, str], tuple[str, str]]:
    """Returns the oldest and the newest version in each row of the table."""
    return {(r["extra"], r["name"]): (r["oldest"], r["newest"]) for r in ROW.finditer(page)}


def differences(page: str) -> list[str]:
    """Returns where the table differs from pyproject.toml."""
    table, extras = rows(page), ranges()
    missing = [f"no row for {name} of [{extra}]" for extra, name in extras.keys() - table.keys()]
    extra_rows = [f"{name} is not in [{extra}]" for extra, name in table.keys() - extras.keys()]
    wrong = [
        f"{name} of [{extra}]: the row says {table[extra, name][0]}, the extra {oldest}"
        for (extra, name), oldest in extras.items()
        if (extra, name) in table and table[extra, name][0] != oldest
    ]
    return sorted(missing + extra_rows + wrong)


def installed(name: str) -> str:
    """Returns the version in this environment, or in that of a host (`make test-hosts`)."""
    try:
        return version(name)
    except PackageNotFoundError:
        sites = map(str, ROOT.glob(".venv/hosts/*/lib/python*/site-packages"))
        return next((found.version for found in distributions(name=name, path=list(sites))), "none")


def is_release_of(installed: str, series: str) -> bool:
    """True if a version is of a series: 1.43.2 is of 1.43, and 1.4 is not."""
    return f"{installed}.".startswith(f"{series}.")


def main() -> None:
    """Fails with what to change if the table is not true."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--installed", action="store_true", help="also compare with the versions that are installed"
    )
    options = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    wrong = differences(page)
    if options.installed:
        for (_, name), (_, newest) in rows(page).items():
            # Python has it from 3.11 on.
            if name != "tomli" and not is_release_of(installed(name), newest):
                wrong.append(f"{name}: installed is {installed(name)}, the table says {newest}")
    if wrong:
        raise SystemExit(
            "\n".join(["docs/compatibility.md is not true any more:", *sorted(set(wrong))])
        )


if __name__ == "__main__":
    main()
