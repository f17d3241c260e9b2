"""The code of the guides runs as it stands there."""

import re
from pathlib import Path
from typing import Any

import pytest

from .histories import Client

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Summarizer:
    async def run(self, given, *, stateless):
        return "## Session Intent\nBuild the app"


@pytest.mark.parametrize("page", ["report.md", "supyagent.md", "valis.md"])
def test_the_code_of_the_guide_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"client": Client(), "agent": Summarizer()}
    blocks = BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))
    assert len(blocks) >= 2
    for block in blocks:
        exec(compile(block, page, "exec"), names)
