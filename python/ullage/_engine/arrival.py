"""``Arrival``: shortens tool results before they enter a history."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ullage._core import references_in
from ullage._engine.warning import warn
from ullage.telemetry import TOOL_NAME

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ullage._core import Engine
    from ullage._engine.artifact_writer import Artifact, ArtifactWriter
    from ullage._engine.steps import Steps
    from ullage._engine.stopwatch import Stopwatch
    from ullage.report.recorder import Recorder
    from ullage.telemetry import Operation, Telemetry


# No tool has a longer name.
_LONGEST_NAME = 200


class Arrival:
    """Carries out an engine's decisions about arriving results.

    Args:
        engine: Decides.
        artifact_writer: Stores the originals.
        stopwatch: Measures the time.
        telemetry: Reports the outcome.
        recorder: Records the outcome.
    """

    def __init__(
        self,
        engine: Engine,
        artifact_writer: ArtifactWriter,
        stopwatch: Stopwatch,
        telemetry: Telemetry,
        recorder: Recorder | None,
    ) -> None:
        self._engine = engine
        self._artifact_writer = artifact_writer
        self._stopwatch = stopwatch
        self._telemetry = telemetry
        self._recorder = recorder

    def shrink(self, tool_name: str, result: Any) -> Steps[Any]:
        """Returns the result, shortened if it is too long."""
        if isinstance(result, str) and len(tool_name) > max(_LONGEST_NAME, len(result)):
            warn(
                f"the tool's name has {len(tool_name):,} characters, and its result has"
                f" {len(result):,}: nothing is shortened; give the name first: shrink(name, result)"
            )
        with self._stopwatch.running(), self._operation(tool_name) as operation:
            outcome = yield from self._artifact_writer.write(
                partial(self._shrunk, tool_name, result)
            )
            return self._record(operation, tool_name, result, *outcome)

    def _operation(self, tool_name: str) -> AbstractContextManager[Operation]:
        return self._telemetry.operation("shrink", **{TOOL_NAME: tool_name})

    def _shrunk(
        self, tool_name: str, result: Any, salt: int
    ) -> tuple[tuple[Any, int], list[Artifact]]:
        """Returns a shorter result or None, the tokens saved, and the content to store first."""
        shrink = partial(self._engine.shrink, tool_name, result, salt=salt)
        shorter, artifacts, saved, relied_on = shrink(distrusted=[])
        missing = self._artifact_writer.missing(relied_on)
        if missing:
            shorter, artifacts, saved, _ = shrink(distrusted=missing)
        return (shorter, saved), [(ref, tool_name, content) for ref, content in artifacts]

    def _record(
        self, operation: Operation, tool_name: str, result: Any, shorter: Any, saved: int
    ) -> Any:
        if shorter is None:
            return result
        self._engine.record_shrink(saved)
        operation.shrunk(saved)
        if self._recorder is not None:
            self._recorder.arrival(tool_name, saved, references_in(shorter), shorter)
        return shorter
