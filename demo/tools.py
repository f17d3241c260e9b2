"""The agent's tools: `checkout.py` behind `@tool`, with a record of every raw output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from strands import ToolContext, tool

import ullage

if TYPE_CHECKING:
    from .checkout import Checkout

# Strands reads these at run time: the description of a parameter is part of the tool's schema.
Shell = Annotated[str, "Shell pattern that the path must match."]
FilePath = Annotated[str, "Path from the project's root."]
Regex = Annotated[str, "Regular expression, matched line by line."]
Around = Annotated[int, "Lines to show before and after each match."]
Limit = Annotated[int, "Matches to show at most."]
Revision = Annotated[str, "Where to start."]
Count = Annotated[int, "Commits to show at most."]
Detail = Annotated[str, "none, stat (files changed) or patch (all changes)."]
Reference = Annotated[str, "The reference named in the conversation."]


class Toolbox:
    """The tools of one run."""

    def __init__(self, checkout: Checkout, store: Any = None) -> None:
        """Tools over a checkout; with a store there is also `retrieve`."""
        # The original output of each call, by its id.
        self.outputs: dict[str, str] = {}
        self.retrieved: list[str] = []
        self._checkout = checkout
        self._store = store

    @property
    def tools(self) -> list[Any]:
        """The tools for `Agent(tools=...)`."""
        tools: list[Any] = [
            self.list_files,
            self.read_file,
            self.search,
            self.git_log,
            self.run_tests,
        ]
        return tools if self._store is None else [*tools, self.retrieve]

    @property
    def total_bytes(self) -> int:
        """Bytes that the tools returned in this run."""
        return sum(len(output.encode()) for output in self.outputs.values())

    @tool(context=True)
    def list_files(self, tool_context: ToolContext, pattern: Shell = "*") -> str:
        """List the text files of the project with their sizes."""
        return self._kept(tool_context, self._checkout.list_files(pattern))

    @tool(context=True)
    def read_file(self, tool_context: ToolContext, path: FilePath) -> str:
        """Read one text file of the project."""
        return self._kept(tool_context, self._checkout.read_file(path))

    @tool(context=True)
    def search(
        self, tool_context: ToolContext, pattern: Regex, context: Around = 2, limit: Limit = 40
    ) -> str:
        """Search all files of the project for a regular expression."""
        return self._kept(tool_context, self._checkout.search(pattern, context, limit))

    @tool(context=True)
    def git_log(
        self,
        tool_context: ToolContext,
        revision: Revision = "HEAD",
        count: Count = 20,
        detail: Detail = "none",
    ) -> str:
        """Show commits of the project."""
        return self._kept(tool_context, self._checkout.git_log(revision, count, detail))

    @tool(context=True)
    def run_tests(self, tool_context: ToolContext) -> str:
        """Run the quick tests of the project."""
        return self._kept(tool_context, self._checkout.run_tests())

    @tool(context=True)
    def retrieve(
        self,
        tool_context: ToolContext,
        reference: Reference,
        pattern: Regex = "",
        context: Around = 0,
    ) -> str:
        """Fetch stored text that was moved out of the conversation, whole or matching lines."""
        text = ullage.retrieve(self._store, reference, pattern=pattern or None, context=context)
        self.retrieved.append(text)
        return self._kept(tool_context, text)

    def _kept(self, tool_context: ToolContext, output: str) -> str:
        self.outputs[tool_context.tool_use["toolUseId"]] = output
        return output
