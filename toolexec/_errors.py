"""Every exception toolexec raises or puts into a Return.

Errors of use raise at once, before anything starts:

    ToolexecError
    |-- DeclarationError (TypeError)         a tool is declared in a way that cannot work
    |-- UnknownStrategy (LookupError)        no installed strategy has that name
    |-- StrategyUnavailable (RuntimeError)   it is installed, and cannot run here
    |-- WrongLoop (RuntimeError)             a blocking wait on a running loop's thread
    |-- FormatError (ValueError)             neither a response nor a list of calls
    |-- WaitTimeout (TimeoutError)           a wait ended before its calls did
    `-- ToolFailed                           ``unwrap`` of a Return that is not ok

Failures of a call are Returns; these are what ``Return.exception`` then holds, beside
whatever the tool itself raised:

    ToolexecError
    |-- ArgumentsError (ValueError)          status ``bad_arguments``
    |-- NoSuchToolError (LookupError)        status ``unknown_tool``
    |-- UnsendableError (TypeError)          status ``unsendable``
    |-- DeadlineExceeded (TimeoutError)      status ``timeout``
    |-- WorkerLost (RuntimeError)            status ``lost``
    `-- ForeignError                         a worker's exception that cannot be rebuilt here
        `-- ForeignToolError (ToolError)     likewise, of one that a tool wrote for the model

``ToolError`` is for tools to raise.  ``Interrupt`` stands apart: it is a BaseException,
so that a tool's ``except Exception`` does not swallow a request to stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolexec._here import CURRENT


class ToolexecError(Exception):
    """The root of every error that is toolexec's own."""

    def __reduce__(self) -> Any:
        # Exception's own way calls the class with ``args``, the finished text; some here take more
        # than that.  They have to survive copying, and the way back from a worker.
        return _restore, (type(self), self.args, self.__dict__)


def _restore(cls: type[ToolexecError], args: tuple[Any, ...], state: dict[str, Any]) -> ToolexecError:
    exc = cls.__new__(cls, *args)
    exc.args = args  # OSError, below TimeoutError, leaves them to __init__
    exc.__dict__.update(state)
    return exc


class DeclarationError(ToolexecError, TypeError):
    """A tool is declared in a way that cannot work; the text names tool and parameter."""


class UnknownStrategy(ToolexecError, LookupError):
    """No installed strategy has the requested name.

    Attributes:
        name: What was asked for.
        installed: The names that are installed.
    """

    def __init__(self, name: object, installed: Sequence[str]) -> None:
        self.name = name
        self.installed: tuple[str, ...] = tuple(installed)
        super().__init__(
            f"{self._mistake(name)}; installed: {', '.join(self.installed) or 'none'}, and 'auto' chooses one for "
            "every call. Strategies are found through the 'toolexec.strategies' entry-point group."
        )

    def _mistake(self, name: object) -> str:
        if not isinstance(name, str):
            return f"a strategy is a name, or what tx.strategy(name) made, and not {name!r}"
        if name == "auto":
            return "'auto' is no strategy to configure"
        import difflib  # only a mistake needs it

        close = difflib.get_close_matches(name, self.installed, 1)
        return f"no strategy named {name!r}" + (f" (did you mean {close[0]!r}?)" if close else "")


class StrategyUnavailable(ToolexecError, RuntimeError):
    """A strategy is installed and cannot run here.

    Attributes:
        name: The strategy.
        alternatives: Names of installed strategies that do run here.
    """

    def __init__(self, name: str, reason: str, alternatives: Sequence[str]) -> None:
        self.name = name
        self.alternatives: tuple[str, ...] = tuple(alternatives)
        super().__init__(
            f"the {name} strategy cannot run here: {reason}; these can: {', '.join(self.alternatives) or 'none'}"
        )


class WrongLoop(ToolexecError, RuntimeError):
    """A blocking wait was asked for on the thread of a running event loop."""


class FormatError(ToolexecError, ValueError):
    """What was given is neither a model's response nor a list of calls."""


class WaitTimeout(ToolexecError, TimeoutError):
    """A wait ended before its calls did; nothing was interrupted, and waiting again is fine.

    Attributes:
        unsettled: Ids (None where a call has none) of the calls still without a Return.
    """

    def __init__(self, timeout: float, unsettled: Sequence[str | None]) -> None:
        self.unsettled: tuple[str | None, ...] = tuple(unsettled)
        super().__init__(f"{len(self.unsettled)} call(s) without a Return after {timeout:g} s; nothing was interrupted")


class ToolFailed(ToolexecError):
    """A call did not end ``ok`` and its plain value was asked for; the original is ``__cause__``."""


class ArgumentsError(ToolexecError, ValueError):
    """A call's arguments do not fit the tool's parameters; the body never ran."""


class NoSuchToolError(ToolexecError, LookupError):
    """A call names a tool that is not there."""


class UnsendableError(ToolexecError, TypeError):
    """A function, argument or result cannot cross to a worker or back."""


class DeadlineExceeded(ToolexecError, TimeoutError):
    """A limit of the engine fired; the text says which one."""


class WorkerLost(ToolexecError, RuntimeError):
    """The process that ran a call ended before it answered.

    Attributes:
        pid: The process, where known.
        exit_code: Its exit code, or None when a signal ended it.
        signal: The number of the signal that ended it, or None.
    """

    def __init__(
        self, message: str, *, pid: int | None = None, exit_code: int | None = None, signal: int | None = None
    ) -> None:
        super().__init__(message)
        self.pid = pid
        self.exit_code = exit_code
        self.signal = signal


class ForeignError(ToolexecError):
    """Stands for an exception of a worker whose own class could not be rebuilt in this process.

    Attributes:
        type_name: The class it had there.
        traceback_text: The formatted traceback from there, causes and notes included.
    """

    def __init__(self, type_name: str, message: str, traceback_text: str = "") -> None:
        super().__init__(message)
        self.type_name = type_name
        self.traceback_text = traceback_text


class ToolError(Exception):
    """For tools to raise: its text goes to the model verbatim."""


class ForeignToolError(ForeignError, ToolError):
    """Stands for a ``ToolError`` whose own class could not be rebuilt, so that its text stays for the model."""


class Interrupt(BaseException):
    """The request to stop a call, and what delivers it inside a worker.

    Attributes:
        reason: Why, in words fit for the model; by default why the call was asked that runs here.
    """

    def __init__(self, reason: str | None = None) -> None:
        if reason is None:
            # To raise it in another thread Python takes only the class, and makes it there itself.
            call = CURRENT.get()
            reason = "interrupted" if call is None else call.reason
        super().__init__(reason)
        self.reason = reason
