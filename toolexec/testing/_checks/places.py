"""Bodies run where the strategy says they do."""

from __future__ import annotations

import os
import threading
from typing import Any

from toolexec.lowlevel import running_loop
from toolexec.testing import _ordered_tools as ordered
from toolexec.testing import _tools as tools
from toolexec.testing._drivers import run, settle
from toolexec.testing._harness import Harness
from toolexec.testing._needs import brings_own_loop, in_process, isolated, needs, only_under, says_where


@only_under("sync")
def check_says_whether_isolated(harness: Harness) -> None:
    """The strategy says of itself what the harness says of it."""
    assert harness.strategy.isolated == harness.isolated, harness.strategy
    assert harness.strategy.name == harness.name, harness.strategy


@needs(says_where, in_process)
def check_where_sync_bodies_run(harness: Harness) -> None:
    """A sync body runs on a thread without a loop: the waiter's under a sequential strategy, else another one."""
    host, body = _host_and_body(harness, "where")

    assert (body["pid"], body["interpreter"], body["loop"]) == (host["pid"], host["interpreter"], None), body
    on_waiter = harness.home == "caller" and harness.driver == "sync"
    assert (body["thread"] == host["thread"]) is on_waiter, (host, body)


@needs(says_where, in_process)
def check_where_async_bodies_run(harness: Harness) -> None:
    """An async body runs on the caller's loop if the strategy is for that kind of loop, else on another one."""
    host, body = _host_and_body(harness, "awhere")
    home, driver = harness.home, harness.driver
    kind = home if home in ("asyncio", "trio") else driver if home == "caller" and driver != "sync" else "asyncio"
    on_callers_loop = driver != "sync" and home in ("caller", driver)
    on_callers_thread = on_callers_loop or home == "caller"

    assert (body["pid"], body["interpreter"], body["loop"]) == (host["pid"], host["interpreter"], kind), body
    assert (body["loop_id"] == host["loop_id"]) is on_callers_loop, (host, body)
    assert (body["thread"] == host["thread"]) is on_callers_thread, (host, body)


@needs(brings_own_loop)
@only_under("sync")
def check_own_loop_of_the_wanted_kind(harness: Harness) -> None:
    """Where an async body gets a loop made for it, the tool says of which kind."""
    calls = [("awhere", None), ("awhere_trio", None), ("where", None)]
    returns = harness.run([tools.awhere, tools.awhere_trio, tools.where], calls)

    assert [ret.value["loop"] for ret in returns] == ["asyncio", "trio", None], returns


@needs(says_where, isolated)
def check_where_isolated_bodies_run(harness: Harness) -> None:
    """Calls that run at once each have a process, or an interpreter, that is neither the host's nor another call's.

    A process has not the host for a parent either: it comes from a server that has one thread.
    """
    host = tools.here()
    meeting = harness.rendezvous(2)
    calls = [("where_together", {"meeting": meeting.path, "parties": 2})] * 2
    bodies: list[dict[str, Any]] = [ret.unwrap() for ret in harness.run([tools.where_together], calls, window=2)]

    if harness.home == "process":
        assert len({host["pid"], *(body["pid"] for body in bodies)}) == 3, bodies
        (server,) = {body["parent"] for body in bodies}
        assert server not in (host["pid"], host["parent"]), bodies
    else:
        assert {body["pid"] for body in bodies} == {host["pid"]}, bodies
        assert len({0, host["interpreter"], *(body["interpreter"] for body in bodies)}) == 3, bodies


@needs(isolated)
@only_under("sync")
def check_bodies_do_not_wait_for_each_others_lock(harness: Harness) -> None:
    """One body takes steps while another is in a C function that never lets go of its interpreter's lock.

    Had they one lock, there would be no step between the first and the last quarter of that time.
    """
    meeting, done = harness.rendezvous(2), harness.journal()
    arguments = {"meeting": meeting.path, "done": done.path}
    calls = [("hold_interpreter", arguments), ("take_steps", arguments)]
    returns = harness.run([ordered.hold_interpreter, ordered.take_steps], calls, window=2)
    (start, end), steps = (ret.unwrap() for ret in returns)
    quarter = (end - start) / 4

    assert any(start + quarter < step < end - quarter for step in steps), (start, end, len(steps))


def _host_and_body(harness: Harness, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Where the caller waits, and where the body runs."""
    functions = harness.receive([tools.where, tools.awhere], [(name, None)])
    if harness.driver == "sync":
        host = tools.here()
        (ret,) = settle("sync", functions.group)
    else:

        async def main() -> Any:
            return tools.here(), await functions.run()

        host, (ret,) = run(harness.driver, main)
        assert host["loop"] == harness.driver, host
    assert (os.getpid(), threading.get_ident(), running_loop()) == (host["pid"], host["thread"], None), host
    return host, ret.unwrap()


CHECKS = (
    check_says_whether_isolated,
    check_where_sync_bodies_run,
    check_where_async_bodies_run,
    check_own_loop_of_the_wanted_kind,
    check_where_isolated_bodies_run,
    check_bodies_do_not_wait_for_each_others_lock,
)
