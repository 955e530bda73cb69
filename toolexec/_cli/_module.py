"""Importing the module that holds the tools, from a file or by its dotted name."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType

from toolexec._cli._refusal import Refusal

# Enough to see the line that failed and the one that led there; the rest of a long story is noise.
_LAST_LINES = 10

_ENGINE = f"{Path(__file__).parents[1]}{os.sep}"


def load_module(where: str) -> ModuleType:
    """Import the tools' module.

    Args:
        where: The path of a ``.py`` file, which is imported under its stem with its folder at the
            front of ``sys.path``, so that a fork server or a subinterpreter can import it too; or a
            dotted name, looked for in the working folder first, as ``python -m`` does.

    Raises:
        Refusal: There is no such module, or importing it raised.
    """
    path = Path(where)
    if path.suffix == ".py" or os.sep in where or where.startswith(".") or path.is_file():
        return _load_file(path)
    if not sys.flags.safe_path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(where)
    except ModuleNotFoundError as exc:
        if exc.name is not None and (where == exc.name or where.startswith(f"{exc.name}.")):
            raise Refusal(
                f"no module named {exc.name!r} can be found from here; a file of tools is given by its path, "
                "such as tools.py"
            ) from exc
        raise _failed(where, exc) from exc
    except KeyboardInterrupt:
        raise
    except BaseException as exc:
        raise _failed(where, exc) from exc


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        what = "is no file" if path.exists() else "does not exist"
        raise Refusal(f"{path} {what}; --tools and `toolexec tools` take a .py file or a dotted module name")
    if path.suffix != ".py" or "." in path.stem:
        raise Refusal(f"{path} cannot be imported as a module: its name has to be a plain one that ends in .py")
    # Not resolved: behind a symbolic link the file may have another name.
    path = path.absolute()
    sys.path.insert(0, str(path.parent))
    try:
        module = importlib.import_module(path.stem)
    except KeyboardInterrupt:
        raise
    except BaseException as exc:
        raise _failed(str(path), exc) from exc
    found = getattr(module, "__file__", None)
    if found is None or not path.samefile(found):
        raise Refusal(
            f"{path} would be imported as {path.stem!r}, and that name is taken by {found or 'a built-in module'}; "
            "give the file another name"
        )
    return module


def _failed(where: str, exc: BaseException) -> Refusal:
    story = traceback.TracebackException.from_exception(exc)
    story.stack = traceback.StackSummary.from_list(frame for frame in story.stack if not _is_ours(frame.filename))
    lines = "".join(story.format()).rstrip().splitlines()
    shown = lines if len(lines) <= _LAST_LINES else ["  ...", *lines[-_LAST_LINES:]]
    return Refusal("\n".join([f"importing {where} failed:", *shown]))


def _is_ours(file: str) -> bool:
    """Whether a frame is the engine's or the import system's: those say nothing about the tools' module."""
    return file.startswith((_ENGINE, "<frozen importlib")) or file == importlib.__file__
