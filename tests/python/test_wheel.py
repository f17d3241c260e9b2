"""The wheel and the source distribution that `make wheel` leaves in dist."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

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


def test_two_source_distributions_have_the_same_bytes(project, tmp_path):
    # As a user of the wheel test has maturin: beside this Python.
    maturin = Path(sys.executable).with_name("maturin")
    if not maturin.exists():
        pytest.skip("maturin is not installed")
    archives = []
    for name in ("one", "two"):
        copy = tmp_path / name
        # Another folder, and other times of the files.
        shutil.copytree(
            project, copy, ignore=shutil.ignore_patterns("target", ".*", "dist", "*.so", "coverage")
        )
        subprocess.run(
            [maturin, "sdist", "--out", tmp_path / f"{name}.out"],
            cwd=copy,
            check=True,
            capture_output=True,
        )
        archives += [file.read_bytes() for file in (tmp_path / f"{name}.out").iterdir()]
        time.sleep(1.1)
    assert archives[0] == archives[1]


@pytest.mark.parametrize(
    ("wheel", "module", "says"),
    [
        ("u-cp310-abi3-manylinux_2_17_x86_64.whl", b"GLIBC_2.2.5 GLIBC_2.17", None),
        ("u-cp310-abi3-manylinux_2_17_x86_64.whl", b"GLIBC_2.2.5 GLIBC_2.34", "needs glibc 2.34"),
        ("u-cp310-abi3-musllinux_1_2_x86_64.whl", b"", None),
        ("u-cp310-abi3-musllinux_1_2_x86_64.whl", b"GLIBC_2.2.5", "needs glibc 2.2"),
        ("u-cp310-abi3-linux_x86_64.whl", b"", "says no libc"),
        ("u-cp310-abi3-macosx_11_0_arm64.whl", b"", None),
    ],
)
def test_a_module_asks_for_no_newer_libc_than_its_wheel_says(wheel, module, says):
    if says is None:
        try_wheel.check_libc(wheel, module)
        return
    with pytest.raises(SystemExit, match=says):
        try_wheel.check_libc(wheel, module)


def test_what_pip_builds_from_the_sources_may_name_no_libc():
    try_wheel.check_libc("u-cp310-abi3-linux_x86_64.whl", b"GLIBC_2.39", local=True)
    with pytest.raises(SystemExit, match=r"needs glibc 2\.34"):
        try_wheel.check_libc("u-manylinux_2_17_x86_64.whl", b"GLIBC_2.34", local=True)


def test_the_list_of_what_is_linked_has_the_crates_of_the_lock(project):
    wheel = built(project, "*.whl")
    with zipfile.ZipFile(wheel) as packed:
        (name,) = [name for name in packed.namelist() if try_wheel.SBOM.search(name)]
        listed = json.loads(packed.read(name))["components"]
    lock = (project / "Cargo.lock").read_text(encoding="utf-8")
    locked = set(re.findall(r'name = "(.+)"\nversion = "(.+)"', lock))
    parts = {(part["name"], part["version"]) for part in listed}
    assert len(parts) > 20
    assert parts <= locked
    with pytest.raises(SystemExit, match="lacks pyo3"):
        try_wheel.check_sbom(
            "u",
            b'{"bomFormat": "CycloneDX", "components": [{"name": "regex"}, {"name": "serde_json"}]}',
        )


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
