"""Gates, meetings and journals: they order calls across every border, and fail loudly."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from toolexec.testing import DRIVERS, Driver, Gate, Journal, Rendezvous
from toolexec.testing._drivers import in_company, run

LOOPS = [driver for driver in DRIVERS if driver != "sync"]


def _on_thread(work: object) -> threading.Thread:
    assert callable(work)
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_gate_holds_until_it_is_opened(tmp_path: Path) -> None:
    """Who stands at it goes on when it opens, and who comes later passes."""
    journal = Journal(tmp_path / "journal")

    def work() -> None:
        Gate(tmp_path / "gate").pass_through("first")
        journal.write("passed")

    with Gate(tmp_path / "gate") as gate:
        thread = _on_thread(work)
        gate.wait_until_reached()
        journal.write("opening")
        gate.open()
        thread.join()
        Gate(tmp_path / "gate").pass_through("second")
        gate.wait_until_reached(2)

        assert ("first", "second") == gate.reached
    assert ["opening", "passed"] == journal.lines()


def test_gate_crosses_processes(tmp_path: Path) -> None:
    """A path is all that another process needs."""
    code = f"from toolexec.testing import Gate; Gate({str(tmp_path / 'gate')!r}).pass_through('there')"
    with Gate(tmp_path / "gate") as gate:
        with subprocess.Popen([sys.executable, "-P", "-c", code]) as process:
            gate.wait_until_reached()
            assert process.poll() is None
            gate.open()

        assert 0 == process.returncode
        assert ("there",) == gate.reached


@pytest.mark.parametrize("driver", LOOPS)
def test_gate_does_not_block_a_loop(tmp_path: Path, driver: Driver) -> None:
    """The task that opens it runs in the same loop as the one that stands there."""
    with Gate(tmp_path / "gate") as gate:

        async def open_it() -> None:
            await gate.until_reached()
            gate.open()

        async def main() -> str:
            await in_company(driver, Gate(gate.path).apass_through("task"), open_it)
            return "through"

        assert "through" == run(driver, main)


def test_gate_times_out_with_words(tmp_path: Path) -> None:
    """Both sides fail instead of hanging, and say what they waited for."""
    with Gate(tmp_path / "gate") as gate:
        with pytest.raises(TimeoutError, match="'early'"):
            gate.pass_through("early", timeout=0.01)
        with pytest.raises(TimeoutError, match=r"2 calls at a gate, which 1 have reached: \['early'\]"):
            gate.wait_until_reached(2, timeout=0.01)


@pytest.mark.parametrize("driver", LOOPS)
def test_gate_times_out_in_a_loop(tmp_path: Path, driver: Driver) -> None:
    """So they do in a loop."""
    with Gate(tmp_path / "gate") as gate:

        async def stand() -> None:
            await gate.apass_through("early", timeout=0.01)

        async def look() -> None:
            await gate.until_reached(2, timeout=0.01)

        with pytest.raises(TimeoutError, match="'early'"):
            run(driver, stand)
        with pytest.raises(TimeoutError, match="2 calls at a gate"):
            run(driver, look)


def test_closed_gate_lets_nobody_hang(tmp_path: Path) -> None:
    """A test that fails half-way leaves the block, and the tools at its gates fail at once."""
    raised: list[BaseException] = []

    def work() -> None:
        try:
            Gate(tmp_path / "gate").pass_through()
        except OSError as exc:
            raised.append(exc)

    with Gate(tmp_path / "gate") as gate:
        thread = _on_thread(work)
        gate.wait_until_reached()
    thread.join()

    assert 1 == len(raised)
    with pytest.raises(OSError, match="gate"):
        Gate(tmp_path / "gate").pass_through()


def test_meeting_needs_everybody(tmp_path: Path) -> None:
    """Alone, one fails, with words; together they go on, on threads and in loops."""
    with Rendezvous(tmp_path / "alone", 2) as alone, pytest.raises(TimeoutError, match="a meeting of 2"):
        alone.meet(timeout=0.01)

    with Rendezvous(tmp_path / "meeting", 3) as meeting:
        threads = [_on_thread(meeting.meet), _on_thread(lambda: run("trio", meeting.ameet))]
        run("asyncio", meeting.ameet)
        for thread in threads:
            thread.join()


def test_they_are_pickled_as_paths(tmp_path: Path) -> None:
    """So closures and arguments may hold them."""
    with Gate(tmp_path / "gate") as gate, Rendezvous(tmp_path / "meeting", 2) as meeting:
        journal = Journal(tmp_path / "journal")
        others = pickle.loads(pickle.dumps((gate, meeting, journal)))

        assert [gate.path, meeting.path, journal.path] == [other.path for other in others]
        assert 2 == others[1].parties


def test_journal_counts_what_is_open_at_once(tmp_path: Path) -> None:
    """The most is what matters, not the last."""
    journal = Journal(tmp_path / "journal")
    assert (0, []) == (journal.most_at_once(), journal.lines())

    with journal.span("a"), journal.span("b"):
        pass
    with journal.span("c"):
        pass

    assert 2 == journal.most_at_once()
    assert ["+a", "+b", "-b", "-a", "+c", "-c"] == journal.lines()
