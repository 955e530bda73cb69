"""Strategies are found by name through entry points, and what is wrong with one is told."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import pytest

import toolexec as tx
from toolexec import _discovery
from toolexec.lowlevel import Job, Outcome, Strategy


class Inline(Strategy):
    """Runs a call right where it is started."""

    name = "inline"

    def __init__(self, *, grace: float = 2.0, window: int | None = None, colour: str = "red") -> None:
        super().__init__(grace=grace, window=window)
        self.colour = colour

    def start(self, job: Job) -> None:
        job.begin()
        outcome = job.body()
        assert isinstance(outcome, Outcome)
        job.deliver(outcome)


class Elsewhere(Inline):
    name = "elsewhere"
    isolated = True

    @classmethod
    def unavailable(cls) -> str | None:
        return "this is no moon base"


class Old(Inline):
    name = "old"
    api_version = 0


class Point:
    """What importlib.metadata gives, with a load that answers or raises."""

    def __init__(self, name: str, found: object) -> None:
        self.name, self.value, self.found, self.loads = name, f"somewhere:{name}", found, 0

    def load(self) -> object:
        self.loads += 1
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> dict[str, Point]:
    """Five installed strategies, of which only ``inline`` can run."""
    missing = ModuleNotFoundError("No module named 'ray'")
    found = {"inline": Inline, "elsewhere": Elsewhere, "old": Old, "extra": missing, "odd": dict}
    fakes = {name: Point(name, thing) for name, thing in found.items()}

    def entry_points(*, group: str, name: str | None = None) -> list[Point]:
        if group != "toolexec.strategies":  # pydantic looks for plugins of its own, on first use
            return []
        return [fake for fake in fakes.values() if name in (None, fake.name)]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    monkeypatch.setattr(_discovery, "_classes", {})
    monkeypatch.setattr(_discovery, "_shared", {})
    monkeypatch.setattr(_discovery, "_shared_options", {})
    return fakes


@tx.tool
def one() -> int:
    return 1


@pytest.mark.usefixtures("points")
def test_a_strategy_of_a_third_party_runs_calls() -> None:
    ret = tx.run(one, None, "inline")

    assert (1, "inline") == (ret.unwrap(), ret.strategy)


@pytest.mark.usefixtures("points")
def test_the_shared_instances_are_made_as_their_process_has_said() -> None:
    _discovery.configure_shared(grace=0.5)

    assert 0.5 == _discovery.shared("inline").grace
    assert 2.0 == tx.strategy("inline").grace, "one of your own is configured by you"


def test_names_are_listed_without_loading_anything(points: dict[str, Point]) -> None:
    assert ("elsewhere", "extra", "inline", "odd", "old") == _discovery.installed()
    assert {0} == {point.loads for point in points.values()}


def test_a_strategy_is_loaded_once_and_alone(points: dict[str, Point]) -> None:
    tx.strategy("inline")
    tx.strategy("inline")

    assert {"inline": 1, "elsewhere": 0, "old": 0, "extra": 0, "odd": 0} == {n: p.loads for n, p in points.items()}


@pytest.mark.usefixtures("points")
@pytest.mark.parametrize("name", ["rocket", "", "INLINE", 3, None, ["inline", "extra"]])
def test_anc_S1_an_unknown_name_lists_what_is_installed(name: Any) -> None:
    with pytest.raises(tx.UnknownStrategy, match="elsewhere, extra, inline, odd, old"):
        tx.strategy(name)


@pytest.mark.usefixtures("points")
@pytest.mark.parametrize("use", ["context", "wait", "task"])
def test_an_unknown_name_is_told_before_anything_starts(use: str) -> None:
    ctx = tx.Context([one])
    fns = ctx.receive([{"id": "1", "name": "one"}])

    with pytest.raises(tx.UnknownStrategy):
        if use == "context":
            tx.Context([one], strategy="rocket")
        elif use == "wait":
            ctx.wait("rocket")
        else:
            fns[0].task("rocket")
    assert fns[0].pending


@pytest.mark.usefixtures("points")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("elsewhere", "this is no moon base"),
        ("extra", "No module named 'ray'"),
        ("old", "version 0 of the strategy protocol"),
        ("odd", "no subclass"),
    ],
)
def test_anc_S5_an_unavailable_one_says_why_and_what_to_use(name: str, why: str) -> None:
    with pytest.raises(tx.StrategyUnavailable, match=why) as caught:
        tx.run(one, None, name)

    assert (name, ("inline",)) == (caught.value.name, caught.value.alternatives)


@pytest.mark.parametrize("name", ["extra", "elsewhere"])
def test_a_module_that_raises_anything_hides_no_other(points: dict[str, Point], name: str) -> None:
    points["extra"].found = ZeroDivisionError("at import")

    with pytest.raises(tx.StrategyUnavailable) as caught:
        tx.strategy(name)

    assert ("inline",) == caught.value.alternatives


@pytest.mark.usefixtures("points")
def test_an_unknown_option_lists_the_options() -> None:
    assert "blue" == tx.strategy("inline", colour="blue").colour  # type: ignore[attr-defined]  # it is ours
    with pytest.raises(TypeError, match=r"'color' \(did you mean 'colour'\?\); it takes colour, grace, window"):
        tx.strategy("inline", color="blue")


@pytest.mark.usefixtures("points")
@pytest.mark.parametrize(
    "options", [{"grace": -1}, {"grace": float("nan")}, {"grace": "2"}, {"window": 0}, {"window": True}]
)
def test_a_value_that_cannot_be_is_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="it takes"):
        tx.strategy("inline", **options)


@pytest.mark.usefixtures("points")
def test_a_name_stands_for_one_instance_per_process() -> None:
    assert _discovery.shared("inline") is _discovery.shared("inline") is not tx.strategy("inline")


@pytest.mark.usefixtures("points")
def test_a_closed_strategy_starts_nothing_and_closing_twice_is_fine() -> None:
    call = one.bind()
    with tx.strategy("inline") as mine:
        assert 1 == tx.run(one, None, mine).value
    mine.close()

    with pytest.raises(RuntimeError, match="inline strategy is closed"):
        call.task(mine)
    assert call.pending


@pytest.mark.usefixtures("points")
def test_the_isolated_ones_are_those_that_say_so_whether_they_can_run_or_not() -> None:
    assert ("elsewhere",) == tx.Function.isolated()


def test_the_strategies_of_this_distribution_are_found() -> None:
    assert {"sequential", "thread", "asyncio", "trio"} <= set(_discovery.available())


def test_an_option_that_is_close_to_one_there_is_names_that() -> None:
    with pytest.raises(TypeError, match=r"takes no option 'grase' \(did you mean 'grace'\?\), 'zzz'; it takes"):
        tx.strategy("thread", grase=1, zzz=2)
