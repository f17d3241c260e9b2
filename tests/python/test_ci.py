"""The CI files: read as YAML, pinned, with no right that is not needed, and calling what there is."""

import re

import pytest

yaml = pytest.importorskip("yaml")

PINNED = re.compile(r"^[\w.-]+/[\w.-]+@[0-9a-f]{40}$")
# The permissions of a job beside reading the sources, and the reasons.
RIGHTS = {
    ("release", "attest"): {"contents": "read", "id-token": "write", "attestations": "write"},
    # The token of Trusted Publishing, and nothing of the repository.
    ("release", "pypi"): {"id-token": "write"},
    # Makes the page of the release.
    ("release", "page"): {"contents": "write"},
}


@pytest.fixture
def workflows(project):
    """The text of each workflow, and what it says."""
    files = sorted((project / ".github/workflows").glob("*.yml"))
    if not files:
        pytest.skip("the source distribution has no workflows")
    texts = {file.stem: file.read_text(encoding="utf-8") for file in files}
    for name, text in texts.items():
        # YAML takes the last of two jobs with one name.
        jobs = re.findall(r"^  ([\w-]+):$", text.partition("\njobs:\n")[2], re.MULTILINE)
        assert len(jobs) == len(set(jobs)), name
    return {name: (text, yaml.safe_load(text)) for name, text in texts.items()}


@pytest.fixture
def ci(workflows):
    return workflows["ci"][1]


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job.get("steps", ())]


def commands_of(*some):
    return "\n".join(step["run"] for one in some for step in steps(one) if "run" in step)


def test_every_action_is_pinned_by_its_commit_and_says_its_version(workflows):
    versions: dict[str, tuple[str, str]] = {}
    for name, (text, workflow) in workflows.items():
        used = [step["uses"] for step in steps(workflow) if "uses" in step]
        assert [action for action in used if not PINNED.match(action)] == [], name
        said = re.findall(r"uses: (\S+) # (v\d+\.\d+\.\d+)$", text, re.MULTILINE)
        assert len(said) == len(used), name
        for action, version in said:
            # One commit for each action in all files.
            assert versions.setdefault(action.partition("@")[0], (action, version)) == (
                action,
                version,
            )
    assert versions


def test_a_job_may_do_what_it_needs_and_no_more(workflows):
    for name, (_, workflow) in workflows.items():
        assert workflow["permissions"] == {}, name
        for job_name, job in workflow["jobs"].items():
            expected = RIGHTS.get((name, job_name), {"contents": "read"})
            assert job["permissions"] == expected, (name, job_name)
            if "uses" not in job:
                assert job["timeout-minutes"] <= 120, (name, job_name)


def test_no_secret_is_named(workflows):
    assert [name for name, (text, _) in workflows.items() if "secrets." in text] == []


def test_what_is_called_exists(project, workflows):
    makefile = (project / "Makefile").read_text(encoding="utf-8")
    groups = (project / "pyproject.toml").read_text(encoding="utf-8")
    for _, workflow in workflows.values():
        commands = commands_of(workflow)
        for target in re.findall(r"\bmake ([\w-]+)", commands):
            assert f"\n{target}:" in makefile, target
        for script in re.findall(r"\bscripts/\S+\.py", commands):
            assert (project / script).is_file(), script
        for group in re.findall(r"--group ([\w-]+)", commands):
            assert f"\n{group} = [" in groups, group
        for job in workflow["jobs"].values():
            needs = job.get("needs", [])
            assert set([needs] if isinstance(needs, str) else needs) <= set(workflow["jobs"])
            if "uses" in job:
                # A workflow of this repository at the commit that runs.
                assert (project / job["uses"].removeprefix("$/")).is_file()


def test_artifacts_that_are_fetched_were_made(workflows):
    for name in ("wheels", "release"):
        for step in steps(workflows[name][1]):
            if "download-artifact" in step.get("uses", ""):
                wanted = step["with"].get("pattern") or step["with"]["name"]
                made = [
                    one["with"]["name"]
                    for one in steps(workflows["wheels"][1])
                    if "upload-artifact" in one.get("uses", "")
                ]
                assert any(one.startswith(wanted.rstrip("*")) for one in made), wanted
                assert all(one.startswith("dist-") for one in made)


def test_the_versions_are_those_that_the_project_promises(project, ci):
    commands = commands_of(ci)
    cargo = (project / "Cargo.toml").read_text(encoding="utf-8")
    (floor,) = re.findall(r'^rust-version = "(.+)"$', cargo, re.MULTILINE)
    assert f"rustup toolchain install {floor}.0" in commands
    python = (project / "pyproject.toml").read_text(encoding="utf-8")
    assert f'requires-python = ">={ci["env"]["OLDEST"]}"' in python
    for host in ("strands-agents", "google-adk"):
        (oldest,) = re.findall(rf"{host}==([\d.]+)\.\*", commands)
        assert f'"{host}>={oldest},' in python
    # The toolchain that has the lints; the floor has none.
    (linted,) = re.findall(r"install (1\.\d+)\.0 --profile minimal --component rustfmt", commands)
    assert f"Rust {linted}" in (project / "CONTRIBUTING.md").read_text(encoding="utf-8")
