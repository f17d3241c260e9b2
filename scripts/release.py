"""Prepares a release: checks its tag, prints its notes, and writes the project's address.

The version stands in Cargo.toml alone. The address stands nowhere in the sources: the variable
ULLAGE_REPOSITORY has it, and `urls` writes `[project.urls]` from it before a build.
"""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
VARIABLE = "ULLAGE_REPOSITORY"
# Each name that PyPI shows, and what follows the address.
URLS = {
    "Repository": "",
    "Documentation": "/blob/main/docs/README.md",
    "Changelog": "/blob/main/CHANGELOG.md",
    "Issues": "/issues",
    "Security": "/security/policy",
}


def version() -> str:
    """Returns the version of Cargo.toml."""
    cargo = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    (found,) = re.findall(r'^version = "(.+)"$', cargo, re.MULTILINE)
    return str(found)


def notes(changelog: str, released: str) -> str:
    """Returns the section of a version, or an empty string."""
    found = re.search(
        rf"^## \[{re.escape(released)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## \[|\Z)",
        changelog,
        re.MULTILINE | re.DOTALL,
    )
    return found[1].strip() if found else ""


def notes_of_tag(tag: str) -> str:
    """Returns the notes of a tag, or says why there can be no release of it."""
    released = version()
    if tag != f"v{released}":
        raise SystemExit(
            f"the tag is {tag}, and Cargo.toml has version {released}: tag v{released}"
        )
    lock = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    if f'name = "ullage"\nversion = "{released}"\n' not in lock:
        raise SystemExit(f"Cargo.lock has another version than {released}: run `cargo check`")
    text = notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), released)
    if not text:
        raise SystemExit(f"CHANGELOG.md has no section `## [{released}] - YYYY-MM-DD` with text")
    return text


def with_urls(pyproject: str, address: str) -> str:
    """Returns pyproject.toml with `[project.urls]` for an address."""
    if not re.fullmatch(r"https://[^\s\"\\]+[^\s\"\\/]", address):
        raise SystemExit(
            f"{VARIABLE} must be an address such as https://host/owner/name; got {address!r}"
        )
    table = "".join(f'{name} = "{address}{rest}"\n' for name, rest in URLS.items())
    without = re.sub(r"^\[project\.urls\]\n(?:\w+ = .*\n)*\n", "", pyproject, flags=re.MULTILINE)
    head, section, rest = without.partition("[project.optional-dependencies]\n")
    return f"{head}[project.urls]\n{table}\n{section}{rest}"


def main() -> None:
    """Runs the command that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("urls", help=f"write [project.urls] from {VARIABLE}")
    for name, text in (
        ("check", "stop if the tag cannot be released"),
        ("notes", "print its changes"),
    ):
        commands.add_parser(name, help=text).add_argument("tag")
    options = parser.parse_args()
    if options.command == "urls":
        file = ROOT / "pyproject.toml"
        text = file.read_text(encoding="utf-8")
        file.write_text(
            with_urls(text, os.environ.get(VARIABLE, "")), encoding="utf-8", newline="\n"
        )
        return
    text = notes_of_tag(options.tag)
    if options.command == "notes":
        print(text)


if __name__ == "__main__":
    main()
