"""What a worker takes over from its host before each call: sys.path, the folder, the environment."""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Mapping
from typing import Any

from toolexec_strategies._remote._wire import Payload

# As marshal, because both sides are one Python and loading it runs no code.


def import_path() -> list[str]:
    """sys.path as another process can use it."""
    return [entry for entry in sys.path if isinstance(entry, str)]


def current_folder() -> str | None:
    """The working folder, or None when it is gone."""
    try:
        return os.getcwd()  # noqa: PTH109 - on the path of every call
    except OSError:
        return None


class Settings:
    """Packs the host's settings, anew only when they changed.

    Args:
        baseline: The environment that the worker was started with.
    """

    def __init__(self, baseline: Mapping[str, str]) -> None:
        self._baseline = baseline
        self._seen: object = None
        self._packed = b""

    def pack(self) -> bytes:
        """What a worker has to take over before the next call."""
        # Decoding the whole environment costs 70 us, so its undecoded form is compared where there
        # is one: os.environ keeps it under a name that is not public.
        raw: Any = getattr(os.environ, "_data", os.environ)
        now = (dict(raw), import_path(), current_folder())
        if now != self._seen:
            self._packed = self._pack(*now[1:])
            self._seen = now
        return self._packed

    def _pack(self, path: list[str], folder: str | None) -> bytes:
        now = dict(os.environ)
        changed = {name: value for name, value in now.items() if self._baseline.get(name) != value}
        gone = [name for name in self._baseline if name not in now]
        return marshal.dumps((path, folder, changed, gone))


def pack_path(path: list[str]) -> bytes:
    """Only the import path, for a worker that shares all else."""
    return marshal.dumps((path, None, {}, []))


def apply_settings(payload: Payload) -> None:
    """In a worker: take them over."""
    path, folder, changed, gone = marshal.loads(payload)  # noqa: S302 - see S301
    sys.path[:] = path
    if folder is not None:
        try:
            os.chdir(folder)
        except OSError:  # gone meanwhile, or not ours to enter: then the tool finds itself elsewhere
            pass
    if changed:
        os.environ.update(changed)
    for name in gone:
        os.environ.pop(name, None)
