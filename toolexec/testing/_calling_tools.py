"""The tools that use what they know of the call they run for."""

from __future__ import annotations

import os
import threading
from typing import Any, ClassVar, Literal

import toolexec
from toolexec.testing._gate import Gate
from toolexec.testing._hook_tools import Saying
from toolexec.testing._stopping_tools import current, heed_at
from toolexec.testing._tools import one_step


@toolexec.tool
def know() -> dict[str, Any]:
    """Say what is known of the call that runs here."""
    return _known()


@toolexec.tool
async def aknow() -> dict[str, Any]:
    """Say what is known of the call that runs here, a step of the loop later."""
    await one_step()
    return _known()


def _known() -> dict[str, Any]:
    call = current()
    toolexec.checkpoint()
    return {
        "id": call.id,
        "name": call.name,
        "interrupted": [call.interrupted, toolexec.interrupted(), call.wait_interrupted(0)],
        "deadline": call.deadline,
        "remaining": call.remaining,
    }


@toolexec.tool
def report(gate: str, count: int) -> int:
    """Pass a gate and report progress: all but the last from here, that from a thread of the tool's."""
    Gate(gate).pass_through()
    call = current()
    for done in range(1, count):
        toolexec.progress(done, count, f"{done} of {count}", {"done": done})
    thread = threading.Thread(target=call.progress, args=(count, count, f"{count} of {count}", {"done": count}))
    thread.start()
    thread.join()
    return count


@toolexec.tool
async def areport(gate: str, count: int) -> int:
    """Pass a gate and report progress, steps of the loop apart."""
    await Gate(gate).apass_through()
    for done in range(1, count + 1):
        await one_step()
        toolexec.progress(done, count, f"{done} of {count}", {"done": done})
    return count


class Blocks(Saying, toolexec.Tool):
    """Waits for what only its callback gives."""

    name = "toolexec-testing-blocks"
    deliver: ClassVar[Literal["raise", "poll"]] = "poll"  # nothing shall be raised while it closes the pipe

    def call(self, gate: str, journal: str, label: str) -> None:
        """Block in one system call until the callback writes."""
        self.begin(journal, label)
        reading, writing = os.pipe()

        def callback() -> None:
            self.say("callback")
            os.write(writing, b"!")

        try:
            with current().on_interrupt(callback):
                Gate(gate).arrive(label)
                os.read(reading, 1)
                raise ConnectionError("cut off")
        finally:
            os.close(reading)
            os.close(writing)


class ABlocks(Saying, toolexec.Tool):
    """As Blocks, without blocking the loop."""

    name = "toolexec-testing-ablocks"

    async def call(self, gate: str, journal: str, label: str, release: str) -> None:
        """Wait until the callback opens a gate."""
        self.begin(journal, label)

        def callback() -> None:
            self.say("callback")
            Gate(release).open()

        with current().on_interrupt(callback):
            Gate(gate).arrive(label)
            await Gate(release).apass_through(label)
            raise ConnectionError("cut off")


class Blocked(Saying, toolexec.Tool):
    """Has a callback no more."""

    name = "toolexec-testing-blocked"

    def call(self, gate: str, journal: str, label: str) -> str:
        """Leave the block of a callback, and go on until asked to stop."""
        self.begin(journal, label)
        with current().on_interrupt(lambda: self.say("callback")):
            pass
        return heed_at(gate, label)


_kept: dict[str, toolexec.CurrentCall] = {}


@toolexec.tool
def keep_call(label: str) -> None:
    """Keep what is to be used only while this runs."""
    _kept[label] = current()


def kept_call(label: str) -> toolexec.CurrentCall:
    """What ``keep_call`` kept, in this process."""
    return _kept.pop(label)
