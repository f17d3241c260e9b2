"""Modules that importing the package loads, and modules that it does not."""

import doctest
import importlib.metadata
import inspect
import subprocess
import sys

import pytest

import ullage

# No third-party module at all, and of the standard library not what costs as much as all the rest of
# the import: `make bench` measures that it stays under 30 ms.
UNWANTED = ("asyncio", "ssl", "subprocess", "multiprocessing", "http", "unittest", "sqlite3", "xml")


def imported_by(code):
    """The modules that this code brings; "__mp_main__" is a second name of "__main__"."""
    before = "before = {*sys.modules, '__mp_main__'}"
    code = f"import sys; {before}; {code}; print(*{{*sys.modules}} - before)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert not done.stderr
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_ullage_imports_no_host_and_no_other_package():
    found = imported_by("import ullage")
    assert found - set(sys.stdlib_module_names) == {"ullage"}
    assert not found & set(UNWANTED)


@pytest.mark.parametrize("name", ["cli", "replay", "supyagent", "valis", "amplifier"])
def test_what_needs_no_host_imports_no_other_package(name):
    found = imported_by(f"import ullage.{name}")
    assert found - set(sys.stdlib_module_names) == {"ullage"}


def test_importing_ullage_configures_no_logging():
    code = "import logging, ullage; print(logging.root.handlers, logging.getLogger('ullage').level)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout.strip() == "[] 0"


def test_the_version_is_that_of_the_distribution():
    assert ullage.__version__ == importlib.metadata.version("ullage")


@pytest.mark.parametrize("name", ullage.__all__)
def test_every_public_name_exists(name):
    assert getattr(ullage, name) is not None


def test_public_names_are_sorted_and_complete():
    assert list(ullage.__all__) == sorted(ullage.__all__)
    assert dir(ullage) == ullage.__all__
    public = {n for n, v in vars(ullage).items() if not n.startswith("_") and is_ours(v)}
    assert public <= set(ullage.__all__)


def is_ours(value):
    return getattr(value, "__module__", "").startswith("ullage") and not inspect.ismodule(value)


def test_a_name_that_is_not_there_is_an_error():
    with pytest.raises(AttributeError, match="has no attribute 'unheard_of'"):
        _ = ullage.unheard_of


@pytest.mark.parametrize("name", ["BudgetError", "MessageError", "PolicyError", "StoreError"])
def test_every_error_is_an_ullage_error(name):
    assert issubclass(getattr(ullage, name), ullage.UllageError)
    assert not issubclass(ullage.UllageError, ValueError)


def test_the_example_of_the_package_runs():
    outcome = doctest.testmod(ullage)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_the_package_is_typed(project):
    assert (project / "python/ullage/py.typed").is_file()


@pytest.mark.parametrize(
    "name", sorted({"MappingConversationManager", "ToolRouterHook", "retrieval_tool"})
)
def test_the_strands_adapter_exports_its_names(name):
    import ullage.strands

    assert name in ullage.strands.__all__
    assert hasattr(ullage.strands, name)
