"""A running event loop is never blocked: not by sync tools, and not by a wait that should be an await."""

from __future__ import annotations

from collections.abc import Callable

import toolexec
from toolexec import Function, Group, Return, WaitTimeout, WrongLoop
from toolexec.testing import _ordered_tools as ordered
from toolexec.testing import _tools as tools
from toolexec.testing._drivers import in_company, run
from toolexec.testing._harness import Harness
from toolexec.testing._needs import about_the_body, concurrent, needs, only_under


@only_under("asyncio", "trio")
def check_sync_tool_does_not_block_the_loop(harness: Harness) -> None:
    """A sync body stands at a gate that only the caller's own loop opens."""
    _loop_goes_on(harness, ordered.pass_gate)


@only_under("asyncio", "trio")
def check_async_tool_does_not_block_the_loop(harness: Harness) -> None:
    """So does an async one."""
    _loop_goes_on(harness, ordered.apass_gate)


def _loop_goes_on(harness: Harness, tool: Function) -> None:
    gate = harness.gate()
    functions = harness.receive([tool], [(tool.name, {"gate": gate.path, "label": "0"})])

    async def open_it() -> None:
        await gate.until_reached()
        gate.open()

    async def main() -> tuple[Return, ...]:
        return await in_company(harness.driver, functions.run(), open_it)

    (ret,) = run(harness.driver, main)

    assert ret.value == "0", ret


@only_under("asyncio", "trio")
def check_blocking_wait_is_refused(harness: Harness) -> None:
    """Where a wait would block the loop it raises before anything started, and names the await form."""
    journal = harness.journal()
    call = {"id": "c0", "name": "note", "arguments": {"journal": journal.path, "label": "ran"}}
    context = toolexec.Context([ordered.note], strategy=harness.strategy)
    functions = context.receive([call])

    async def main() -> tuple[Return, ...]:
        _refused(functions.wait, "await fns.run()")
        _refused(lambda: context.wait(timeout=1), "await ctx.run()")
        _refused(lambda: toolexec.run(ordered.note, call["arguments"], harness.strategy), "await toolexec.arun(...)")
        assert functions[0].pending and journal.lines() == [], journal.lines()
        return await context.run()

    (ret,) = run(harness.driver, main)

    assert ret.value == "ran", ret
    assert journal.lines() == ["ran"], journal.lines()


@needs(concurrent)
@only_under("asyncio", "trio")
def check_blocking_wait_for_a_running_group_is_refused(harness: Harness) -> None:
    """So it is for what has started already; a poll is allowed, and so is a wait when all have settled."""
    gate = harness.gate()
    functions = harness.receive([ordered.apass_gate], [("apass_gate", {"gate": gate.path, "label": "0"})])

    async def main() -> Group:
        group = functions.group()
        await gate.until_reached()
        _refused(group.wait, "await group")
        _refused(lambda: group.wait(1), "await group")
        _refused(lambda: list(group), "async for")
        _refused(group.tasks[0].wait, "await task")
        for poll in (group.wait, group.tasks[0].wait):
            try:
                poll(0)
            except WaitTimeout as timeout:
                assert timeout.unsettled == ("c0",), timeout.unsettled
            else:
                raise AssertionError("a call that stands at a gate has settled")
        gate.open()
        await group
        assert group.wait() == await group == tuple(group)
        return group

    (ret,) = run(harness.driver, main).wait()

    assert ret.value == "0", ret


@about_the_body
def check_tool_may_run_a_loop_of_its_own(harness: Harness) -> None:
    """A sync body is on a thread where no loop runs, so it may run one, of either kind."""
    returns = harness.run([tools.run_loops], [("run_loops", None)] * 2)

    assert [ret.value for ret in returns] == [["asyncio", "trio"]] * 2, returns


@only_under("asyncio", "trio")
def check_one_call_from_a_loop(harness: Harness) -> None:
    """``arun`` is the whole of it for one call."""

    async def main() -> list[Return]:
        return [await toolexec.arun(tool, {"a": 1}, harness.strategy) for tool in (tools.add, tools.aadd)]

    assert [ret.value for ret in run(harness.driver, main)] == [2, 2]


def _refused(wait: Callable[[], object], instead: str) -> None:
    try:
        wait()
    except WrongLoop as refusal:
        assert instead in str(refusal), refusal
    else:
        raise AssertionError(f"a wait that blocks the loop was not refused in favour of {instead}")


CHECKS = (
    check_sync_tool_does_not_block_the_loop,
    check_async_tool_does_not_block_the_loop,
    check_blocking_wait_is_refused,
    check_blocking_wait_for_a_running_group_is_refused,
    check_tool_may_run_a_loop_of_its_own,
    check_one_call_from_a_loop,
)
