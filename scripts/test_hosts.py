"""Tests the adapters of hosts that do not fit into one environment, each in one of its own.

    python scripts/test_hosts.py              # all of them
    python scripts/test_hosts.py langchain    # this one

An environment is made for every dependency group of ``pyproject.toml`` that begins with ``host-``,
in ``.venv/hosts``, and made anew when that file changes. ``--newest`` makes them anew in any case,
with the newest releases that the groups allow. The package is used where it lies; ``make build``
builds its extension module.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
PREFIX = "host-"
TESTS = "tests/python/hosts"


def hosts() -> list[str]:
    """Returns the hosts that have a group."""
    configuration = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return re.findall(rf"^{PREFIX}([\w-]+) = \[", configuration, re.MULTILINE)


def environment(host: str, folder: Path, *, newest: bool) -> Path:
    """Returns the interpreter of a host's environment, which is made if it is not there."""
    place = folder / host
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp, configuration = place / "made", ROOT / "pyproject.toml"
    if not newest and stamp.exists() and stamp.stat().st_mtime > configuration.stat().st_mtime:
        return python
    print(f"{host}: installing", flush=True)
    venv.create(place, clear=True, with_pip=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # 25.1 is the first that installs groups.
    subprocess.run([*install, "--upgrade", "pip>=25.1"], check=True)
    subprocess.run([*install, "--group", f"{PREFIX}{host}"], cwd=ROOT, check=True)
    stamp.touch()
    return python


def tested(host: str, python: Path) -> bool:
    """Runs the tests in the environment of a host, and returns whether they passed."""
    print(f"{host}: testing", flush=True)
    settings = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    command = [str(python), "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal", TESTS]
    command += ["-m", "not lint and not wheel"]
    return subprocess.run(command, cwd=ROOT, env=settings, check=False).returncode == 0


def main() -> int:
    """Tests the hosts that were named, or all."""
    parser = argparse.ArgumentParser(description="Tests each adapter with its host.")
    parser.add_argument("hosts", nargs="*", help="hosts to test; all if none is named")
    parser.add_argument("--folder", type=Path, default=ROOT / ".venv/hosts")
    parser.add_argument("--newest", action="store_true", help="make each environment anew")
    given = parser.parse_args()
    known = hosts()
    if unknown := sorted(set(given.hosts) - set(known)):
        parser.error(f"no host is called {', '.join(unknown)}; there are {', '.join(known)}")
    wanted = given.hosts or known
    failed = [
        host
        for host in wanted
        if not tested(host, environment(host, given.folder, newest=given.newest))
    ]
    print(f"failed: {', '.join(failed)}" if failed else f"passed: {', '.join(wanted)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
