"""Making one function look like another: to people, to type hints' readers and to frameworks."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from toolexec._runner import is_async, yields_parts
from toolexec._tool import DecoratedFunction

_EVALUATED: dict[str, Any] = {"eval_str": True}
_AS_WRITTEN: dict[str, Any] = {}
if sys.version_info >= (3, 14):
    import annotationlib

    # Hints are only passed on: what they name may not exist (yet, or at run time at all).
    _AS_WRITTEN["annotation_format"] = annotationlib.Format.FORWARDREF


def bare_function(function: Any) -> Any:
    """What has the name: without what a partial has bound, and without what ``@tool`` has put around it."""
    while isinstance(function, functools.partial):
        function = function.func
    return function.__wrapped__ if isinstance(function, DecoratedFunction) else function


def signature_of(function: Any, *, evaluated: bool = False) -> inspect.Signature | None:
    """The signature, or None where there is none to be read.

    Args:
        function: Whose.
        evaluated: Whether hints that are strings are to be evaluated, if all of them can be.
    """
    for way in (_EVALUATED, _AS_WRITTEN) if evaluated else (_AS_WRITTEN,):
        try:
            return inspect.signature(function, **way)
        except Exception:  # noqa: BLE001 - evaluating a hint is the user's code; some builtins have no signature
            continue
    return None


def dress(call: Any, function: Any) -> Callable[..., Any]:
    """Give ``call`` the name, docstring, signature and hints of ``function``, and return it."""
    bare = bare_function(function)
    shown = bare if inspect.isroutine(bare) else bare.__call__
    functools.update_wrapper(call, shown)
    if shown is not bare:  # an object with __call__
        call.__name__ = call.__qualname__ = type(bare).__name__
        call.__doc__ = bare.__doc__ or shown.__doc__
    other_kind = inspect.iscoroutinefunction(call) is not is_async(shown) or yields_parts(shown)
    signature = signature_of(function, evaluated=other_kind)
    if signature is not None and (other_kind or bare is not function):
        call.__signature__ = signature
    if other_kind:
        # Frameworks look behind ``__wrapped__``: for what a string in a hint refers to, but some also
        # for whether to await what a call gives, or to run through it.
        del call.__wrapped__
        if signature is not None:
            call.__annotations__ = _hints(signature)
    dressed: Callable[..., Any] = call
    return dressed


def _hints(signature: inspect.Signature) -> dict[str, Any]:
    hints = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    hints["return"] = signature.return_annotation
    return {name: hint for name, hint in hints.items() if hint is not inspect.Signature.empty}
