"""The code of the pages on Strands runs as it stands there, block after block."""

from typing import Any

import pytest

from tests.python.players import Player, fetch
from tests.python.test_readme import BLOCK, ROOT


@pytest.mark.parametrize("page", ["strands.md", "migrate-from-cyber-autoagent.md"])
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"model": Player(3, words=20_000), "tools": [fetch]}
    blocks = BLOCK.findall((ROOT / "docs" / page).read_text())
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    assert list((tmp_path / "artifacts").rglob("*.log")), "what was large is on the disk"
