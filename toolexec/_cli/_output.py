"""Output: the command's own way to standard output, which nothing that a tool prints can take."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import Any

from toolexec._cli._refusal import Refusal


class Output:
    """Standard output, taken away from everything else in this process.

    From here on descriptor 1 leads to standard error, for good: whatever writes to it (a tool, C
    code, a subprocess, a forked child, a subinterpreter) cannot get between the command's results.
    Made before any tool's code is loaded.

    Attributes:
        encoding: What standard output was to be written in.
        terminal: Whether a person reads it.

    Raises:
        Refusal: There is no standard output.
    """

    def __init__(self) -> None:
        self.encoding: str = getattr(sys.stdout, "encoding", None) or "utf-8"
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
            self._fd = os.dup(1)  # not inheritable: no subprocess can keep a reader waiting for the end
        except OSError as exc:
            raise Refusal(f"there is no standard output to write to: {exc.strerror}") from exc
        self.terminal = os.isatty(self._fd)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._close)  # nor can a child that a tool forks
        _lead_to_stderr()

    def write(self, content: bytes) -> None:
        """Write everything, once; a reader who has seen enough is no error.

        Raises:
            Refusal: It cannot be written, because the disk is full for instance.
        """
        fd, self._fd = self._fd, -1
        try:
            # Closed right away: a reader must not wait until this process has stopped what tools left running.
            with os.fdopen(fd, "wb") as stream:
                stream.write(content)
        except BrokenPipeError:
            pass
        except OSError as exc:
            raise Refusal(f"the results cannot be written to standard output: {exc.strerror}") from exc

    def write_json(self, document: Any) -> None:
        """Write plain data as indented JSON in UTF-8."""
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        try:
            content = text.encode()
        except UnicodeEncodeError:  # a lone surrogate, in a made-up tool name perhaps: legal in JSON, not in UTF-8
            content = (json.dumps(document, indent=2) + "\n").encode()
        self.write(content)

    def _close(self) -> None:
        with suppress(OSError):
            os.close(self._fd)


def _lead_to_stderr() -> None:
    try:
        os.dup2(2, 1)
    except OSError:  # no standard error either: what tools print goes nowhere
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
    # The old object is block-buffered when a pipe was behind it: prints would come at the end, all at once.
    sys.stdout = sys.stderr
