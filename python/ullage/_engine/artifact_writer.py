"""Writes content to the user's store, and reads it: sync or async, with any error."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ullage._core import ReferenceTakenError, StoreError, reference_of, references_in
from ullage._engine.logger import Logger
from ullage._engine.reasons import error_line
from ullage._engine.steps import Step, Steps, aside
from ullage.stores.retrieval import discard

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from ullage.stores.protocol import Store

logger = Logger(__name__)

_Outcome = TypeVar("_Outcome")

# Content to be stored: reference, tool, bytes.
Artifact: TypeAlias = tuple[str, str, bytes]

# Makes an outcome and its artifacts, with references of this salt.
Making: TypeAlias = Callable[[int], tuple[_Outcome, list[Artifact]]]


# References that are known to be stored: some 10 MB.
_REMEMBERED = 65_536


class ArtifactWriter:
    """Stands between an engine and a store.

    Args:
        store: The store, or None; then nothing is stored.
    """

    def __init__(self, store: Store | None) -> None:
        self.store = store
        # References that the store has.
        self._known: set[str] = set()
        # True if anything was stored since the store was last cleaned.
        self._stored = False

    def write(self, make: Making[_Outcome]) -> Steps[_Outcome]:
        """Returns the outcome of ``make``, after storing the content that it removes.

        A store may have other content under a reference. The reference of a transcript comes from
        the text that the model saw, and two transcripts may differ in other fields. Then the
        outcome is made again, with references that come from the content itself.

        Raises:
            StoreError: If the store raised, or must be awaited without an event loop.
        """
        outcome, artifacts = yield from aside(make, 0)
        try:
            yield from self._put_all(artifacts)
        except ReferenceTakenError:
            outcome, artifacts = yield from aside(make, _salt_of(artifacts))
            yield from self._put_all(artifacts)
        return outcome

    def references(self, tool: str, *contents: bytes) -> Steps[list[str]]:
        """Stores contents from a tool and returns their references.

        Raises:
            StoreError: As :meth:`write`.
        """

        def make(salt: int) -> tuple[list[str], list[Artifact]]:
            references = [reference_of(tool, content, salt) for content in contents]
            named = zip(references, contents, strict=True)
            return references, [(reference, tool, content) for reference, content in named]

        return (yield from self.write(make))

    def missing(self, references: Iterable[str]) -> list[str]:
        """Returns the references that the store does not have.

        A mark may claim wrongly that a text is stored: an output of another session, or a tool that
        quotes one. An async store cannot be asked from here, so its references are trusted.
        """
        return [reference for reference in references if not self._has(reference)]

    def clean(self, messages: Any) -> Steps[None]:
        """Lets the store remove old content that these messages do not refer to.

        The compaction is already done, so errors are only logged. A store that must be awaited is
        cleaned only in an event loop.
        """
        if not self._is_cleaning_due():
            return
        try:
            removed = yield from aside(self._clean, list(messages))
            if inspect.isawaitable(removed):
                removed = yield Step(partial(discard, removed), partial(_await, removed))
            self._known.difference_update(removed or ())
        except Exception:
            logger.exception("the store was not cleaned")

    def _is_cleaning_due(self) -> bool:
        due = self._stored and hasattr(self.store, "clean")
        return due and bool(getattr(self.store, "above_limit", True))

    def _clean(self, messages: Any) -> Any:
        self._stored = False
        store: Any = self.store
        return store.clean(references_in(messages))

    def _has(self, reference: str) -> bool:
        if self.store is None or reference in self._known:
            return True
        try:
            found = self.store.get(reference)
        except Exception:  # noqa: BLE001 - whatever keeps the store from giving it back
            return False
        if inspect.isawaitable(found):
            discard(found)
        self._note(reference)
        return True

    def _note(self, reference: str) -> None:
        # One engine may serve a million conversations. What is forgotten is asked for again.
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known.add(reference)

    def _put_all(self, artifacts: list[Artifact]) -> Steps[None]:
        for artifact in artifacts:
            # Most stores write to a disk.
            returned = yield from aside(self._put, *artifact)
            if inspect.isawaitable(returned):
                returned = yield Step(
                    partial(self._reject, returned), partial(self._await_put, artifact, returned)
                )
            self._check(artifact[0], returned)

    def _reject(self, awaitable: Awaitable[Any]) -> None:
        discard(awaitable)
        raise StoreError(
            f"{type(self.store).__name__}.put is async; call the async method instead, such as"
            " acompact or ashrink"
        )

    async def _await_put(self, artifact: Artifact, awaitable: Awaitable[Any]) -> Any:
        try:
            return await awaitable
        except Exception as error:
            raise self._store_error(artifact, error) from error

    def _put(self, reference: str, tool: str, content: bytes) -> Any:
        if self.store is None:
            return reference
        try:
            return self.store.put(content, reference=reference, tool=tool)
        except Exception as error:
            raise self._store_error((reference, tool, content), error) from error

    def _check(self, reference: str, returned: Any) -> None:
        if returned != reference:
            raise StoreError(
                f"{type(self.store).__name__}.put returned {returned!r} for {reference!r}; it must"
                " keep content under the reference it is given"
            )
        self._note(reference)
        self._stored = True

    def _store_error(self, artifact: Artifact, error: Exception) -> StoreError:
        if isinstance(error, StoreError):
            return error
        reference, _, content = artifact
        return StoreError(
            f"{type(self.store).__name__} could not keep {reference}: {error_line(error, content)};"
            " the conversation is unchanged"
        )


async def _await(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _salt_of(artifacts: list[Artifact]) -> int:
    """Returns a number derived from the content of the artifacts."""
    digest = hashlib.blake2b(digest_size=8)
    for _, _, content in artifacts:
        digest.update(hashlib.blake2b(content, digest_size=16).digest())
    return int.from_bytes(digest.digest(), "little")
