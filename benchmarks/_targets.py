"""The one table of targets: what each strategy is held to, and beside what."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """What one figure of a script should be.

    Attributes:
        key: By which the script gives its figure.
        script: The script that measures it.
        what: What is measured.
        beside: What it is compared to.
        limit: The figure to reach.
        unit: "x" for a ratio, else what the figure counts.
        at_least: The figure should be that or more; else that or less.
        before_3_12: Another limit for Python 3.11.
        since: The oldest Python, as a minor number, that has what is measured.
    """

    key: str
    script: str
    what: str
    beside: str
    limit: float
    unit: str = "x"
    at_least: bool = False
    before_3_12: float | None = None
    since: int = 11

    def limit_under(self, python: str) -> float:
        """The limit for a Python such as "3.11"."""
        return self.before_3_12 if self.before_3_12 is not None and minor(python) < 12 else self.limit

    def met(self, value: float, python: str) -> bool:
        """Whether that figure is what it should be."""
        limit = self.limit_under(python)
        return value >= limit if self.at_least else value <= limit


def minor(python: str) -> int:
    """The 14 of "3.14" and "3.14t"."""
    return int(python.split(".")[1].rstrip("t"))


def _overhead() -> list[Target]:
    found: list[Target] = []
    for count in ("100", "1000"):
        loop = "a loop with context copy, Return and two clock reads, and pydantic's validation"
        found += [
            Target(f"sequential-{count}", "overhead", f"sequential, {count} calls", loop, 3),
            Target(f"thread-{count}", "overhead", f"thread, {count} calls", "ThreadPoolExecutor(8).map, warm", 0.5),
            Target(
                f"asyncio-{count}",
                "overhead",
                f"asyncio, {count} calls that never suspend",
                "asyncio.gather",
                0.6,
                before_3_12=1.3,
            ),
            Target(
                f"asyncio-suspends-{count}",
                "overhead",
                f"asyncio, {count} calls that suspend once",
                "asyncio.gather",
                1.4,
            ),
            Target(f"trio-{count}", "overhead", f"trio, {count} calls", "a nursery", 1.5),
            Target(
                f"asyncio-background-{count}",
                "overhead",
                f"asyncio from sync code, {count} calls",
                "the same inside the loop",
                2,
            ),
            Target(
                f"trio-background-{count}",
                "overhead",
                f"trio from sync code, {count} calls",
                "the same inside the loop",
                2,
            ),
        ]
    single = Target("thread-1", "overhead", "thread, 1 call", "ThreadPoolExecutor.submit, warm", 1.1)
    return sorted([single, *found], key=lambda target: _ORDER.index(target.key.rpartition("-")[0]))


_ORDER = (
    "sequential",
    "thread",
    "asyncio",
    "asyncio-suspends",
    "trio",
    "asyncio-background",
    "trio-background",
)

_FORK_FLOOR = "os.fork, setsid, PDEATHSIG, pidfd, pipe and waitpid in a small process"
_PPE = "ProcessPoolExecutor, warm"

TARGETS: tuple[Target, ...] = (
    *_overhead(),
    Target("sequential-peers", "peers", "sequential, 100 calls", "the cheapest LLM peer, a call", 1 / 25),
    Target("thread-sleeps", "makespan", "thread, 64 calls that sleep 50 ms", "ideal", 1.15),
    Target("asyncio-sleeps", "makespan", "asyncio, 1,000 sleeps of 50 ms, a deadline each", "ideal", 1.4),
    Target("trio-sleeps", "makespan", "trio, 1,000 sleeps of 50 ms, a deadline each", "ideal", 1.7),
    Target("fork-cold", "processes", "fork, no child ready", _FORK_FLOOR, 1.4),
    Target("fork-cold-500MB", "processes", "fork, no child ready, 500 MB host", "the same in a small host", 1.1),
    Target("fork-ready-ppe", "processes", "fork, a child ready, 1 call", _PPE, 0.75),
    Target("fork-ready-loky", "processes", "fork, a child ready, 1 call", "loky, warm", 0.75),
    Target("fork-burst-ppe", "processes", "fork, children ready, 4 calls at once", _PPE, 0.75),
    Target("fork-burst-loky", "processes", "fork, children ready, 4 calls at once", "loky, warm", 0.75),
    Target(
        "fork-sustained-mp",
        "processes",
        "fork, sustained: throughput at 8 in flight",
        "one multiprocessing fork per call",
        3,
        at_least=True,
    ),
    *(
        Target(
            f"fork-reuse-{key}",
            "processes",
            "fork, calls_per_child=None: throughput at 8 in flight",
            peer,
            2,
            at_least=True,
        )
        for key, peer in (("ppe", "ProcessPoolExecutor"), ("loky", "loky"), ("pebble", "pebble"))
    ),
    *(
        Target(f"transfer-{key}", "transfer", "fork, a result of 100 MB", peer, 0.6)
        for key, peer in (("ppe", "ProcessPoolExecutor"), ("loky", "loky"), ("pebble", "pebble"))
    ),
    Target("transfer-peak", "transfer", "fork, 100 MB: peak memory of the host", "the result", 2.2),
    Target(
        "interpreter-submit", "interpreters", "interpreter, warm, 1 call", "ThreadPoolExecutor.submit", 1.5, since=14
    ),
    Target("interpreter-pool", "interpreters", "interpreter, warm, 1 call", "InterpreterPoolExecutor", 0.2, since=14),
    Target(
        "interpreter-cpu",
        "interpreters",
        "interpreter, CPU work on 2 interpreters",
        "the same in a loop",
        0.65,
        since=14,
    ),
    Target("interrupt-asyncio", "interrupt_latency", "asyncio, interrupt to Return", "Task.cancel", 3),
    Target("interrupt-trio", "interrupt_latency", "trio, interrupt to Return", "CancelScope.cancel", 3),
    Target("interrupt-fork", "interrupt_latency", "fork, interrupt to Return, no hook", "SIGKILL and waitpid", 1.5),
    Target("interrupt-fork-hook", "interrupt_latency", "fork, interrupt to Return, a hook", "SIGKILL and waitpid", 3),
    Target("interrupt-fork-next", "interrupt_latency", "fork, the next call after a kill", "a normal call", 2),
    Target("deadline-asyncio", "deadlines", "asyncio, lateness of a deadline", "over asyncio.timeout's", 2, "ms"),
    Target("deadline-fork", "deadlines", "fork, lateness of a deadline", "over a timer's SIGKILL", 2, "ms"),
    Target("deadline-thread-busy", "deadlines", "thread, lateness in a busy loop", "a switch interval", 2),
    Target("import-ms", "cold_start", "import toolexec, time", "over bare Python", 20, "ms"),
    Target("import-modules", "cold_start", "import toolexec, modules", "over bare Python", 40, "modules"),
    *(
        Target(
            f"growth-{strategy}",
            "scaling",
            f"{strategy}, cost per call of 10,000",
            "of 100",
            1.3,
            since=14 if strategy == "interpreter" else 11,
        )
        for strategy in ("sequential", "thread", "asyncio", "trio", "fork", "interpreter")
    ),
    Target("queued", "memory", "memory of a queued call, the largest of all strategies", "", 2048, "bytes"),
    # "Flat" in numbers: less than one pointer for each call that was made and forgotten.
    Target("flat", "memory", "fork, memory kept per call with history=False, host and server", "", 8, "bytes"),
)


def targets_of(script: str, python: str) -> list[Target]:
    """Those that a script has to give a figure for under that Python."""
    return [target for target in TARGETS if target.script == script and minor(python) >= target.since]
