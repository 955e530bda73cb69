"""The tree of errors, and texts that say what to do."""

from __future__ import annotations

import copy
import pickle

import pytest

import toolexec as tx
from toolexec.lowlevel import ForeignToolError

ERRORS: list[tx.ToolexecError] = [
    tx.DeclarationError("d"),
    tx.UnknownStrategy("rocket", ("fork", "thread")),
    tx.StrategyUnavailable("fork", "no fork here", ("thread",)),
    tx.WrongLoop("w"),
    tx.FormatError("f"),
    tx.WaitTimeout(1.5, ["a", None]),
    tx.ToolFailed("t"),
    tx.ArgumentsError("a"),
    tx.NoSuchToolError("n"),
    tx.UnsendableError("u"),
    tx.DeadlineExceeded("the limit of 3 s of tool 'x'"),
    tx.WorkerLost("gone", pid=7, signal=9),
    tx.ForeignError("pkg.Odd", "odd", "Traceback ...\nOdd: odd"),
    ForeignToolError("pkg.Full", "full", "Traceback ...\nFull: full"),
]


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (tx.DeclarationError, TypeError),
        (tx.UnknownStrategy, LookupError),
        (tx.StrategyUnavailable, RuntimeError),
        (tx.WrongLoop, RuntimeError),
        (tx.FormatError, ValueError),
        (tx.WaitTimeout, TimeoutError),
        (tx.ToolFailed, Exception),
        (tx.ArgumentsError, ValueError),
        (tx.NoSuchToolError, LookupError),
        (tx.UnsendableError, TypeError),
        (tx.DeadlineExceeded, TimeoutError),
        (tx.WorkerLost, RuntimeError),
        (tx.ForeignError, Exception),
        (ForeignToolError, tx.ToolError),
    ],
)
def test_every_error_has_the_root_and_a_builtin_above_it(error: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(error, tx.ToolexecError)
    assert issubclass(error, builtin)


def test_a_tools_own_error_and_the_interrupt_stand_apart() -> None:
    """An ``except ToolexecError`` around a tool's code must see neither."""
    assert not issubclass(tx.ToolError, tx.ToolexecError)
    assert not issubclass(tx.Interrupt, Exception)
    assert issubclass(tx.Interrupt, BaseException)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("travel", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))], ids=["copy", "pickle"])
def test_every_error_survives_copying_and_the_way_from_a_worker(error: tx.ToolexecError, travel: object) -> None:
    """Exception's own way calls the class with its finished text, and several here take more than that."""
    assert callable(travel)
    error.add_note("a note")

    arrived = travel(error)

    assert type(error) is type(arrived)
    assert str(error) == str(arrived)
    assert error.args == arrived.args
    assert vars(error) == vars(arrived)
    assert vars(error)["__notes__"]


def test_an_interrupt_survives_pickling_with_its_reason() -> None:
    arrived = pickle.loads(pickle.dumps(tx.Interrupt("the user left")))

    assert "the user left" == arrived.reason == str(arrived)


def test_an_unknown_strategy_lists_what_is_installed_and_how_they_are_found() -> None:
    error = tx.UnknownStrategy("rocket", ["fork", "thread"])

    assert "rocket" == error.name
    assert ("fork", "thread") == error.installed
    assert "'rocket'" in str(error)
    assert "fork, thread" in str(error)
    assert "'auto'" in str(error)
    assert "toolexec.strategies" in str(error)


def test_an_unavailable_strategy_says_why_and_what_to_use() -> None:
    error = tx.StrategyUnavailable("fork", "Windows has no fork", ["thread", "sequential"])

    assert ("thread", "sequential") == error.alternatives
    assert "Windows has no fork" in str(error)
    assert "thread, sequential" in str(error)


def test_a_wait_that_ran_out_names_the_calls_and_says_nothing_was_stopped() -> None:
    error = tx.WaitTimeout(0.25, ["c1", None])

    assert ("c1", None) == error.unsettled
    assert "0.25 s" in str(error)
    assert "nothing was interrupted" in str(error)
