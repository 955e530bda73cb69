"""What a tool takes as a secret is shown nowhere: in no schema, no text, no error behind the error."""

import json
from typing import Annotated, Any, Literal

import pydantic
import pytest
from pydantic import Field, Secret, SecretStr

import toolexec as tx


class Login(pydantic.BaseModel):
    user: str
    password: SecretStr | None = "SECRET"  # type: ignore[assignment]  # as people write it
    default: Secret[str] = "SECRET"  # type: ignore[assignment]  # as people write it


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    token: SecretStr = SecretStr("")


def kept(
    key: SecretStr | None = "SECRET",  # type: ignore[assignment]  # as people write it
    default: Secret[str] = "SECRET",  # type: ignore[assignment]  # as people write it
    login: Login = Login(user="SECRET"),  # noqa: B008 - as people write it
    by_key: dict[SecretStr, int] = {},  # noqa: B006 - fresh for each call
    shown: str = "shown",
) -> None: ...


def generic(key: Secret[str]) -> None: ...


def open_keys(**more: dict[SecretStr, int]) -> None: ...


def pets(pet: Annotated[Cat | Dog, Field(discriminator="kind")]) -> None: ...


def everything_about(ret: tx.Return) -> str:
    told = [repr(ret), ret.to_json()]
    exc: BaseException | None = ret.exception
    while exc is not None:
        told.append(f"{exc!r} {vars(exc)}")
        exc = exc.__cause__ or exc.__context__
    return " ".join(told)


def test_the_schema_shows_no_default_of_a_secret() -> None:
    schema = tx.as_tool(kept).params

    assert "SECRET" not in json.dumps(schema)
    assert ["key", "default", "login", "by_key", "shown"] == list(schema["properties"])
    assert "shown" == schema["properties"]["shown"]["default"]
    assert schema["properties"]["default"]["writeOnly"]


@pytest.mark.parametrize(
    ("function", "sent"),
    [
        (kept, '{"by_key": {"SECRET": "x"}}'),
        (kept, '{"by_key": {"SECRET": 1, "SECRET": 2}}'),
        (kept, '{"by_key": {"SECRET": 1'),
        (kept, '{"login": {"user": "a", "password": ["SECRET"]}}'),
        (kept, {"key": 5, "default": ["SECRET"], "shown": object()}),
        (generic, '{"key": "SECRET"'),
        (generic, '{"key": {"SECRET": 1}}'),
        (open_keys, '{"a": {"SECRET": "x"}}'),
        (pets, '{"pet": {"kind": "dog", "token": "SECRET"'),
        (pets, {"pet": {"kind": "SECRET"}}),
    ],
)
def test_nothing_of_a_call_that_does_not_fit_shows_a_secret(function: Any, sent: Any) -> None:
    ret = tx.run(tx.as_tool(function), sent, "sequential")

    assert "bad_arguments" == ret.status
    assert "SECRET" not in everything_about(ret)


def test_a_tag_that_there_is_not_is_told_in_few_words() -> None:
    def tool(pet: Annotated[Cat | Dog, Field(discriminator="kind")], word: str = "") -> None: ...

    tool.__annotations__["pet"] = Annotated[Cat | Other, Field(discriminator="kind")]
    told = tx.run(tx.as_tool(tool), {"pet": {"kind": "z" * 1_000_000}}, "sequential").value["message"]

    assert told.startswith("pet.kind: should be one of 'cat', 'other', not the text \"zzz")
    assert len(told) < 300


class Other(pydantic.BaseModel):
    kind: Literal["other"]


def test_what_should_be_is_told_in_no_more_words_than_help() -> None:
    def tool(word: str) -> None: ...

    tool.__annotations__["word"] = Literal[tuple(f"word {number}" for number in range(1000))]

    assert len(tx.run(tx.as_tool(tool), {"word": ""}, "sequential").value["message"]) < 700
