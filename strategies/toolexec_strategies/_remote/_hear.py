"""The host's side of one call: listen to its worker until the outcome is there."""

from __future__ import annotations

from collections.abc import Callable

from toolexec.lowlevel import Job, Outcome
from toolexec_strategies._remote import _wire
from toolexec_strategies._remote._carry import unpack_outcome, unpack_progress
from toolexec_strategies._remote._logs import handle_record


def hear(job: Job, reader: _wire.Reader, where: str, heard: Callable[[], object] | None = None) -> Outcome:
    """Listen until the result; the outcome is not delivered yet.

    Args:
        job: The call.
        reader: Reads what its worker says.
        where: What the worker is, in words.
        heard: Called when an ask has reached the call.

    Raises:
        EOFError: The worker closed the wire before it answered.
        Garbled: What it says makes no sense.
    """
    while True:
        kind, payload = reader.frame()
        if kind == _wire.RESULT:
            outcome = unpack_outcome(payload, job.parcel, where)
            if outcome.status == "cancelled" and job.asked:
                outcome.reason = job.call.reason  # the words of this process are the newest
            return outcome
        if kind == _wire.RESULT_BYTES:
            return Outcome("ok", payload)
        if kind == _wire.STARTED:
            job.begin()  # False: it was asked meanwhile, and the worker is told of that on its own way
        elif kind == _wire.HEARD and heard is not None:
            heard()
        elif kind == _wire.PROGRESS:
            progress = unpack_progress(payload)
            if progress is not None:
                job.report(progress)
        elif kind == _wire.LOG:
            # A copy: the submitter's own may be in use, by a tracer on another thread.
            job.context.copy().run(handle_record, payload)
        else:
            raise _wire.Garbled(f"a worker sends no frame of kind {kind!r}")
