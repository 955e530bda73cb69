"""The tools that have a hook: what they write down tells where it ran, when, and with whose state."""

from __future__ import annotations

import json
from typing import Any, ClassVar, Literal

import toolexec
from toolexec.testing._gate import Gate
from toolexec.testing._journal import Journal
from toolexec.testing._stopping_tools import aheed_at, aignore_at, current, heed_at, ignore_at
from toolexec.testing._tools import here, one_step


def said(journal: Journal, what: str | None = None) -> list[dict[str, Any]]:
    """What was written down, in order: all of it, or all of one kind."""
    lines = [json.loads(line) for line in journal.lines()]
    return [line for line in lines if what in (None, line["what"])]


class Saying:
    """Writes down what happens to a call, from where it happens."""

    def __init__(self) -> None:
        self.journal: Journal | None = None  # known once the body has begun
        self.label = ""

    def begin(self, journal: str, label: str) -> None:
        self.journal, self.label = Journal(journal), label
        self.say("body")

    def say(self, what: str) -> None:
        assert self.journal is not None
        self.journal.write(json.dumps({"what": what, "label": self.label, "state": id(self), **here()}))


class Told(Saying, toolexec.Tool):
    """Heeds an interrupt, and has both hooks."""

    name = "toolexec-testing-told"

    def call(self, gate: str, journal: str, label: str) -> str:
        """Go on until asked to stop."""
        self.begin(journal, label)
        try:
            return heed_at(gate, label)
        finally:
            self.say("end")

    def on_cancel(self) -> None:
        """The first."""
        self.say("hook")

    def on_interrupt(self) -> None:
        """The second, which is not for this one."""
        self.say("the other hook")


class ToldLater(Saying, toolexec.Tool):
    """Heeds an interrupt, and has an async hook."""

    name = "toolexec-testing-told-later"

    def call(self, gate: str, journal: str, label: str) -> str:
        """Go on until asked to stop."""
        self.begin(journal, label)
        try:
            return heed_at(gate, label)
        finally:
            self.say("end")

    async def on_cancel(self) -> None:
        """The hook, a step of a loop later."""
        await one_step()
        self.say("hook")


class AToldLater(Saying, toolexec.Tool):
    """As ToldLater, async itself."""

    name = "toolexec-testing-atold-later"

    async def call(self, gate: str, journal: str, label: str) -> str:
        """Go on until asked to stop."""
        self.begin(journal, label)
        try:
            return await aheed_at(gate, label)
        finally:
            self.say("end")

    async def on_cancel(self) -> None:
        """The hook, a step of a loop later."""
        await one_step()
        self.say("hook")


class Stands(Saying, toolexec.Tool):
    """Does not ask; stands at a gate."""

    name = "toolexec-testing-stands"

    def call(self, gate: str, journal: str, label: str) -> str:
        """Pass a gate."""
        self.begin(journal, label)
        try:
            Gate(gate).pass_through(label)
        finally:
            self.say("end")
        return label

    def on_cancel(self) -> None:
        """The hook."""
        self.say("hook")


class AStands(Saying, toolexec.Tool):
    """As Stands, async."""

    name = "toolexec-testing-astands"

    async def call(self, gate: str, journal: str, label: str) -> str:
        """Pass a gate."""
        self.begin(journal, label)
        try:
            await Gate(gate).apass_through(label)
        finally:
            self.say("end")
        return label

    def on_cancel(self) -> None:
        """The hook."""
        self.say("hook")


_here = Saying()  # of this module in this process and interpreter


@toolexec.tool
def told(gate: str, journal: str, label: str) -> str:
    """Heed an interrupt, as a function with a hook."""
    _here.begin(journal, label)
    try:
        return heed_at(gate, label)
    finally:
        _here.say("end")


@told.on_interrupt
def _told() -> None:
    _here.say("hook")


class Polls(Saying, toolexec.Tool):
    """Asks whether it was interrupted, and returns."""

    name = "toolexec-testing-polls"
    deliver: ClassVar[Literal["raise", "poll"]] = "poll"

    def call(self, gate: str, journal: str, label: str) -> str:
        """Go on until asked to stop, and answer."""
        self.begin(journal, label)
        Gate(gate).arrive(label)
        current().wait_interrupted()
        return "an answer"

    def on_cancel(self) -> None:
        """The hook."""
        self.say("hook")


class Shared(Saying, toolexec.Tool):
    """One instance for all its calls; it knows its journal from the start."""

    name = "toolexec-testing-shared"

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self.journal = journal

    def call(self, gate: str, label: str) -> str:
        """Go on until asked to stop; at no gate, return."""
        self.say("body")
        return heed_at(gate, label) if gate else label

    def on_cancel(self) -> None:
        """The hook."""
        self.say("hook")


class BadHook(toolexec.Tool):
    """Heeds an interrupt; its hook raises, or stays at a gate."""

    name = "toolexec-testing-bad-hook"
    hook: str

    def call(self, gate: str, label: str, hook: str) -> str:
        """Go on until asked to stop."""
        self.hook = hook
        return heed_at(gate, label)

    def on_cancel(self) -> None:
        """The hook."""
        if self.hook == "raise":
            raise ValueError("a hook may fail")
        if self.hook == "exit":
            raise SystemExit(3)
        Gate(self.hook).pass_through("hook")


class Firm(Saying, toolexec.Tool):
    """Does not listen; its hook comes to a second gate."""

    name = "toolexec-testing-firm"

    def call(self, gate: str, journal: str, label: str, hooked: str) -> str:
        """Stay at a gate."""
        self.begin(journal, label)
        self.hooked = hooked
        return ignore_at(gate, label)

    def on_cancel(self) -> None:
        """The hook."""
        self.say("hook")
        Gate(self.hooked).arrive("hook")


class AFirm(Saying, toolexec.Tool):
    """As Firm, async."""

    name = "toolexec-testing-afirm"

    async def call(self, gate: str, journal: str, label: str, hooked: str) -> str:
        """Stay at a gate."""
        self.begin(journal, label)
        self.hooked = hooked
        return await aignore_at(gate, label)

    def on_cancel(self) -> None:
        """The hook."""
        self.say("hook")
        Gate(self.hooked).arrive("hook")
