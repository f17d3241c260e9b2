"""The tools' work over one checkout: list, read, search, git log, run the tests.

Plain functions, because `script.py` measures the outputs that the agent's tools will return.
"""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
import sys
from pathlib import Path

# The most characters that one call returns. Real tools have such a limit too: the first commit of a
# repository may be many MB.
OUTPUT_LIMIT = 200_000
# A larger file is data rather than source; searching it would tell nothing about the project.
SEARCHED_FILE_LIMIT = 512_000
# The demo promises to end within a minute, so a hanging command must not take it.
COMMAND_TIMEOUT = 15.0
TEST_FILE = "tests/python/test_tokens.py"
_SKIPPED_FOLDERS = frozenset(
    {".git", ".venv", "target", "__pycache__", "node_modules", "demo-output"}
)


class Checkout:
    """A project folder, and what an agent may ask about it.

    A method that cannot do what is asked says so in the text that it returns.
    """

    def __init__(self, root: Path) -> None:
        """Look at the folder once, so that all runs see the same list of files."""
        self.root = root.resolve()
        self.files = [path for path in self._paths() if self._text(path) is not None]

    def list_files(self, pattern: str = "*") -> str:
        """Name, size and lines of every text file whose path matches the pattern."""
        rows = []
        for path in self.files:
            if fnmatch.fnmatch(path, pattern):
                text = self._text(path) or ""
                rows.append(f"{len(text.encode()):>9} bytes {text.count(chr(10)):>6} lines  {path}")
        return _limited("\n".join(rows) or f"no file matches {pattern}")

    def read_file(self, path: str) -> str:
        """The whole text of one file of the checkout."""
        if path not in self.files:
            return f"no such file in the checkout: {path}"
        return _limited(self._text(path) or "(the file is empty)")

    def search(self, pattern: str, context: int = 2, limit: int = 40) -> str:
        """Lines that match a regular expression, with the lines around them."""
        try:
            wanted = re.compile(pattern)
        except re.error as error:
            return f"not a regular expression: {pattern}: {error}"
        blocks: list[str] = []
        for path in self.files:
            text = self._text(path)
            if text is None or len(text) > SEARCHED_FILE_LIMIT:
                continue
            lines = text.splitlines()
            for number in (i for i, line in enumerate(lines) if wanted.search(line)):
                if len(blocks) >= limit:
                    return _limited("\n--\n".join([*blocks, f"(stopped at {limit} matches)"]))
                first, last = max(0, number - context), min(len(lines), number + context + 1)
                blocks.append("\n".join(f"{path}:{i + 1}: {lines[i]}" for i in range(first, last)))
        return _limited("\n--\n".join(blocks) or f"nothing matches {pattern}")

    def git_log(self, revision: str = "HEAD", count: int = 20, detail: str = "none") -> str:
        """The newest commits that a revision reaches; detail is "none", "stat" or "patch"."""
        command = ["git", "--no-pager", "log", "--no-color", f"--max-count={count}"]
        command += {"stat": ["--stat"], "patch": ["--patch", "--stat"]}.get(detail, [])
        return self._run([*command, "--end-of-options", revision, "--"])

    def commits(self, count: int) -> list[str]:
        """Abbreviated names of the newest commits; empty where there is no history."""
        names = self._run(
            ["git", "--no-pager", "log", f"--max-count={count}", "--format=%h"]
        ).split()
        return [name for name in names if re.fullmatch(r"[0-9a-f]{4,40}", name)]

    def run_tests(self) -> str:
        """Run one quick test file with pytest, or say that there is none."""
        if not (self.root / TEST_FILE).is_file():
            return f"no tests were run: there is no {TEST_FILE} in this checkout"
        return self._run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-v",
                "--color=no",
                "-p",
                "no:cacheprovider",
                TEST_FILE,
            ]
        )

    def _run(self, command: list[str]) -> str:
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(  # noqa: S603 - every command is written in this file
                command,
                cwd=self.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=COMMAND_TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"the command failed: {error}"
        text = done.stdout.decode("utf-8", errors="replace")
        return _limited(
            text if done.returncode == 0 else f"{text}\n(exit status {done.returncode})"
        )

    def _paths(self) -> list[str]:
        listed = self._run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        paths = [path for path in listed.split("\0") if path and (self.root / path).is_file()]
        if not paths:  # an unpacked archive, or no git on this machine
            for folder, folders, names in os.walk(self.root):
                folders[:] = [name for name in folders if name not in _SKIPPED_FOLDERS]
                paths += [(Path(folder) / name).relative_to(self.root).as_posix() for name in names]
        return sorted(set(paths))

    def _text(self, path: str) -> str | None:
        try:
            return (self.root / path).read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return None


def _limited(text: str) -> str:
    if len(text) <= OUTPUT_LIMIT:
        return text
    return f"{text[:OUTPUT_LIMIT]}\n(the tool stops here: {len(text):,} characters in all)"
