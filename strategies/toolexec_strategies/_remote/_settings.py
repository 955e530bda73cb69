"""What a worker takes over from its host before each call: sys.path, the folder, the environment."""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Mapping
from typing import Any

from toolexec_strategies._remote._wire import Payload

# As marshal, because both sides are one Python and loading it runs no code.

Env = Mapping[str, str | None]


class Unprepared(Exception):
    """A worker cannot be made what its call needs; the text goes on from its name: what, and why."""


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

    Attributes:
        baseline: The environment to start the worker with.

    Args:
        env: What is another in the worker's environment; None stands for a name that is not there.
        folder: Where workers run; None for the host's own working folder, whatever it is at the time.
    """

    def __init__(self, env: Env, folder: str | None) -> None:
        self._env = env
        self._folder = folder
        self._last: tuple[object, bytes] = (None, b"")  # in one piece: calls' threads come here at once
        self.baseline = self._environment()

    def pack(self) -> bytes:
        """What a worker has to take over before the next call."""
        # Decoding the whole environment costs 70 us, so its undecoded form is compared where there
        # is one: os.environ keeps it under a name that is not public.
        raw: Any = getattr(os.environ, "_data", os.environ)
        now = (dict(raw), import_path(), current_folder())
        seen, packed = self._last
        if now != seen:
            packed = self._pack()
            self._last = (now, packed)
        return packed

    def path(self) -> list[str]:
        """The worker's sys.path."""
        path = import_path()
        if self._folder is None:
            return path
        # What is relative in there ("" above all) means the host's folder, where a worker is not.
        return [os.path.abspath(entry) if _is_relative(entry) else entry for entry in path]  # noqa: PTH100

    def folder(self) -> str | None:
        """The worker's folder."""
        return self._folder if self._folder is not None else current_folder()

    def _environment(self) -> dict[str, str]:
        now = dict(os.environ)
        for name, value in self._env.items():
            if value is None:
                now.pop(name, None)
            else:
                now[name] = value
        return now

    def _pack(self) -> bytes:
        now = self._environment()
        changed = {name: value for name, value in now.items() if self.baseline.get(name) != value}
        gone = [name for name in self.baseline if name not in now]
        return marshal.dumps((self.path(), self.folder(), self._folder is not None, changed, gone))


def pack_path(path: list[str]) -> bytes:
    """Only the import path, for a worker that shares all else."""
    return marshal.dumps((path, None, False, {}, []))


def apply_settings(payload: Payload) -> None:
    """In a worker: take them over.

    Raises:
        Unprepared: The tool must not run where this worker is, and cannot run where it should.
    """
    path, folder, must_enter, changed, gone = marshal.loads(payload)  # noqa: S302 - see S301
    sys.path[:] = path
    if changed:
        os.environ.update(changed)
    for name in gone:
        os.environ.pop(name, None)
    if folder is not None:
        try:
            os.chdir(folder)
        except OSError as exc:
            # The host's own folder may be gone meanwhile, or not ours to enter: then the tool finds
            # itself elsewhere, as it would there.  One that was asked for is another matter.
            if must_enter:
                raise Unprepared(f"cannot run in {folder!r} (cwd): {exc.strerror}") from None


def _is_relative(entry: str) -> bool:
    # Some entries are no paths at all, but marks that an import hook knows.
    return not entry or (not os.path.isabs(entry) and os.path.exists(entry))  # noqa: PTH110, PTH117
