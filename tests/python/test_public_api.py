"""The public API is the one of the snapshot, so each change of it is deliberate."""

import difflib
import sys

import pytest

pytest.importorskip("amplifier_core", reason="the snapshot has the names of every host")
pytest.importorskip("strands")
pytest.importorskip("google.adk")

from .public_api import SNAPSHOT, lines

# argparse and the signatures of hosts differ little; the sources are the same on every Python.
pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="amplifier-core needs 3.11")


def test_the_public_api_changes_only_with_its_snapshot():
    expected = SNAPSHOT.read_text(encoding="utf-8").splitlines()
    changed = list(
        difflib.unified_diff(expected, list(lines()), "snapshot", "source", lineterm="", n=0)
    )
    assert changed == [], "\n".join(["if this is meant, run `make api`:", *changed])


def test_the_snapshot_names_all_kinds_of_members():
    text = SNAPSHOT.read_text(encoding="utf-8")
    for line in (
        "class ullage.Policy(",
        "ullage.Policy.replace(",
        "ullage.ContextManager.compact(",
        "ullage.compact(",
        "class ullage.strands.ContextPlugin(",
        "$ ullage report ",
    ):
        assert f"\n{line}" in f"\n{text}", line
