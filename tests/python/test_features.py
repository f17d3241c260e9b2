"""The tables that compare ullage with others claim nothing of it that no test shows."""

import re

import pytest

from ullage.cli.program import parser_of_commands

from .named_tests import ROOT, missing, named_in, rows_of

TABLES = (ROOT / "docs/features.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\([^)]+\)")
CELL = re.compile(r"(?<!\\)\|")


def test_every_test_that_the_tables_name_exists():
    assert len(named_in(TABLES)) > 100
    assert missing(TABLES) == []
    assert missing("[`test_nowhere`](../tests/python/test_features.py)") != []


def test_every_row_names_a_test_or_a_page():
    rows = rows_of(TABLES)
    assert len(rows) > 80
    # A feature that ullage lacks has no test; its row links to the explanation.
    lacking = [row for row in rows if not named_in(row)]
    assert [row for row in lacking if not LINK.search(row.split("|")[-2])] == []
    assert len(lacking) < 5


@pytest.mark.parametrize("page", ["README.md", "docs/features.md"])
def test_every_row_of_a_table_has_as_many_cells_as_its_head(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, *rows = table.splitlines()
        for row in rows:
            assert len(CELL.findall(row)) == len(CELL.findall(head)), row


def test_the_short_table_links_every_line_to_a_page():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## How it compares\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 5
    assert [row for row in rows if not LINK.search(row.split("|")[2])] == []


def test_every_command_behind_a_figure_is_one():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## Measured\n")[2].partition("\n## ")[0]
    scripts = re.findall(r"`(?:\w+=\w+ )?python (\S+\.py)`", section)
    assert len(scripts) > 3
    assert [script for script in scripts if not (ROOT / script).is_file()] == []
    (options,) = re.findall(r"`ullage replay FOLDER (.*?)`", section)
    assert parser_of_commands().parse_args(["replay", "FOLDER", *options.split()]).cost == 50_000
