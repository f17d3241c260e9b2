"""The code of the guide runs as it stands there."""

# mypy: disable-error-code="arg-type,misc,override"

from typing import Any

from .gemini_host import call, gemini, text
from .test_adk_plugin import fetch
from .test_readme import BLOCK, ROOT


def test_the_code_of_the_guide_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model = gemini(lambda n, _: call("fetch", number=n) if n < 30 else text("The database."))
    names: dict[str, Any] = {"model": model, "tools": [fetch]}
    blocks = BLOCK.findall((ROOT / "docs" / "adk.md").read_text())
    assert len(blocks) == 7
    for block in blocks:
        exec(compile(block, "docs/adk.md", "exec"), names)
    assert capsys.readouterr().out.startswith(f"{sum(model.counts):,} tokens, ")
    assert len(model.sent) == 31
    assert names["agent"].before_model_callback is not None
