"""logged: what the library says meanwhile stays with the test."""

from __future__ import annotations

import logging
import threading
import time

import pytest

from toolexec._beside import run_beside
from toolexec.testing._logged import logged


def test_a_warning_of_a_busy_machine_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said on a thread of its own, which may come late."""
    waited_for = threading.Event()
    sleep = time.sleep

    def wait(seconds: float) -> None:
        waited_for.set()
        sleep(seconds)

    def warn() -> None:
        waited_for.wait(20)
        logging.getLogger("toolexec").warning("late")

    monkeypatch.setattr(time, "sleep", wait)
    with logged() as texts:
        run_beside(warn, "warning")

    assert texts == ["late"]
    assert not caplog.records
