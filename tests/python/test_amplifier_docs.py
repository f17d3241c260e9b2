"""The mount plan of the guide mounts."""

import re

import pytest

from ullage.amplifier import PersistentContextManager
from ullage.amplifier.configuration import arguments

from .blocks import text_of


def test_the_mount_plan_of_the_guide_is_understood():
    yaml = pytest.importorskip("yaml")
    (plan,) = re.findall(
        r"^```yaml\n(.*?)^```$", text_of("docs/amplifier.md"), re.MULTILINE | re.DOTALL
    )
    config = yaml.safe_load(plan)["context"]["config"]
    assert (
        PersistentContextManager(**arguments(PersistentContextManager, config)).config["max_tokens"]
        == 200_000
    )
