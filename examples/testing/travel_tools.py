"""Tools of an agent that plans journeys, and the services that they ask."""

from __future__ import annotations

from typing import Annotated, Protocol

import toolexec as tx

KILOMETRES = {frozenset({"Bonn", "Köln"}): 27, frozenset({"Köln", "Aachen"}): 70}
TIMETABLE = {"Köln": ["09:12 Bonn", "08:43 Aachen", "08:05 Bonn", "10:43 Aachen"]}


class Fares(Protocol):
    """A service that knows what a journey costs; ConnectionError when it cannot be reached."""

    def euros(self, start: str, end: str) -> float: ...


class Hotels(Protocol):
    """A service that looks for rooms, which takes it a while."""

    def offer(self, city: str) -> str | None: ...


class Board(Protocol):
    """A service that says where trains are; what is subscribed to has to be cancelled."""

    def subscribe(self, train: str) -> None: ...
    def has_left(self, train: str) -> bool: ...
    def cancel(self, train: str) -> None: ...


@tx.tool
def distance(start: str, end: str) -> int:
    """Say how many kilometres two cities are apart."""
    return KILOMETRES[frozenset({start, end})]


@tx.tool
async def departures(station: str, count: int = 2) -> list[str]:
    """List the next trains of a station."""
    return sorted(TIMETABLE[station])[:count]


@tx.tool
def price(start: str, end: str, fares: Annotated[Fares, tx.Inject]) -> str:
    """Say what a journey costs."""
    try:
        return f"{fares.euros(start, end):.2f} EUR"
    except ConnectionError:
        raise tx.ToolError("no prices at the moment; go on without") from None


@tx.tool(timeout=30)
def find_room(city: str, hotels: Annotated[Hotels, tx.Inject], call: tx.CurrentCall) -> str:
    """Find a room for the night."""
    while (room := hotels.offer(city)) is None:
        call.wait_interrupted(0.5)
        call.checkpoint()
    return room


class WatchTrain(tx.Tool):
    """Tell when a train has left."""

    name = "watch-train"

    def __init__(self, board: Board) -> None:
        self._board = board
        self._train: str | None = None

    def call(self, train: str, call: tx.CurrentCall) -> str:
        self._board.subscribe(train)
        self._train = train
        while not self._board.has_left(train):
            call.wait_interrupted(0.5)
            call.checkpoint()
        self._board.cancel(train)
        return f"{train} has left"

    def on_cancel(self) -> None:
        if self._train is not None:
            self._board.cancel(self._train)
