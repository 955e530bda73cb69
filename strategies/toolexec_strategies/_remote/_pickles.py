"""The pickler of both directions: what goes by reference, what by value, what not at all."""

from __future__ import annotations

import contextvars
import io
import itertools
import marshal
import pickle
import sys
import types
import weakref
from typing import TYPE_CHECKING, Any, ClassVar

from toolexec_strategies._remote._carried import find_place

if TYPE_CHECKING:
    from pickle import Pickler as CloudPickler  # what cloudpickle's is, and cloudpickle has no types
else:
    from cloudpickle import Pickler as CloudPickler

# Classes sent by value (those of ``__main__`` and of functions) keep their identity by a number:
# the host knows which class it sent under it, the worker which class it made of it.  A process may
# be both: a forked tool that uses the fork strategy is a host to its own workers.
_numbers = itertools.count(1)
_sent_numbers: weakref.WeakKeyDictionary[type, int] = weakref.WeakKeyDictionary()
_sent_classes: weakref.WeakValueDictionary[int, type] = weakref.WeakValueDictionary()
_received_numbers: weakref.WeakKeyDictionary[type, int] = weakref.WeakKeyDictionary()
_received_classes: weakref.WeakValueDictionary[int, type] = weakref.WeakValueDictionary()

# The ContextVars of hosts that no module name leads to, by what tells them apart there.
_made_vars: dict[tuple[str, int], contextvars.ContextVar[Any]] = {}


class Unpicklable(TypeError):
    """Refused by one of the rules here; the text says what and why."""


class _Pickler(CloudPickler):
    """cloudpickle's, plus the rules that both directions share."""

    def reducer_override(self, obj: Any) -> Any:
        same = obj  # which type checkers do not narrow to a type with unknown parameters
        if isinstance(obj, types.FunctionType):
            return self._function(obj)
        if isinstance(obj, type):
            return self._class(obj)
        if isinstance(obj, types.CodeType):
            return _reduce_code(obj)
        if isinstance(obj, contextvars.ContextVar):
            return _reduce_var(same)
        if isinstance(obj, io.TextIOWrapper) and same not in (sys.stdin, sys.stdout, sys.stderr):
            # cloudpickle would send a copy of the content that reads like a file and is none.
            raise Unpicklable("an open file cannot travel")
        return super().reducer_override(same)

    def _function(self, function: types.FunctionType) -> Any:
        if _behind_decorator(function):
            return _unwrapped, (function.__module__, function.__qualname__)
        return super().reducer_override(function)

    def _class(self, cls: type) -> Any:
        return super().reducer_override(cls)


class RequestPickler(_Pickler):
    """Packs what goes to a worker, and notes what it refers to.

    Attributes:
        modules: The modules that the worker will have to import.
        classes: Number and class, for every class that goes by value.
    """

    def __init__(self, file: Any) -> None:
        super().__init__(file, protocol=5)
        self.modules: set[str] = set()
        self.classes: list[tuple[int, type]] = []

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, types.ModuleType):
            self.modules.add(obj.__name__)
        return super().reducer_override(obj)

    def _function(self, function: types.FunctionType) -> Any:
        reduced = super()._function(function)
        if (reduced is NotImplemented or reduced[0] is _unwrapped) and function.__module__ != __name__:
            self.modules.add(function.__module__)
        return reduced

    def _class(self, cls: type) -> Any:
        reduced = super()._class(cls)
        if reduced is NotImplemented:
            self.modules.add(cls.__module__)
        elif _by_value(reduced):
            number = _sent_numbers.get(cls)
            if number is None:
                # Two threads may number one class twice at once: both numbers then lead to it.
                number = _sent_numbers[cls] = next(_numbers)
                _sent_classes[number] = cls
            self.classes.append((number, cls))
        return reduced


class NotPlain(Exception):
    """To pack or unpack it would run code that is not ours."""


class PlainPickler(RequestPickler):
    """Packs what is plain data, and the functions and classes that go by reference; nothing that has a say in it."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, types.FunctionType | type):
            reduced = super().reducer_override(obj)
            if reduced is NotImplemented or reduced[0] is _unwrapped:
                return reduced
        elif isinstance(obj, types.BuiltinFunctionType):
            return super().reducer_override(obj)
        raise NotPlain


class PlainUnpickler(pickle.Unpickler):
    """Unpacks plain data alone."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        raise NotPlain


class ReplyPickler(_Pickler):
    """Packs what goes back to the host.

    A class that came from the host by value goes back as its number, so that the host finds its
    own class and keeps it untouched.  A class or function that only exists here is refused: all
    that could arrive is a look-alike, of which ``isinstance`` and ``is`` would say no.
    """

    look_alike: ClassVar[str] = "exists only in the worker: what arrived would be another one of the same name"

    def __init__(self, file: Any) -> None:
        super().__init__(file, protocol=5)

    def _function(self, function: types.FunctionType) -> Any:
        reduced = super()._function(function)
        if reduced is NotImplemented or reduced[0] is _unwrapped:
            return reduced
        raise Unpicklable(f"function {function.__qualname__} {self.look_alike}")

    def _class(self, cls: type) -> Any:
        reduced = super()._class(cls)
        if not _by_value(reduced):
            return reduced
        number = _received_numbers.get(cls)
        if number is None:
            raise Unpicklable(f"class {cls.__qualname__} {self.look_alike}")
        return sent_class, (number,)


def remember_received(classes: list[tuple[int, type]]) -> None:
    """In a worker: note under which numbers the host knows the classes that came by value."""
    for number, cls in classes:
        _received_numbers[cls] = number
        _received_classes[number] = cls


def sent_class(number: int) -> type:
    """In the host: the class that was sent under ``number``."""
    try:
        return _sent_classes[number]
    except KeyError:
        raise Unpicklable("its class no longer exists in this process") from None


class _TrialUnpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if module_name == __name__ and global_name == "sent_class":
            return _received_classes.__getitem__
        return super().find_class(module_name, global_name)


def trial_loads(pickled: bytes) -> Any:
    """In a worker: load what is meant for the host, with the worker's class for the host's."""
    return _TrialUnpickler(io.BytesIO(pickled)).load()


def dumps(obj: Any, pickler: type[RequestPickler | ReplyPickler]) -> bytes:
    """Pickle one object by the rules of ``pickler``."""
    with io.BytesIO() as file:
        pickler(file).dump(obj)
        return file.getvalue()


def find(module_name: str, qualname: str) -> Any:
    """What ``module:qualname`` names among the modules that are loaded, or None."""
    found: Any = sys.modules.get(module_name)
    for part in qualname.split("."):
        found = getattr(found, part, None)
        if found is None:
            return None
    return found


def _by_value(reduced: Any) -> bool:
    # cloudpickle's reduction of a class by value has a state and a state setter; the few classes
    # it reduces otherwise (NoneType, Ellipsis' and NotImplemented's) have neither.
    return reduced is not NotImplemented and len(reduced) > 2


def _behind_decorator(function: types.FunctionType) -> bool:
    """Whether the function is not what its name leads to, but what that wraps.

    ``@tool`` puts a Function object in the place of the function; by its name the function is then
    not found, and sending it by value would part it from its module's globals.
    """
    if function.__module__ == "__main__" or "<locals>" in function.__qualname__:
        return False
    outer = find(function.__module__, function.__qualname__)
    return outer is not function and getattr(outer, "__wrapped__", None) is function


def _unwrapped(module_name: str, qualname: str) -> Any:
    __import__(module_name)
    found: Any = sys.modules[module_name]
    for part in qualname.split("."):
        found = getattr(found, part)
    return found.__wrapped__


def _reduce_code(code: types.CodeType) -> Any:
    """As marshal: cloudpickle's way forgets the file, and with it a traceback's lines."""
    try:
        return marshal.loads, (marshal.dumps(code),)
    except ValueError:  # a constant that no compiler made
        return NotImplemented


def _reduce_var(var: contextvars.ContextVar[Any]) -> Any:
    """A ContextVar has no pickle: by module and name where one leads to it, else made anew, once."""
    place = find_place(var)
    if place is not None:
        return getattr, (sys.modules[place.module], place.name)
    try:
        default: tuple[Any, ...] = (contextvars.Context().run(var.get),)
    except LookupError:
        default = ()
    return _make_var, (var.name, id(var), default)


def _make_var(name: str, key: int, default: tuple[Any, ...]) -> contextvars.ContextVar[Any]:
    # Kept for good, as a module would: each ContextVar made is kept by the contexts it is set in.
    known = _made_vars.get((name, key))
    if known is not None:
        return known
    made: contextvars.ContextVar[Any] = (
        contextvars.ContextVar(name, default=default[0]) if default else contextvars.ContextVar(name)
    )
    return _made_vars.setdefault((name, key), made)
