"""One call of a tool, made as a Context makes the calls of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolexec import Context, Function, Return, WrongLoop
from toolexec.lowlevel import running_loop


def run(tool: Any, strategy: Any = None, /, **arguments: Any) -> Return:
    """Run one call of a tool and give its Return; what would be wrong with a model's call is in there.

        assert run(add, a=2, b=3).value == 5
        assert run(add, "fork", a="two").status == "bad_arguments"

    The arguments are validated, and parameters of type ``CurrentCall``, ``Context`` or ``Tracer`` filled.
    A tool that needs ``deps`` has a Context that has them: ``ctx.submit({"name": ..., "arguments": ...}).wait()``.

    Args:
        tool: What a Context takes: a Function, a Tool class or an instance.
        strategy: Where to run it, by position alone, so that a tool's parameter may have this name too:
            a strategy's name, or what ``toolexec.strategy`` made; by default the tool's own, or else ``auto``.
        **arguments: The call's.

    Raises:
        WrongLoop: On a running loop's thread; there, ``await toolexec.arun(tool, {...})``.
        DeclarationError, UnknownStrategy, StrategyUnavailable: Nothing was started.
    """
    refuse_loop("await toolexec.arun(tool, {...})")
    return one_call(tool, arguments).task(strategy).wait()


def one_call(tool: Any, arguments: Mapping[str, Any]) -> Function:
    """The call, not started; it belongs to a Context of its own."""
    ctx = Context([tool])
    (name,) = ctx.functions
    (call,) = ctx.receive([{"id": "call_1", "name": name, "arguments": dict(arguments)}])
    return call


def refuse_loop(instead: str) -> None:
    """Raise before anything is started where waiting would block a loop.

    Raises:
        WrongLoop: It names what to write instead.
    """
    kind = running_loop()
    if kind is not None:
        raise WrongLoop(f"this would block the running {kind} loop; use {instead}")
