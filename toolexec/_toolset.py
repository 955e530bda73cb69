"""Toolset: the tools of one Context, what is declared of them, and which of them a call is of."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from types import MethodType
from typing import TYPE_CHECKING, Any

from toolexec._calls import CallRecord
from toolexec._discovery import chosen
from toolexec._errors import DeclarationError, ToolexecError
from toolexec._formats import declarer
from toolexec._function import Function
from toolexec._inject import check_injected
from toolexec._provider import Provider

if TYPE_CHECKING:
    from toolexec._parameters import Parameters


class Toolset:
    """Tools by name.

    Attributes:
        functions: The tools, by name.
    """

    __slots__ = ("_fakes", "_rendered", "functions")

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}
        self._fakes: dict[str, Function] = {}  # what runs in place of tools, by their names
        self._rendered: dict[str, Parameters] = {}  # of the tools that have a parameter whose type is a function

    def take(self, function: Function, context: object, deps: Mapping[Any, Any], provider: Provider | None) -> None:
        """Add a tool; see ``Context``."""
        there = self.functions.get(function.name)
        if there is not None:
            if there is function or _is_same(there._definition.source, function._definition.source):
                return
            raise DeclarationError(f"two tools are named {function.name!r}; give one of them another name")
        chosen(function._definition.strategy)  # one that cannot run here is no surprise for a later call
        self.functions[function.name] = function
        rendered = function._render()  # types that have no JSON form are found here, never at a call
        if function._definition.dynamic:
            self._rendered[function.name] = rendered
        check_injected(function.name, function._parameters.injected, context, deps)
        if provider is not None:
            provider.adapt_function(function)  # likewise what the provider cannot express

    def declarations(self, provider: Any, *, strict: bool) -> list[dict[str, Any]]:
        """All tools as a provider takes them; see ``Context``."""
        declaring = declarer(provider, strict=strict)
        declared: list[dict[str, Any]] = []
        for function in self.functions.values():
            declared.append(function.adapt(declaring))
            if function._rendered is not None:
                self._rendered[function.name] = function._rendered
        return declaring.together(declared) if isinstance(declaring, Provider) else declared

    def bind(self, record: CallRecord, provider: Provider | None) -> Function:
        """A call of the tool that a response means.

        Args:
            record: The call.
            provider: Whose response it was, if that is known.
        """
        known = self.functions.get(record.name)
        if known is None and provider is not None and record.name:
            # Perhaps the name that the provider made us give it.
            renamed = (tool for name, tool in self.functions.items() if provider.rename(name) == record.name)
            known = next(renamed, None)
        if known is None:
            return Function._unknown(record.name, record.id, record.arguments)
        fake = self._fakes.get(known.name) if self._fakes else None
        function = (fake or known).bind(record.arguments, record.id)
        if self._rendered or fake or function._rendered is not None:
            function._rendered = self._rendered.get(known.name) or (known._parameters if fake else None)
        return function

    @contextmanager
    def override(self, fakes: Mapping[str, Any]) -> Generator[None]:
        """Have others run in place of tools; see ``Context``."""
        made = {name: self._fake(name, given) for name, given in fakes.items()}
        before = {name: self._fakes.get(name) for name in made}
        self._fakes.update(made)
        try:
            yield
        finally:
            for name, fake in before.items():
                if fake is None:
                    self._fakes.pop(name, None)
                else:
                    self._fakes[name] = fake

    def _fake(self, name: str, given: Any) -> Function:
        known = self.functions.get(name)
        if known is None:
            import difflib  # only a mistake needs it

            close = difflib.get_close_matches(name, self.functions, 1)
            meant = f" (did you mean {close[0]!r}?)" if close else ""
            there = ", ".join(self.functions) or "none"
            raise ToolexecError(f"no tool named {name!r} to override{meant}; this Context has: {there}")
        own = given._definition if isinstance(given, Function) else None
        source, hook = (given, None) if own is None else (own.body, own.hook)
        definition = known._definition.variant(source=source, hook=hook, declared=(), texts=None, positional=False)
        # Where it runs is its own affair: a fake that keeps what it was called with is of no use in another process.
        definition.strategy = None if own is None else own.strategy
        return Function._of(definition)


def _is_same(one: Any, other: Any) -> bool:
    # A method is a new object each time it is taken from its instance.
    return one is other or (isinstance(one, MethodType) and isinstance(other, MethodType) and one == other)
