"""In a worker: what is done about an ask, beside the thread that runs the body."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from typing import Final

from toolexec.lowlevel import Ask, CallState, LoopKind, has_hook, reach, run_beside, run_hook
from toolexec_strategies._remote._wire import AskWords

# The hook's share of the grace, at most; from the design.
_HOOK_SHARE: Final = 0.5

# How long a child waits to hear what it was asked: the words are on their way already.
_WORDS_S: Final = 1.0


class Asked:
    """Tells a call that it was asked, and its hook, once; then whoever waits for that may interrupt the body.

    Raw locks: a forked child waits in a signal handler, where nothing else is safe.
    """

    def __init__(self, call: CallState, loop: LoopKind) -> None:
        self._call = call
        self._loop: LoopKind = loop
        self._token = [1]  # whoever pops it listens
        self._done = threading.Lock()
        self._done.acquire()
        self.listened = False  # a thread was started for this
        self._context = copy_context()  # of the call, for its hook

    def listen(self, words: Callable[[], AskWords | None]) -> None:
        """Have a thread get the words, by a function that may block, and act on them; only the first time."""
        try:
            self._token.pop()
        except IndexError:
            return
        self.listened = True
        run_beside(lambda: self._context.run(self._obey, words), "asked")

    def hear(self, at_once: Callable[[], AskWords | None], words: Callable[[], AskWords | None]) -> None:
        """:meth:`listen`, here and now where the words are there ``at_once`` and concern the call alone.

        A thread is most of what an ask takes: it writes to a hundred pages that a fork shares until then.
        """
        try:
            self._token.pop()
        except IndexError:
            return
        self.listened = True
        said = at_once()  # not before: a thread that has the token may be reading them
        if said is None:
            run_beside(lambda: self._context.run(self._obey, words), "asked")
            return
        self._tell(said)
        call = self._call
        # Who comes to wait or to listen, or makes an inner call, does so first and looks then whether it was asked.
        if call.wakers or call.listeners or call.inner or has_hook(call.runner):
            run_beside(lambda: self._context.run(self._pass_on), "asked")
        else:
            self._done.release()

    def leave(self, words: AskWords) -> None:
        """Tell the call alone, here and now: nobody waits for it any more; not if it was asked before."""
        try:
            self._token.pop()
        except IndexError:
            return
        self._tell(words)
        self._done.release()  # there is no hook to wait for
        reach(self._call)

    def wait(self) -> bool:
        """Wait until the hook has run, for its share of the grace at most; whether it has."""
        call = self._call
        begun = time.monotonic()
        while not self._done.acquire(timeout=0.01):
            if call.ends_at is None:  # nobody has said yet what is asked
                late = time.monotonic() - begun > _WORDS_S
            else:
                late = call.clock.now() > call.ends_at - (1 - _HOOK_SHARE) * call.grace
            if late:
                return False
        self._done.release()
        return True

    def _obey(self, words: Callable[[], AskWords | None]) -> None:
        said = words()
        if said is None:  # the host is gone, or the call is over
            return
        self._tell(said)
        self._pass_on()

    def _pass_on(self) -> None:
        try:
            reach(self._call)
            run_hook(self._call, self._loop)
        finally:
            self._done.release()

    def _tell(self, words: AskWords) -> None:
        call = self._call
        call.grace = words.grace
        call.ends_at = call.clock.now() + words.grace
        call.ask(Ask(words.reason, timeout=words.timeout))
