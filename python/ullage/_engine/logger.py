"""``Logger``: a logger that lets no long text out above debug level, whatever an error says.

An error of the host's may quote a message, and a traceback says what each error in it says.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

from ullage._engine.reasons import one_line, said

if TYPE_CHECKING:
    _Adapter = logging.LoggerAdapter[logging.Logger]
else:
    # It takes no parameter before Python 3.11.
    _Adapter = logging.LoggerAdapter


# A library does not decide where its log goes.
logging.getLogger("ullage").addHandler(logging.NullHandler())


class Logger(_Adapter):
    """The logger of a module.

    Above debug level an error is told in a line; its traceback follows at debug level.

    Args:
        name: The name of the module.
    """

    def __init__(self, name: str) -> None:
        super().__init__(logging.getLogger(name), {})

    def log(self, level: int, msg: object, *args: Any, **options: Any) -> None:
        """Logs a message, the arguments of which are errors or short."""
        if not self.isEnabledFor(level):
            return
        # So that the record names who called, and not this method.
        options["stacklevel"] = options.get("stacklevel", 1) + 1
        if level <= logging.DEBUG:
            self.logger.log(level, msg, *args, **options)
            return
        given = options.pop("exc_info", None)
        error = sys.exc_info()[1] if given is True else given
        if isinstance(error, BaseException):
            msg = f"error=<%s>{', ' if ' | ' in str(msg) else ' | '}{msg}"
            args = (said(error), *args)
        self.logger.log(level, msg, *map(_short, args), **options)
        if isinstance(error, BaseException):
            self.logger.debug("the traceback of it:", exc_info=error, **options)


def _short(argument: Any) -> Any:
    if isinstance(argument, BaseException):
        return one_line(str(argument))
    return one_line(argument) if isinstance(argument, str) else argument
