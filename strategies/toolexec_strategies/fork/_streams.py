"""Where stdout and stderr of a forked call go."""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

STDOUT: tuple[str, ...] = ("stderr", "inherit", "capture", "null")
STDERR: tuple[str, ...] = ("inherit", "capture", "null")


class Streams(NamedTuple):
    """One of ``STDOUT`` and one of ``STDERR``."""

    stdout: str = "stderr"
    stderr: str = "inherit"

    @property
    def captured(self) -> bool:
        """Whether either is."""
        return "capture" in self


class Outlets:
    """In the server: its own output, and what its children get for theirs.

    Made before anything is printed.  What the server itself prints (modules do, when they are
    imported) goes to stderr, as a tool's output does unless somebody asks for it: it must not mix
    with what the host writes to its stdout.
    """

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        if streams.captured:
            # Now: a stream cannot be given another encoding once its descriptor is another file's.
            for stream in (sys.__stdout__, sys.__stderr__):
                _speak_utf8(stream)
        self._host_stdout = os.dup(1) if streams.stdout == "inherit" else None
        os.dup2(2, 1)

    def pipe(self) -> tuple[int, ...]:
        """Both ends of what a child's output is read from, the reading one first; empty if it is not captured."""
        return os.pipe() if self._streams.captured else ()

    def connect(self, pipe: tuple[int, ...]) -> None:
        """In a child: use them, and let go of what they were made of."""
        ends = {"capture": pipe[1] if pipe else None, "inherit": self._host_stdout}
        if "null" in self._streams:
            ends["null"] = os.open(os.devnull, os.O_WRONLY)
        if self._streams.stderr != "inherit":
            _replace(2, ends[self._streams.stderr])
        # In this order: stdout may go wherever stderr goes.
        _replace(1, 2 if self._streams.stdout == "stderr" else ends[self._streams.stdout])
        for fd in {*ends.values(), *pipe}:
            if fd is not None:
                os.close(fd)


def _replace(fd: int, by: int | None) -> None:
    assert by is not None
    os.dup2(by, fd)


def _speak_utf8(stream: Any) -> None:
    """Whatever a terminal of the host's may want: this text is read by the host, which has to know."""
    if stream is not None and stream.encoding.lower() != "utf-8":
        stream.reconfigure(encoding="utf-8", errors=stream.errors)
