"""Entry points: what is installed under a group, and how one of it is loaded."""

from __future__ import annotations

from typing import Any


class Unusable(Exception):
    """Why what stands behind an entry point cannot be used, in words."""


def points(group: str) -> dict[str, Any]:
    """The entry points of a group by name, none of them loaded."""
    from importlib import metadata  # heavy, and not needed to import toolexec

    return {point.name: point for point in metadata.entry_points(group=group)}


def load_point(point: Any, base: type[Any], api_version: int) -> Any:
    """The class behind an entry point.

    Raises:
        Unusable: It cannot be imported, is no subclass of ``base``, or was written for another version of
            the protocol.
    """
    try:
        cls: Any = point.load()
    except Exception as exc:
        # Whatever its module raises: the others must still be found, and named as alternatives.
        raise Unusable(f"importing it failed ({type(exc).__name__}: {exc})") from exc
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise Unusable(f"{point.value} is no subclass of toolexec.{base.__name__}")
    theirs: Any = getattr(cls, "api_version", None)
    if theirs != api_version:
        raise Unusable(
            f"it speaks version {theirs} of the {base.__name__.lower()} protocol, this toolexec version {api_version}"
        )
    return cls
