"""Programs of users that name all that is public pass the strictest checks of types."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .public import MODULES

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS = Path(__file__).parent / "typed"


def checked(test):
    """Marks a test that runs mypy, which reads the types of all hosts for a minute when its cache is cold."""
    return pytest.mark.lint(pytest.mark.timeout(300)(test))


def mypy(*programs: Path, cwd: Path) -> str:
    """The output of mypy, with ullage installed as a user has it, or where Python finds it."""
    # A cache of its own beside that of the project, whose options are others.
    cache = cwd / ".mypy_cache" / "users"
    options = ["--strict", "--follow-imports=silent", f"--cache-dir={cache}", "--config-file="]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *map(str, programs)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "MYPYPATH": os.environ.get("PYTHONPATH", "")},
        timeout=280,
    )
    return done.stdout + done.stderr


@checked
def test_programs_of_users_pass_mypy_as_strict_as_it_is(project):
    assert mypy(*sorted(PROGRAMS.glob("*.py")), cwd=project).startswith("Success")


@checked
def test_a_wrong_program_does_not(project, tmp_path):
    program = tmp_path / "wrong.py"
    lines = [
        "import ullage",
        "ullage.Policy(windows=1)",
        "ullage.ContextManager(on_compaction=lambda: None)",
        "ullage.count_tokens(5)",
        'ullage.ContextManager(store="folder")',
        "ullage.ContextManager().compact(()).saved",
        "ullage.ContextManager().plan([]).edit",
    ]
    program.write_text("\n".join(lines))
    said = mypy(program, cwd=project)
    found = {line.split(":")[1] for line in said.splitlines() if ": error:" in line}
    assert found == {str(number) for number in range(2, len(lines) + 1)}


def names_in(program: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(program.read_text(encoding="utf-8"))):
        match node:
            case ast.Attribute(attr=name) | ast.alias(name=name):
                yield name


def test_they_name_all_that_is_public():
    used = {name for program in PROGRAMS.glob("*.py") for name in names_in(program)}
    public = {name for module in MODULES for name in importlib.import_module(module).__all__}
    assert public - used == set()
