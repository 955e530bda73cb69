"""Theme G: how tools are declared, and what a model is told of them."""

from __future__ import annotations

import dataclasses
import enum
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import annotated_types
import pydantic
import pytest
import typing_extensions
from pydantic import Field

import toolexec as tx
from cases import argument_tools as tools

Form = Callable[[Callable[..., Any]], Any]

forms = pytest.mark.parametrize("form", tools.FORMS, ids=lambda form: form.__name__)


def function_of(tool: Any) -> tx.Function:
    (function,) = tx.Context(tools=[tool]).functions.values()
    return function


def shown(tool: Any) -> dict[str, Any]:
    properties: dict[str, Any] = function_of(tool).params["properties"]
    return properties


POSTPONED = """
    {future}
    from typing import TYPE_CHECKING, Literal, Optional
    from pydantic import BaseModel
    import toolexec as tx
    if TYPE_CHECKING:
        from decimal import Decimal

    @tx.tool
    def good(a: Optional[int], b: Literal["x"], later: "Later") -> str:
        return f"{{a}} {{b}} {{later.n}}"

    class Later(BaseModel):
        n: int

    def outer():
        class Inner(BaseModel):
            n: int
        @tx.tool
        def closed(inner: Inner) -> int:
            return Inner and inner.n
        return closed

    @tx.tool
    def hidden(price: "Decimal") -> None: ...

    print(tx.run(good, '{{"a": null, "b": "x", "later": {{"n": 3}}}}').value)
    print(tx.run(outer(), '{{"inner": {{"n": 4}}}}').value)
    try:
        tx.Context(tools=[hidden])
    except tx.DeclarationError as exc:
        print(exc)
"""


@pytest.mark.parametrize("future", ["from __future__ import annotations", ""], ids=["postponed", "plain"])
def test_G1_annotations_are_found_or_refused_at_declaration(tmp_path: Path, future: str) -> None:
    script = tmp_path / "tools.py"
    script.write_text(textwrap.dedent(POSTPONED).format(future=future))
    done = subprocess.run(
        [sys.executable, "-W", "error", script], capture_output=True, text=True, timeout=50, check=True
    )
    good, closed, hidden = done.stdout.splitlines()

    assert ("None x 3", "4") == (good, closed)
    assert "tool 'hidden', parameter 'price': its annotation names 'Decimal'" in hidden


class Counter:
    def __init__(self, start: int) -> None:
        self.count = start

    @tx.tool
    def add(self, n: int) -> int:
        """Add to the count."""
        self.count += n
        return self.count


class Doubler(Counter):
    @tx.tool
    def add(self, n: int) -> int:
        """Add twice to the count."""
        self.count += 2 * n
        return self.count


def test_G2_each_instance_acts_on_its_own_state_and_no_receiver_is_shown() -> None:
    one, two = Counter(0), Doubler(10)

    assert ["n"] == list(shown(one.add)) == list(shown(two.add))
    assert [1, 12, 2] == [tx.run(tool, {"n": 1}).value for tool in (one.add, two.add, one.add)]
    assert 3 == one.add(1)
    assert ["Add to the count.", "Add twice to the count."] == [one.add.description, two.add.description]


def test_G3_neither_rest_is_a_parameter_and_the_tool_is_called_with_one() -> None:
    @tx.tool
    def f(x: int, *args: int, **kw: dict[str, int]) -> Any:
        return x, args, kw

    assert (["x"], ["x"]) == (list(shown(f)), f.params["required"])
    assert {"type": "object", "additionalProperties": {"type": "integer"}} == f.params["additionalProperties"]
    assert (1, (), {}) == tx.run(f, {"x": 1}).value
    assert (1, (), {"y": {"a": 2}}) == tx.run(f, {"x": 1, "y": {"a": 2}}).value
    assert "bad_arguments" == tx.run(f, {"x": 1, "y": {"a": "b"}}).status


def test_G4_by_position_and_by_keyword_only() -> None:
    @tx.tool
    def first(a: int, /, b: int) -> Any:
        return a, b

    @tx.tool
    def second(a: int = 1, /) -> int:
        return a

    @tx.tool
    def third(*, call: tx.CurrentCall, a: int) -> Any:
        return a, call.name

    @tx.tool
    def last(a: int, call: tx.CurrentCall) -> Any:
        return a, call.name

    assert all("object" == fn.params["type"] for fn in (first, second, third, last))
    assert [(1, 2), 1, 7] == [
        tx.run(first, {"b": 2, "a": 1}).value,
        tx.run(second).value,
        tx.run(second, {"a": 7}).value,
    ]
    assert ["a"] == list(shown(third)) == list(shown(last))
    assert ((1, "third"), (1, "last")) == (tx.run(third, {"a": 1}).value, tx.run(last, {"a": 1}).value)


def test_G6_constraints_and_texts_are_shown_and_enforced() -> None:
    class Options(pydantic.BaseModel):
        depth: Annotated[int, Field(ge=1, description="how deep")] = 1

    def f(
        a: Annotated[int, "text", Field(ge=1)],
        b: Annotated[int, Field(ge=1), "text"],
        c: Annotated[int, annotated_types.Gt(2), annotated_types.Lt(9)],
        d: list[Annotated[str, Field(max_length=2), "word"]],
        e: Annotated[str, Field(pattern="^x")] | None = None,
    ) -> None: ...

    tool = tx.tool(f)
    seen = shown(tool)
    ok: dict[str, Any] = {"a": 1, "b": 1, "c": 3, "d": ["ab"], "e": "xy"}

    assert [("text", 1), ("text", 1)] == [(seen[name]["description"], seen[name]["minimum"]) for name in "ab"]
    assert (2, 9) == (seen["c"]["exclusiveMinimum"], seen["c"]["exclusiveMaximum"])
    assert ("word", 2) == (seen["d"]["items"]["description"], seen["d"]["items"]["maxLength"])
    assert tx.run(tool, ok).ok
    for wrong in ({"a": 0}, {"b": 0}, {"c": 2}, {"c": 9}, {"d": ["abc"]}, {"e": "y"}):
        assert "bad_arguments" == tx.run(tool, {**ok, **wrong}).status


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


class Item(pydantic.BaseModel):
    note: str | None = None
    tag: Literal["a", "b"] | None = None


def test_G8_unions_literals_and_enums_are_legal_for_openai_and_members_reach_the_body() -> None:
    @tx.tool
    def f(
        maybe: int | None,
        either: int | str,
        word: Literal["x", 1, None],  # noqa: PYI061 - null among the values
        colour: tools.Colour,
        size: Size,
        words: list[Literal["p", "q"]],
        items: list[Item],
    ) -> Any:
        return maybe, either, word, colour, size, words, items[0].note

    declared = f.adapt("openai")["function"]["parameters"]
    strict = f.adapt(tx.OpenAI(strict=True))["function"]["parameters"]
    arguments = {
        "maybe": None,
        "either": "1",
        "word": 1,
        "colour": "red",
        "size": 2,
        "words": ["p"],
        "items": [{"note": None}],
    }

    assert json.loads(json.dumps(declared)) == declared
    assert sorted(strict["required"]) == sorted(strict["properties"]) == sorted(declared["properties"])
    assert ["note", "tag"] == strict["$defs"]["Item"]["required"]
    assert False is strict["$defs"]["Item"]["additionalProperties"]
    assert (None, "1", 1, tools.Colour.RED, Size.LARGE, ["p"], None) == tx.run(f, arguments).unwrap()
    for wrong in ({"word": True}, {"word": "1"}, {"colour": "RED"}, {"size": "2"}, {"size": True}, {"words": ["r"]}):
        assert "bad_arguments" == tx.run(f, {**arguments, **wrong}).status


class Ping(pydantic.BaseModel):
    pong: Pong | None = None


class Pong(pydantic.BaseModel):
    ping: Ping | None = None


def test_G9_recursive_types_end_and_keep_their_definitions() -> None:
    @tx.tool
    def f(tree: Annotated[tools.Node, "a tree"], ping: Ping | None = None) -> int:
        depth = 0
        node = tree
        while node.children:
            depth, node = depth + 1, node.children[0]
        return depth

    deep: dict[str, Any] = {"name": "leaf"}
    for _ in range(40):
        deep = {"name": "n", "children": [deep]}

    assert {"Node", "Ping", "Pong"} == set(f.params["$defs"])
    assert "a tree" == shown(f)["tree"]["description"]
    assert 40 == tx.run(f, {"tree": deep}).unwrap()
    assert f.adapt(tx.OpenAI(strict=True))["function"]["strict"]


class Base(typing_extensions.TypedDict):
    a: int


class Loose(Base, total=False):
    b: str
    c: typing_extensions.Required[int]


@dataclasses.dataclass(kw_only=True)
class Settings:
    a: int
    b: list[int] = dataclasses.field(default_factory=list)


def test_G10_what_is_required_of_typed_dicts_and_dataclasses_is_exactly_right() -> None:
    @tx.tool
    def f(loose: Loose, settings: Settings) -> Any:
        return loose, settings

    definitions = f.params["$defs"]

    assert (["a", "c"], ["a"]) == (sorted(definitions["Loose"]["required"]), definitions["Settings"]["required"])
    assert ({"a": 1, "c": 2}, Settings(a=1)) == tx.run(f, {"loose": {"a": 1, "c": 2}, "settings": {"a": 1}}).unwrap()
    assert "loose.c: required" in tx.run(f, {"loose": {"a": 1}, "settings": {"a": 1}}).value["message"]


SENTINEL = object()


def test_G11_defaults_without_json_are_real_in_the_body_and_no_obstacle_in_the_schema() -> None:
    @tx.tool
    def f(
        colour: tools.Colour = tools.Colour.RED,
        path: Path = Path("x"),
        numbers: set[int] = set(),  # noqa: B006 - as users write it
        sentinel: Any = SENTINEL,
        box: tools.Box = tools.Box(1),  # noqa: B008 - as users write it
        function: Any = len,
        made: list[int] = Field(default_factory=list),  # noqa: B008 - as users write it
    ) -> Any:
        numbers.add(len(numbers))
        made.append(1)
        box.width += 1
        return colour, path, numbers, sentinel is SENTINEL, box, function is len, made

    expected = (tools.Colour.RED, Path("x"), {0}, True, tools.Box(2), True, [1])

    assert "required" not in f.params
    assert json.loads(json.dumps(f.params)) == f.params
    assert [expected, expected] == [tx.run(f).unwrap(), tx.run(f).unwrap()]


@forms
def test_G11_a_default_that_was_changed_is_fresh_for_the_next_call(form: Form) -> None:
    tools.PARAMETERS[tools.grows.__wrapped__] = {"items": (list[int], []), "n": (int, 5)}
    tool = form(tools.grows.__wrapped__)
    ctx = tx.Context(tools=[tool])
    calls = [{"name": "grows", "arguments": {"n": n}} for n in (1, 2)]

    assert [[1], [2]] == [ret.unwrap() for ret in ctx.receive(calls).wait("sequential")]


@forms
def test_G13_a_clash_of_names_is_refused_and_the_same_tool_twice_is_one(form: Form) -> None:
    one, two = form(tools.nothing), tx.tool(name="nothing")(lambda: 1)

    assert ["nothing"] == list(tx.Context(tools=[one, one]).functions)
    with pytest.raises(tx.DeclarationError, match="two tools are named 'nothing'"):
        tx.Context(tools=[one, two])


@pytest.mark.parametrize("name", ["read file", "a.b", "x" * 80, "größe"])
def test_G13_a_name_openai_does_not_take_is_mapped_both_ways(name: str) -> None:
    ctx = tx.Context(tools=[tx.tool(name=name)(tools.nothing)])
    [declared] = ctx.declarations("openai")
    told = declared["function"]["name"]
    call = {"id": "1", "type": "function", "function": {"name": told, "arguments": "{}"}}

    assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", told)
    assert ctx.receive([{"name": name}]).call()[0].ok
    [ret] = ctx.receive({"choices": [{"message": {"tool_calls": [call]}}]}).call()
    assert (True, name) == (ret.ok, ret.name)
    assert call == ctx.turn()[0]["tool_calls"][0]


@forms
def test_names_that_clash_with_the_machinery_arrive_intact(form: Form) -> None:
    names = ["self_", "model_config", "schema", "id", "call", "_x", "name", "arguments", "json"]
    namespace: dict[str, Any] = {}
    exec(f"def odd({', '.join(f'{name}: int' for name in names)}): return [{', '.join(names)}]", namespace)
    tools.PARAMETERS[namespace["odd"]] = dict.fromkeys(names, (int,))
    sent = {name: place for place, name in enumerate(names)}

    (ret,) = tx.Context(tools=[form(namespace["odd"])]).receive([{"name": "odd", "arguments": sent}]).wait("sequential")
    assert list(range(len(names))) == ret.unwrap()
