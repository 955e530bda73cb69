"""When an Interrupt may be raised in a thread: not while the thread stands where it may be taking a lock.

CPython raises it between two bytecodes.  Between taking a lock and the ``try`` or ``with`` that gives
it back there is room for one, most of all for a thread that was blocked in taking it: of threads
interrupted while they waited for ``logging``'s lock, half left it taken for ever.
"""

from __future__ import annotations

import functools
import sys
import threading
import types
from typing import Final

# Where locks are taken all the time: nothing is raised while a thread's innermost frame is in there.
# The engine's own code is no place for it either.
_LOCKING: Final = frozenset({"threading", "logging", "queue", "importlib", "toolexec", "toolexec_strategies"})

# But for this: it gives back what it takes, in a ``finally``.  Events, queues and conditions wait in
# here; a loop that waits for one in slices would otherwise be out of reach nearly all the time (of
# interrupts into loops of 5 ms waits none came through within a second, and 900 left no lock taken).
_WAIT: Final = threading.Condition.wait.__code__

# The engine's, but tools of tests stand in it.
_TOOLS_OF_TESTS: Final = "toolexec.testing"


def is_closed(ident: int) -> bool:
    """Whether the thread stands where an Interrupt could leave a lock taken; quick, runs none of its code."""
    frame = sys._current_frames().get(ident)  # noqa: SLF001 - documented, for all its underscore
    if frame is None:
        return False
    if frame.f_code is _WAIT:
        return False
    name = str(frame.f_globals.get("__name__"))
    if name.partition(".")[0] in _LOCKING and not name.startswith(_TOOLS_OF_TESTS):
        return True
    return frame.f_lasti in _with_entries(frame.f_code)


@functools.lru_cache(maxsize=1024)
def _with_entries(code: types.CodeType) -> frozenset[int]:
    """The offsets of the instructions that call ``__enter__``."""
    import dis  # only an interrupt needs it

    entries: set[int] = set()
    before = ""
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        # One instruction up to 3.13; then the method is loaded, and called by the next one.
        if name == "BEFORE_WITH" or (name == "CALL" and before == "LOAD_SPECIAL __enter__"):
            entries.add(instruction.offset)
        before = f"{name} {instruction.argrepr}"
    return frozenset(entries)
