"""A call whose body runs while the test does something with it."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from toolexec import Task
from toolexec.testing._one_call import one_call, refuse_loop

# A fork server that starts on a busy machine takes seconds; what has not begun then never will.
_BEGINS_WITHIN_S = 20.0


@contextmanager
def started(tool: Any, strategy: Any = None, /, **arguments: Any) -> Generator[Task]:
    """A call whose body has begun, under any strategy, for the length of the block.

        with started(Download, "fork", url="...") as task:
            task.interrupt("enough")
            assert task.wait().status == "cancelled"

    The block is entered once the tool's body runs.  At its end a call that still runs is interrupted,
    and waited for.  It blocks, so it is not for the thread of a running loop.

    Args:
        tool: As for :func:`run`.
        strategy: As for :func:`run`.
        **arguments: The call's.

    Yields:
        The call's Task.

    Raises:
        AssertionError: The call has ended, and its body never began; the text says what it came to.
        TimeoutError: The body has not begun after 20 s; the call was stopped.
        WrongLoop: On a running loop's thread.
        DeclarationError, UnknownStrategy, StrategyUnavailable: Nothing was started.
    """
    refuse_loop("await asyncio.to_thread(...) for the whole test")
    call = one_call(tool, arguments)
    task = call.task(strategy)
    heard = threading.Event()
    # Whatever its Group tells first, the body has begun by then, or never will.  Not a tracer's start:
    # that may come before the body does.
    task._group._listeners.append(lambda _: heard.set())
    if call.called or not task.alive:
        heard.set()
    # Somebody has to wait, for where a strategy runs the body on the thread that does.
    waiting = threading.Thread(target=task.wait, name="toolexec-testing-started", daemon=True)
    waiting.start()
    try:
        if not heard.wait(_BEGINS_WITHIN_S):
            raise TimeoutError(
                f"the body of {call.name!r} has not begun after {_BEGINS_WITHIN_S:g} s; the call was stopped. "
                "Does something hold what it needs: a window, a resource, max_in_flight?"
            )
        if not call.called:
            ret = task.wait()
            why = ret.exception or ret.reason
            raise AssertionError(f"the body of {call.name!r} never began; the call is {ret.status!r}: {why}")
        yield task
    finally:
        if task.alive:
            task.interrupt("the test is over")
        waiting.join()
