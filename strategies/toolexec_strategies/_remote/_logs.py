"""Log records of a worker, handled by the loggers of its host."""

from __future__ import annotations

import logging
import marshal
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, Self

from toolexec_strategies._remote import _wire

Post = Callable[[bytes, bytes], object]

_LOG = logging.getLogger("toolexec")
_KEY = "toolexec's lowest level"

# For tracebacks, whose text is all that travels.
_FORMATTER = logging.Formatter()


# In the host


def wanted_level() -> int:
    """The lowest level that any logger here lets through."""
    # Looking at 300 loggers takes as long as 40 us, and this is done for every call.  logging keeps what
    # it found out about a logger in a dict of that logger, and empties all of them whenever a level is set.
    cache: dict[Any, Any] | None = getattr(_LOG, "_cache", None)
    if cache is None:
        return _lowest_level()
    known: Any = cache.get(_KEY)
    if isinstance(known, int):
        return known
    mark = cache[_KEY] = object()
    level = _lowest_level()
    if cache.get(_KEY) is mark:  # no level was set meanwhile
        cache[_KEY] = level
    return level


def _lowest_level() -> int:
    manager = logging.root.manager
    lowest = logging.root.level
    for logger in list(manager.loggerDict.values()):
        level: int = getattr(logger, "level", 0)  # what only stands for a name without a logger has none
        if 0 < level < lowest:
            lowest = level
    return max(lowest, manager.disable + 1)


def handle_record(payload: _wire.Payload) -> None:
    """Have the logger of a record's name handle it, as if it had been logged here; never raises."""
    try:
        fields: dict[str, Any] = marshal.loads(payload)  # noqa: S302 - both sides are one Python, and this runs no code
        logger = logging.getLogger(fields["name"])
        if logger.isEnabledFor(fields["levelno"]):
            logger.handle(logging.makeLogRecord(fields))
    except BaseException:  # noqa: BLE001 - a filter or a handler of the user's; the call is not to suffer
        if logging.raiseExceptions and sys.stderr is not None:  # as logging itself does about handlers that fail
            traceback.print_exc()


# In a worker


class Forwarder(logging.Handler):
    """While its block lasts, sends to the host what reaches this worker's root logger.

    The handlers that were there are taken away, so that nothing is written twice: modules that set
    some up when they were imported have done the same in the host.  Those of a logger that does not
    propagate stay, because only they see its records.

    Args:
        post: Sends a frame to the host.
        level: What is below it, nobody in the host wants.
    """

    def __init__(self, post: Post, level: int) -> None:
        super().__init__(level)
        self._post = post
        self._pid = os.getpid()

    def __enter__(self) -> Self:
        _remove_handlers()
        if logging.root.level != self.level:
            logging.root.setLevel(self.level)
        logging.root.addHandler(self)
        return self

    def __exit__(self, *exc: object) -> None:
        logging.root.removeHandler(self)

    def handle(self, record: logging.LogRecord) -> bool:
        # Without the lock that a handler has: an Interrupt may leave it taken, and ``post`` takes its own.
        if os.getpid() != self._pid:  # a process that the tool forked; the wire to the host is not its
            if logging.lastResort is not None and record.levelno >= logging.lastResort.level:
                logging.lastResort.handle(record)
            return True
        try:
            payload = _pack(record)
        except Exception:  # noqa: BLE001 - most likely the arguments do not fit the message
            self.handleError(record)
            return True
        self._post(_wire.LOG, payload)
        return True


def _remove_handlers() -> None:
    root = logging.root
    root.handlers.clear()
    for logger in list(root.manager.loggerDict.values()):
        if getattr(logger, "handlers", None) and _reaches_root(logger):
            logger.handlers.clear()  # type: ignore[union-attr]


def _reaches_root(logger: Any) -> bool:
    while logger is not None and logger is not logging.root:
        if not logger.propagate:
            return False
        logger = logger.parent
    return True


def _pack(record: logging.LogRecord) -> bytes:
    fields = dict(record.__dict__)
    fields["msg"] = record.getMessage()
    fields["args"] = None
    if record.exc_info:
        fields["exc_text"] = record.exc_text or _FORMATTER.formatException(record.exc_info)
        fields["exc_info"] = None
    try:
        return marshal.dumps(fields)
    except ValueError:  # something that the user gave along
        return marshal.dumps({name: _plain(value) for name, value in fields.items()})


def _plain(value: Any) -> Any:
    # Members of an IntEnum are levels at times.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    try:
        marshal.dumps(value)
    except ValueError:
        return repr(value)
    return value
