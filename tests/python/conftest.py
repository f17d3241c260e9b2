"""Profiles of hypothesis, and the fixtures that every file may use."""

import asyncio
import gc
import inspect
import logging
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The imports of the hosts make so many objects that looking through them takes a sixteenth of the time.
gc.set_threshold(20_000, 20, 50)

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]

# A flaky test is a bug, so the examples are the same in every run. `make test-all` takes "long";
# `--hypothesis-profile=thorough` looks for new examples.
for _name, _examples in (("default", 12), ("long", 100)):
    settings.register_profile(
        _name,
        max_examples=_examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=_QUIET,
    )
settings.register_profile(
    "thorough", max_examples=1500, deadline=None, database=None, suppress_health_check=_QUIET
)
settings.load_profile("default")


def pytest_collection_finish() -> None:
    """The hosts and the collected tests stay to the end, so no collection of garbage visits them."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a test that is a coroutine function in a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture
def project() -> Path:
    """The root of the checkout."""
    return Path(__file__).resolve().parents[2]


@pytest.fixture
def ears(caplog):
    """Hears what ullage says, see there."""
    # Only a test that asks for it pays for OpenTelemetry.
    from .ears import Ears
    from .spans import exported

    caplog.set_level(logging.DEBUG, "ullage")
    with exported().listening() as seen:
        yield Ears(caplog, seen)
