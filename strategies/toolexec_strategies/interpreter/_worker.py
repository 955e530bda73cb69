"""One warm interpreter: made, driven and closed by a thread of its own."""

from __future__ import annotations

import importlib
import os
import threading
import time
from typing import Any

from toolexec_strategies._remote import _wire
from toolexec_strategies._remote._settings import import_path, pack_path
from toolexec_strategies._remote._wire import AskWords, ask_frame
from toolexec_strategies._workers import run_in_thread
from toolexec_strategies.interpreter._inside import NUMBER


class Interpreter:
    """An interpreter that answers one call at a time, over pipes.

    A daemon thread of this process stands inside it all the time: going in and out by
    ``Interpreter.call`` costs ten times a round trip over pipes.  An interpreter that is stuck in a
    tool is so no reason for the program not to exit.

    Attributes:
        reader: Reads what it says; for the one thread whose call runs there.
        failure: Why it ended by itself, in words.
        gone: Set once it is closed.
        calls: How many calls it was given; the number of the last.
    """

    def __init__(self) -> None:
        self._inside_requests, self._requests = os.pipe()
        self._answers, self._inside_answers = os.pipe()
        self._inside_asks, self._asks = os.pipe()
        os.set_blocking(self._asks, False)
        self.reader = _wire.Reader(self._answers)
        self.failure = "it ended"
        self.gone = threading.Event()
        self._path = import_path()
        self.calls = 0
        self._closed = False
        self._open = [1]  # whoever takes this out closes the pipes of requests and asks
        self._asking = [1]  # whoever writes an ask takes this out meanwhile; whoever closes takes it for good
        code = (
            f"import sys; sys.path[:] = {self._path!r}\n"
            "from toolexec_strategies.interpreter._inside import serve\n"
            f"serve({self._inside_requests}, {self._inside_answers}, {self._inside_asks})"
        )
        run_in_thread(lambda: self._drive(code))

    def request(self, payload: bytes) -> None:
        """Send the call that ``calls`` has counted already.

        Raises:
            OSError: It ended.
        """
        path = import_path()
        settings = NUMBER.pack(self.calls)
        if path != self._path:
            self._path = path
            settings += pack_path(path)
        _wire.send(self._requests, (_wire.SETTINGS, settings), (_wire.REQUEST, payload))

    def ask(self, words: AskWords) -> None:
        """Ask a call to stop; any thread, never blocks."""
        while not self._closed:
            try:
                self._asking.pop()
            except IndexError:  # another thread is at it
                time.sleep(0)
                continue
            try:
                os.write(self._asks, ask_frame(words))
            except OSError:  # it ended; or does not listen, and is left behind soon
                pass
            finally:
                self._asking.append(1)
            return

    def end(self) -> None:
        """Have it end once its call, if any, is over; any thread, any number of times."""
        try:
            self._open.pop()
        except IndexError:
            return
        os.close(self._requests)
        self._closed = True
        while True:
            try:
                self._asking.pop()
            except IndexError:
                time.sleep(0)
                continue
            break
        os.close(self._asks)

    def release(self) -> None:
        """End it, and give back what the reading side holds: only for who reads, or when nobody does.  Once."""
        self.end()
        os.close(self._answers)

    def forget(self) -> None:
        """In a forked copy of the host, which has no other interpreter: close what was inherited."""
        self.end()
        for fd in (self._answers, self._inside_requests, self._inside_answers, self._inside_asks):
            try:
                os.close(fd)
            except OSError:  # it was about to end
                pass

    def _drive(self, code: str) -> None:
        interpreters: Any = importlib.import_module("concurrent.interpreters")
        inside: Any = None
        try:
            inside = interpreters.create()
            inside.exec(code)
        except BaseException as exc:  # noqa: BLE001 - whatever ended it, its call has to be told
            self.failure = f"{type(exc).__name__}: {exc}"
        finally:
            # Now a call that still waits for its answer sees the end of the pipe.
            os.close(self._inside_requests)
            os.close(self._inside_answers)
            os.close(self._inside_asks)
            if inside is not None:
                try:
                    inside.close()  # waits for threads that a tool left inside
                except Exception:  # noqa: BLE001 - whatever holds it, nobody can do more
                    pass
            self.gone.set()
