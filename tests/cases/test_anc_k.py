"""What the users of the Kotlin ancestor's functions as tools could rely on, or what is done here instead."""

from __future__ import annotations

import dataclasses
import functools
import json
import threading
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest

import toolexec as tx
from cases import toolsets
from cases.case_tools import ALL, PATIENCE_S, received
from cases.toolsets import Colour, Counter, Indexed, Line, Loud, Louder, Node, Point, Quiet, Quieter, Searcher

every = pytest.mark.parametrize("strategy", ALL)


class Opaque:
    pass


def texts(tool: tx.Function) -> dict[str, Any]:
    return {name: shown.get("description") for name, shown in tool.params["properties"].items()}


def call(tool: tx.Function, arguments: Any = None) -> tx.Return:
    return tx.run(tool, arguments, "sequential")


def refused(tool: tx.Function, arguments: Any) -> str:
    """The text of the answer to arguments that do not fit."""
    ret = call(tool, arguments)
    assert ("bad_arguments", 0) == (ret.status, ret.attempts)
    return str(ret.value["message"])


def named(tools: list[tx.Function]) -> dict[str, tx.Function]:
    return {tool.name: tool for tool in tools}


@every
@pytest.mark.parametrize("form", list(toolsets.tools()))
def test_anc_K1_K2_functions_and_methods_sync_and_async_run_alike(form: str, strategy: str) -> None:
    tool = toolsets.tools()[form]
    ret = tx.run(tool, {"by": 2}, strategy, timeout=PATIENCE_S)

    assert ("ok", 3) == (ret.status, ret.value), ret
    assert ["by"] == list(tool.params["properties"])


def test_anc_K1_a_method_needs_no_receiver() -> None:
    counter = Counter(5)

    assert ["by"] == list(tx.as_tool(counter.add).params["properties"])
    assert 7 == call(tx.as_tool(counter.add), {"by": 2}).unwrap() == counter.count


def test_anc_K3_a_result_stays_what_it_is_and_a_text_goes_unquoted() -> None:
    def text() -> str:
        return "plain"

    def number() -> int:
        return 3

    def point() -> Point:
        return Point(1)

    def nothing() -> None: ...

    rets = {function.__name__: call(tx.as_tool(function)) for function in (text, number, point, nothing)}

    assert {"text": "plain", "number": 3, "point": Point(1), "nothing": None} == {n: r.value for n, r in rets.items()}
    assert {"text": "plain", "number": "3", "nothing": "null"} == {
        name: tx.render(ret) for name, ret in rets.items() if name != "point"
    }
    assert {"x": 1, "y": 0} == json.loads(tx.render(rets["point"]))


def test_anc_K4_several_parameters_of_several_types_are_filled_by_name() -> None:
    arguments = {"flag": True, "point": {"x": 1}, "ratio": 0.5, "text": "t", "number": 7}

    assert ["t", 7, 0.5, True, Point(1), Colour.RED] == call(tx.as_tool(toolsets.mixed), arguments).unwrap()


def test_anc_K5_a_parameter_with_a_default_may_be_left_out() -> None:
    tool = tx.as_tool(toolsets.greet)

    assert "hello you" == call(tool, {"name": "you"}).unwrap()
    assert "hello youhello you" == call(tool, '{"name": "you", "times": 2}').unwrap()
    assert 1 == tool.params["properties"]["times"]["default"]


@pytest.mark.parametrize("arguments", [{"name": "you", "other": 1}, {"name": "you", "times": 2, "other": 1}])
def test_anc_K6_an_unknown_key_is_refused_unless_the_tool_says_otherwise(arguments: dict[str, Any]) -> None:
    text = refused(tx.as_tool(toolsets.greet), arguments)
    assert "other: not a parameter" in text
    assert "expected: name, times" in text

    lenient = tx.as_tool(toolsets.greet, json=tx.Json(ignore_unknown=True))
    assert "hello you" * arguments.get("times", 1) == call(lenient, arguments).unwrap()


def test_anc_K7_a_type_without_a_json_form_fails_as_tool_itself() -> None:
    def use(thing: Opaque, other: int = 0) -> None: ...

    class Service:
        def use(self, thing: Opaque) -> None: ...

    for function in (use, Service().use):
        with pytest.raises(tx.DeclarationError, match=r"tool 'use', parameter 'thing': .*no JSON form") as caught:
            tx.as_tool(function)
        assert isinstance(caught.value, TypeError)


def test_anc_K7_a_name_that_cannot_be_found_fails_as_tool_itself() -> None:
    def use(thing: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821 - that is the point

    with pytest.raises(tx.DeclarationError, match=r"tool 'use', parameter 'thing': .*'Missing'"):
        tx.as_tool(use)


def test_anc_K8_name_and_description_come_from_the_function() -> None:
    tool = tx.as_tool(toolsets.greet)

    assert ("greet", "Greet somebody.") == (tool.name, tool.description)


def test_anc_K9_a_parameter_without_a_text_has_its_name_as_text() -> None:
    assert {"name": "Who.", "times": "times"} == texts(tx.as_tool(toolsets.greet))


def test_anc_K10_all_marked_methods_become_tools_by_order_of_their_names() -> None:
    class Base:
        def open(self) -> None:
            """Public, and no tool."""

    class Tools(Base):
        @tx.tool
        def second(self) -> None: ...

        @tx.tool(name="zeroth")
        def aaa(self) -> None: ...

        @tx.tool
        def first(self) -> None: ...

        def open(self) -> None:
            """Overrides, and still is none."""

    assert ["first", "second", "zeroth"] == [tool.name for tool in tx.as_tools(Tools())]


@pytest.mark.parametrize("obj", [Quiet(), Quieter()])
def test_anc_K11_mark_and_texts_are_inherited_through_levels_that_say_nothing(obj: Quiet) -> None:
    tools = named(tx.as_tools(obj))

    assert ["index", "lookup"] == list(tools)
    find, index = tools["lookup"], tools["index"]
    assert ("Look a key up.", "Index a file.") == (find.description, index.description)
    assert {"key": "The key.", "limit": "How many at most."}.items() <= texts(find).items()
    assert {"path": "The file."} == texts(index)
    assert texts(find) == texts(tx.as_tool(obj.find))
    assert "lookup" == tx.as_tool(obj.find).name


def test_anc_K11_what_runs_and_its_defaults_are_the_implementations() -> None:
    tool = tx.as_tool(Quieter().find)

    assert "quieter k:4:False" == call(tool, {"key": "k"}).unwrap()
    assert "To the letter." == texts(tool)["exact"]  # the one above has no such parameter


def test_anc_K11_an_abstract_class_counts_as_well() -> None:
    tools = named(tx.as_tools(toolsets.Memory()))

    assert {"get": "Get one.", "put": "Put one."} == {name: tool.description for name, tool in tools.items()}
    assert [{"key": "Its key."}, {"key": "Its new key."}] == [texts(tool) for tool in tools.values()]
    assert ["got k", "put k"] == [call(tool, {"key": "k"}).unwrap() for tool in tools.values()]
    with pytest.raises(TypeError, match="abstract"):
        toolsets.Store()  # type: ignore[abstract]  # that is the point


def test_anc_K12_a_mark_on_the_implementation_is_enough_and_nothing_is_taken_from_above() -> None:
    class Interface:
        def find(self, key: Annotated[str, "Above."], limit: int) -> str:  # noqa: D417 - the annotation tells
            """Above.

            Args:
                limit: Above.
            """
            raise NotImplementedError

    class Marked(Interface):
        @tx.tool
        def find(self, key: str, limit: int) -> str:
            return key

    (tool,) = tx.as_tools(Marked())

    assert ("find", "find") == (tool.name, tool.description)
    assert {"key": "key", "limit": "limit"} == texts(tool)


def test_anc_K12_a_marked_override_inherits_nothing() -> None:
    tool = tx.as_tool(Loud().find)

    assert ("find", "Look it up, loudly.") == (tool.name, tool.description)
    assert {"key": "key", "limit": "limit"} == texts(tool)


def test_anc_K13_the_nearest_mark_wins() -> None:
    tool = tx.as_tool(Louder().find)

    assert ("find", "Look it up, loudly.") == (tool.name, tool.description)
    assert {"key": "key", "limit": "limit"} == texts(tool)
    assert "LOUDER k" == call(tool, {"key": "k"}).unwrap()
    assert "lookup" == tx.as_tool(super(Loud, Louder()).find).name  # from where it is taken, upwards


def test_anc_K14_a_class_has_its_own_tools_and_the_inherited_ones() -> None:
    assert ["added", "find", "index", "size"] == [tool.name for tool in tx.as_tools(Loud())]


def test_anc_K15_by_interface_there_are_only_its_tools() -> None:
    loud = Loud()

    assert ["lookup"] == [tool.name for tool in tx.as_tools(loud, Searcher)]
    assert ["index", "lookup"] == [tool.name for tool in tx.as_tools(loud, interface=Indexed)]
    (tool,) = tx.as_tools(loud, Searcher)
    assert ("Look a key up.", {"key": "The key.", "limit": "How many at most."}) == (tool.description, texts(tool))
    assert "LOUD k" == call(tool, {"key": "k"}).unwrap()


def test_anc_K16_required_is_what_has_no_default() -> None:
    def nothing() -> None: ...

    assert ["name"] == tx.as_tool(toolsets.greet).params["required"]
    assert ["text", "number", "ratio", "flag", "point"] == tx.as_tool(toolsets.mixed).params["required"]
    params = tx.as_tool(nothing).params
    assert ({}, []) == (params["properties"], params.get("required", []))


@pytest.mark.parametrize("arguments", ['{"times": 2, "name": "a"}', '{"name": "a", "times": 2}'])
def test_anc_K17_arguments_go_by_name_in_any_order(arguments: str) -> None:
    assert "hello ahello a" == call(tx.as_tool(toolsets.greet), arguments).unwrap()


def test_anc_K18_all_that_is_missing_is_told_at_once_and_before_the_call() -> None:
    text = refused(tx.as_tool(toolsets.mixed), {"number": 1})

    for name in ("text", "ratio", "flag", "point"):
        assert f"{name}: required, and not supplied" in text
    assert "colour:" not in text


def test_anc_K19_a_receiver_is_never_left_out_in_silence() -> None:
    with pytest.raises(tx.DeclarationError, match="this="):
        tx.as_tool(Counter.add)
    with pytest.raises(tx.DeclarationError, match="this="):
        tx.as_tool(toolsets.plus_one, this=Counter())  # type: ignore[misc]  # that is the point


def test_anc_K20_numbers_are_taken_where_nothing_is_lost() -> None:
    def numbers(whole: int, real: float) -> list[float]:
        return [whole, real]

    tool = tx.as_tool(numbers)

    big = call(tool, '{"whole": 9223372036854775807, "real": 1e300}').unwrap()
    assert [9223372036854775807, 1e300] == big
    converted = call(tool, '{"whole": 3.0, "real": 2}').unwrap()
    assert [3, 2.0] == converted
    assert [int, float] == [type(value) for value in converted]
    assert "whole" in refused(tool, '{"whole": 3.5, "real": 2}')


def test_anc_K21_nested_dataclasses_are_read_also_twice_in_a_call() -> None:
    first = {"start": {"x": 1, "y": 2}, "end": {"x": 3}}
    second = {"start": {"x": 5}, "end": {"x": 6, "y": 7}}

    lines = call(tx.as_tool(toolsets.draw), {"first": first, "second": second}).unwrap()

    assert [Line(Point(1, 2), Point(3)), Line(Point(5), Point(6, 7))] == lines


def test_anc_K22_a_list_of_dataclasses_is_read_and_no_mark_is_needed() -> None:
    assert [Point(1), Point(2, 3)] == call(
        tx.as_tool(toolsets.outline), {"points": [{"x": 1}, {"x": 2, "y": 3}]}
    ).unwrap()


def test_anc_K23_the_return_holds_the_native_value_beside_its_text() -> None:
    ctx = received(("outline", {"points": [{"x": 1}]}), tools=[tx.as_tool(toolsets.outline)])
    (ret,) = ctx.wait("sequential")

    assert [Point(1)] == ret.value
    assert [{"x": 1, "y": 0}] == json.loads(ctx.messages()[0]["content"])


def test_anc_K24_tools_keep_their_order_and_the_very_same_again_is_ignored() -> None:
    counter = Counter()
    add, greet = tx.as_tool(counter.add), tx.as_tool(toolsets.greet)

    assert {} == tx.Context().functions
    assert ["greet", "add"] == list(tx.Context([greet, add]).functions)
    assert ["greet", "add"] == list(tx.Context([greet, add, greet, add, tx.as_tool(counter.add)]).functions)


def test_anc_K25_a_look_up_of_what_is_not_there_says_so() -> None:
    greet = tx.as_tool(toolsets.greet)
    ctx = tx.Context([greet])

    assert greet is ctx.functions["greet"]
    with pytest.raises(KeyError):
        ctx.functions["greets"]
    assert tx.Function.find_by_name("greets") is None


def test_anc_K26_of_two_sets_of_tools_a_clash_is_refused_and_an_empty_one_changes_nothing() -> None:
    one = tx.as_tools(Quiet())
    other = tx.as_tools(Loud())

    assert [tool.name for tool in one] == list(tx.Context([*one, *[]]).functions)
    assert ["index", "lookup"] == list(tx.Context([*one, *one]).functions)
    with pytest.raises(tx.DeclarationError, match="two tools are named 'index'"):
        tx.Context([*one, *other])


def test_anc_K27_a_text_goes_unquoted_a_structure_as_json_and_a_tool_may_write_its_own() -> None:
    def show(point: Point) -> str:
        return f"at {point.x}"

    def where() -> Point:
        return Point(4)

    own = tx.as_tool(where, json=tx.Json(encode=show))
    ctx = received(("where", None), tools=[own])
    (ret,) = ctx.wait("sequential")

    assert Point(4) == ret.value
    assert "at 4" == ctx.messages()[0]["content"]
    assert '{"x":4,"y":0}' == tx.render(call(tx.as_tool(where))).replace(" ", "")


def test_anc_K28_the_schema_is_json_schema_with_the_values_of_enums() -> None:
    def deep(colour: Colour, lists: list[list[list[int]]]) -> None: ...

    params = tx.as_tool(deep).params
    colour = params["properties"]["colour"]
    resolved = params["$defs"][colour["$ref"].rpartition("/")[2]] if "$ref" in colour else colour

    assert ["red", "blue"] == resolved["enum"]
    lists = params["properties"]["lists"]
    assert ["array"] * 3 + ["integer"] == [
        lists["type"], lists["items"]["type"], lists["items"]["items"]["type"], lists["items"]["items"]["items"]["type"]
    ]  # fmt: skip
    assert ["colour", "lists"] == params["required"]


def test_anc_K29_the_argument_goes_before_the_mark_and_that_before_the_function() -> None:
    def bare() -> None: ...

    def documented() -> None:
        """Say something."""

    marked = tx.tool(name="m", description="Mark.")(documented)
    blank = tx.tool(name=" ", description=" ")(documented)

    def told(tool: tx.Function) -> tuple[str, str]:
        return tool.name, tool.description

    assert ("a", "Argument.") == told(tx.as_tool(marked, name="a", description="Argument."))
    assert ("m", "Mark.") == told(tx.as_tool(marked))
    assert ("a", "Mark.") == told(tx.as_tool(marked, name="a"))
    assert ("m", "Argument.") == told(tx.as_tool(marked, description="Argument."))
    assert ("documented", "Say something.") == told(tx.as_tool(blank))
    assert ("documented", "Say something.") == told(tx.as_tool(documented))
    assert ("a", "Say something.") == told(tx.as_tool(documented, name="a"))
    assert ("bare", "bare") == told(tx.as_tool(bare))
    assert ("a", "bare") == told(tx.as_tool(bare, name="a"))


def test_anc_K30_marks_are_looked_for_in_the_order_of_the_mro() -> None:
    class Base:
        @tx.tool(description="Base.")
        def run(self) -> None: ...

    class Middle(Base):
        pass

    class Other:
        @tx.tool(description="Other.")
        def run(self, more: int) -> None: ...

    class Both(Middle, Other):
        def run(self) -> None: ...

    # Breadth first, Other would come before Base.
    assert ["Base."] == [tool.description for tool in tx.as_tools(Both())]
    assert "Base." == tx.as_tool(Both().run).description


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tx.as_tool(Counter.add), r"Counter\.add is a method.*obj\.add.*tx\.as_tool\(Counter\.add, this=obj\)"),
        (lambda: tx.as_tools(Counter()), r"no method of Counter.* is marked with @tx\.tool"),
        (lambda: tx.as_tool(lambda: 1), r"tx\.as_tool\(function, name=\.\.\.\)"),
        (lambda: tx.as_tool(3), "functions, methods and objects that can be called"),  # type: ignore[call-overload]  # that is the point
    ],
)
def test_anc_K31_whatever_cannot_be_a_tool_is_a_declaration_error(make: Callable[[], object], text: str) -> None:
    with pytest.raises(tx.DeclarationError, match=text):
        make()


def test_anc_K31_a_type_of_a_result_is_no_matter_of_declaration() -> None:
    def odd() -> threading.Lock:
        return threading.Lock()

    ret = call(tx.as_tool(odd))

    assert ret.ok
    assert "lock" in tx.render(ret)


def test_anc_K32_maps_sets_unions_and_generics_are_types_too() -> None:
    def take(a: dict[str, list[int]], b: set[int], c: int | str, d: tuple[int, ...], e: Literal["x", 1]) -> list[Any]:
        return [a, b, c, d, e]

    arguments = {"a": {"k": [1]}, "b": [1, 2], "c": "s", "d": [1], "e": "x"}
    assert [{"k": [1]}, {1, 2}, "s", (1,), "x"] == call(tx.as_tool(take), arguments).unwrap()


def test_anc_K32_a_recursive_class_has_its_list_of_what_is_required() -> None:
    def names(root: Node) -> list[str]:
        return [root.name, *(name for child in root.children for name in names(child))]

    tool = tx.as_tool(names)

    assert ["name"] == tool.params["$defs"]["Node"]["required"]
    tree = {"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]}
    assert ["a", "b", "c"] == call(tool, {"root": tree}).unwrap()


def test_anc_K33_null_is_a_value_only_where_the_type_says_so() -> None:
    def take(a: int | None, b: int = 2, c: int | None = 3) -> list[int | None]:
        return [a, b, c]

    tool = tx.as_tool(take)

    assert ["a"] == tool.params["required"]
    assert [None, 2, None] == call(tool, '{"a": null, "b": null, "c": null}').unwrap()
    assert "a: required" in refused(tool, {})
    assert '{"x":null}' == tx.render(call(tx.as_tool(lambda: {"x": None}, name="nulls"))).replace(" ", "")


@pytest.mark.parametrize("sent", ["RED", "Red", "r"])
def test_anc_K34_a_member_of_an_enum_is_its_exact_text(sent: str) -> None:
    def paint(colour: Colour) -> Colour:
        return colour

    tool = tx.as_tool(paint)

    assert Colour.RED is call(tool, {"colour": "red"}).unwrap()
    assert "colour" in refused(tool, {"colour": sent})


def test_anc_K35_a_second_tool_of_one_name_is_refused_by_it() -> None:
    with pytest.raises(tx.DeclarationError, match="two tools are named 'greet'"):
        tx.Context([tx.as_tool(toolsets.greet), tx.as_tool(toolsets.agreet, name="greet")])


def test_anc_K36_every_failure_is_a_text_for_the_model_and_an_unknown_tool_harms_no_other_call() -> None:
    def fail() -> None:
        raise tx.ToolError("try the other one")

    tools = [tx.as_tool(toolsets.greet), tx.as_tool(fail)]
    ctx = received(
        ("greet", "{"), ("greet", {}), ("fail", None), ("other", None), ("greet", {"name": "a"}), tools=tools
    )
    returns = ctx.wait("sequential")

    assert ["bad_arguments", "bad_arguments", "raised", "unknown_tool", "ok"] == [ret.status for ret in returns]
    contents = [message["content"] for message in ctx.messages()]
    assert "not valid JSON" in contents[0]
    assert "name: required" in contents[1]
    assert "try the other one" in contents[2]
    assert "tool not found" in contents[3]
    assert "hello a" == contents[4]


def test_anc_K37_calls_of_one_response_overlap_and_are_answered_in_their_order() -> None:
    second_is_through = threading.Event()

    def first() -> str:
        return "first" if second_is_through.wait(PATIENCE_S) else "alone"

    def second() -> str:
        second_is_through.set()
        return "second"

    ctx = received(("first", None), ("second", None), tools=[tx.as_tool(first), tx.as_tool(second)])

    assert ["first", "second"] == [ret.unwrap() for ret in ctx.wait("thread")]


def test_anc_K38_calling_it_directly_with_a_wrong_number_of_arguments_is_pythons_own_error() -> None:
    tool = tx.as_tool(functools.partial(toolsets.plus, 1))

    assert 3 == tool(2)
    with pytest.raises(TypeError, match=r"plus\(\) takes 2 positional arguments but 3 were given"):
        tool(2, 3)


def test_anc_K39_an_object_that_answers_a_question_is_a_tool_with_one_parameter() -> None:
    @dataclasses.dataclass
    class Agent:
        """Answers questions."""

        known: dict[str, str]

        def __call__(self, request: str) -> str:
            return self.known[request]

    tool = tx.as_tool(Agent({"who": "me"}), name="agent")

    assert ("Answers questions.", ["request"]) == (tool.description, tool.params["required"])
    assert "me" == call(tool, {"request": "who"}).unwrap()
    failed = call(tool, {"request": "why"})
    assert ("raised", "KeyError") == (failed.status, failed.value["type"])
    assert failed.value["backtrace"]
