"""A warning of the engine's own never holds up what it warns of."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator

import pytest

import toolexec as tx
from toolexec import _warn


class Stuck(logging.Handler):
    """Hangs at what a tool logs, holding its lock, until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Event()
        self.go = threading.Event()
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == "tool":
            self.reached.set()
            self.go.wait(30)
        self.seen.append(record.getMessage())


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    handler = Stuck()
    logging.getLogger().addHandler(handler)
    yield handler
    handler.go.set()
    logging.getLogger().removeHandler(handler)
    while _warn._unsaid:  # or the next test begins behind a warning that hangs
        time.sleep(0)


def test_a_tool_that_hangs_in_a_handler_is_left_behind_like_any_other(stuck: Stuck) -> None:
    """It holds the lock that the warning of its being left behind needs."""

    @tx.tool
    def logs() -> None:
        logging.getLogger("tool").warning("hangs")

    other = tx.tool(name="other")(threading.Event().wait)
    with tx.strategy("thread", grace=0.1) as strategy:
        task = logs.bind().task(strategy)
        assert stuck.reached.wait(10)
        for stopped in (task, other.bind().task(strategy)):
            stopped.interrupt()
            assert stopped.wait(10).abandoned
    assert [] == stuck.seen


def test_a_warning_is_there_before_what_it_is_about(caplog: pytest.LogCaptureFixture) -> None:
    _warn.warn_beside("toolexec: %s of %d", "one", 2)

    assert ["toolexec: one of 2"] == caplog.messages
