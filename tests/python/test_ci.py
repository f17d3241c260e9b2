"""The CI files: read as YAML, pinned, without rights, and calling what there is."""

import re

import pytest

yaml = pytest.importorskip("yaml")

PINNED = re.compile(r"^[\w.-]+/[\w.-]+@[0-9a-f]{40}$")


@pytest.fixture
def workflow(project):
    return yaml.safe_load((project / ".github/workflows/ci.yml").read_text(encoding="utf-8"))


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_every_action_is_pinned_by_its_commit_and_says_its_version(project, workflow):
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert used
    assert [action for action in used if not PINNED.match(action)] == []
    text = (project / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    assert len(re.findall(r"uses: \S+ # v\d+\.\d+\.\d+$", text, re.MULTILINE)) == len(used)


def test_no_job_may_do_more_than_read(workflow):
    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        assert job["permissions"] == {"contents": "read"}, name
        assert job["timeout-minutes"] <= 120, name


def test_what_is_called_exists(project, workflow):
    makefile = (project / "Makefile").read_text(encoding="utf-8")
    commands = "\n".join(step["run"] for step in steps(workflow) if "run" in step)
    for target in re.findall(r"\bmake ([\w-]+)", commands):
        assert f"\n{target}:" in makefile
    for script in re.findall(r"\bscripts/\S+\.py", commands):
        assert (project / script).is_file()
    for group in re.findall(r"--group (\w+)", commands):
        assert f"\n{group} = [" in (project / "pyproject.toml").read_text(encoding="utf-8")


def test_the_versions_are_those_that_the_project_promises(project, workflow):
    commands = "\n".join(step["run"] for step in steps(workflow) if "run" in step)
    cargo = (project / "Cargo.toml").read_text(encoding="utf-8")
    (floor,) = re.findall(r'^rust-version = "(.+)"$', cargo, re.MULTILINE)
    assert f"rustup toolchain install {floor}.0" in commands
    python = (project / "pyproject.toml").read_text(encoding="utf-8")
    assert f'requires-python = ">={workflow["env"]["OLDEST"]}"' in python
    for host in ("strands-agents", "google-adk"):
        (oldest,) = re.findall(rf"{host}==([\d.]+)\.\*", commands)
        assert f'"{host}>={oldest},' in python
    # The toolchain that has the lints; the floor has none.
    (linted,) = re.findall(r"install (1\.\d+)\.0 --profile minimal --component", commands)
    assert f"Rust {linted}" in (project / "CONTRIBUTING.md").read_text(encoding="utf-8")
