"""What a call that waits for a child is handed."""

from __future__ import annotations

import queue

from toolexec_strategies.fork._spare import Spare


class ServerGone(Exception):
    """There is no child to be had; the text says why."""


class ServerDied(ServerGone):
    """Because the server ended: another one may do."""


# A child, None (look whether you still want one), or a failure.
Arrival = Spare | ServerGone | None
Arrivals = queue.SimpleQueue[Arrival]
