"""The code of the guide runs as it stands there, and its mount plan mounts."""

import ast
import asyncio
import inspect
import re
from typing import Any

import pytest

from ullage.amplifier import PersistentContextManager
from ullage.amplifier.configuration import arguments

from .test_readme import BLOCK, ROOT

GUIDE = (ROOT / "docs" / "amplifier.md").read_text()


def test_the_code_of_the_guide_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    blocks = BLOCK.findall(GUIDE)
    assert len(blocks) == 5

    async def run():
        for block in blocks:
            code = compile(block, "amplifier.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            if inspect.iscoroutine(running := eval(code, names)):
                await running

    asyncio.run(run())
    said = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\d\d messages of 121", said[0])
    assert said[1].startswith("1 message in ")
    assert re.fullmatch(r"1\d,\d{3} tokens, \d,\d{3} saved|\d+ tokens, \d+ saved", said[2])


def test_the_mount_plan_of_the_guide_is_understood():
    yaml = pytest.importorskip("yaml")
    (plan,) = re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    config = yaml.safe_load(plan)["context"]["config"]
    assert (
        PersistentContextManager(**arguments(PersistentContextManager, config)).config["max_tokens"]
        == 200_000
    )
