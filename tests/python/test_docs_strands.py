"""The code of the pages on Strands runs as it stands there, block after block."""

from typing import Any

import pytest

from tests.python.players import Player, fetch
from tests.python.test_readme import BLOCK, ROOT


@pytest.mark.parametrize(
    ("page", "stores"),
    [
        ("strands.md", True),
        ("migrate-from-cyber-autoagent.md", True),
        ("migrate-from-strands-managers.md", False),
    ],
)
def test_the_code_of_a_page_runs(page, stores, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"model": Player(3, words=20_000, limit=200_000), "tools": [fetch]}
    blocks = BLOCK.findall((ROOT / "docs" / page).read_text())
    assert blocks
    for block in blocks:
        names["model"].rest = 3
        exec(compile(block, page, "exec"), names)
    stored = list((tmp_path / "artifacts").rglob("*.log"))
    assert bool(stored) is stores, "what was large is on the disk"
