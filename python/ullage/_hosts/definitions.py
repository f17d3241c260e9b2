"""``Definitions``: the tools of a request, as the engine counts them."""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Definitions:
    """Converts the tools of a host. Those of the last request are not converted again.

    Args:
        definition: Converts one.
    """

    def __init__(self, definition: Callable[[Any], dict[str, Any]]) -> None:
        self._definition = definition
        self._last: tuple[list[Any], list[dict[str, Any]]] = ([], [])

    def of(self, tools: Sequence[Any]) -> list[dict[str, Any]] | None:
        """Returns the definitions of these tools; None if there are none."""
        known, definitions = self._last
        if len(known) != len(tools) or not all(map(is_, known, tools)):
            definitions = [self._definition(tool) for tool in tools]
            self._last = (list(tools), definitions)
        return definitions or None


def definition(name: str, description: str | None, schema: Any) -> dict[str, Any]:
    """Returns the definition of a tool in Anthropic's form.

    Args:
        name: Its name.
        description: The description that the model reads.
        schema: The JSON schema of its arguments.
    """
    return {"name": name, "description": description or "", "input_schema": schema}
