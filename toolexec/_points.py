"""Entry points: what is installed under a group, none of it loaded."""

from __future__ import annotations

from typing import Any


def points(group: str) -> dict[str, Any]:
    """The entry points of a group, by name."""
    from importlib import metadata  # heavy, and not needed to import toolexec

    return {point.name: point for point in metadata.entry_points(group=group)}
