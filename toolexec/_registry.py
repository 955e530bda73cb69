"""The registry: one process-wide list of tools, for finding only."""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from toolexec._errors import NoSuchToolError


class Registry:
    """The registry's methods, on the classes ``Function`` and ``Tool``.

    There is one list, weak: it keeps no tool alive.  It is for finding a tool by name; a Context
    resolves a call's name among its own tools only.  Every method may be called from any thread;
    the lock is never taken while a call starts, settles or is interrupted.
    """

    __slots__ = ()

    _entries: ClassVar[dict[str, weakref.ref[Any]]] = {}
    _lock: ClassVar[threading.RLock] = threading.RLock()

    @classmethod
    def lock(cls) -> AbstractContextManager[Any]:
        """Hold it for several calls that belong together; reentrant."""
        return cls._lock

    @classmethod
    def registry(cls) -> list[Any]:
        """All registered tools, in the order they were registered."""
        with cls._lock:
            return [tool for ref in list(cls._entries.values()) if (tool := ref()) is not None]

    @classmethod
    def register(cls, tool: Any) -> Any:
        """Add a Tool class, an instance or a Function under its name; one of that name is replaced.

        Returns:
            The tool.
        """
        key = cls.registry_key(tool)
        with cls._lock:
            cls._entries.pop(key, None)
            cls._entries[key] = weakref.ref(tool)
        return tool

    @classmethod
    def unregister(cls, tool: Any) -> Any:
        """Take it out; harmless when it is not there.

        Returns:
            The tool.
        """
        key = cls.registry_key(tool)
        with cls._lock:
            ref = cls._entries.get(key)
            if ref is not None and ref() is tool:
                del cls._entries[key]
        return tool

    @classmethod
    def clear_registry(cls) -> None:
        """Forget all, classes and functions alike."""
        with cls._lock:
            cls._entries.clear()

    @classmethod
    def find_by_name(cls, name: str, *, strict: bool = False) -> Any:
        """The tool registered under ``name``, or None.

        Args:
            name: Its name.
            strict: Raise where there is none.

        Raises:
            NoSuchToolError: There is none; it names those there are.
        """
        with cls._lock:
            ref = cls._entries.get(str(name))
            found = None if ref is None else ref()
            if found is None and strict:
                known = ", ".join(map(cls.registry_key, cls.registry())) or "none"
                raise NoSuchToolError(f"no tool named {name!r} is registered; these are: {known}")
            return found

    @classmethod
    def registry_key(cls, tool: Any) -> str:
        """The key a tool is kept under: its name."""
        return cls.tool_name(tool)

    @classmethod
    def tool_name(cls, tool: Any) -> str:
        """The name a model would use for it.

        Raises:
            ValueError: It has none.
        """
        name = getattr(tool, "name", None)
        if not isinstance(name, str) or not name:
            raise ValueError(f"{tool!r} has no name to be registered under")
        return name


def _renew_lock() -> None:
    # Another thread may have held it at the moment of the fork, and will never give it back here.
    Registry._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
