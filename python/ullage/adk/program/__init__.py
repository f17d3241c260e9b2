"""The program that a sandbox runs over a large result, with nothing but Python's own library.

Its source is sent as it stands in these modules, one behind the other, with a call of ``survey`` at
the end. So they import nothing but each other, no two of them define the same name, and they run on
any Python from 3.8 on. They do without exceptions, ``any``, ``all``, ``next`` and ``type``: an
executor that restricts its code may have none of these.
"""

from __future__ import annotations

import inspect
import re

from ullage.adk.program import (
    failures,
    groups,
    log_entries,
    main,
    reading,
    rows,
    spans,
    unknown,
    values,
)

__all__ = ["source"]

# How they import each other; in the sandbox they are one module.
_OWN = re.compile(r"^from ullage\.[^\n(]*(?:\([^)]*\))?\n", re.MULTILINE)


def source() -> str:
    """The program."""
    modules = (reading, groups, rows, failures, log_entries, spans, values, unknown, main)
    return "\n\n".join(_OWN.sub("", inspect.getsource(module)) for module in modules)
