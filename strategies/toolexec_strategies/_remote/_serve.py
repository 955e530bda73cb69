"""The worker's side of one call: unpack it, run it, pack what it came to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from toolexec import Interrupt
from toolexec.lowlevel import MONOTONIC, CallState, Outcome, Parcel, Progress, has_hook, perform
from toolexec_strategies._remote import _wire
from toolexec_strategies._remote._carry import Hint, pack_progress, pack_reply, unpack_request
from toolexec_strategies._remote._logs import Forwarder, Post

Guard = Callable[[CallState, Callable[[], Outcome]], Outcome]


def answer(
    payload: _wire.Payload,
    post: Post,
    where: str,
    *,
    adopt: Callable[[CallState, Parcel], object] | None = None,
    guard: Guard | None = None,
    ended: Callable[[CallState], object] | None = None,
    judge: Callable[[Outcome], Outcome] | None = None,
    hint: Hint | None = None,
) -> _wire.Frame:
    """Run one packed call and give the frame that answers it; never raises.

    Args:
        payload: The request.
        post: Sends a frame to the host; used for the start, progress and log records.
        where: What this worker is, in words.
        adopt: Told of the call's state, and the call, before the body runs; what it raises comes out of
            here.  What it returns is let go as soon as the body is over.
        guard: Runs the body, where it takes more than calling it to interrupt one.
        ended: Called with it when the body has ended, before the outcome is packed.
        judge: Given what the call came to, then; gives what the host is to be told.
        hint: Adds advice to an exception that has to do with this kind of worker.
    """
    try:
        parcel, level = unpack_request(payload)
    except BaseException as exc:  # noqa: BLE001 - unpacking imports the tool's module
        return pack_reply(Outcome("raised", exception=exc), None, where, hint)

    def sink(progress: Progress) -> None:
        post(_wire.PROGRESS, pack_progress(progress))

    call = CallState(parcel.id, parcel.name, MONOTONIC, sink=sink)
    with Forwarder(post, level):
        held = [] if adopt is None else [adopt(call, parcel)]
        body = partial(entry_frame, parcel, call, post)
        try:
            outcome = body() if guard is None else guard(call, body)
            held.clear()
        except BaseException as exc:  # noqa: BLE001 - an Interrupt, or a want of memory, behind the engine's own try
            held.clear()  # first of all: it may be the memory that the next line needs
            outcome = ended_by(call, exc)
        if ended is not None:
            ended(call)
    call.sink = None  # what a thread of its says from here on is no word of the next call's
    if judge is not None:
        outcome = judge(outcome)
    return pack_reply(outcome, parcel, where, hint)


def entry_frame(parcel: Parcel, call: CallState, post: Post) -> Outcome:
    """Run the body: an Interrupt is raised only into what this frame calls."""
    if call.asked:  # asked before it began: never start
        return stopped(call)

    def begun() -> None:
        if has_hook(call.runner) and call.on_listen is not None:
            call.on_listen()  # the hook, like a callback, has to be told also while the body blocks in C
        if parcel.timeout is not None:
            call.deadline = MONOTONIC.now() + parcel.timeout
        post(_wire.STARTED, b"")

    return perform(parcel.source, parcel.args, parcel.kwargs, call, parcel.loop, begun)


def ended_by(call: CallState, exc: BaseException) -> Outcome:
    """The outcome of a call that an exception ended outside the body."""
    return stopped(call) if call.asked and isinstance(exc, Interrupt) else Outcome("raised", exception=exc)


def stopped(call: CallState) -> Outcome:
    """The outcome of a call that ended, or never began, because it was asked to."""
    return Outcome("cancelled", exception=call.interrupt(), reason=call.reason)
