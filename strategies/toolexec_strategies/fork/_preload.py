"""Which modules the fork server imports ahead of the calls, and when what it imported is out of date."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable

_log = logging.getLogger("toolexec")

Stamp = tuple[str, int, int]  # file, mtime in ns, size


class Preloads:
    """What to import in the server.

    Args:
        wanted: True for the modules that the calls use, as they come; False for none; or names.
    """

    def __init__(self, wanted: bool | tuple[str, ...]) -> None:
        self._wanted = wanted
        self._avoided: set[str] = set()
        self._stamps: dict[str, Stamp | None] = {}

    def for_call(self, modules: Iterable[str]) -> set[str]:
        """The modules that the server should have imported before this call's child is forked."""
        if self._wanted is False:
            return set()
        names = set(modules) if self._wanted is True else set(self._wanted)
        return {name for name in names if name != "__main__"} - self._avoided

    def outdated(self, names: Iterable[str]) -> bool:
        """Whether a module's file is another than when the server was told to import it; notes it."""
        outdated = False
        for name in names:
            stamp = _stamp(name)
            if self._stamps.setdefault(name, stamp) != stamp:
                outdated = True
        return outdated

    def renew(self) -> None:
        """A new server begins: what it imports is what there is now."""
        self._stamps.clear()

    def avoid(self, name: str, why: str) -> None:
        """Leave a module to the children from now on, and say so, once."""
        if name in self._avoided:
            return
        self._avoided.add(name)
        _log.warning(
            "fork strategy: module %r %s; every forked child imports it itself, which makes its calls slower", name, why
        )


def _stamp(name: str) -> Stamp | None:
    file = getattr(sys.modules.get(name), "__file__", None)
    if not isinstance(file, str):
        return None
    try:
        status = os.stat(file)  # noqa: PTH116 - on the path of every call
    except OSError:
        return None
    return file, status.st_mtime_ns, status.st_size
