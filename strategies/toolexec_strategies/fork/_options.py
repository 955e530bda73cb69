"""What ForkStrategy's options take, looked at when it is made."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from typing import cast

from toolexec_strategies.fork._limits import Limits
from toolexec_strategies.fork._streams import STDERR, STDOUT, Streams


def check_preload(preload: object) -> bool | tuple[str, ...]:
    """True, False, or names of modules."""
    if isinstance(preload, bool):
        return preload
    names = tuple(cast("Sequence[object]", preload)) if isinstance(preload, list | tuple) else (None,)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"preload is {preload!r}: it takes True, False or a list of module names")
    return cast("tuple[str, ...]", names)


def check_timeout(timeout: object) -> float:
    """Seconds that end some time."""
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not math.isfinite(timeout) or timeout <= 0:
        raise ValueError(f"start_timeout is {timeout!r}: it takes seconds, more than zero")
    return float(timeout)


def check_env(env: object) -> dict[str, str | None]:
    """Variables to set, and (None) to leave out; a copy."""
    if env is None:
        return {}
    if not isinstance(env, Mapping):
        raise TypeError(f"env is of type {type(env).__name__}: it takes a mapping of names to values or None")
    checked: dict[str, str | None] = {}
    for name, value in cast("Mapping[object, object]", env).items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            raise ValueError(f"env has the name {name!r}: a variable's name is text without '=', and not empty")
        if value is not None and not isinstance(value, str):
            # Not the value itself: it may be a secret.
            raise TypeError(f"env[{name!r}] is of type {type(value).__name__}: it takes text, or None to leave it out")
        if value is not None and "\0" in value:
            raise ValueError(f"env[{name!r}] has a NUL character in it, where a variable's value would end")
        checked[name] = value
    return checked


def check_folder(cwd: object) -> str | None:
    """A folder that is there, as an absolute path: what it is relative to may change."""
    if cwd is None:
        return None
    if not isinstance(cwd, str | os.PathLike):
        raise TypeError(f"cwd is {cwd!r}: it takes the path of a folder")
    folder = os.path.abspath(os.fsdecode(cast("str | os.PathLike[str]", cwd)))  # noqa: PTH100 - takes bytes paths too
    if not os.path.isdir(folder):  # noqa: PTH112 - see above
        raise ValueError(f"cwd is {cwd!r}: there is no such folder")
    return folder


def check_calls(count: object) -> int | None:
    """How many calls a child may serve; None for any number."""
    return _check_count("calls_per_child", count, "of calls", "any")


def check_limits(memory_bytes: object, cpu_s: object, open_files: object) -> Limits:
    """Whole numbers, or None."""
    if memory_bytes is not None and sys.platform != "linux":
        # Elsewhere a process is not told what it has mapped, or the limit is not kept.
        raise ValueError(f"memory_bytes is {memory_bytes!r}: it can be kept on Linux only")
    return Limits(
        _check_count("memory_bytes", memory_bytes, "of bytes", "no limit"),
        _check_count("cpu_s", cpu_s, "of seconds, which is how finely CPU time is counted", "no limit"),
        _check_count("open_files", open_files, "of descriptors", "no limit"),
    )


def _check_count(name: str, count: object, unit: str, without: str) -> int | None:
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise ValueError(f"{name} is {count!r}: it takes a whole number {unit}, 1 or more, or None for {without}")
    return count


def check_streams(stdout: object, stderr: object) -> Streams:
    """Two of the words there are."""
    return Streams(_check_word("stdout", stdout, STDOUT), _check_word("stderr", stderr, STDERR))


def _check_word(name: str, word: object, words: tuple[str, ...]) -> str:
    if not isinstance(word, str) or word not in words:
        raise ValueError(f"{name} is {word!r}: it takes one of {', '.join(map(repr, words))}")
    return word
