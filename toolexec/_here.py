"""Which call runs here: known to each thread and task by a context variable."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolexec._call_state import CallState

CURRENT: ContextVar[CallState | None] = ContextVar("toolexec_current_call", default=None)
