"""Keeping what was left behind in the middle, so that nothing ever steps it again."""

from __future__ import annotations


def keep_forever(unfinished: object) -> None:
    """Never let a coroutine, or the task of one, be collected.

    Collected, a coroutine is stepped once more, with a GeneratorExit at its innermost await; one that
    was left behind because it swallows everything swallows that too, and Python prints that it
    "ignored GeneratorExit".  A pending asyncio task prints that it "was destroyed but it is pending".
    What is held in a list is collected at the interpreter's end.  So it gets one reference that is
    never given back: as much of a leak as a thread that is left behind, and as rare.
    """
    import ctypes  # only where something is left behind

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(unfinished))
