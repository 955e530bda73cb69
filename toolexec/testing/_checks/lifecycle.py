"""A strategy object belongs to its maker, is closed once, and gives everything back."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable

from toolexec import Return, Strategy, WrongLoop
from toolexec.testing import _tools as tools
from toolexec.testing._alone import alone
from toolexec.testing._drivers import LIMIT_S, run
from toolexec.testing._harness import Harness
from toolexec.testing._leftovers import assert_no_leftovers
from toolexec.testing._needs import about_the_body, only_under


@only_under("sync")
def check_close(harness: Harness) -> None:
    """Closing twice is closing; a closed strategy starts nothing, and says so before anything is claimed."""
    strategy = harness.make()
    assert harness.run([tools.add], [("add", {"a": 1})], strategy=strategy)[0].value == 2
    assert not strategy.closed
    strategy.close()
    strategy.close()
    assert strategy.closed

    _refuses_work(strategy)


@only_under("sync")
def check_close_unused(harness: Harness) -> None:
    """One that never ran a call is closed as well."""
    strategy = harness.make()
    strategy.close()

    _refuses_work(strategy)


@only_under("sync")
def check_with_strategy(harness: Harness) -> None:
    """``with`` closes it."""
    with harness.make() as strategy:
        returns = harness.run([tools.aadd], [("aadd", {"a": 1})], strategy=strategy)

    assert [ret.value for ret in returns] == [2], returns
    assert strategy.closed


@only_under("asyncio", "trio")
def check_close_in_a_loop(harness: Harness) -> None:
    """On a loop's thread ``close`` is refused, naming ``aclose``, and ``aclose`` closes; twice, too."""
    strategy = harness.make()
    functions = harness.receive([tools.aadd], [("aadd", {"a": 1})], strategy=strategy)

    async def main() -> tuple[Return, ...]:
        returns = await functions.run()
        try:
            strategy.close()
        except WrongLoop as refusal:
            assert "aclose" in str(refusal), refusal
        else:
            raise AssertionError("close blocked a running loop")
        assert not strategy.closed, "a refused close has closed it"
        await strategy.aclose()
        await strategy.aclose()
        assert strategy.closed
        return returns

    returns = run(harness.driver, main)

    assert [ret.value for ret in returns] == [2], returns
    _refuses_work(strategy)


@only_under("asyncio", "trio")
def check_async_with_strategy(harness: Harness) -> None:
    """``async with`` closes it."""

    async def main() -> tuple[Strategy, tuple[Return, ...]]:
        async with harness.make() as strategy:
            functions = harness.receive([tools.aadd], [("aadd", {"a": 1})], strategy=strategy)
            return strategy, await functions.run()

    strategy, returns = run(harness.driver, main)

    assert [ret.value for ret in returns] == [2], returns
    assert strategy.closed


@only_under("sync")
def check_starts_anew_in_a_forked_process(harness: Harness) -> None:
    """In a child of ``os.fork()`` the same object runs calls, and in the parent it goes on doing so."""
    # In a Python of its own: CPython 3.14 and 3.15 crash in the child while a subinterpreter exists, and one
    # in which an earlier check has left a call behind takes its time to end.
    alone(_starts_anew_in_a_forked_process, harness)


def _starts_anew_in_a_forked_process(harness: Harness) -> None:
    with harness.make() as strategy:
        assert harness.run([tools.add], [("add", {"a": 1})], strategy=strategy)[0].value == 2
        code = _in_forked_child(lambda: _runs_calls(harness, strategy))
        assert code == 0, f"the child ended with {code}"
        assert _runs_calls(harness, strategy)


def _runs_calls(harness: Harness, strategy: Strategy) -> bool:
    returns = harness.run([tools.add, tools.aadd], [("add", {"a": 1}), ("aadd", {"a": 2})], strategy=strategy)
    return [ret.value for ret in returns] == [2, 3]


def _in_forked_child(work: Callable[[], bool]) -> int:
    """The exit code of a forked child: 0 when ``work`` gave True there; negative for a signal."""
    with warnings.catch_warnings():
        # Forking a process that has threads is what Python warns of, and what this is about.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(int(LIMIT_S))  # so that a child that hangs does not stay
            code = 0 if work() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@about_the_body
def check_many_groups_leave_nothing(harness: Harness) -> None:
    """Hundreds of Groups of three, and nothing is left when the strategy is closed."""
    harness.rest()
    with assert_no_leftovers(), harness.make() as strategy:
        # Under a loop each Group costs a whole loop, so there it is fewer.
        for _ in range(_scaled(harness, 300 if harness.driver == "sync" else 75)):
            calls = [("add", {"a": 1}), ("aadd", {"a": 2}), ("fail", {"kind": "value"})]
            returns = harness.run([tools.add, tools.aadd, tools.fail], calls, strategy=strategy)
            assert [ret.status for ret in returns] == ["ok", "ok", "raised"], returns


@only_under("sync")
def check_many_calls_leave_nothing(harness: Harness) -> None:
    """A thousand calls in one Group, and nothing is left when the strategy is closed."""
    harness.rest()
    count = _scaled(harness, 1000)
    with assert_no_leftovers(), harness.make() as strategy:
        returns = harness.run([tools.add], [("add", {"a": place}) for place in range(count)], strategy=strategy)
        assert [ret.value for ret in returns] == list(range(1, count + 1))


def _scaled(harness: Harness, count: int) -> int:
    return max(3, round(count * harness.scale))


def _refuses_work(strategy: Strategy) -> None:
    function = tools.add.bind({"a": 1})
    try:
        function.task(strategy)
    except RuntimeError as refusal:
        assert "closed" in str(refusal), refusal
    else:
        raise AssertionError("a closed strategy has started a call")
    assert function.pending, "a closed strategy has claimed a call"


CHECKS = (
    check_close,
    check_close_unused,
    check_with_strategy,
    check_close_in_a_loop,
    check_async_with_strategy,
    check_starts_anew_in_a_forked_process,
    check_many_groups_leave_nothing,
    check_many_calls_leave_nothing,
)
