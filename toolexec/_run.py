"""One call, without a Context."""

from __future__ import annotations

from typing import Any

from toolexec._as_function import as_function
from toolexec._return import Return
from toolexec._waiting import refuse_running_loop


def run(tool: Any, arguments: Any = None, strategy: Any = None, *, timeout: float | None = None) -> Return:
    """Run one call of a tool and block until it has settled.

    Args:
        tool: A Function, a Tool class or an instance.
        arguments: A dict, or JSON text as a model sent it.
        strategy: A name, or what ``toolexec.strategy`` made; the tool's own by default, or else
            ``auto``.
        timeout: Seconds the call has, from the start of its body; then its Return is a ``timeout``.

    Raises:
        WrongLoop: On a running loop's thread, before anything was started; ``await arun(...)``.
        DeclarationError, UnknownStrategy, StrategyUnavailable: Nothing was started.
    """
    refuse_running_loop("await toolexec.arun(...)")
    return as_function(tool).bind(arguments).task(strategy, timeout=timeout).wait()


async def arun(tool: Any, arguments: Any = None, strategy: Any = None, *, timeout: float | None = None) -> Return:
    """:func:`run`, from a running loop."""
    return await as_function(tool).bind(arguments).task(strategy, timeout=timeout)
