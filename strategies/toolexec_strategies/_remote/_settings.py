"""What a worker takes over from its host before each call: sys.path, the folder, the environment."""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Mapping

from toolexec_strategies._remote._wire import Payload

# As marshal, because both sides are one Python and loading it runs no code.


def import_path() -> list[str]:
    """sys.path as another process can use it."""
    return [entry for entry in sys.path if isinstance(entry, str)]


def current_folder() -> str | None:
    """The working folder, or None when it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return None


def pack_settings(baseline: Mapping[str, str]) -> bytes:
    """What differs from a process that was started with the environment ``baseline``."""
    now = dict(os.environ)
    changed = {name: value for name, value in now.items() if baseline.get(name) != value}
    gone = [name for name in baseline if name not in now]
    return marshal.dumps((import_path(), current_folder(), changed, gone))


def pack_path(path: list[str]) -> bytes:
    """Only the import path, for a worker that shares all else."""
    return marshal.dumps((path, None, {}, []))


def apply_settings(payload: Payload) -> None:
    """In a worker: take them over."""
    path, folder, changed, gone = marshal.loads(payload)
    sys.path[:] = path
    if folder is not None:
        try:
            os.chdir(folder)
        except OSError:  # gone meanwhile, or not ours to enter: then the tool finds itself elsewhere
            pass
    os.environ.update(changed)
    for name in gone:
        os.environ.pop(name, None)
