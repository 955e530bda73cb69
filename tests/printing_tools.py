"""Tools that print, each in a way of its own; importable in a forked child."""

# Here output is made in every way there is:
# ruff: noqa: T201, PTH123, RUF100

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from typing import Any

import toolexec as tx


@tx.tool
def say(text: str = "", err: str = "", err_code: int | None = None) -> str:
    """The code is for what no model could send: half of a surrogate pair."""
    if err_code is not None:
        err += chr(err_code)
    if text:
        print(text, end="")
    if err:
        print(err, end="", file=sys.stderr)
    return "said"


@tx.tool
def say_all_ways() -> None:
    """Six ways, in this order."""
    print("print,", end=" ")
    print("stderr,", end=" ", file=sys.stderr)
    sys.stdout.write("write, ")
    os.write(1, b"descriptor, ")
    subprocess.run([sys.executable, "-c", "import sys; sys.stdout.write('process, ')"], check=True)
    subprocess.run(["/bin/sh", "-c", "echo shell >&2"], check=True)


@tx.tool
def say_in_c() -> None:
    ctypes.CDLL(None).puts(b"from C")


@tx.tool
def say_bytes(pieces: list[list[int]]) -> None:
    for piece in pieces:
        os.write(1, bytes(piece))


@tx.tool
def say_slowly(gate: Any, pieces: list[list[int]]) -> None:
    """Stop after the first piece."""
    for number, piece in enumerate(pieces):
        if number:
            gate.pass_through()
        os.write(1, bytes(piece))


@tx.tool
def say_much(count: int) -> None:
    """Print that many lines, with numbers, and characters of two, three and four bytes."""
    print("the beginning")
    for number in range(count):
        print(number, "äöü€𝄞" * 4)
    print("the end")


@tx.tool
def flood() -> None:
    """Print without end."""
    line = b"all work and no play makes jack a dull boy\n" * 1000
    while True:
        os.write(1, line)


@tx.tool
def say_and_die(number: int) -> None:
    print("last words", end="")
    print(" and a complaint", end="", file=sys.stderr)
    if number == 0:
        os._exit(3)
    os.kill(os.getpid(), number)
    time.sleep(60)


@tx.tool
def say_and_wait(gate: Any, stubborn: bool = False) -> None:
    """Wait until stopped; a stubborn one only by force."""
    print("waiting", end="")
    if stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    told = False
    while True:
        try:
            if not told:
                told = True
                gate.arrive("waiting")
            time.sleep(60)
        except BaseException:
            print(", asked", end="")
            if not stubborn:
                raise


@tx.tool(timeout=0.3)
def say_and_run_out() -> None:
    print("so far", end="")
    time.sleep(60)


@tx.tool
def leave_a_writer(gate: Any) -> str:
    """Leave a process outside the group that holds the output open, and goes on writing to it."""
    print("done", end="", flush=True)  # ahead of what the other one writes, of which the middle is cut
    has_left, leaves = os.pipe()
    if os.fork() == 0:
        os.setsid()
        os.close(leaves)  # before that, the end of this call would be its end, too
        try:
            while True:
                os.write(1, b"still here\n" * 100)
        except OSError:  # nobody reads it any more
            gate.arrive("left")
        os._exit(0)
    os.close(leaves)
    os.read(has_left, 1)
    os.close(has_left)
    return "done"
