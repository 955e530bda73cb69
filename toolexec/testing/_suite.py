"""Running the checks: one, or all that apply."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from toolexec.testing._checks import CHECKS
from toolexec.testing._harness import Harness
from toolexec.testing._needs import Check, drivers, unmet


def _unheard(_: str) -> None:
    """For who only wants the end of it."""


def run_check(harness: Harness, check: Check) -> None:
    """Run one check; what it asked for in gates and meetings is removed at its end.

    Raises:
        AssertionError: The promise is not kept; anything else it raises says the same.
    """
    try:
        check(harness)
    finally:
        harness.clear()


def run_suite(
    harness: Harness,
    checks: Iterable[Check] = CHECKS,
    *,
    report: Callable[[str], object] = _unheard,
) -> dict[str, str]:
    """Hold a strategy to every promise that applies to it, under every way to wait.

        def test_my_strategy() -> None:
            skipped = run_suite(Harness("mine", MyStrategy, home="thread"))
            assert set(skipped) == {"check_calls_never_overlap", ...}

    Blocks; not for the thread of a running loop.  Whoever has a test framework may rather
    have a test for each of ``CHECKS`` under each of its ``drivers``.

    Args:
        harness: The strategy, not entered yet.
        checks: Some of the checks.
        report: Told of every check, in a line.

    Returns:
        The checks that do not apply, and why.  Compare them with those you expect: so a promise
        cannot silently drop out.

    Raises:
        StrategyUnavailable: It cannot run here.
        ExceptionGroup: Promises are not kept; one error for each, with a note that names it.
    """
    skipped: dict[str, str] = {}
    failed: list[Exception] = []
    harness.make().close()  # one that cannot run here at all raises now, and not once for each check
    with harness:
        for check in checks:
            reason = unmet(harness, check)
            if reason is not None:
                skipped[check.__name__] = reason
                report(f"{check.__name__}: does not apply, {reason}")
                continue
            for driver in drivers(harness, check):
                line = f"{check.__name__}, waiting under {driver}"
                try:
                    run_check(harness.under(driver), check)
                except Exception as exc:  # noqa: BLE001 - each check is to have its turn
                    exc.add_note(line)
                    failed.append(exc)
                    report(f"{line}: FAILED, {type(exc).__name__}: {exc}")
                else:
                    report(f"{line}: kept")
    if failed:
        raise ExceptionGroup(f"the {harness.name} strategy does not keep its promises", failed)
    return skipped
