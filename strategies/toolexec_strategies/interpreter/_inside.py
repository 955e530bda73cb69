"""What runs inside an interpreter: a loop that reads requests from a pipe and answers them."""

from __future__ import annotations

import contextlib
import os
import struct
import sys
import threading
import time
from contextvars import Context
from functools import partial
from typing import Any, Final

from toolexec.lowlevel import join_beside
from toolexec_strategies._remote import _wire
from toolexec_strategies._remote._serve import answer
from toolexec_strategies._remote._settings import apply_settings
from toolexec_strategies.interpreter._asks import Asks

WHERE: Final = "the interpreter"

# Stands before the settings of each call: which one it is, so that an ask can name it.
NUMBER: Final = struct.Struct("!Q")

# What follows the answer: whether the interpreter is fit for another call, and whether the tool has
# changed the environment, which in C is the whole process's.
AFTERWARDS: Final = struct.Struct("!??")

# How often it is looked whether the last thread has gone.  Nobody waits for that.
_ALONE_S: Final = 0.01

# Texts by which an extension module refuses to be loaded in a subinterpreter: CPython's own, and
# what extensions say that keep state per process (numpy: in the context of a long error of advice).
_REFUSALS: Final = ("subinterpreter", "sub-interpreter", "more than once per process")
_ADVICE: Final = "a module it needs cannot be loaded in a subinterpreter; use the fork strategy"


def serve(requests: int, answers: int, asks: int) -> None:
    """Answer calls, one at a time, until the pipe of requests is closed.

    Args:
        requests: A descriptor to read calls from.
        answers: A descriptor to write to.
        asks: A descriptor to read from which call has to stop.
    """
    reader = _wire.Reader(requests)
    heard = Asks(asks)
    environment = _environment()
    lock = threading.Lock()  # frames of a tool's several threads must not mix
    while True:
        try:
            settings = reader.frame()[1]
            request = reader.frame()[1]
        except EOFError:
            return
        (number,) = NUMBER.unpack_from(settings)
        if len(settings) > NUMBER.size:
            apply_settings(settings[NUMBER.size :])
        open_calls = [1]  # emptied when the call is over: a thread that it left behind reports into no other call

        def post(kind: bytes, payload: bytes, open_calls: list[int] = open_calls) -> None:
            with lock, contextlib.suppress(OSError):  # the host gave this interpreter up
                if open_calls:
                    _wire.send(answers, (kind, payload))

        adopt = partial(heard.running, number)
        # A context of its own, so that what one call sets the next does not see.
        reply = Context().run(
            answer, request, post, WHERE, adopt=adopt, guard=heard.guard, ended=heard.over, hint=refusal
        )
        del request, settings, adopt
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # replaced or closed by the tool
                stream.flush()
        before, environment = environment, _environment()
        afterwards = AFTERWARDS.pack(heard.usable, environment != before)
        with lock:
            open_calls.clear()
            try:
                _wire.send(answers, reply, (_wire.READY, afterwards))
            except OSError:
                return
        del reply, post


def wait_until_alone() -> None:
    """Wait, without a bound, until no other thread stands in this interpreter.

    Closing it would wait for most of them, too.  But while one waits there, the end of the program
    hangs; and under threads that threading does not know, CPython 3.14 crashes.
    """
    join_beside()
    shutdown: Any = getattr(threading, "_shutdown")  # noqa: B009 - what closing calls; type checkers do not know it
    shutdown()
    while len(sys._current_frames()) > 1:  # noqa: SLF001 - documented; the tool has made those by _thread
        time.sleep(_ALONE_S)


def _environment() -> dict[Any, Any]:
    # As in _settings: its undecoded form, because decoding it takes longer than a short call.
    raw: Any = getattr(os.environ, "_data", os.environ)
    return dict(raw)


def refusal(exc: BaseException) -> str | None:
    """Advice where an exception comes from an extension module that refuses to load here."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [exc]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, ImportError) and any(words in str(one) for words in _REFUSALS):
            return _ADVICE
        waiting += [one.__cause__, one.__context__]
    return None
