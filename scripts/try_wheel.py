"""Checks built wheels, then installs and uses those that are for this machine.

Each wheel has a list of what is linked into it (SBOM), and one for Linux asks for no newer libc
than its name says. With `--local` it may name none, like a wheel that pip builds from the sources.
A wheel is installed where nothing else is. Bare takes no network: an environment of its own,
`pip install --no-index`, and every module that needs no other package. With `--extras` each extra
is installed with what it requires, which pip fetches, and the modules that it is for are imported.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

# The most bytes of a wheel, so that it downloads in a moment.
MOST_BYTES = 8_000_000

# Without which a wheel is not whole, or not ours to give away.
INSIDE = (
    "ullage/py.typed",
    "ullage/_core.pyi",
    "LICENSE",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "THIRD-PARTY.md",
)

# The place of the list of linked packages, by PEP 770.
SBOM = re.compile(r"\.dist-info/sboms/[^/]+\.cyclonedx\.json$")

# Modules of extras that a bare import may miss, if they are not named like their distribution.
BROUGHT = (
    "strands",
    "google",
    "yaml",
    "langchain_core",
    "langgraph",
    "typing_extensions",
    "agents",
    "pydantic_ai",
    "agent_framework",
    "haystack",
    "crewai",
    "litellm",
    "hermes_constants",
)

# The purpose of each extra.
EXTRAS = {
    "strands": "from ullage.strands import ContextPlugin, MappingConversationManager as M; M()",
    "adk": "from ullage.adk import ContextPlugin; ContextPlugin()",
    "amplifier": "import amplifier_core, ullage.amplifier as a; a.SimpleContextManager()",
    "langchain": "from ullage.langchain import ContextMiddleware; ContextMiddleware()",
    "openai-agents": "from ullage.openai_agents import ContextProvider; ContextProvider()",
    "pydantic-ai": "from ullage.pydantic_ai import ContextCapability; ContextCapability()",
    "agent-framework": "from ullage.agent_framework import ContextMiddleware as M; M()",
    "haystack": "import ullage as u, ullage.haystack as h; h.EngineCompactor(u.ContextManager())",
    "crewai": "import ullage as u, ullage.crewai as c; c.compact_messages(u.ContextManager())",
    "litellm": "from ullage.litellm import ContextCallback; ContextCallback()",
    "hermes": "from ullage.hermes import CompactionEngine; CompactionEngine()",
    "cli": "import rich, shtab, ullage.cli",
    "mcp": "import ullage, ullage.mcp_server as m; m.server(ullage.MemoryStore())",
    "yaml": "import yaml, ullage.supyagent",
    "objects": "from ullage.stores import ObjectStore; ObjectStore('memory:///')",
    "redis": "from ullage.stores import RedisStore; RedisStore('redis://127.0.0.1')",
    "postgres": "from ullage.stores import PostgresStore; PostgresStore('postgresql://127.0.0.1')",
    "parquet": "from ullage import replay as r; r.table(r.Replay([], [], []), '.parquet')",
    "ray": "import ray, ullage.replay",
    "telemetry": "import opentelemetry.metrics, ullage; ullage.ContextManager()",
}
# The first Python that has a host, where it is not ours.
FIRST_PYTHON = {
    "amplifier": (3, 11),
    "langchain": (3, 11),
    "openai-agents": (3, 11),
    "pydantic-ai": (3, 11),
    "agent-framework": (3, 11),
    "haystack": (3, 11),
    "crewai": (3, 11),
    "hermes": (3, 11),
}

BARE = r"""
import importlib, importlib.metadata, pkgutil, re, sys, sysconfig
import ullage

# A module that does not say that it works without the lock turns it on.
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    assert not sys._is_gil_enabled()

messages = [{"role": "user", "content": [{"text": "Find the slow query."}]}]
for step in range(40):
    call = {"toolUseId": f"c{step}", "name": "read_log", "input": {}}
    result = {"toolUseId": f"c{step}", "content": [{"text": f"{step} took long; " * 100}]}
    messages.append({"role": "assistant", "content": [{"toolUse": call}]})
    messages.append({"role": "user", "content": [{"toolResult": result}]})
policy = ullage.Policy(window=8_000, reserve_output=1_000)
report = ullage.ContextManager(policy, store=ullage.MemoryStore()).compact(messages)
assert report.tokens_after <= report.budget, report
assert not ullage.validate(messages)

brought = set(sys.argv[1:])
for required in importlib.metadata.requires("ullage") or ():
    brought.add(re.match(r"[\w-]+", required)[0].replace("-", "_"))
count = 0
missing = set()
for module in pkgutil.walk_packages(ullage.__path__, "ullage.", onerror=lambda name: None):
    if "__main__" in module.name:
        continue
    try:
        importlib.import_module(module.name)
        count += 1
    except ModuleNotFoundError as error:
        missing.add(error.name.partition(".")[0])
assert count > 50, count
assert missing <= brought, f"{missing} is missing, and extras bring {brought} only"
print(count, "modules imported; missing, of what extras bring:", *sorted(missing))
"""


def check_libc(wheel: str, module: bytes, *, local: bool = False) -> None:
    """Checks that a module for Linux asks for no newer libc than the name of its wheel promises."""
    if "linux" not in wheel or (local and "-linux_" in wheel):
        return
    asked = {tuple(map(int, found)) for found in re.findall(rb"GLIBC_(\d+)\.(\d+)", module)}
    promised = re.search(r"manylinux_(\d+)_(\d+)", wheel)
    if promised:
        newest = (int(promised[1]), int(promised[2]))
    elif "musllinux" in wheel:
        newest = (0, 0)  # musl has no versions of symbols
    else:
        raise SystemExit(f"{wheel} says no libc: build it with `make wheels`")
    if asked and max(asked) > newest:
        raise SystemExit(f"{wheel} needs glibc {'.'.join(map(str, max(asked)))}")


def check_sbom(wheel: str, sbom: bytes) -> None:
    """Checks that the list of what is linked has the crates of Cargo.lock that matter most."""
    content = json.loads(sbom)
    if content.get("bomFormat") != "CycloneDX":
        raise SystemExit(f"{wheel}: the SBOM is not of CycloneDX")
    missing = {"pyo3", "regex", "serde_json"} - {part["name"] for part in content["components"]}
    if missing:
        raise SystemExit(f"{wheel}: the SBOM lacks {', '.join(sorted(missing))}")


def check_file(wheel: Path, *, local: bool) -> None:
    """Checks a wheel without installing it."""
    size = wheel.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{wheel.name} takes {size:,} bytes, more than {MOST_BYTES:,}")
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        sboms = [name for name in names if SBOM.search(name)]
        modules = [name for name in names if re.search(r"/_core\.[^/]*(so|pyd)$", name)]
        if len(sboms) != 1 or len(modules) != 1:
            raise SystemExit(
                f"{wheel.name} has {len(sboms)} SBOMs and {len(modules)} native modules"
            )
        check_sbom(wheel.name, packed.read(sboms[0]))
        check_libc(wheel.name, packed.read(modules[0]), local=local)
    for wanted in INSIDE:
        if not any(name == wanted or name.endswith(f"/{wanted}") for name in names):
            raise SystemExit(f"{wheel.name} has no {wanted}")
    stray = [name for name in names if not name.startswith(("ullage/", "ullage-"))]
    if stray:
        raise SystemExit(f"{wheel.name} brings what is not ullage's: {', '.join(stray)}")
    print(f"{wheel.name}: {size:,} bytes, {len(names)} files")


class Environment:
    """An empty environment in a folder of its own, away from the sources; not even pip is in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        venv.create(folder / "venv")
        self._bin = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")

    def run(self, program: str, *arguments: str) -> str:
        """Returns the output of a program of the environment."""
        return self._run(str(self._bin / program), *arguments)

    def pip(self, *arguments: str) -> None:
        """Runs the pip of this Python on the environment."""
        python = self._bin / ("python.exe" if os.name == "nt" else "python")
        self._run(sys.executable, "-m", "pip", "--python", str(python), *arguments)

    def _run(self, *command: str) -> str:
        # Without what points into the sources or another environment.
        mine = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
        done = subprocess.run(
            command,
            cwd=self._folder,
            env=mine,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command[:5])}\n{done.stdout}{done.stderr}")
        return done.stdout


def runs_here(wheel: Path) -> bool:
    """True if this Python can install the wheel."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--dry-run",
            "--ignore-installed",
            "--no-index",
            "--no-deps",
            wheel,
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode and "not a supported wheel" not in done.stderr:
        raise SystemExit(done.stderr)
    return done.returncode == 0


def try_bare(wheel: Path) -> None:
    """Everything that needs nothing else, without a network."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Environment(Path(folder))
        environment.pip("install", "--quiet", "--no-index", str(wheel))
        environment.pip("check")
        print("bare:", environment.run("python", "-W", "error", "-c", BARE, *BROUGHT).strip())


def try_extra(wheel: Path, extra: str) -> None:
    """An extra with what it requires, which pip fetches."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Environment(Path(folder))
        environment.pip("install", "--quiet", f"{wheel}[{extra}]")
        environment.pip("check")
        environment.run("python", "-c", EXTRAS[extra])
        if extra == "cli":
            environment.run("ullage", "--help")
        print(f"[{extra}]: installed and used")


def main() -> None:
    """Tries the wheels that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheels", type=Path, nargs="+")
    parser.add_argument("--extras", action="store_true", help="also each extra; needs a network")
    parser.add_argument("--local", action="store_true", help="built here, to be used here")
    options = parser.parse_args()
    tried = 0
    for wheel in (wheel.resolve() for wheel in options.wheels):
        check_file(wheel, local=options.local)
        if not runs_here(wheel):
            print("checked, and not run: it is for another system or Python")
            continue
        tried += 1
        try_bare(wheel)
        for extra in EXTRAS if options.extras else ():
            if sys.version_info < FIRST_PYTHON.get(extra, (3, 10)):
                print(f"[{extra}]: no release for this Python")
                continue
            try_extra(wheel, extra)
    if not tried:
        raise SystemExit("none of these wheels is for this machine")


if __name__ == "__main__":
    main()
