"""What a check asks of a strategy before it applies to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from toolexec.testing._drivers import DRIVERS, Driver
from toolexec.testing._harness import Harness

Check = Callable[[Harness], None]
C = TypeVar("C", bound=Check)
Need = Callable[[Harness], str | None]

_needs: dict[Check, tuple[Need, ...]] = {}
_drivers: dict[Check, tuple[Driver, ...]] = {}
_about_the_body: set[Check] = set()


def needs(*wanted: Need) -> Callable[[C], C]:
    """The check applies only to strategies that have all of this."""

    def note(check: C) -> C:
        _needs[check] = wanted
        return check

    return note


def only_under(*names: Driver) -> Callable[[C], C]:
    """The check says something only for these ways to wait; by default for every one."""

    def note(check: C) -> C:
        _drivers[check] = names
        return check

    return note


def about_the_body(check: C) -> C:
    """The check looks only at what a body does: if that shares nothing with its caller, one way to wait is enough."""
    _about_the_body.add(check)
    return check


def drivers(harness: Harness, check: Check) -> tuple[Driver, ...]:
    """The ways to wait that a check is for; one that brings its own threads and loops is for "sync" only."""
    names = _drivers.get(check, DRIVERS)
    return names[:1] if harness.isolated and check in _about_the_body else names


def unmet(harness: Harness, check: Check) -> str | None:
    """Why a check does not apply to a strategy, in words, or None when it does."""
    reasons = (need(harness) for need in _needs.get(check, ()))
    return next((reason for reason in reasons if reason is not None), None)


# The needs there are


def concurrent(harness: Harness) -> str | None:
    """Calls may overlap."""
    return None if harness.concurrent else "runs one call at a time"


def one_at_a_time(harness: Harness) -> str | None:
    """Calls never overlap."""
    return "runs calls at the same time" if harness.concurrent else None


def in_process(harness: Harness) -> str | None:
    """Bodies share memory with the host."""
    return "runs bodies outside this process's memory" if harness.isolated else None


def isolated(harness: Harness) -> str | None:
    """Bodies share no memory with the host."""
    return None if harness.isolated else "runs bodies in this process's memory"


def survives_death(harness: Harness) -> str | None:
    """A tool may end the process it runs in."""
    return None if harness.survives_death else "shares its fate with the tool's process"


def says_where(harness: Harness) -> str | None:
    """It says where bodies run."""
    return None if harness.home is not None else "does not say where bodies run"


def brings_own_loop(harness: Harness) -> str | None:
    """An async body gets a loop made for it."""
    return "runs async bodies on a loop that others share" if harness.home in ("asyncio", "trio") else None


def nests(harness: Harness) -> str | None:
    """A tool may run calls itself."""
    return None if harness.nests else "does not say that its tools may run calls themselves"


def raises(harness: Harness) -> str | None:
    """An interrupt ends a body that does not ask for it."""
    return None if harness.interrupts == "raises" else "only tells its bodies of an interrupt"


def kills(harness: Harness) -> str | None:
    """A body that ignores an interrupt is killed."""
    return None if harness.kills else "has no means to kill a body"


def leaves_behind(harness: Harness) -> str | None:
    """A body that ignores an interrupt is left behind."""
    return "kills what ignores an interrupt" if harness.kills else beside_its_caller(harness)


def beside_its_caller(harness: Harness) -> str | None:
    """A body does not hold the thread of who waits for it."""
    return "runs bodies on its caller's thread" if harness.home == "caller" else None


def on_its_caller(harness: Harness) -> str | None:
    """A body runs on the thread of who waits for it, or where that one's loop has it run."""
    return None if harness.home == "caller" else "runs bodies beside their caller"
