"""``ModelCatalog``: the limits of models."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ullage._core import (
    Policy,
    PolicyError,
    known_limits,
    longest_beginning,
    unknown_limits,
    window_and_reserve,
)
from ullage._engine.logger import Logger
from ullage._engine.warning import warn
from ullage.models import tables
from ullage.models.origins import File, Given, Litellm
from ullage.models.tables import Figures, Table
from ullage.usage import prices as price_rows
from ullage.usage.listed_prices import LISTED, listed_prices

if TYPE_CHECKING:
    from ullage.usage.prices import Prices

logger = Logger(__name__)

# Number of cached ids. A process uses a handful of models.
_MOST_REMEMBERED = 1_024

_FIELDS = ("window", "max_input", "max_output")

Source = Literal["override", "models.dev", "litellm", "built-in", "default"]


@dataclass(frozen=True)
class ModelLimits:
    """The token limits of a model.

    Attributes:
        model: The given id.
        window: The limit of a request and its answer together.
        max_input: The limit of a request; below ``window`` if the provider limits it separately, as
            OpenAI does from GPT-5 on.
        max_output: The limit of an answer, or None if only the window limits it.
        source: The source of the figures: "override", "models.dev", "litellm", "built-in", or
            "default" if no source knows the model.
    """

    model: str
    window: int
    max_input: int
    max_output: int | None
    source: Source

    def policy(self, **settings: Any) -> Policy:
        """Returns a policy for this model. Given settings take precedence.

        If not given, the reserve for the answer is the policy's default, but at most ``max_output``
        and a quarter of the window. The window is reduced until the window less the reserve is at
        most ``max_input``. A given window stays unchanged, and the reserve is at most a quarter of
        it.

        Raises:
            PolicyError: If a setting is unknown or out of range.
        """
        # The policy refuses a value that is not a number of tokens; its error names the
        # setting.
        reserve = tables.tokens(settings.get("reserve_output"))
        window = tables.tokens(settings.get("window")) or self.window
        figures = (window, min(self.max_input, window), self.max_output)
        window, reserve_output = window_and_reserve(figures, reserve)
        return Policy(**{"window": window, "reserve_output": reserve_output, **settings})


class ModelCatalog:
    """Finds the limits of models.

    The first source that knows the model decides: the overrides, models.dev's table, litellm's, the
    built-in table, and then the default. The answer for each id is cached until a table changes. A
    table that cannot be read is logged once as a warning, and tried again when it changes or after
    half a minute. Until then its last content is used, or the next source. Nothing is fetched over
    the network.

    Overrides and the built-in table find a model by the longest beginning of its id. The other
    tables must have the whole id. Case and prefixes of gateways ("bedrock/", "us.anthropic.",
    "openai:") do not matter. A gateway or your own server may allow less than the model's maker;
    use overrides for that.

    Several threads may use one catalog.

    Args:
        overrides: Your own figures, by id or its beginning: a dict with one or more of "window",
            "max_input" and "max_output". Missing figures come from the next source. A window alone
            is the limit of the input too.
        models_dev: The path of models.dev's ``api.json``, or its parsed content.
        litellm: "auto" for the table of an installed litellm (the live one if it has been imported;
            it is never imported for this), the path of
            ``model_prices_and_context_window.json``, or its parsed content.
        default: The figures of a model that no source knows, at least "window"; if not given, a
            window of 128,000.
        prices: Your own prices, by id or its beginning: ``Prices``, or a dict with "input" and
            "output", and optionally "cache_write" and "cache_read".

    Raises:
        PolicyError: If an argument is not of that form.
    """

    def __init__(
        self,
        *,
        overrides: Mapping[str, Mapping[str, int]] | None = None,
        models_dev: str | PathLike[str] | Mapping[str, Any] | None = None,
        litellm: str | PathLike[str] | Mapping[str, Any] | None = None,
        default: Mapping[str, int] | None = None,
        prices: Mapping[str, Prices | Mapping[str, float | None]] | None = None,
    ) -> None:
        self._own_prices = price_rows.given(prices or {})
        self._overrides: dict[str, dict[str, int]] = {}
        for name, given in _mapping("overrides", overrides or {}).items():
            if not isinstance(name, str) or not name:
                raise PolicyError(f"overrides: {name!r} is not an id")
            self._overrides[name.lower()] = _check_figures(f"overrides[{name!r}]", given)
        self._default = Figures(*unknown_limits())
        if default is not None:
            given = _check_figures("default", default)
            if "window" not in given:
                raise PolicyError('default: it has no "window"')
            self._default = _merge(given, self._default._replace(max_output=None))
        self._tables: list[tuple[Source, Table[Figures]]] = []
        self._prices: list[Table[Prices]] = []
        if models_dev is not None:
            origin = _origin("models_dev", models_dev)
            self._tables.append(("models.dev", Table("models.dev", origin, tables.models_dev)))
            self._prices.append(Table("models.dev", origin, price_rows.models_dev))
        if litellm is not None:
            found = Litellm() if litellm == "auto" else _origin("litellm", litellm)
            self._tables.append(("litellm", Table("litellm", found, tables.litellm)))
            self._prices.append(Table("litellm", found, price_rows.litellm))
        self._state: list[int] = []
        self._found: dict[str, ModelLimits] = {}
        # Reentrant, because a log handler may call the catalog.
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        """Returns the sources without the lock. Another process reads the tables again."""
        state = {name: value for name, value in vars(self).items() if name != "_lock"}
        return state | {"_state": [], "_found": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    def __repr__(self) -> str:
        names = [*self._overrides, *(source for source, _ in self._tables), "built-in"]
        return f"ModelCatalog({', '.join(names)})"

    def limits(self, model: str) -> ModelLimits:
        """Returns the limits of a model, by its id.

        Raises:
            PolicyError: If ``model`` is not a string.
        """
        if not isinstance(model, str):
            raise PolicyError(f"model: it is a {type(model).__name__}, not an id")
        with self._lock:
            state = [table.refresh() for _, table in self._tables]
            if state != self._state or len(self._found) >= _MOST_REMEMBERED:
                self._state = state
                self._found.clear()
            found = self._found.get(model)
            if found is None:
                found = self._found[model] = self._looked_up(model)
        return found

    def prices(self, model: str) -> Prices | None:
        """Returns the prices of a model by its id; None if no source has them.

        The sources are the catalog's own prices, models.dev's and litellm's tables, and the
        built-in list of the date ``ullage.usage.listed_prices.LISTED_ON``.
        """
        own = price_rows.row_of(model, self._own_prices)
        if own is not None:
            return own[1]
        with self._lock:
            for table in self._prices:
                table.refresh()
            found = (table.get(model) for table in self._prices)
            known = next((entry for entry in found if entry is not None), None)
        return listed_prices(model) if known is None else known

    def _looked_up(self, model: str) -> ModelLimits:
        figures, source = self._figures(model)
        override = self._override(model)
        if override is not None:
            figures, source = _merge(override, figures), "override"
        if source == "default":
            logger.warning("model=<%s>, window=<%d> | unknown model", model, figures.window)
            warn(self._unknown_warning(model, figures.window))
        return ModelLimits(model, *figures, source)

    def _unknown_warning(self, model: str, window: int) -> str:
        name = model.rpartition("/")[2].lower()
        near = difflib.get_close_matches(name, [*self._overrides, *LISTED], n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        return (
            f"unknown model {model!r}{hint}: its window is assumed to be {window:,} tokens, and its"
            f" tokens are estimated; give a policy with its window (on the command line --window),"
            f" or ModelCatalog(overrides={{{model!r}: {{'window': {window}}}}})"
        )

    def _override(self, model: str) -> dict[str, int] | None:
        exact = self._overrides.get(model.lower())
        if exact is not None or not self._overrides:
            return exact
        beginnings = list(self._overrides)
        index = longest_beginning(model, beginnings)
        return None if index is None else self._overrides[beginnings[index]]

    def _figures(self, model: str) -> tuple[Figures, Source]:
        for source, table in self._tables:
            figures = table.get(model)
            if figures is not None:
                return figures, source
        known = known_limits(model)
        return (Figures(*known), "built-in") if known is not None else (self._default, "default")


def _mapping(name: str, value: Any) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise PolicyError(f"{name}: it is a {type(value).__name__}, not a dict")
    return value


def _check_figures(name: str, value: Any) -> dict[str, int]:
    """Returns the checked figures."""
    checked = {}
    for key, given in _mapping(name, value).items():
        if key not in _FIELDS:
            raise PolicyError(f"{name}: unknown key {key!r}; known are {', '.join(_FIELDS)}")
        number = tables.tokens(given)
        if number is None:
            raise PolicyError(f"{name}: {key} is {given!r}, not a number of tokens above 0")
        checked[key] = number
    if not checked:
        raise PolicyError(f"{name}: it is empty; give one or more of {', '.join(_FIELDS)}")
    return checked


def _merge(given: Mapping[str, int], below: Figures) -> Figures:
    """Returns the given figures, and the rest from the source below."""
    window = given.get("window", below.window)
    most_input = given.get("max_input", window if "window" in given else below.max_input)
    most_output = given.get("max_output", below.max_output)
    return Figures(
        window, min(most_input, window), None if most_output is None else min(most_output, window)
    )


def _origin(name: str, value: Any) -> File | Given:
    if isinstance(value, Mapping):
        return Given(value)
    if isinstance(value, (str, PathLike)):
        return File(Path(value))
    raise PolicyError(f"{name}: it is a {type(value).__name__}, neither a path nor a parsed table")


BUILT_IN = ModelCatalog()


def model_limits(model: str, catalog: ModelCatalog | None = None) -> ModelLimits:
    """Returns the limits of a model, by its id.

        >>> import ullage
        >>> ullage.model_limits("us.anthropic.claude-sonnet-4-5-20250929-v1:0").window
        200000

    Args:
        model: Its id.
        catalog: The catalog; if not given, the built-in table.

    Raises:
        PolicyError: If ``model`` is not a string.
    """
    return (BUILT_IN if catalog is None else catalog).limits(model)
