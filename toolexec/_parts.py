"""What a result may hold beside plain values: texts, images and files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from toolexec._json import is_list, legal_text

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Text:
    """A text among other parts of a result; a bare str is the same.

    Attributes:
        text: What the model reads.
    """

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Image:
    """A picture for the model to look at.

    Attributes:
        data: The encoded picture.
        media_type: Its kind, such as ``image/png``.
    """

    data: bytes = field(repr=False)
    media_type: str = "image/png"

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Read a picture; its kind comes from the file's name.

        Raises:
            OSError: It cannot be read.
            ValueError: Its name is no picture's; give ``media_type``.
        """
        media_type = _media_type(path)
        if not media_type.startswith("image/"):
            raise ValueError(f"{str(path)!r} is no picture by its name; write Image(data, 'image/...') or File.open")
        return cls(_path(path).read_bytes(), media_type)

    def __str__(self) -> str:
        return f"(an image, {self.media_type}, {len(self.data)} bytes, which cannot be shown here)"


@dataclass(frozen=True, slots=True)
class File:
    """A document for the model to read.

    Attributes:
        data: What is in it.
        media_type: Its kind, such as ``application/pdf``.
        name: What it is called.
    """

    data: bytes = field(repr=False)
    media_type: str = "application/octet-stream"
    name: str = "file"

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Read a file; its kind and name come from the file's name.

        Raises:
            OSError: It cannot be read.
        """
        return cls(_path(path).read_bytes(), _media_type(path), _path(path).name)

    def __str__(self) -> str:
        return f"(the file {self.name!r}, {self.media_type}, {len(self.data)} bytes, which cannot be shown here)"


Part: TypeAlias = Text | Image | File
_KINDS: tuple[type[Any], ...] = (Text, Image, File)


def parts_of(value: Any) -> list[Part] | None:
    """The parts that a result is made of, or None when it is a value like any other.

    Parts are one Text, Image or File, or a list of them and of strings with at least one of them in it.
    Their texts and names are fit for a request body.
    """
    # The exact classes: a value's own __class__ is the tool's code.
    if type(value) in _KINDS:
        return [_legal(value)]
    if not is_list(value) or not any(type(item) in _KINDS for item in value):
        return None
    if not all(type(item) in _KINDS or type(item) is str for item in value):
        return None
    return [_legal(Text(item) if type(item) is str else item) for item in value]


def _legal(part: Any) -> Part:
    if type(part) is Text:
        return Text(legal_text(part.text))
    # A name that came from a folder may hold what is no text.
    return replace(part, name=legal_text(part.name)) if type(part) is File else part


def _path(path: str | Path) -> Path:
    from pathlib import Path  # few programs open a file here, and loading it takes longer than this module

    return Path(path)


def _media_type(path: str | Path) -> str:
    import mimetypes  # it reads the system's tables; few tools need it

    return mimetypes.guess_type(_path(path).name)[0] or "application/octet-stream"
