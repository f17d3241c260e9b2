"""``Logger``: a logger that writes no long text above debug level.

An error of the host may quote a message, and a traceback has the text of each error in it.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

from ullage._engine.reasons import error_line, one_line

if TYPE_CHECKING:
    _Adapter = logging.LoggerAdapter[logging.Logger]
else:
    # It has no type parameter before Python 3.11.
    _Adapter = logging.LoggerAdapter


# A library does not choose the handlers of its log.
logging.getLogger("ullage").addHandler(logging.NullHandler())


class Logger(_Adapter):
    """The logger of a module.

    Above debug level an error is one line. Its traceback follows at debug level.

    Args:
        name: The name of the module.
    """

    def __init__(self, name: str) -> None:
        super().__init__(logging.getLogger(name), {})

    def log(self, level: int, msg: object, *args: Any, **options: Any) -> None:
        """Logs a message whose arguments are errors or short values."""
        if not self.isEnabledFor(level):
            return
        # So that the record names the caller, not this method.
        options["stacklevel"] = options.get("stacklevel", 1) + 1
        if level <= logging.DEBUG:
            self.logger.log(level, msg, *args, **options)
            return
        given = options.pop("exc_info", None)
        error = sys.exc_info()[1] if given is True else given
        if isinstance(error, BaseException):
            msg = f"error=<%s>{', ' if ' | ' in str(msg) else ' | '}{msg}"
            args = (error_line(error), *args)
        self.logger.log(level, msg, *map(_short, args), **options)
        if isinstance(error, BaseException):
            self.logger.debug("the traceback of it:", exc_info=error, **options)


def _short(argument: Any) -> Any:
    if isinstance(argument, BaseException):
        return one_line(str(argument))
    return one_line(argument) if isinstance(argument, str) else argument
