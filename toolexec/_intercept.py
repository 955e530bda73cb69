"""Intercept: a supervisor that sees a call before it runs, and what it came to."""

from __future__ import annotations

import difflib
import inspect
import types
from collections.abc import Mapping
from typing import Any, ClassVar, Final, final

from toolexec._errors import DeclarationError
from toolexec._runner import stated


@final
class Defer:
    """The type of ``DEFER``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "toolexec.DEFER"

    def __reduce__(self) -> str:
        return "DEFER"


DEFER: Final = Defer()
"""Answers "not now": the call does not start, and its Return has the status ``deferred`` until
``Context.approve``, ``deny`` or ``answer`` settles it."""


class Intercept:
    """Sees every call of a Context before it runs, and every Return before anyone else does.

        class Audit(tx.Intercept):
            options = {"forbidden": {"rm"}}

            @classmethod
            def call(cls, *, function, forbidden):
                if function.name in forbidden:
                    return function.deny("this tool is switched off")

        ctx = tx.Context(tools=..., intercept=Audit)

    A subclass, or an instance of one, or anything else with a ``call`` like this one's.

    Attributes:
        options: Passed to ``call`` and ``after`` by name.
    """

    options: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def call(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG003 - so typed, it may be overridden with any keywords
        """Look at a call that is about to run; the first of its steps, before its tool is made.

        It runs on the thread that starts the call.  May be async: then it is awaited in the caller's
        loop, or else in the background, before the body starts wherever that runs.

        ``function.arguments`` is the call's own dict here, whatever the provider sent.  To change what the
        tool gets, change it, or set another; what counts is validated after this.  The response and the history
        keep what the model sent.  About a call whose arguments cannot be read nobody is asked.

        Args:
            *args: Nothing; it is called with keywords.
            **kwargs: ``function``, the call; and the ``options``.

        Returns:
            None lets the call go on, unless it was refused by hand (``function.deny``, ``cancel``) meanwhile.
            A Return (``function.return_(value)``, ``function.deny(reason)``) answers it, and ``DEFER`` puts
            it off; the tool does not run.  Anything else, and raising,
            is taken for a mistake: the call is ``denied``.
        """
        return None

    @classmethod
    def after(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG003 - likewise
        """Look at what a call came to, whatever that is; once per Return, but for deferred ones.

        It runs on the thread that settles the call, and may not be async.

        Args:
            *args: Nothing, as there.
            **kwargs: ``function``, the call, and ``ret``, its Return; and the ``options``.

        Returns:
            None leaves it as it is; a Return takes its place (its value, status, reason and exception).
            Raising, or anything else, withholds the result: the call is ``raised`` then.
        """
        return None


def check_intercept(given: Any) -> Any:
    """Refuse what cannot be one.

    Raises:
        DeclarationError: It names what was given, and what to write.
    """
    if given is None:
        return None
    name = name_of(given)
    if not callable(getattr(given, "call", None)):
        raise DeclarationError(
            f"intercept is {given!r}: it takes a class with a classmethod call(cls, *, function), such as a subclass "
            "of tx.Intercept"
        )
    if not any(_overrides(given, method) for method in ("call", "after")):
        own = ", ".join(_own_methods(given)) or "nothing else either"
        raise DeclarationError(
            f"intercept {name!r} has neither a call nor an after of its own, and would let everything through; it has: "
            f"{own} (a call runs before the tool, an after sees its Return)"
        )
    if isinstance(given, type):
        for method in ("call", "after"):
            if isinstance(inspect.getattr_static(given, method, None), types.FunctionType):
                raise DeclarationError(
                    f"intercept {name!r}: its {method} takes an instance, and the class was given; write @classmethod "
                    f"above it, or give {name}()"
                )
    after = stated(given, "after")
    if after is not None and inspect.iscoroutinefunction(after):
        raise DeclarationError(f"intercept {name!r}: after is async; it runs where the call settles, and cannot await")
    options: object = options_of(given)
    if not isinstance(options, Mapping):
        raise DeclarationError(f"intercept {name!r}: options is {options!r}; it takes a dict of keywords")
    return given


def _overrides(given: Any, method: str) -> bool:
    return inspect.getattr_static(given, method, None) is not Intercept.__dict__[method]


def _own_methods(given: Any) -> list[str]:
    """What it has that may be meant for one of ours, the likeliest first."""
    kind: type[Any] = given if isinstance(given, type) else type(given)
    mine = {
        name: value for base in kind.__mro__ if base not in (Intercept, object) for name, value in vars(base).items()
    }
    names = [name for name, value in mine.items() if callable(value) or isinstance(value, classmethod | staticmethod)]
    return sorted((name for name in names if name == "__call__" or not name.startswith("__")), key=_unlike)


def _unlike(name: str) -> float:
    bare = name.strip("_").lower()
    return -max(difflib.SequenceMatcher(None, bare, word).ratio() for word in ("call", "before", "after"))


def name_of(given: Any) -> str:
    """What an intercept is called in a message."""
    return given.__name__ if isinstance(given, type) else type(given).__name__


def options_of(given: Any) -> Mapping[str, Any]:
    """What it is called with by name."""
    found: Mapping[str, Any] = stated(given, "options") or {}
    return found
