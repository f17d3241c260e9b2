"""The commands of the guide run as they stand there, in their order."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import ullage

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(os.name != "posix", reason="a shell runs them")
def test_the_commands_of_the_guide_run(tmp_path, monkeypatch):
    for name in ("rich", "shtab"):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    command = tmp_path / "bin" / "ullage"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ullage "$@"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    # The same package, wherever the commands run.
    package = str(Path(ullage.__file__).resolve().parents[1])
    path = f"{command.parent}:{os.environ['PATH']}"
    modules = os.pathsep.join([package, *filter(None, sys.path)])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": modules}
    codes, shown = {}, ""
    for language, block in BLOCK.findall(GUIDE):
        if language == "python":
            exec(compile(block, "command-line.md", "exec"), {})
            continue
        for line in block.splitlines():
            done = subprocess.run(["/bin/sh", "-c", line], env=environment, capture_output=True, check=False)  # fmt: skip
            assert done.returncode in {0, 1}, done.stderr.decode()
            codes[line] = done.returncode
            shown += done.stdout.decode()
    assert len(codes) >= 12
    assert {line.split()[1] for line, code in codes.items() if code == 1} == {"status", "plan"}
    assert "07:50 query took" in shown
    assert "the oldest messages that may be removed" in shown


def test_the_guide_names_every_command():
    from ullage.cli.program import parser_of_commands

    named = set(re.findall(r"^\| `ullage (\w+)", GUIDE, re.MULTILINE))
    assert named == set(re.findall(r"^    (\w+)(?: |$)", parser_of_commands().format_help(), re.MULTILINE)) - {"COMMAND"}  # fmt: skip
