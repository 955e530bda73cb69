"""LogTracer: a line in the log for each thing that happens to a call."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from toolexec._return import type_name
from toolexec._traced_values import arguments_text, check_flags, error_text, result_text
from toolexec._tracer import Tracer

if TYPE_CHECKING:
    from toolexec._call_state import Progress
    from toolexec._function import Function
    from toolexec._return import Return

# Of arguments, a result or a message, in characters: a log is no archive.
_MOST = 1000


class LogTracer(Tracer):
    """Logs the start and the end of every call, with name, id, status and duration; progress at DEBUG.

    Each record has ``tool`` and ``call_id``, at the end ``status`` and ``duration_s`` too, as attributes,
    for handlers that write structured logs.

    Args:
        logger: Where to; by default the logger named ``toolexec.calls``.
        level: The level of a start, and of an end that is no error.  One that is (``ret.error``) has
            WARNING at least.
        values: Whether to log arguments, results, messages of progress and of errors too, the first
            1,000 characters of each; of results and errors what the model is sent of them, after the
            Context's ``reveal``, ``redact`` and ``max_result_bytes``.  They may hold what no log should:
            secrets, and people's data.

    Raises:
        TypeError: That is no logger, or no level.
    """

    def __init__(
        self, logger: logging.Logger | None = None, level: int = logging.INFO, *, values: bool = False
    ) -> None:
        given: object = logger
        if given is not None and not isinstance(given, logging.Logger | logging.LoggerAdapter):
            raise TypeError(f"LogTracer takes a logger, such as logging.getLogger('tools'), not {given!r}")
        number: object = level
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"LogTracer: level is {number!r}; it takes a number, such as logging.INFO")
        check_flags("LogTracer", values=values)
        self.logger: logging.Logger = logging.getLogger("toolexec.calls") if logger is None else logger
        self.level: int = level
        self.values: bool = values

    def on_tool_start(self, function: Function) -> None:
        """Log it."""
        if self.logger.isEnabledFor(self.level):
            self._log(self.level, function, "started", arguments_text(function) if self.values else None)

    def on_progress(self, function: Function, progress: Progress) -> None:
        """Log it."""
        if self.logger.isEnabledFor(logging.DEBUG):
            total = "" if progress.total is None else f" of {progress.total:g}"
            self._log(
                logging.DEBUG,
                function,
                f"progress {progress.done:g}{total}",
                _message(progress) if self.values else None,
            )

    def on_tool_finish(self, function: Function, ret: Return) -> None:
        """Log it."""
        level = max(self.level, logging.WARNING) if ret.error else self.level
        if not self.logger.isEnabledFor(level):
            return
        what = f"{ret.status} after {ret.duration_s:.3f} s"
        if ret.error and ret.exception is not None:
            what += f", {type_name(ret.exception)}"
        self._log(
            level,
            function,
            what,
            result_text(function, ret) if self.values else None,
            status=ret.status,
            duration_s=ret.duration_s,
        )

    on_tool_error = on_tool_finish

    def _log(self, level: int, function: Function, what: str, value: str | None, **extra: Any) -> None:
        # The names as literals: they come from a model, which may put a line's end into them.
        line = "tool %r (call %r) %s" if value is None else "tool %r (call %r) %s: %s"
        args = (function.name, function.id, what, *(() if value is None else (_one_line(value),)))
        self.logger.log(level, line, *args, extra={"tool": function.name, "call_id": function.id, **extra})


def _message(progress: Progress) -> str | None:
    return None if progress.message is None else error_text(progress.message)


def _one_line(value: str) -> str:
    """As much of it as is logged; what would begin a line, which might look like another record, is escaped."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in value[:_MOST])
