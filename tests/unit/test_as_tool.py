"""Tools made of functions and objects by as_tool and as_tools."""

from __future__ import annotations

import functools
import pickle
import textwrap
from collections.abc import Callable
from types import MethodType
from typing import Annotated, Any, Protocol

import pytest

import toolexec as tx
from cases import toolsets
from cases.toolsets import Counter, Orders, Quiet, Reordered, Searcher


def call(tool: tx.Function, arguments: Any = None) -> Any:
    return tx.run(tool, arguments, "sequential").unwrap()


def texts(tool: tx.Function) -> dict[str, Any]:
    return {name: shown.get("description") for name, shown in tool.params["properties"].items()}


def parameters(tool: tx.Function) -> list[str]:
    return list(tool.params["properties"])


class MyTools:
    @tx.tool
    def my_best_tool(self, arg1: str, arg2: int) -> str:
        return f"{arg1}{arg2}"

    def unmarked(self, arg1: str) -> str:
        return arg1


# A method, and what it is called on


@pytest.mark.parametrize(
    ("name", "arguments"), [("my_best_tool", {"arg1": "a", "arg2": 1}), ("unmarked", {"arg1": "a1"})]
)
def test_a_method_of_an_instance_needs_no_this_and_one_of_the_class_does(name: str, arguments: dict[str, Any]) -> None:
    my_tools = MyTools()
    bound = tx.as_tool(getattr(my_tools, name), json=tx.Json())
    of_the_class = tx.as_tool(getattr(MyTools, name), json=tx.Json(), this=my_tools)

    for tool in (bound, of_the_class):
        assert (name, list(arguments)) == (tool.name, parameters(tool))
        assert "a1" == call(tool, arguments)


@pytest.mark.parametrize(
    "method", [MyTools.my_best_tool, MyTools.unmarked, Counter.add, str.upper, vars(Orders)["class_inside"]]
)
def test_a_method_of_a_class_without_this_is_refused_and_told_what_to_write(method: Any) -> None:
    with pytest.raises(tx.DeclarationError, match=r"is a method, .* \(obj\.\w+\).*this=: tx\.as_tool\("):
        tx.as_tool(method)


def test_a_method_of_a_class_inside_a_function_is_known_by_its_self() -> None:
    class Local:
        def act(self, a: int) -> int:
            return a

        @staticmethod
        def still(a: int) -> int:
            return a

    with pytest.raises(tx.DeclarationError, match="this="):
        tx.as_tool(Local.act)
    assert 1 == call(tx.as_tool(Local.act, this=Local()), {"a": 1})
    assert 1 == call(tx.as_tool(Local.still), {"a": 1})


@pytest.mark.parametrize(
    "function",
    [
        MyTools().my_best_tool,
        MyTools().unmarked,
        toolsets.greet,
        toolsets.marked,
        Counter.double,
        Counter.kind,
        Orders.static_inside,
        Orders.class_outside,
        Orders().class_inside,
        vars(Counter)["double"],
        len,
        "a".upper,
        Counter(),
        functools.partial(toolsets.plus, 1),
        functools.partial(Counter.add, Counter()),
        functools.partial(Counter().add, 1),
    ],
)
def test_this_for_what_has_its_receiver_or_needs_none_is_refused(function: Any) -> None:
    with pytest.raises(tx.DeclarationError, match="this="):
        tx.as_tool(function, this=Counter())


def test_this_of_another_class_is_refused() -> None:
    with pytest.raises(tx.DeclarationError, match=r"MyTools\.unmarked is no method of an object of type Counter"):
        tx.as_tool(MyTools.unmarked, this=Counter())  # type: ignore[misc]  # that is the point


def test_every_instance_has_its_own_state() -> None:
    one, two = Counter(1), Counter(10)
    tools = [tx.as_tool(one.add), tx.as_tool(Counter.add, this=two)]

    assert [2, 11] == [call(tool, {"by": 1}) for tool in tools]
    assert [3, 12] == [call(tool, {"by": 1}) for tool in tools]


def test_what_the_instances_class_makes_of_a_method_is_what_runs() -> None:
    quiet = Quiet()

    methods: list[Any] = [Searcher.find, Quiet.find]
    for method in methods:
        tool = tx.as_tool(method, this=quiet)
        assert ("lookup", "k:3") == (tool.name, call(tool, {"key": "k"}))


def test_an_interface_may_be_followed_without_inheriting_from_it() -> None:
    class Follower:
        def find(self, key: str, limit: int = 1) -> str:
            return f"follower {key}"

    tool = tx.as_tool(Searcher.find, this=Follower())
    (same,) = tx.as_tools(Follower(), Searcher)

    for found in (tool, same):
        assert ("lookup", "Look a key up.", "The key.") == (found.name, found.description, texts(found)["key"])
        assert "follower k" == call(found, {"key": "k"})


# Class and static methods


@pytest.mark.parametrize("source", [Orders, Orders(), Reordered])
@pytest.mark.parametrize("name", ["class_inside", "class_outside", "class_named"])
def test_G2_a_class_method_is_a_tool_of_the_class_it_is_taken_from(name: str, source: Any) -> None:
    method = getattr(source, name)
    expected = f"{'Reordered' if source is Reordered else 'Orders'} 1"
    given = expected if (source, name) != (Reordered, "class_inside") else f"again {expected}"

    tool = tx.as_tool(method)

    assert ["a"] == parameters(tool)
    assert "named" == tool.name if name == "class_named" else name == tool.name
    assert [given] * 3 == [call(tool, {"a": 1}), tool(1), method(1)]


@pytest.mark.parametrize("source", [Orders, Orders(), Reordered])
@pytest.mark.parametrize("name", ["static_inside", "static_outside"])
def test_G2_a_static_method_is_a_tool(name: str, source: Any) -> None:
    method = getattr(source, name)
    given = "again 1" if (source, name) == (Reordered, "static_outside") else "static 1"

    tool = tx.as_tool(method)

    assert (name, ["a"]) == (tool.name, parameters(tool))
    assert [given] * 3 == [call(tool, {"a": 1}), tool(1), method(1)]


@pytest.mark.parametrize("name", ["class_inside", "class_outside", "static_inside", "static_outside"])
def test_G2_a_context_takes_a_marked_class_or_static_method_in_either_order(name: str) -> None:
    for source in (Orders, Orders()):
        ctx = tx.Context([getattr(source, name)])
        ctx.receive([{"name": name, "arguments": {"a": 1}}])
        assert ctx.wait("sequential")[0].unwrap().endswith(" 1")
        assert ["a"] == parameters(ctx.functions[name])


def test_G2_the_objects_that_stand_in_the_class_are_taken_too() -> None:
    assert "static 1" == call(tx.as_tool(vars(Orders)["static_inside"]), {"a": 1})
    assert "static 1" == call(tx.as_tool(vars(Orders)["static_outside"]), {"a": 1})
    assert 4 == call(tx.as_tool(vars(Counter)["double"]), {"n": 2})
    for name in ("class_inside", "class_outside"):
        for this in (Reordered, Reordered()):
            assert call(tx.as_tool(vars(Orders)[name], this=this), {"a": 1}).endswith("Reordered 1")
    assert "Counter!" == call(tx.as_tool(vars(Counter)["kind"], this=Counter), {"suffix": "!"})


def test_G2_an_unmarked_override_of_a_class_or_static_method_inherits_its_mark() -> None:
    class Marked:
        @tx.tool(name="made", description="Make.")
        @classmethod
        def make(cls, a: Annotated[int, "A."]) -> str:
            return "marked"

    class Override(Marked):
        @classmethod
        def make(cls, a: int) -> str:
            return cls.__name__

    for tool in (tx.as_tool(Override.make), *tx.as_tools(Override), *tx.as_tools(Override())):
        assert ("made", "Make.", {"a": "A."}) == (tool.name, tool.description, texts(tool))
        assert "Override" == call(tool, {"a": 1})
    assert "static_outside" == tx.as_tool(Reordered.static_outside).name
    assert "again 1" == call(tx.as_tool(Reordered.static_outside), {"a": 1})


def test_G2_a_marked_method_taken_from_its_class_is_no_tool_of_a_context() -> None:
    with pytest.raises(tx.DeclarationError, match=r"MyTools\.my_best_tool is a method.*this="):
        tx.Context([MyTools.my_best_tool])


def test_a_tool_of_a_module_may_stand_in_a_class_and_stays_a_tool() -> None:
    class Box:
        kept = toolsets.marked

    assert toolsets.marked is Box.kept
    assert ["marked"] == list(tx.Context([toolsets.marked]).functions)


def test_a_bound_tool_in_a_class_keeps_its_instance() -> None:
    class Box:
        best = MyTools().my_best_tool
        part = tx.as_tool(functools.partial(toolsets.plus, 1), name="part")
        builtin = tx.as_tool(len)

    assert "a1" == Box().best("a", 1)
    assert 3 == Box().part(2)
    assert 2 == Box().builtin("ab")


# Partials, objects, builtins


def test_what_a_partial_has_bound_is_not_in_the_schema() -> None:
    def paint(wall: str, colour: Annotated[str, "Which."], coats: int = 1, *, dry: bool = True) -> list[Any]:  # noqa: D417
        """Paint a wall.

        Args:
            wall: The wall.
            coats: How often.
        """
        return [wall, colour, coats, dry]

    tool = tx.as_tool(functools.partial(functools.partial(paint, "north"), dry=False))

    assert ("paint", "Paint a wall.") == (tool.name, tool.description)
    assert {"colour": "Which.", "coats": "How often."} == texts(tool)
    assert ["north", "red", 1, False] == call(tool, {"colour": "red"})
    refused = tx.run(tool, {"colour": "red", "wall": "south"}, "sequential")
    assert "bad_arguments" == refused.status


def test_a_partial_of_a_marked_function_has_its_mark() -> None:
    marked = tx.tool(name="m", description="Mark.", timeout=5)(toolsets.plus)

    for tool in (tx.as_tool(functools.partial(marked, 1)), tx.as_tool(functools.partial(marked, n=1))):
        assert ("m", "Mark.", ["by"]) == (tool.name, tool.description, parameters(tool))
        assert 5 == tool._definition.timeout
        assert 3 == call(tool, {"by": 2})


def test_a_partial_of_a_marked_async_function_is_async() -> None:
    tool = tx.as_tool(functools.partial(tx.tool(toolsets.agreet), times=2))

    assert tool._definition.is_async
    assert "hello ahello a" == call(tool, {"name": "a"})


@pytest.mark.parametrize(
    "function",
    [
        functools.partial(Quiet().find, limit=7),
        functools.partial(Quiet.find, Quiet(), limit=7),
        functools.partial(Searcher.find, Quiet(), limit=7),
    ],
)
def test_a_partial_of_a_method_has_the_mark_above_it(function: Any) -> None:
    tool = tx.as_tool(function)

    assert ("lookup", {"key": "The key."}) == (tool.name, texts(tool))


def test_a_partial_of_a_method_runs_what_it_names_or_what_this_has() -> None:
    assert "k:7" == call(tx.as_tool(functools.partial(Quiet.find, Quiet(), limit=7)), {"key": "k"})
    assert "k:7" == call(tx.as_tool(functools.partial(Searcher.find, limit=7), this=Quiet()), {"key": "k"})
    with pytest.raises(tx.DeclarationError, match="this="):
        tx.as_tool(functools.partial(Quiet.find, limit=7))


def test_an_object_is_called_by_the_name_of_its_class() -> None:
    tool = tx.as_tool(Counter(1))

    assert ("Counter", "Add, when called.") == (tool.name, tool.description)
    assert {"by": "How much, when called."} == texts(tool)
    assert 3 == call(tool, {"by": 2})
    assert 4 == tool(1)


def test_a_builtin_that_tells_its_signature_is_a_tool() -> None:
    assert ("len", ["obj"]) == (tx.as_tool(len).name, parameters(tx.as_tool(len)))
    assert "Return the number of items in a container." == tx.as_tool(len).description
    assert 2 == call(tx.as_tool(len), {"obj": [1, 2]})
    for tool in (tx.as_tool("ab".center), tx.as_tool(str.center, this="ab")):
        assert ("center", ["width", "fillchar"]) == (tool.name, parameters(tool))
        assert "*ab*" == call(tool, {"width": 4, "fillchar": "*"})


def test_a_builtin_that_does_not_is_refused() -> None:
    with pytest.raises(tx.DeclarationError, match="tool 'max': its signature cannot be read"):
        tx.as_tool(max)


@pytest.mark.parametrize("function", [toolsets.greet, toolsets.agreet])
def test_a_wrapper_shows_what_it_wraps(function: Callable[..., Any]) -> None:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    tool = tx.as_tool(wrapper)

    assert ("greet" in tool.name, ["name", "times"]) == (True, parameters(tool))
    assert {"name": "Who.", "times": "times"} == texts(tool)
    assert "hello a" == call(tool, {"name": "a"})


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(tx.DeclarationError, match=r"a lambda has no name of its own: write tx\.as_tool\(.*name="):
        tx.as_tool(lambda a: a)
    tool = tx.as_tool(lambda a: a, name="same")

    assert ("same", "same", 1) == (tool.name, tool.description, call(tool, {"a": 1}))


@pytest.mark.parametrize("name", ["", " ", 3])
def test_a_name_that_is_none_is_refused(name: Any) -> None:
    for function in (toolsets.greet, toolsets.marked, lambda: 1):
        with pytest.raises(tx.DeclarationError, match="non-empty string"):
            tx.as_tool(function, name=name)


class ReadFile(tx.Tool):
    name = "as-tool-read-file"

    def call(self) -> None: ...


@pytest.mark.parametrize("thing", [ReadFile, ReadFile(), Counter, 3, None, "greet"])
def test_what_is_no_function_is_refused_and_named(thing: Any) -> None:
    with pytest.raises(tx.DeclarationError, match=r"functions, methods and .* not (class|an object of type) \w+"):
        tx.as_tool(thing)


def test_what_is_a_tool_already_is_refused() -> None:
    class Both(ReadFile):
        def __call__(self) -> None: ...

    inline = tx.Function("inline")
    inline.define(toolsets.greet)
    tools: list[Any] = [inline, Both()]
    for tool in tools:
        with pytest.raises(tx.DeclarationError, match="is a tool already; give it to the Context as it is"):
            tx.as_tool(tool)


# Marks and options


def test_a_marked_function_is_the_tool_that_it_is() -> None:
    counted = MyTools()

    assert toolsets.marked is tx.as_tool(toolsets.marked)
    assert "my_best_tool" == tx.as_tool(counted.my_best_tool).name


def test_a_mark_keeps_its_options_unless_told_otherwise() -> None:
    own = tx.Json(ignore_unknown=True)
    marked = tx.tool(timeout=5, resource="db", max_in_flight=2, strategy="sequential", json=own)(toolsets.greet)

    renamed = tx.as_tool(marked, name="other", description="Other.")
    strict = tx.as_tool(marked, json=tx.Json())

    for tool in (renamed, strict):
        definition = tool._definition
        assert (5, "db", "sequential") == (definition.timeout, definition.resource, definition.strategy)
        assert marked._definition.limits is definition.limits
    assert (own, tx.Json()) == (renamed._definition.json, strict._definition.json)
    assert ("greet", "other") == (marked.name, renamed.name)
    assert "bad_arguments" == tx.run(strict, {"name": "a", "x": 1}).status
    assert "hello a" == call(renamed, {"name": "a", "x": 1})


def test_an_inherited_mark_brings_its_options_and_its_hook() -> None:
    told: list[Any] = []

    class Base:
        @tx.tool(timeout=5, exclusive=True)
        def act(self) -> None: ...

        @act.on_interrupt
        def _(self) -> None:
            told.append(self)

    class Override(Base):
        def act(self) -> None: ...

    override = Override()
    for tool in (tx.as_tool(override.act), *tx.as_tools(override)):
        assert (5, True) == (tool._definition.timeout, tool._definition.exclusive)
        tool.interrupt()
    assert [override, override] == told


def test_json_decides_how_arguments_are_read_and_results_written() -> None:
    def double(n: int) -> int:
        return 2 * n

    strict = tx.as_tool(double, json=tx.Json(coerce=False))
    lenient = tx.as_tool(double, json=tx.Json(ignore_unknown=True, encode=lambda value: f"<{value}>"))

    assert "bad_arguments" == tx.run(strict, {"n": "2"}).status
    ctx = tx.Context([lenient])
    ctx.receive([{"name": "double", "arguments": {"n": "2", "other": 1}}])
    assert [4] == [ret.value for ret in ctx.wait()]
    assert "<4>" == ctx.messages()[0]["content"]
    with pytest.raises(tx.DeclarationError, match=r"it takes tx\.Json"):
        tx.as_tool(double, json=3)  # type: ignore[call-overload]  # that is the point


def test_the_text_of_an_unmarked_method_is_never_mixed_with_one_above() -> None:
    class Base:
        @tx.tool
        def act(self, a: int, b: int) -> None: ...

    class Override(Base):
        def act(self, a: Annotated[int, "Own."], b: int) -> None:  # noqa: D417 - the annotation tells
            """Own.

            Args:
                b: Own.
            """

    tool = tx.as_tool(Override().act)

    assert ("act", {"a": "a", "b": "b"}) == (tool.description, texts(tool))


def test_a_type_that_only_the_override_knows_does_not_hide_the_docstring_above() -> None:
    class Base(Protocol):
        @tx.tool
        def act(self, a: Elsewhere) -> None:  # type: ignore[name-defined]  # noqa: F821 - that is the point
            """Act.

            Args:
                a: Above.
            """

    class Override(Base):
        def act(self, a: int) -> None: ...

    assert {"a": "Above."} == texts(tx.as_tool(Override().act))


def test_a_tool_is_still_the_function_and_travels() -> None:
    tool = tx.as_tool(toolsets.greet, name="hi", description="Hi.")
    there = pickle.loads(pickle.dumps(tool))

    assert "hello a" == tool("a") == there("a")
    assert ("hi", "Hi.", texts(tool)) == (there.name, there.description, texts(there))
    assert toolsets.greet.__doc__ == tool.__doc__
    partial = pickle.loads(pickle.dumps(tx.as_tool(functools.partial(toolsets.plus, 1))))
    assert ("plus", 3) == (partial.name, partial(2))
    inherited = pickle.loads(pickle.dumps(tx.as_tool(Quiet().find)))
    assert {"key": "The key.", "limit": "How many at most."} == texts(inherited)


# as_tools


def test_as_tools_of_a_class_are_its_class_and_static_methods() -> None:
    names = ["class_inside", "class_outside", "named", "static_inside", "static_outside"]

    for source in (Orders, Orders(), Reordered, Reordered()):
        assert names == [tool.name for tool in tx.as_tools(source)]
    assert "again Reordered 1" == call(tx.as_tools(Reordered)[0], {"a": 1})
    with pytest.raises(tx.DeclarationError, match=r"MyTools\.my_best_tool is a method.*this="):
        tx.as_tools(MyTools)


def test_as_tools_touches_no_property_and_no_attribute_that_is_no_method() -> None:
    class Careful(MyTools):
        @property
        def hot(self) -> None:
            raise AssertionError("touched")

        my_other = MyTools

    assert ["my_best_tool"] == [tool.name for tool in tx.as_tools(Careful())]


def test_a_marked_method_that_is_taken_back_is_no_tool() -> None:
    class Without(MyTools):
        my_best_tool = None

    with pytest.raises(tx.DeclarationError, match="no method of Without, or above it, is marked"):
        tx.as_tools(Without())


@pytest.mark.parametrize(
    ("obj", "interface", "text"),
    [
        (Counter(), None, r"no method of Counter, or above it, is marked with @tx\.tool"),
        (MyTools(), Counter, "no method of Counter, or above it, is marked"),
        (Counter(), MyTools, "Counter has no method 'my_best_tool', a tool of MyTools"),
        (MyTools(), 3, "interface is 3; it takes a class"),
    ],
)
def test_as_tools_of_what_has_none_is_refused(obj: object, interface: Any, text: str) -> None:
    with pytest.raises(tx.DeclarationError, match=text):
        tx.as_tools(obj, interface)


def test_as_tools_are_given_to_a_context_as_they_are() -> None:
    counter = MyTools()
    ctx = tx.Context([*tx.as_tools(counter), *tx.as_tools(counter)])
    ctx.receive([{"name": "my_best_tool", "arguments": {"arg1": "a", "arg2": 1}}])

    assert "a1" == ctx.wait("sequential")[0].unwrap()
    assert isinstance(ctx.functions["my_best_tool"]._definition.source, MethodType)


def test_a_context_tells_of_as_tool_where_it_is_given_a_plain_method() -> None:
    with pytest.raises(tx.DeclarationError, match=r"make one of it with tx\.as_tool\(MyTools\.unmarked\)"):
        tx.Context([MyTools().unmarked])


def test_types_of_a_tool_that_is_only_declared_are_not_looked_at() -> None:
    source = textwrap.dedent("""
        import toolexec as tx

        @tx.tool
        def later(a: "Missing") -> None: ...
    """)
    made: dict[str, Any] = {}
    exec(source, made)

    with pytest.raises(tx.DeclarationError, match="'Missing'"):
        tx.as_tool(made["later"])


# What ``**kw`` does not take: names that something else of what is called has


class Open:
    def method(self, **kw: Any) -> dict[str, Any]:
        return kw

    @classmethod
    def of_class(cls, **kw: Any) -> dict[str, Any]:
        return kw

    def __call__(self, **kw: Any) -> dict[str, Any]:
        return kw


class OpenTool(tx.Tool):
    name = "open"
    description = "Takes anything"

    def call(self, **kw: Any) -> dict[str, Any]:
        return kw


def anything(first: int = 0, /, second: int = 0, third: int = 0, **kw: Any) -> dict[str, Any]:
    return {"second": second, "third": third, **kw}


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: tx.as_tool(functools.partial(anything, third=1)), "third"),
        (lambda: tx.as_tool(functools.partial(anything, fourth=1)), "fourth"),
        (lambda: tx.as_tool(functools.partial(anything, 1, 2)), "second"),
        (lambda: tx.as_tool(functools.partial(functools.partial(anything, third=1), fourth=2)), "third"),
        (lambda: tx.as_tool(Open().method), "self"),
        (lambda: tx.as_tool(functools.partial(Open().method, a=1)), "self"),
        (lambda: tx.as_tool(Open.of_class), "cls"),
        (lambda: tx.as_tool(Open()), "self"),
        (lambda: tx.Context(tools=[OpenTool]).functions["open"], "self"),
    ],
)
def test_open_keywords_do_not_take_a_name_that_is_taken(make: Callable[[], tx.Function], name: str) -> None:
    tool = make()
    for arguments in ({name: 5}, f'{{"{name}": 5}}'):
        ret = tx.run(tool, arguments, "sequential")

        assert "bad_arguments" == ret.status, ret
        assert f"{name}: not a parameter of this tool" in ret.value["message"]
    assert 7 == tx.run(tool, {"free": 7}, "sequential").value["free"]


@pytest.mark.parametrize("name", ["self", "cls", "args", "kwargs", "body", "fill"])
def test_open_keywords_take_every_name_that_is_free(name: str) -> None:
    assert 5 == call(tx.as_tool(anything), {name: 5})[name]
