"""A release: its tag, its notes, its address, and the table of what it works with."""

import re

import pytest

from scripts import hosts, release

CHANGELOG = """# Changelog

## [Unreleased]

## [0.2.0] - 2026-12-01

### Added

- One.

## [0.1.0] - 2026-11-01

- Zero.
"""


def test_the_notes_are_the_section_of_the_version():
    assert release.notes(CHANGELOG, "0.2.0") == "### Added\n\n- One."
    assert release.notes(CHANGELOG, "0.1.0") == "- Zero."
    assert release.notes(CHANGELOG, "0.2") == ""
    assert release.notes(CHANGELOG, "Unreleased") == ""


def test_a_tag_without_the_version_or_its_changelog_is_no_release(monkeypatch, tmp_path):
    monkeypatch.setattr(release, "ROOT", tmp_path)
    (tmp_path / "Cargo.toml").write_text('[package]\nversion = "0.2.0"\n')
    (tmp_path / "Cargo.lock").write_text('name = "ullage"\nversion = "0.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    assert release.notes_of_tag("v0.2.0") == "### Added\n\n- One."
    with pytest.raises(SystemExit, match=r"tag v0\.2\.0"):
        release.notes_of_tag("v0.3.0")
    (tmp_path / "Cargo.lock").write_text('name = "ullage"\nversion = "0.1.0"\n')
    with pytest.raises(SystemExit, match="cargo check"):
        release.notes_of_tag("v0.2.0")
    (tmp_path / "Cargo.toml").write_text('[package]\nversion = "0.1.1"\n')
    (tmp_path / "Cargo.lock").write_text('name = "ullage"\nversion = "0.1.1"\n')
    with pytest.raises(SystemExit, match=r"no section `## \[0\.1\.1\]"):
        release.notes_of_tag("v0.1.1")


def test_the_address_is_written_from_one_variable_and_only_for_a_build(project):
    pyproject = (project / "pyproject.toml").read_text(encoding="utf-8")
    once = release.with_urls(pyproject, "https://example.org/owner/name")
    assert 'Issues = "https://example.org/owner/name/issues"\n' in once
    assert release.with_urls(once, "https://example.org/owner/name") == once
    assert "example.org" not in release.with_urls(once, "https://example.com/other")
    for wrong in ("", "example.org", "https://example.org/", 'https://example.org/"x'):
        with pytest.raises(SystemExit, match="ULLAGE_REPOSITORY"):
            release.with_urls(pyproject, wrong)


def test_the_version_stands_in_one_place(project):
    version = release.version()
    for name in ("pyproject.toml", "python/ullage/__init__.py", "fuzz/Cargo.toml"):
        file = project / name
        if file.exists():  # The source distribution has no fuzz targets.
            text = file.read_text(encoding="utf-8")
            assert not re.search(rf'version(__)? = "{re.escape(version)}"', text), name


def test_the_table_of_hosts_agrees_with_the_extras():
    page = hosts.PAGE.read_text(encoding="utf-8")
    assert hosts.differences(page) == []
    # It can fail: a row with another version, one too many and one that is missing.
    ((extra, name), (oldest, newest)), *_ = hosts.rows(page).items()
    row = f"| `{extra}` | {name} | {oldest} | {newest} |"
    assert hosts.differences(page.replace(row, row.replace(f"| {oldest} |", "| 0.1 |")))
    assert hosts.differences(page.replace(row, row.replace(f"`{extra}`", "`morse`")))


def test_a_series_has_the_versions_that_begin_with_its_numbers():
    assert hosts.is_release_of("1.62.0", "1.62")
    assert not hosts.is_release_of("1.6.2", "1.62")
    assert not hosts.is_release_of("1.620", "1.62")
