"""THIRD-PARTY.md names all that is linked into the extension module, and its licences."""

import re
import shutil

import pytest

from scripts import licences

CRATE = re.compile(r"^\| (\S+) \| (\S+) \| ([^|]+) \| https?://", re.MULTILINE)


def named(project):
    page = (project / "THIRD-PARTY.md").read_text(encoding="utf-8")
    return {f"{name} {version}": licence for name, version, licence in CRATE.findall(page)}


@pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo to ask")
def test_every_crate_that_is_linked_here_is_named_with_its_licence(project):
    # The crates of this system are here, since the module was built with them. For other systems
    # cargo may have to download some.
    host = licences.host()
    crates = licences.linked("--offline", f"--filter-platform={host}")
    assert crates
    expected = {name: licences.chosen(crate) for name, crate in crates.items()}
    found = named(project)
    stale = "run `make licences`"
    assert {name: found.get(name) for name in expected} == expected, stale


def test_nothing_is_named_that_is_not_locked(project):
    lock = (project / "Cargo.lock").read_text(encoding="utf-8")
    locked = set(re.findall(r'^name = "(.+)"\nversion = "(.+)"$', lock, re.MULTILINE))
    stale = [crate for crate in named(project) if tuple(crate.split()) not in locked]
    assert stale == [], "run `make licences`"


def test_every_licence_that_is_named_may_be_linked(project):
    allowed = (project / "deny.toml").read_text(encoding="utf-8")
    for licence in set(named(project).values()):
        assert f'"{licence}"' in allowed


def test_every_crate_has_its_text(project):
    page = (project / "THIRD-PARTY.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", page, re.MULTILINE)
    with_text = {name for heading in headings for name in heading.split(", ")}
    without = {crate.split()[0] for crate in named(project)} - with_text
    # Theirs is a licence of ours too, which is in the wheel as a file.
    assert {named(project)[crate] for crate in named(project) if crate.split()[0] in without} <= {
        "Apache-2.0"
    }
    assert "the vocabularies" in with_text


def test_the_wheel_takes_every_licence_along(project):
    configuration = (project / "pyproject.toml").read_text(encoding="utf-8")
    (line,) = (line for line in configuration.splitlines() if line.startswith("license-files"))
    for name in ("LICENSE", "LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.md"):
        assert f'"{name}"' in line
        assert (project / name).is_file()
