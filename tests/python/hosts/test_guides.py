"""The code of each host's guide runs as it stands there, in an empty file and without a key."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.python.blocks import BLOCK, ROOT, text_of

from .listed import GUIDES, require, write_entry_points


# Some hosts take half a minute to import on a busy machine.
@pytest.mark.timeout(300)
@pytest.mark.parametrize("module", GUIDES)
def test_the_code_of_a_guide_runs(module, tmp_path):
    require(module)
    script = tmp_path / "new.py"
    script.write_text("\n".join(BLOCK.findall(text_of(GUIDES[module]))), encoding="utf-8")
    provider = ROOT / "examples/local_provider.py"
    write_entry_points(tmp_path / "site")
    paths = [str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]
    ran = subprocess.run(
        [sys.executable, str(provider), str(script), "272000"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
        # LiteLLM fetches its table of models otherwise.
        # CrewAI sends what it counts to its makers, and offers traces.
        env={
            **os.environ,
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "CREWAI_DISABLE_TELEMETRY": "true",
            "CREWAI_TRACING_ENABLED": "false",
            "HERMES_HOME": str(tmp_path / "hermes"),
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        },
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip().endswith("done")
