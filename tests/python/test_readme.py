"""The code of the README and of the docs runs as it stands there."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.python.test_strands import TASK, Scripted, fetch

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md")
    for page in ROOT.glob(pattern)
    if page.name != "CHANGELOG.md"
)


def test_the_code_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {
        "model": Scripted(calls=3, words=20_000, window=32_000),
        "tools": [fetch],
    }
    blocks = BLOCK.findall((ROOT / "README.md").read_text())
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert "window" in capsys.readouterr().out
    assert names["agent"](TASK).stop_reason == "end_turn"
    (stored,) = names["store"].list()  # three calls, one and the same output
    read = names["agent"].tool.retrieve(reference=stored, pattern="word 7 ")
    assert "retrieved from" in read["content"][0]["text"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page):
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target
