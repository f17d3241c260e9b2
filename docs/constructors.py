"""Shows how the native classes are made: their stub has ``__new__``, the reference ``__init__``."""

from __future__ import annotations

from typing import Any

import griffe


class Constructors(griffe.Extension):
    """Gives each class that has only ``__new__`` an ``__init__`` with its parameters."""

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Is called once the members of a class are known."""
        made = cls.members.get("__new__")
        if isinstance(made, griffe.Function) and "__init__" not in cls.members:
            made.name = "__init__"
            made.returns = None
            cls.set_member("__init__", made)
            cls.del_member("__new__")
