"""An end for what the limit of pytest-timeout does not end."""

from __future__ import annotations

import faulthandler
import os
import time

import pytest

# More than the limit of a test in pyproject.toml, and some time for what its failure sets off.
_HANGS_S = 120
# pytest's own `faulthandler_timeout` starts a thread and joins it for each test, which on a busy machine takes longer
# than most tests do.  The limit is set anew this seldom, and so may come this much later.
_ANEW_S = 30


class Hanging:
    """Ends the process if a test hangs, perhaps on a clock that nobody moves any more: it shall not hold up the run.

    The stacks of all threads are shown first.  Under xdist it is the worker that ends: its test has failed, and another
    worker takes its place.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._set_at = 0.0
        capture = config.pluginmanager.getplugin("capturemanager")
        assert capture is not None
        with capture.global_and_fixture_disabled():
            self._stderr = os.dup(2)  # as a descriptor: what is captured would be lost

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> None:  # called where the tests run, and not in xdist's controller
        now = time.monotonic()
        if now - self._set_at > _ANEW_S:
            self._set_at = now
            faulthandler.dump_traceback_later(_HANGS_S + _ANEW_S, exit=True, file=self._stderr)

    def pytest_unconfigure(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        os.close(self._stderr)
