"""Tools that call toolexec while they run, in a module that tells which imports a forked child makes."""

from __future__ import annotations

import os
import sys

import toolexec as tx

# The file that is told; set only where a test starts a fork server.
TOLD = os.environ.get("TOOLEXEC_TESTS_TOLD")
SERVER = os.getpid()


class _Telling:
    """Asked before every finder; finds nothing."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if os.getpid() != SERVER and TOLD is not None:
            with open(TOLD, "a") as file:  # noqa: PTH123 - no import of its own may be among the told ones
                file.write(f"{name}\n")


if TOLD is not None:
    sys.meta_path.insert(0, _Telling)


@tx.tool
def add(a: int, b: int) -> int:
    return a + b


@tx.tool
async def add_async(a: int, b: int) -> int:
    return a + b


@tx.tool
def ask_for_the_call(a: int, b: int) -> int:
    tx.checkpoint()
    tx.progress(1, 2, "half")
    assert tx.current_call() is not None
    assert not tx.interrupted()
    return a + b


@tx.tool
def fail(a: int, b: int) -> int:
    raise tx.ToolError(f"{a} and {b}")


@tx.tool
def import_one(a: int, b: int) -> int:
    import this_module_is_nowhere  # type: ignore[import-not-found]  # noqa: F401

    return a + b
