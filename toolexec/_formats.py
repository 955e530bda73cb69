"""Finding providers: by name through entry points, loaded on first use, or by what a response looks like."""

from __future__ import annotations

import functools
from typing import Any

from toolexec._errors import FormatError
from toolexec._points import Unusable, load_point, points
from toolexec._provider import PROVIDER_API_VERSION, Provider

GROUP = "toolexec.providers"

_shared: dict[tuple[str, bool], Provider] = {}


@functools.cache
def _there() -> dict[str, Any]:
    # Once: the lookup reads files, for some 10 ms, and a host may be out of descriptors later.
    return points(GROUP)


def installed() -> tuple[str, ...]:
    """Names of the providers that were installed when one was first looked for, loading none of them."""
    return tuple(sorted(_there()))


def named(name: str, *, strict: bool = False) -> Provider:
    """The provider of that name; one instance serves all.

    Raises:
        FormatError: There is none, it cannot be imported, or was written for another version of the protocol.
    """
    found = _shared.get((name, strict))
    if found is not None:
        return found
    there = _there()
    point = there.get(name)
    if point is None:
        import difflib  # only a mistake needs it

        close = difflib.get_close_matches(name, there, 1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise FormatError(
            f"no provider named {name!r}{hint}; installed: {', '.join(sorted(there)) or 'none'}. "
            f"Providers are found through the {GROUP!r} entry-point group."
        )
    try:
        made = load_point(point, Provider, PROVIDER_API_VERSION)(strict=strict)
    except (Unusable, TypeError) as exc:  # the latter where one of its methods is missing
        raise FormatError(f"the provider {name!r} cannot be used: {exc}") from exc
    return _shared.setdefault((name, strict), made)


def format_of(choice: Any) -> Provider:
    """The provider behind what a caller wrote: a name or an instance.

    Raises:
        FormatError: There is none of that name; or it is neither.
    """
    if isinstance(choice, Provider):
        return choice
    if isinstance(choice, str):
        return named(choice)
    raise FormatError(
        f"a provider is a name ({', '.join(installed())}) or an instance of toolexec.Provider, not {choice!r}"
        f"{_instance_of(choice)}"
    )


def declarer(choice: Any, *, strict: bool = False) -> Any:
    """The object that declares tools for a provider, by its name or itself.

    Raises:
        FormatError: There is none of that name, or it cannot declare a tool.
    """
    if isinstance(choice, str):
        return named(choice, strict=strict)
    if isinstance(choice, Provider) and strict and not choice.strict:
        return type(choice)(strict=True)
    if isinstance(choice, type) or not callable(getattr(choice, "adapt_function", None)):
        raise FormatError(
            f"{choice!r} declares no tools: give a name ({', '.join(installed())}), or an object with a method "
            f"adapt_function(function){_instance_of(choice)}"
        )
    return choice


def _instance_of(choice: Any) -> str:
    return f"; of this class an instance, such as {choice.__name__}()" if isinstance(choice, type) else ""


def recognised(response: object, first: Provider | None, *, streamed: bool = False) -> Provider | None:
    """The installed provider whose format a response looks like, or None.

    Args:
        response: What came in.
        first: Who is asked before all others.
        streamed: Whether it is an event of a stream.
    """
    if first is not None and _is_its(first, response, streamed):
        return first
    for name in installed():
        try:
            provider = named(name)
        except FormatError:  # one that cannot be loaded recognises nothing
            continue
        if provider is not first and _is_its(provider, response, streamed):
            return provider
    return None


def _is_its(provider: Provider, response: object, streamed: bool) -> bool:
    try:
        return bool(provider.recognises_event(response) if streamed else provider.recognises(response))
    except Exception:  # noqa: BLE001 - a third party's, or the response's own code: the others are still asked
        return False
