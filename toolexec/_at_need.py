"""What an object gets only once somebody needs it; and what of several who come at once only one does.

Most calls are never asked to stop, report nothing and hold no timer.  What that takes is made when it is
first needed, in one atomic step of the object's dict: no lock that an Interrupt could leave taken.  What
is asked about in every call has a slot, as a default of the class takes ten times as long to read.
"""

from __future__ import annotations

from typing import Any


def own_list(owner: object, name: str) -> list[Any]:
    """The list in that slot, which held an empty tuple; made once, whoever comes at the same moment."""
    made: list[Any] = vars(owner).setdefault(name, [])
    setattr(owner, name, made)
    return made


def is_first(owner: object, name: str) -> bool:
    """Whether the caller is the first to come here for that name."""
    mine = object()
    return vars(owner).setdefault(name, mine) is mine
