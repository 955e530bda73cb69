"""Finding strategies by name: entry points, loaded one by one on first use."""

from __future__ import annotations

import inspect
import os
from typing import Any

from toolexec._errors import StrategyUnavailable, ToolexecError, UnknownStrategy
from toolexec._points import Unusable, load_point, points
from toolexec._strategy import API_VERSION, Strategy

GROUP = "toolexec.strategies"
AUTO = "auto"

_classes: dict[str, type[Strategy]] = {}
_shared: dict[str, Strategy] = {}
_shared_options: dict[str, Any] = {}


def installed() -> tuple[str, ...]:
    """Names of the installed strategies, loading none of them."""
    return tuple(sorted(points(GROUP)))


def load(name: str) -> type[Strategy]:
    """The class behind a name.

    Raises:
        UnknownStrategy: None is installed under it.
        StrategyUnavailable: It cannot be imported, or was written for another version of the protocol.
    """
    try:
        return _find(name)
    except Unusable as exc:
        raise StrategyUnavailable(name, str(exc), available(without=name)) from exc.__cause__


def _find(name: str) -> type[Strategy]:
    # What is no name may be nothing that a dict can look for, a list of names above all.
    found = _classes.get(name) if isinstance(name, str) else None
    if found is not None:
        return found
    point = points(GROUP).get(name) if isinstance(name, str) else None
    if point is None:
        raise UnknownStrategy(name, installed())
    cls: type[Strategy] = load_point(point, Strategy, API_VERSION)
    _classes[name] = cls
    return cls


def why_not(name: str) -> str | None:
    """Why a strategy cannot run here, or None when it can."""
    try:
        return _find(name).unavailable()
    except Unusable as exc:
        return str(exc)


def available(*, without: str | None = None) -> tuple[str, ...]:
    """Names of the strategies that can run here."""
    return tuple(name for name in installed() if name != without and why_not(name) is None)


def isolated_names() -> tuple[str, ...]:
    """Names of the installed strategies that say they are isolated."""
    names: list[str] = []
    for name in installed():
        try:
            if load(name).isolated:
                names.append(name)
        except ToolexecError:  # one that cannot be loaded says nothing
            continue
    return tuple(names)


def strategy(name: str, **options: Any) -> Strategy:
    """A strategy of your own, configured; it is yours to close (``with``, ``async with``, ``close()``).

    Args:
        name: An installed strategy.
        **options: What it takes; ``grace`` (seconds from asking a call to stop to its Return) and
            ``window`` (calls of one Group in flight at once) are common to all.

    Raises:
        UnknownStrategy: No strategy of that name is installed.
        StrategyUnavailable: It cannot run here; ``alternatives`` can.
        TypeError: It takes no such option; the text lists those it takes.
    """
    cls = load(name)
    reason = cls.unavailable()
    if reason is not None:
        raise StrategyUnavailable(name, reason, available(without=name))
    known = [p.name for p in inspect.signature(cls).parameters.values() if p.kind is p.KEYWORD_ONLY]
    unknown = [option for option in options if option not in known]
    if unknown:
        raise TypeError(
            f"the {name} strategy takes no option {', '.join(_with_close(option, known) for option in unknown)}; "
            f"it takes {', '.join(sorted(known))}"
        )
    return cls(**options)


def _with_close(option: str, known: list[str]) -> str:
    import difflib  # only a mistake needs it

    close = difflib.get_close_matches(option, known, 1)
    return f"{option!r} (did you mean {close[0]!r}?)" if close else repr(option)


def shared(name: str) -> Strategy:
    """The process's one instance of a strategy, made on first use; nobody's to close."""
    found = _shared.get(name) if isinstance(name, str) else None
    if found is None:
        # Two threads may come here at once; the first one's instance serves both.
        found = _shared.setdefault(name, strategy(name, **_shared_options))
    return found


def configure_shared(**options: Any) -> None:
    """Say with which options the shared instances are to be made, those that are not yet there.

    For who owns the process, as a command does.
    """
    _shared_options.update(options)


def chosen(choice: Any) -> Strategy | None:
    """The strategy behind what a caller wrote: a name, an instance, or None for ``auto``.

    Raises:
        UnknownStrategy, StrategyUnavailable: As in :func:`strategy`.
        RuntimeError: The instance is closed.
    """
    if choice is None or choice == AUTO:
        return None
    if not isinstance(choice, Strategy):
        return shared(choice)
    if choice.closed:
        raise RuntimeError(f"the {choice.name} strategy is closed, and a closed one starts nothing")
    return choice


def forget_shared() -> list[Strategy]:
    """Take out the shared instances, for closing; the next use of a name makes a new one."""
    taken = list(_shared.values())
    _shared.clear()
    return taken


if hasattr(os, "register_at_fork"):
    # Each instance resets itself; what matters here is only that the child starts anew.
    os.register_at_fork(after_in_child=_shared.clear)
