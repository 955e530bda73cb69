"""Tests of the tools and of the agent: no model, no network, no time that passes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import toolexec as tx
from toolexec.testing import Gate, ManualClock, RecordingTracer, ScriptedModel, response, run, started
from travel_agent import answer, astream
from travel_tools import Fares, Hotels, WatchTrain, departures, distance, find_room, price

pytestmark = pytest.mark.usefixtures("no_leftovers")


class FakeFares:
    def __init__(self, euros: float | None) -> None:
        self._euros = euros
        self.asked: list[tuple[str, str]] = []

    def euros(self, start: str, end: str) -> float:
        self.asked.append((start, end))
        if self._euros is None:
            raise ConnectionError
        return self._euros


class SlowHotels:
    """Finds a room only when nobody should be waiting any more."""

    def __init__(self, clock: tx.Clock) -> None:
        self._clock = clock

    def offer(self, city: str) -> str | None:
        return f"a room in {city}" if self._clock.now() > 30 else None


class FakeBoard:
    def __init__(self) -> None:
        self.subscribed: list[str] = []

    def subscribe(self, train: str) -> None:
        self.subscribed.append(train)

    def has_left(self, train: str) -> bool:
        return False

    def cancel(self, train: str) -> None:
        self.subscribed.remove(train)


def priced(fares: FakeFares) -> tx.Return:
    ctx = tx.Context([price], deps={Fares: fares})
    return ctx.submit({"name": "price", "arguments": {"start": "Bonn", "end": "Köln"}}).wait()


# The tools


def test_distance_in_both_directions() -> None:
    assert [run(distance, start="Bonn", end="Köln").value, run(distance, start="Köln", end="Bonn").value] == [27, 27]


def test_departures_are_in_order() -> None:
    assert run(departures, station="Köln").value == ["08:05 Bonn", "08:43 Aachen"]


def test_departures_want_a_number() -> None:
    ret = run(departures, station="Köln", count="all")

    assert ret.status == "bad_arguments"


def test_price_is_asked_for_once() -> None:
    fares = FakeFares(12.5)

    assert priced(fares).value == "12.50 EUR"
    assert fares.asked == [("Bonn", "Köln")]


def test_price_when_nobody_knows_it() -> None:
    ret = priced(FakeFares(None))

    assert ret.value["message"] == "no prices at the moment; go on without"


def test_find_room_gives_up_after_half_a_minute() -> None:
    clock = ManualClock()
    ctx = tx.Context([find_room], deps={Hotels: SlowHotels(clock)}, clock=clock)
    task = ctx.submit({"name": "find_room", "arguments": {"city": "Köln"}})
    clock.wait_for_timers()
    clock.advance(31)

    assert task.wait().status == "timeout"


def test_watch_train_that_is_stopped_subscribes_to_nothing_any_more() -> None:
    board = FakeBoard()
    with started(WatchTrain(board), train="ICE 5") as task:
        task.interrupt("never mind")
        ret = task.wait()

    assert (ret.status, ret.reason) == ("cancelled", "never mind")
    assert board.subscribed == []


# The agent


def test_agent_answers(recording_tracer: RecordingTracer) -> None:
    calls: list[Any] = [("distance", {"start": "Bonn", "end": "Köln"}), ("price", {"start": "Bonn", "end": "Köln"})]
    model = ScriptedModel([calls, [("distance", {"start": "Bonn", "end": "Rom"})], "27 km, for 9 EUR."])
    ctx = tx.Context([distance, price], deps={Fares: FakeFares(9)}, tracer=recording_tracer)

    assert answer(model, ctx, "How far is it, and what does it cost?") == "27 km, for 9 EUR."
    model.assert_done()
    assert [ret.value for ret in ctx.returns[:2]] == [27, "9.00 EUR"]
    assert recording_tracer.of("call_3") == ["start", "error"], "Rome is not on the map, and the agent goes on"


def test_agent_streams() -> None:
    model = ScriptedModel([([("distance", {"start": "Köln", "end": "Aachen"})], "Let me see. "), "70 km."])
    ctx = tx.Context([distance])

    async def main() -> str:
        return "".join([piece async for piece in astream(model.astream, ctx, "How far is it?")])

    assert asyncio.run(main()) == "Let me see. 70 km."
    model.assert_done()


def test_prices_are_looked_up_at_the_same_time(tmp_path: Path) -> None:
    ctx = tx.Context([price], deps={Fares: FakeFares(1)})
    calls: list[Any] = [("price", {"start": "Bonn", "end": city}) for city in ("Köln", "Aachen")]
    with Gate(tmp_path / "gate") as gate:

        def held(start: str, end: str, fares: Fares) -> None:
            Gate(gate.path).pass_through(end)

        with ctx.override(price=held):
            ctx.receive(response("openai", calls))
            with ctx.group():
                gate.wait_until_reached(2, timeout=3)
                gate.open()
        assert {"Köln", "Aachen"} == {*gate.reached}
