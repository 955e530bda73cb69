"""Provider: what stands between one provider's format and the engine."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from toolexec._arguments import decoded, excerpt, kind_of, parse
from toolexec._calls import CallRecord
from toolexec._errors import ArgumentsError, DeclarationError, FormatError
from toolexec._history import Blocks, Said
from toolexec._json import encode, is_array, is_object, legal_text
from toolexec._parts import Part

if TYPE_CHECKING:
    from toolexec._assembling import Assembler

PROVIDER_API_VERSION = 1


class Described(Protocol):
    """What a declaration is made from; a Function is one."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def params(self) -> dict[str, Any]: ...


class Reply(NamedTuple):
    """A response, read.

    Attributes:
        calls: What it asks for, in order.
        text: The text beside the calls, or None.
        native: What its own provider needs to say it again, as plain data; other providers ignore it.
        model: The name of the model that spoke, or None.
    """

    calls: Sequence[CallRecord]
    text: str | None = None
    native: Any = None
    model: str | None = None


class Asked(NamedTuple):
    """In ``Reply.native``, where a call stood among what else the model said.

    Attributes:
        own: What its item has beside id, name and arguments.
    """

    own: Mapping[str, Any] = {}


class Answer(NamedTuple):
    """What one call is answered with.

    Attributes:
        id: The id that call and answer are rendered under, or None where there is none.
        name: The tool's name as it is rendered.
        arguments: What the model sent, as in ``CallRecord``.
        parts: The result; never empty.
        ok: Whether the tool ran and returned.
        known: Whether there is such a tool; where there is none, the result says so.
    """

    id: str | None
    name: str
    arguments: Any
    parts: Sequence[Part]
    ok: bool
    known: bool = True

    @property
    def text(self) -> str:
        """The whole result as one text, never blank; an image or a file is stated by its kind and size."""
        return "\n".join(str(part) for part in self.parts)


class Provider(ABC):
    """A provider's format: declarations out, calls in, results out.

    It is found by its name through the entry-point group ``toolexec.providers``, and holds nothing of a
    conversation: one instance serves all, from any thread.

    Attributes:
        name: Under which it is found.
        api_version: Of this protocol; a provider for another is refused when it is asked for.
        strict: Whether declarations hold the model to the schema, where the provider can.
        legal_name: What it takes as a tool's name.
        most_name_chars: How long that may be.
        legal_id: What it takes as a call's id; None takes everything.
        needs_ids: Whether each call has to have an id.
        blocks: Where a user's message has its blocks, if that is where results go; None if each is a message.
    """

    name: ClassVar[str] = ""
    api_version: ClassVar[int] = PROVIDER_API_VERSION
    legal_name: ClassVar[re.Pattern[str]] = re.compile(r"[a-zA-Z0-9_-]+")
    most_name_chars: ClassVar[int] = 64
    legal_id: ClassVar[re.Pattern[str] | None] = None
    needs_ids: ClassVar[bool] = True
    blocks: ClassVar[Blocks | None] = None

    __slots__ = ("strict",)

    def __init__(self, *, strict: bool = False) -> None:
        self.strict: bool = strict

    # To be written for each format

    @abstractmethod
    def declare(self, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
        """The declaration of one tool.

        Args:
            name: As it is legal here.
            description: The text the model reads; may be empty.
            schema: JSON Schema 2020-12 of the arguments, an object; yours to change.

        Raises:
            ValueError: The schema cannot be expressed; why, in words.
        """

    @abstractmethod
    def recognises(self, response: object) -> bool:
        """Whether ``response`` looks like one of this format; looks at little and raises nothing."""

    @abstractmethod
    def read(self, response: object) -> Reply:
        """Take a response apart.

        Raises:
            FormatError: It is none; the text shows what was seen.
        """

    @abstractmethod
    def assistant(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """What the model said, as a request takes it back, its calls under the ids and names of ``answers``."""

    @abstractmethod
    def results(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """The results of all calls of one response, in call order, as a request takes them; there is one at least."""

    def together(self, declared: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """All declarations as a request takes them: as they are, unless the format wraps them."""
        return declared

    def assembler(self) -> Assembler:
        """What reads one stream of this format; without it, streams of this format are refused.

        Raises:
            FormatError: There is none.
        """
        raise FormatError(f"streams of {self.name} cannot be read; take the whole response, and receive it")

    def recognises_event(self, event: object) -> bool:
        """Whether ``event`` looks like one of a stream of this format, as :meth:`recognises` says of a response."""
        return self.recognises(event)

    def said(self, message: object) -> Said:
        """What one message of a history has to do with calls; without this, ``Context.repair`` is not for the format.

        Raises:
            FormatError: Its histories cannot be read; why, in words.
        """
        raise FormatError(
            f"a history of {self.name} cannot be repaired: {type(self).__name__} has no method said(message)"
        )

    # The same for all

    def adapt_function(self, function: Described) -> dict[str, Any]:
        """The declaration of one tool.

        Raises:
            DeclarationError: The provider's format cannot express its parameters.
        """
        try:
            return self.declare(self.rename(function.name), function.description, dict(function.params))
        except ValueError as exc:
            raise DeclarationError(
                f"tool {excerpt(function.name)!r} cannot be declared to {self.name}: {exc}"
            ) from None

    def rename(self, name: str) -> str:
        """The name that this provider takes, the same for the same name: the tool's own wherever it is legal.

        What had to be changed ends in a few characters of a hash, so that two names never become one.
        """
        if len(name) <= self.most_name_chars and self.legal_name.fullmatch(name):
            return name
        if not name:
            return "unnamed"
        kept = re.sub(r"[^a-zA-Z0-9_-]+", "_", name)
        if not re.match(r"[a-zA-Z_]", kept):  # Google's begin with one of these
            kept = f"_{kept}"
        import hashlib  # few names need it, and it loads all of OpenSSL

        tail = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:8]
        return f"{kept[: self.most_name_chars - 9]}_{tail}"


# What readers of responses share


def get(holder: object, name: str) -> Any:
    """A field of a dict or of an SDK's object, or None."""
    if is_object(holder):
        return holder.get(name)
    return getattr(holder, name, None)


def text_of(value: object) -> str | None:
    """A text out of a response, fit to be sent again; None for anything else."""
    return legal_text(value) if isinstance(value, str) else None


def plain(value: Any) -> Any:
    """An SDK's object as dicts and lists under the names of the wire; plain data is copied."""
    if is_object(value):
        return {str(key): plain(item) for key, item in value.items()}
    if is_array(value):
        return [plain(item) for item in value]
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", by_alias=True, exclude_none=True)
    return legal_text(value) if isinstance(value, str) else value


def items_of(value: object, what: str) -> Sequence[Any]:
    """The items of a list in a response; none where there is none.

    Raises:
        FormatError: It is something else.
    """
    if value is None:
        return ()
    if not is_array(value):
        raise FormatError(f"{what} is {excerpt(repr(value))}: it has to be a list")
    return value


def said_again(
    native: Sequence[Any],
    made: Sequence[Mapping[str, Any]],
    join: Callable[[Mapping[str, Any], Mapping[str, Any]], Any] = lambda own, made: {**own, **made},
) -> list[Any]:
    """What the model said, with the calls as they were ``made`` in the places of the ``Asked`` ones."""
    calls = iter(made)
    return [join(item.own, next(calls)) if isinstance(item, Asked) else item for item in native]


def arguments_object(arguments: Any) -> dict[str, Any]:
    """What a model sent, as the object that a format wants; ``{}`` where it was none."""
    try:
        values: dict[str, Any] = plain(parse(arguments).values)
    except ValueError:
        # Only an object can be sent again where a format has objects; the answer tells what was wrong.
        return {}
    return values


def arguments_value(text: str) -> Any:
    """The arguments of a call that came as pieces of JSON, for a format that has them as a value.

    Args:
        text: All pieces together; a blank one stands for no arguments.

    Returns:
        The value; or the text itself where it cannot be read, so that the model is told what is wrong with it.
    """
    try:
        return decoded(text) if text.strip() else {}
    except ArgumentsError:
        return text


def arguments_text(arguments: Any) -> str:
    """What a model sent, as the JSON text that a format wants; broken text as it came."""
    if arguments is None:
        return "{}"
    return legal_text(arguments) if isinstance(arguments, str) else encode(arguments)


def inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with every reference replaced by what it names, for a format that has none.

    Raises:
        ValueError: A type contains itself.
    """
    definitions: Mapping[str, Any] = schema.get("$defs", {})

    def inline(value: Any, within: tuple[str, ...]) -> Any:
        if is_array(value):
            return [inline(item, within) for item in value]
        if not is_object(value):
            return value
        reference = value.get("$ref")
        if not isinstance(reference, str):
            return {key: inline(item, within) for key, item in value.items() if key != "$defs"}
        if reference in within:
            raise ValueError(f"the type {reference.rsplit('/', 1)[-1]!r} contains itself, which its format cannot say")
        beside = {key: inline(item, within) for key, item in value.items() if key != "$ref"}
        named = inline(definitions[reference.rsplit("/", 1)[-1]], (*within, reference))
        return {**named, **beside}

    return {key: inline(item, ()) for key, item in schema.items() if key != "$defs"}


def unread(what: str, response: object) -> FormatError:
    """The error that says what a response lacks, and shows what was seen."""
    return FormatError(f"{what}: {kind_of(response)} {excerpt(repr(response))}")
