"""Functions as tools: what the Kotlin library's tests pin, and what is done instead where that is better."""

from __future__ import annotations

import datetime as dt
import enum
import functools
import json
from collections.abc import Callable
from typing import Any, Literal

import pytest

import toolexec as tx
from cases import kotlin_tools as tools


def texts(fn: tx.Function) -> dict[str, str]:
    return {name: shown["description"] for name, shown in fn.params["properties"].items()}


def names(made: list[tx.Function]) -> list[str]:
    return [fn.name for fn in made]


def run(function: Any, /, **arguments: Any) -> Any:
    return tx.run(tx.as_tool(function), arguments).unwrap()


def rendered(value: object, **options: Any) -> str:
    fn = tx.tool(name="t", **options)(lambda: value)
    ctx = tx.Context(tools=[fn])
    ctx.receive([{"id": "c", "name": "t"}])
    ctx.wait("sequential")
    return str(ctx.messages()[0]["content"])


# Pinned by their tests of functions as tools


def test_anc_K1_a_function_and_a_bound_method_convert_without_a_receiver() -> None:
    assert ["text", "times"] == list(tx.as_tool(tools.top).params["properties"])
    assert ["n"] == list(tx.as_tool(tools.Scaled(3).scale).params["properties"])
    assert 6 == run(tools.Scaled(3).scale, n=2)
    assert 6 == tx.run(tx.as_tool(tools.Scaled.scale, this=tools.Scaled(3)), {"n": 2}).value


def test_anc_K2_async_and_plain_functions_run_alike() -> None:
    assert "aa" == run(tools.top, text="a") == run(tools.atop, text="a")
    assert 6 == run(tools.Scaled(3).ascale, n=2)


def test_anc_K3_a_text_goes_unquoted_a_number_bare_an_object_as_json_and_nothing_as_null() -> None:
    """There a text is quoted and nothing is an empty object."""
    assert "say" == rendered("say")
    assert "3" == rendered(3)
    assert {"street": "x", "number": 1} == json.loads(rendered(tools.Address("x")))
    assert "null" == rendered(None)


def test_anc_K4_parameters_of_several_types_are_filled_by_name() -> None:
    def mixed(text: str, number: int, ratio: float, flag: bool, items: list[int]) -> list[Any]:
        return [text, number, ratio, flag, items]

    assert ["a", 1, 1.5, True, [1]] == run(mixed, items=[1], flag=True, ratio=1.5, number=1, text="a")


def test_anc_K5_what_has_a_default_may_be_left_out() -> None:
    assert "abab" == run(tools.top, text="ab")


def test_anc_K6_unknown_arguments_are_refused_unless_the_tool_says_otherwise() -> None:
    """There they are dropped without a word."""
    sent = {"text": "a", "extra": 1}

    assert "bad_arguments" == tx.run(tx.as_tool(tools.top), sent).status
    assert "aa" == tx.run(tx.as_tool(tools.top, json=tx.Json(ignore_unknown=True)), sent).value


def test_anc_K7_a_type_without_a_json_form_fails_the_conversion_and_no_later_call() -> None:
    class Odd: ...

    def takes(a: int, odd: Any) -> None: ...

    takes.__annotations__["odd"] = Odd
    with pytest.raises(tx.DeclarationError, match="'takes', parameter 'odd'"):
        tx.as_tool(takes)


def test_anc_K8_the_name_is_the_functions_and_the_description_its_own() -> None:
    tool = tx.as_tool(tools.top)

    assert ("top", "Say it.") == (tool.name, tool.description)


def test_anc_K9_a_parameter_without_a_text_has_its_name() -> None:
    assert {"text": "What to say", "times": "times"} == texts(tx.as_tool(tools.top))


def test_anc_K10_all_marked_methods_become_tools_by_name_and_others_do_not() -> None:
    assert ["added", "find-it", "unmarked"] == names(tx.as_tools(tools.Marks()))


def test_anc_K11_mark_and_texts_come_from_an_interface_two_levels_up() -> None:
    tool = tx.as_tool(tools.Plain().find)

    assert ("find-it", "Find something") == (tool.name, tool.description)
    assert {"what": "what to look for", "limit": "how many"} == texts(tool)
    assert ["x", "x"] == tx.run(tool, {"what": "x", "limit": 2}).value


def test_anc_K12_a_mark_on_the_implementation_takes_no_texts_from_an_unmarked_interface() -> None:
    tool = tx.as_tool(tools.Marks().unmarked)

    assert ("unmarked", "Marked here alone.") == (tool.name, tool.description)
    assert {"value": "value"} == texts(tool)


def test_anc_K13_the_nearest_mark_wins() -> None:
    tool = tx.as_tool(tools.FromNearer().find)

    assert ("find", "Find something nearer") == (tool.name, tool.description)
    assert {"what": "the nearer text", "limit": "limit"} == texts(tool)


def test_anc_K14_a_derived_class_offers_its_own_and_all_inherited_ones() -> None:
    class Derived(tools.Marks):
        @tx.tool
        def more(self) -> None: ...

    assert ["added", "find-it", "more", "unmarked"] == names(tx.as_tools(Derived()))


def test_anc_K15_by_interface_only_what_is_marked_there() -> None:
    assert ["find-it"] == names(tx.as_tools(tools.Marks(), tools.Interface))
    assert ["find-it"] == names(tx.as_tools(tools.Plain(), tools.Between))
    (said,) = tx.as_tools(tools.Speaks(), tools.Structural)
    assert ("say", {"text": "what to say"}) == (said.name, texts(said))
    assert "I say x" == tx.run(said, {"text": "x"}).value
    with pytest.raises(tx.DeclarationError, match="Scaled does not implement Structural: it has no method 'speak'"):
        tx.as_tools(tools.Scaled(1), tools.Structural)


def test_anc_K16_what_has_no_default_is_required() -> None:
    def nothing() -> None: ...

    assert ["text"] == tx.as_tool(tools.top).params["required"]
    assert {} == tx.as_tool(nothing).params["properties"]
    assert "required" not in tx.as_tool(nothing).params


# Pinned by their tests of decoding


def test_anc_K17_arguments_are_read_by_name_in_any_order() -> None:
    assert "aaa" == tx.run(tx.as_tool(tools.top), '{"times": 3, "text": "a"}').value


def test_anc_K18_all_that_is_missing_is_told_at_once() -> None:
    """There what was present is passed on, and the call fails."""

    def needs(a: int, b: int) -> None: ...

    message = tx.run(tx.as_tool(needs)).value["message"]
    assert "a: required, and not supplied; b: required, and not supplied" in message


def test_anc_K19_a_method_without_its_object_is_refused() -> None:
    """There its receiver is left out of what is decoded."""
    with pytest.raises(tx.DeclarationError, match=r"Scaled\.scale is a method that was taken from its class.*this="):
        tx.as_tool(tools.Scaled.scale)


def test_anc_K20_whole_and_other_numbers_are_read() -> None:
    assert [2**40, 2.5] == run(lambda_of(int, float), a=2**40, b=2.5)


def lambda_of(one: Any, two: Any) -> Callable[..., Any]:
    def both(a: Any, b: Any) -> list[Any]:
        return [a, b]

    both.__annotations__.update(a=one, b=two)
    return both


def test_anc_K21_K22_nested_data_classes_and_lists_of_them_are_made() -> None:
    ada = {"name": "Ada", "address": {"street": "x"}}
    made = tools.Person("Ada", tools.Address("x"))

    assert [made, [made, made]] == run(lambda_of(tools.Person, list[tools.Person]), a=ada, b=[ada, ada])


def test_anc_K23_the_return_keeps_the_native_value_beside_its_text() -> None:
    fn = tx.tool(name="t")(lambda: tools.Address("x"))
    ret = tx.run(fn)

    assert tools.Address("x") == ret.value
    assert {"street": "x", "number": 1} == json.loads(tx.render(ret))


# Pinned by their tests of registries and serialisation


def test_anc_K24_the_very_same_tool_again_is_ignored_and_the_order_kept() -> None:
    first, second = tx.as_tool(tools.top), tx.as_tool(tools.atop)

    assert {} == tx.Context().functions
    assert ["top", "atop"] == list(tx.Context(tools=[first, second, first]).functions)


def test_anc_K25_looking_up_what_is_not_there_names_it() -> None:
    with pytest.raises(tx.NoSuchToolError, match="'nothing'"):
        tx.Tool.find_by_name("nothing", strict=True)


def test_anc_K26_two_tools_of_one_name_are_refused_and_none_is_dropped() -> None:
    """There a merge keeps one of them without a word."""
    with pytest.raises(tx.DeclarationError, match="two tools are named 'top'"):
        tx.Context(tools=[tx.as_tool(tools.top), tx.as_tool(tools.atop, name="top")])


def test_anc_K27_a_result_may_have_a_text_form_of_its_own() -> None:
    assert "x 1" == rendered(tools.Address("x"), json=tx.Json(encode=lambda a: f"{a.street} {a.number}"))


def test_anc_K28_a_description_is_json_schema() -> None:
    """There it is a form of their own: lists of required and optional names, enum values by name."""

    class Colour(enum.Enum):
        RED = "red"

    schema = tx.as_tool(lambda_of(Colour, list[list[int]])).params

    assert ["red"] == schema["$defs"]["Colour"].get("enum", [schema["$defs"]["Colour"].get("const")])
    assert {"type": "array", "items": {"type": "integer"}} == schema["properties"]["b"]["items"]


# In their code, pinned by none of their tests


def test_anc_K29_where_name_and_description_come_from() -> None:
    marked = tools.Marks()

    assert "own" == tx.as_tool(marked.find, name="own").name
    assert "find-it" == tx.as_tool(marked.find).name
    assert "top" == tx.as_tool(tools.top).name
    assert "own" == tx.as_tool(marked.find, description="own").description
    assert "Find something" == tx.as_tool(marked.find).description
    assert "double" == tx.as_tool(tools.Scaled.double).description
    assert "find" == tools.Nearer().find.name


def test_anc_K30_bases_are_looked_through_in_pythons_own_order() -> None:
    """There it is breadth first, superclass before interfaces."""

    class Left(tools.Interface):
        @tx.tool(description="left")
        def find(self, what: str, limit: int = 3) -> list[str]:
            return []

    class Right(tools.Interface):
        @tx.tool(description="right")
        def find(self, what: str, limit: int = 3) -> list[str]:
            return []

    class Both(Left, Right):
        def find(self, what: str, limit: int = 3) -> list[str]:  # type: ignore[override]  # a plain method over tools
            return []

    assert "left" == tx.as_tool(Both().find).description


def test_anc_K31_what_cannot_be_converted_is_one_kind_of_error_that_says_what_to_write() -> None:
    """There they are three."""
    for wrong, text in [
        (lambda: tx.as_tool(tools.Scaled.scale), "this="),
        (lambda: tx.as_tool(tools.Scaled(1).scale, this=tools.Scaled(1)), "bound already"),
        (lambda: tx.as_tool(tools.top, this=tools), "leave out this="),
        (lambda: tx.as_tool(tools.Scaled.scale, this=3), "works on a Scaled"),
        (lambda: tx.as_tools(tools.Scaled(1)), "no method that is marked"),
        (lambda: tx.as_tool(3), "not 3"),  # type: ignore[arg-type]  # that is the point
        (lambda: tx.as_tool(tools.Scaled), "not <class"),
        (lambda: tx.as_tool(lambda: 1), "name="),
    ]:
        with pytest.raises(tx.DeclarationError, match=text):
            wrong()  # type: ignore[no-untyped-call]  # a list of lambdas


def test_anc_K32_all_types_that_pydantic_knows_are_supported() -> None:
    """There maps, sets, sealed and generic ones are not."""
    got = run(lambda_of(dict[str, set[int]], dt.date | Literal["never"]), a={"x": [1, 1]}, b="2030-01-02")

    assert [{"x": {1}}, dt.date(2030, 1, 2)] == got


def test_anc_K33_what_may_be_null_says_so_in_the_schema() -> None:
    """There nullability is no part of it."""
    schema = tx.as_tool(lambda_of(int | None, int)).params

    assert ["a", "b"] == schema["required"]
    assert {"type": "null"} in schema["properties"]["a"]["anyOf"]
    assert [None, 1] == run(lambda_of(int | None, int), a=None, b=1)


def test_anc_K34_enum_values_are_exact_and_nulls_are_written() -> None:
    """There case does not matter and nulls are left out."""
    fn = tx.as_tool(lambda_of(Literal["red"], int))

    assert "bad_arguments" == tx.run(fn, {"a": "RED", "b": 1}).status
    assert '{"a":null}' == rendered({"a": None}).replace(" ", "")


def test_anc_K35_a_second_tool_of_a_name_is_refused_naming_it() -> None:
    with pytest.raises(tx.DeclarationError, match="'top'"):
        tx.Context(tools=[tx.as_tool(tools.top), tx.tool(name="top")(lambda: 1)])


# What else there is of functions that are there already


def test_G2_class_and_static_methods_in_both_orders_of_the_decorators() -> None:
    class Made:
        @classmethod
        @tx.tool
        def one(cls, a: int) -> str:
            return f"{cls.__name__} {a}"

        @tx.tool
        @classmethod
        def two(cls, a: int) -> str:
            return f"{cls.__name__} {a}"

        @staticmethod
        @tx.tool
        def three(a: int) -> int:
            return a

        @tx.tool
        @staticmethod
        def four(a: int) -> int:
            return a

    class Child(Made): ...

    for owner in (Child, Child()):
        ctx = tx.Context(tools=[owner.one, owner.two, owner.three, owner.four])
        ctx.receive([{"name": name, "arguments": {"a": 1}} for name in ("one", "two", "three", "four")])
        assert ["Child 1", "Child 1", 1, 1] == [ret.value for ret in ctx.wait()]
        assert ["four", "one", "three", "two"] == names(tx.as_tools(owner))
    assert ("Child 2", 2) == (Child().two(2), Made.four(2))


def test_G2_a_method_that_was_taken_from_its_class_is_no_tool() -> None:
    with pytest.raises(tx.DeclarationError, match=r"'added' is a method that was taken from its class.*this="):
        tx.Context(tools=[tools.Marks.added])
    assert 3 == tx.run(tx.as_tool(tools.Marks.added, this=tools.Marks()), {"a": 3}).value


def test_a_tool_made_elsewhere_may_stand_in_a_class() -> None:
    one = tx.tool(name="one")(tools.top)

    class Holder:
        tool = one

    assert one is Holder.tool
    assert ["one"] == list(tx.Context(tools=[Holder.tool]).functions)


def test_what_a_partial_has_bound_is_not_the_models_to_send() -> None:
    tool = tx.as_tool(functools.partial(tools.top, times=3))

    assert ("top", "Say it.", ["text"]) == (tool.name, tool.description, list(tool.params["properties"]))
    assert "aaa" == tx.run(tool, {"text": "a"}).value
    assert "bad_arguments" == tx.run(tool, {"text": "a", "times": 1}).status


def test_what_a_wrapper_supplies_is_not_either() -> None:
    @functools.wraps(tools.top)
    def shout(text: str) -> str:
        return tools.top(text.upper(), times=1)

    @functools.wraps(tools.top)
    def logged(*args: Any, **kwargs: Any) -> str:
        return tools.top(*args, **kwargs)

    assert ("top", ["text"]) == ((tool := tx.as_tool(shout)).name, list(tool.params["properties"]))
    assert "A" == tx.run(tool, {"text": "a"}).value
    assert ["text", "times"] == list(tx.as_tool(logged).params["properties"])


def test_objects_that_can_be_called_and_builtins() -> None:
    class Greeter:
        """Greet somebody."""

        def __call__(self, name: str) -> str:
            return f"hello {name}"

    tool = tx.as_tool(Greeter())

    assert ("Greeter", "Greet somebody.") == (tool.name, tool.description)
    assert "hello Ada" == tx.run(tool, {"name": "Ada"}).value == tool("Ada")
    assert 3 == run(len, obj=[1, 2, 3])
    assert ["a", "b"] == run("a b".split, sep=" ")


def test_a_marked_method_keeps_its_options_and_its_hook() -> None:
    class Stops:
        told: list[str] = []  # noqa: RUF012 - one for all, to be looked at below

        @tx.tool(timeout=3, strategy="thread", json=tx.Json(ignore_unknown=True))
        def work(self, a: int) -> int:
            return a

        @work.on_interrupt
        def stop(self) -> None:
            self.told.append("stopped")

    class Child(Stops):
        def work(self, a: int) -> int:  # type: ignore[override]  # unmarked, as the tool is inherited
            return 10 * a

    (tool,) = tx.as_tools(Child())

    assert 10 == tx.run(tool, {"a": 1, "b": 2}).value
    assert (3, "thread") == (tool._definition.timeout, tool._definition.strategy)
    tool.interrupt()
    assert ["stopped"] == Stops.told


@pytest.mark.parametrize("strategy", ["sequential", "thread", "asyncio", "trio", "fork"])
def test_it_runs_under_every_strategy(strategy: str) -> None:
    ctx = tx.Context(tools=[tx.as_tool(tools.Scaled(3).scale), *tx.as_tools(tools.Marks())], strategy=strategy)
    ctx.receive(
        [
            {"name": "scale", "arguments": {"n": 2}},
            {"name": "added", "arguments": {"a": 1}},
            {"name": "find-it", "arguments": {"what": "x"}},
        ]
    )

    assert [6, 1, ["x"]] == [ret.unwrap() for ret in ctx.wait()]
