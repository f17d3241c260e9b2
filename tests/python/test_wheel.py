"""The wheel and the source distribution that `make wheel` leaves in dist."""

import re
import subprocess
import sys
import tarfile

import pytest

from scripts import try_wheel

MOST_BYTES_OF_SOURCES = 3_000_000

pytestmark = pytest.mark.wheel


def built(project, form):
    found = sorted((project / "dist").glob(form))
    if not found:
        pytest.skip(f"there is no dist/{form}; run `make wheel`")
    return found[-1]


def test_the_wheel_works_where_nothing_else_is_installed(project):
    # With each extra it is tried by `make test-wheel`, which needs a network.
    wheel = built(project, "*.whl")
    done = subprocess.run(
        [sys.executable, project / "scripts/try_wheel.py", wheel],
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "modules imported" in done.stdout


def test_every_extra_is_tried(project):
    configuration = (project / "pyproject.toml").read_text(encoding="utf-8")
    section = configuration.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    assert set(re.findall(r"^([\w-]+) = \[", section, re.MULTILINE)) == set(try_wheel.EXTRAS)


def test_the_wheel_is_for_every_python_from_the_first_on(project):
    assert "-cp310-abi3-" in built(project, "*.whl").name


def test_the_sources_are_whole_and_small(project):
    archive = built(project, "*.tar.gz")
    assert archive.stat().st_size < MOST_BYTES_OF_SOURCES
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    for wanted in (
        "PKG-INFO",
        "Cargo.lock",
        "build.rs",
        "src/lib.rs",
        "python/ullage/py.typed",
        "LICENSE",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "THIRD-PARTY.md",
    ):
        assert wanted in names
    unwanted = (".so", ".pyc", ".pyd", ".dll", ".whl")
    assert [name for name in names if name.endswith(unwanted)] == []
