"""What all tests need."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from _hanging import Hanging
from toolexec.testing import Gate, Journal

# A shell starts what it runs in the background with SIGINT ignored, and every process started from
# there inherits that; then no Ctrl-C of a test would arrive anywhere.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Hanging(config))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave out of every later collection what is there to stay.

    With all test modules come all providers' SDKs, half a million objects that each `gc.collect()` of a test and
    each look for leftovers would walk through.  What a test makes is still collected, and still seen.
    """
    # Once, hypothesis looks for who refers to its random numbers, and among what is frozen it would find nobody.
    hypothesis.settings(max_examples=1, database=None)(hypothesis.given(st.none())(lambda _: None))()
    gc.collect()
    gc.freeze()


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with Gate(tmp_path / "gate") as made:
        yield made


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")
