"""When an Interrupt may be raised in a thread: not while the thread stands where it may be taking a lock.

CPython raises it between two bytecodes.  Between taking a lock and the ``try`` or ``with`` that gives
it back there is room for one, most of all for a thread that was blocked in taking it: of threads
interrupted while they waited for ``logging``'s lock, half left it taken for ever.
"""

from __future__ import annotations

import sys
import threading
import types
from typing import Final

# Where locks are taken all the time: nothing is raised while a thread's innermost frame is in there.
# The engine's own code is no place for it either.  (importlib has its frozen names until it is imported.)
_LOCKING: Final = frozenset(
    {
        "threading",
        "logging",
        "queue",
        "importlib",
        "_frozen_importlib",
        "_frozen_importlib_external",
        "toolexec",
        "toolexec_strategies",
    }
)

# But for this: it gives back what it takes, in a ``finally``.  Events, queues and conditions wait in
# here; a loop that waits for one in slices would otherwise be out of reach nearly all the time (of
# interrupts into loops of 5 ms waits none came through within a second, and 900 left no lock taken).
_WAIT: Final = threading.Condition.wait.__code__

# Until it runs, a new thread has the identity of the one that has started it on 3.11, and would get what is raised
# in that: it stands in a wait for the new one just then, and would stand there for ever.
_START: Final = threading.Thread.start.__code__ if sys.version_info[:2] == (3, 11) else None

# The engine's, but tools of tests stand in it.
_TOOLS_OF_TESTS: Final = "toolexec.testing"

# The offsets of the instructions that call ``__enter__``, of the functions that were met; none of
# them is kept alive for long.
_with_entries: dict[types.CodeType, frozenset[int]] = {}
_MOST_KNOWN = 1024


def is_closed(ident: int) -> bool:
    """Whether the thread stands where an Interrupt could leave a lock taken; runs none of its code.

    The answer holds until the caller gives up the GIL: so nothing here takes long that is done twice.
    """
    frame = sys._current_frames().get(ident)  # noqa: SLF001 - documented, for all its underscore
    if frame is None:
        return False
    if frame.f_code is _WAIT:
        event = frame.f_back
        return _START is not None and event is not None and getattr(event.f_back, "f_code", None) is _START
    name = frame.f_globals.get("__name__")
    if isinstance(name, str) and name.partition(".")[0] in _LOCKING and not name.startswith(_TOOLS_OF_TESTS):
        return True
    entries = _with_entries.get(frame.f_code)
    if entries is None:
        _learn(frame.f_code)
        return True  # the thread may have gone on meanwhile: who asks again is told
    return frame.f_lasti in entries


def _learn(code: types.CodeType) -> None:
    import dis  # only an interrupt needs it

    entries: set[int] = set()
    before = ""
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        # One instruction up to 3.13; then the method is loaded, and called by the next one.
        if name == "BEFORE_WITH" or (name == "CALL" and before == "LOAD_SPECIAL __enter__"):
            entries.add(instruction.offset)
        before = f"{name} {instruction.argrepr}"
    if len(_with_entries) >= _MOST_KNOWN:
        _with_entries.clear()
    _with_entries[code] = frozenset(entries)
