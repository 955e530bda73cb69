"""Binding arguments to signatures, for the tests of what becomes of them."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import pydantic
import pytest

import toolexec as tx
from toolexec._arguments import parse
from toolexec._parameters import Parameters
from toolexec._signature import params_of


class Bit(enum.IntEnum):
    OFF = 0
    ON = 1


class User(pydantic.BaseModel):
    name: str
    age: int = 0


@dataclasses.dataclass
class Box:
    width: int


def parameters_of(function: Any, tool: str = "t", *, skip_first: bool = False) -> Parameters:
    return Parameters(tool, params_of(tool, function, skip_first=skip_first))


def bind(function: Any, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    args, kwargs = parameters_of(function).validate(parse(arguments))
    return list(args), kwargs


def refusal(function: Any, arguments: dict[str, Any]) -> str:
    with pytest.raises(tx.ArgumentsError) as caught:
        bind(function, arguments)
    return str(caught.value)
