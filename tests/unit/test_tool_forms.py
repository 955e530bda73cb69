"""The ways to declare a tool, and what runs each of its calls."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Annotated, Any

import pytest

import toolexec as tx


class Counter(tx.Tool):
    """Count the calls of one instance.

    Only the first paragraph is for the model.
    """

    name = "form-counter"

    def __init__(self, start: int = 0) -> None:
        self.count = start

    def call(self, by: int = 1) -> tuple[int, int]:
        self.count += by
        return id(self), self.count


class NeedsRoot(tx.Tool):
    name = "form-needs-root"
    description = "Reads below a root"

    def __init__(self, root: str) -> None:
        self.root = root

    def call(self) -> str:
        return self.root


@tx.tool
def double(a: int) -> int:
    """Double a number.

    More text.
    """
    return 2 * a


class Service:
    def __init__(self, factor: int) -> None:
        self.factor = factor

    @tx.tool(max_in_flight=2)
    def scale(self, a: int) -> int:
        return self.factor * a

    @staticmethod
    @tx.tool
    def still(a: int) -> int:
        return a


def call_twice(tool: Any) -> list[Any]:
    ctx = tx.Context([tool])
    name = next(iter(ctx.functions))
    ctx.receive([{"id": "1", "name": name}, {"id": "2", "name": name}])
    return [ret.unwrap() for ret in ctx.wait("sequential")]


def test_a_class_gives_every_call_its_own_instance() -> None:
    (one, first), (two, second) = call_twice(Counter)

    assert one != two
    assert (1, 1) == (first, second)


def test_an_instance_is_shared_by_its_calls() -> None:
    counter = Counter(10)

    assert [(id(counter), 11), (id(counter), 12)] == call_twice(counter)


def test_a_factory_makes_one_instance_per_call() -> None:
    made: list[NeedsRoot] = []

    def make() -> NeedsRoot:
        made.append(NeedsRoot(f"/{len(made)}"))
        return made[-1]

    assert ["/0", "/1"] == call_twice(tx.factory(make))
    assert 2 == len(made)  # none was made only to be looked at


def test_a_factory_that_tells_nothing_is_asked_once_at_declaration() -> None:
    made: list[NeedsRoot] = []

    def make():  # type: ignore[no-untyped-def]  # that is the point
        made.append(NeedsRoot("/"))
        return made[-1]

    tool = tx.factory(make)

    assert not made, "it may be for a dependency, which is not made here"
    assert ("form-needs-root", "Reads below a root") == (tool.name, tool.description)
    assert 1 == len(made)


def test_a_factory_told_its_class_makes_nothing_at_declaration() -> None:
    def make() -> Any:
        raise AssertionError("made at declaration")

    assert "form-needs-root" == tx.factory(make, tool=NeedsRoot).name


def test_a_factory_of_no_tool_is_refused() -> None:
    not_callable: Any = 3
    with pytest.raises(tx.DeclarationError, match="factory takes a function"):
        tx.factory(not_callable)
    with pytest.raises(tx.DeclarationError, match="factory: object has no method named 'call'"):
        tx.factory(lambda: None, tool=object)
    with pytest.raises(tx.DeclarationError, match="factory: object has no method named 'call'"):
        tx.Context([tx.factory(object)])


def test_a_class_whose_constructor_needs_arguments_is_refused_and_told_what_to_write() -> None:
    with pytest.raises(tx.DeclarationError, match=r"'form-needs-root'.* needs root; .*an instance.*tx\.factory"):
        tx.Context([NeedsRoot])


def test_a_constructor_that_raises_is_its_own_calls_fault() -> None:
    class Unlucky(tx.Tool):
        name = "form-unlucky"

        def __init__(self) -> None:
            raise OSError("no such device")

        def call(self) -> None: ...

    ctx = tx.Context([Unlucky, double])
    ctx.receive([{"id": "1", "name": "form-unlucky"}, {"id": "2", "name": "double", "arguments": {"a": 2}}])
    bad, good = ctx.wait("sequential")

    assert ("raised", "OSError", 0) == (bad.status, bad.value["type"], bad.attempts)
    assert 4 == good.unwrap()


def test_a_decorated_function_is_still_the_function_and_takes_its_texts() -> None:
    assert 6 == double(3)
    assert ("double", "Double a number.") == (double.name, double.description)
    assert ("double", __name__) == (double.__name__, double.__module__)
    assert 8 == tx.run(double, {"a": "4"}, "sequential").unwrap()


def test_the_name_and_the_description_may_be_given() -> None:
    tool = tx.tool(name="n", description="d")(lambda: 1)

    assert ("n", "d") == (tool.name, tool.description)


def test_without_any_text_the_name_is_the_description() -> None:
    @tx.tool
    def bare() -> None: ...

    assert "bare" == bare.description


def test_a_method_becomes_a_tool_of_each_instance() -> None:
    two, three = Service(2), Service(3)

    assert 8 == two.scale(4)
    assert [8, 12] == [tx.run(service.scale, {"a": 4}, "sequential").unwrap() for service in (two, three)]
    assert ["a"] == two.scale.params["required"]
    assert "scale" == two.scale.name


def test_max_in_flight_of_a_method_is_the_tools_and_not_the_instances() -> None:
    assert Service(1).scale._definition.limits == Service(2).scale._definition.limits != ()


def test_a_static_method_may_be_a_tool() -> None:
    assert 5 == tx.run(Service.still, {"a": 5}, "sequential").unwrap()


def test_a_tool_of_a_module_is_pickled_by_reference() -> None:
    assert double is pickle.loads(pickle.dumps(double))


def test_a_tool_inside_a_function_is_not_pickled_by_a_name_that_leads_elsewhere() -> None:
    @tx.tool
    def double(a: int) -> int:
        return 3 * a

    with pytest.raises((pickle.PicklingError, AttributeError), match="local"):
        pickle.dumps(double)


def test_the_class_form_takes_its_options_from_attributes() -> None:
    class Careful(Counter):
        name = "form-careful"
        description = "Careful"
        exclusive = True
        max_in_flight = 3
        resource = "disk"
        strategy = "thread"

    definition = tx.Context([Careful]).functions["form-careful"]._definition

    assert (True, 3, "disk", "thread") == (
        definition.exclusive,
        definition.max_in_flight,
        definition.resource,
        definition.strategy,
    )
    assert 2 == len(definition.limits)


def test_the_class_docstring_is_the_description_where_there_is_none() -> None:
    assert "Count the calls of one instance." == tx.Context([Counter]).functions["form-counter"].description


def test_the_docstring_of_call_is_the_description_where_the_class_has_none() -> None:
    class Told(tx.Tool):
        name = "form-told"

        def call(self) -> None:
            """What it does.

            More text.
            """

    assert "What it does." == tx.Context([Told]).functions["form-told"].description


def test_the_class_docstring_tells_of_the_parameters_that_call_says_nothing_of() -> None:
    class Told:
        """Tell.

        Args:
            a: Of the class.
            b: Not this one.
            c: Not this one.
        """

        name = "form-told"

        def call(self, a: int, b: int, c: Annotated[int, "Of the type"], d: int) -> None:
            """Do it.

            :param b: Of the method.
            """

    for tool in (Told, Told(), tx.factory(Told, tool=Told)):
        properties = tx.Context([tool]).functions["form-told"].params["properties"]
        assert ["Of the class.", "Of the method.", "Of the type", "d"] == [
            properties[name]["description"] for name in "abcd"
        ]


@pytest.mark.parametrize(
    ("declare", "text"),
    [
        (lambda: tx.tool(name="x", colour="red")(print), "no option 'colour'; it takes name, description, str"),  # type: ignore[call-overload]  # that is the point
        (lambda: tx.tool(name="x", max_in_flight=0)(print), "max_in_flight is 0"),
        (lambda: tx.tool(name="x", max_in_flight=True)(print), "max_in_flight is True"),
        (lambda: tx.tool(name="x", resource="")(print), "resource is ''"),
        (lambda: tx.tool(name="x", loop="curio")(print), "loop is 'curio'"),  # type: ignore[call-overload]  # that is the point
        (lambda: tx.tool(lambda: 1), r"a lambda has no name of its own: write @tool\(name"),
        (lambda: tx.tool(name=3)(print), "non-empty string"),  # type: ignore[call-overload]  # that is the point
        (lambda: tx.Function(" "), "non-empty string"),
        (lambda: tx.tool(3), "decorates a function, not 3"),  # type: ignore[call-overload]  # that is the point
        (lambda: tx.Function("x", max_in_flight=-1), "max_in_flight is -1"),
        (lambda: tx.Function("x", colour="red"), "colour"),
        (lambda: tx.Function("x").define(3), "neither callable"),
        (lambda: tx.tool(Counter), "decorates a function, not .*Counter.*are tools as they are"),
        (lambda: tx.tool(Counter()), "decorates a function, not .*Counter"),  # type: ignore[call-overload]  # that is the point
        (lambda: tx.tool(name="x")(double), "tool 'x': its body is a tool already, 'double'"),
        (lambda: tx.tool(timeout=3)(tx.as_tool(len)), "give the plain function, and all options in one place"),
        (lambda: tx.Function("x").define(double), "tool 'x': its body is a tool already, 'double'"),
        (lambda: tx.Context([tx.Function("x")]), "give it one with define"),
        (lambda: tx.Context([print]), r"make one of it with tx\.as_tool\(print\)"),
        (lambda: tx.Context([3]), "a int declares no tool: give a Tool class"),
        (lambda: tx.Context([object]), "declares no tool"),
        (lambda: tx.Context([Service(2)]), r"a Service declares no tool.*tx\.as_tools\(obj\)"),
        (lambda: tx.Context([Service]), r"class Service declares no tool.*tx\.as_tools\(obj\)"),
        (lambda: tx.Context([tx.as_tools(Service(2))]), "a list declares no tool.*those in it one by one"),
        (lambda: tx.Context(double), r"tools is <DecoratedFunction 'double'>; it takes a list.*tools=\[\.\.\.\]"),  # type: ignore[arg-type]  # that is the point
        (lambda: tx.Context(Counter), "tools is <class .*Counter'>; it takes a list"),  # type: ignore[arg-type]  # that is the point
        (lambda: tx.Context(None), "tools is None; it takes a list"),  # type: ignore[arg-type]  # that is the point
        (lambda: tx.tool("x"), r"'x' by position.*write @tool\(name=\.\.\."),  # type: ignore[call-overload]  # that is the point
        (lambda: tx.tool("x", "text"), r"'x', 'text' by position.*write @tool\(name=\.\.\."),  # type: ignore[call-overload]  # that is the point
    ],
)
def test_a_declaration_that_cannot_work_is_refused_at_once(declare: Callable[[], object], text: str) -> None:
    with pytest.raises(tx.DeclarationError, match=text):
        declare()


def test_a_call_without_self_is_refused() -> None:
    class NoneAtAll(tx.Tool):
        name = "form-no-self"

        def call() -> None: ...  # type: ignore[misc]  # that is the point

    class AnArgument(tx.Tool):
        name = "form-no-self"

        def call(path: str) -> None: ...  # type: ignore[misc]  # noqa: N805 - that is the point

    class Static(tx.Tool):
        name = "form-static"

        @staticmethod
        def call(path: str) -> str:
            return path

    class PassedOn(tx.Tool):
        name = "form-passed-on"

        def call(*args: Any, **kwargs: Any) -> object:
            return kwargs

    told = r"^tool 'form-no-self': .*\.call has no self; write  def call\(self, \.\.\.\)"
    for cls in (NoneAtAll, AnArgument):
        for tool in (cls, cls()):
            with pytest.raises(tx.DeclarationError, match=told):
                tx.Context([tool])
        with pytest.raises(tx.DeclarationError, match=told):
            tx.factory(cls)
    assert "a" == tx.run(Static, {"path": "a"}).value
    assert {"a": 1} == tx.run(PassedOn, {"a": 1}).value


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("descripton", "description"),
        ("time_out", "timeout"),
        ("parameter", "parameters"),
        ("max_inflight", "max_in_flight"),
    ],
)
def test_an_attribute_that_is_nearly_an_option_is_warned_of(written: str, meant: str) -> None:
    with pytest.warns(UserWarning, match=f"no attribute '{written}'; did you mean '{meant}'") as caught:
        type("Misspelt", (tx.Tool,), {"name": "form-misspelt", written: None})

    assert __file__ == caught[0].filename


def test_attributes_of_the_authors_own_are_not_warned_of() -> None:
    class Own(tx.Tool):  # a warning is an error here
        name = "form-own"
        resources = ("a", "b")
        rows = 3
        _timeout_ = 3

        @property
        def time_out(self) -> int:
            return 3

    assert "form-own" == Own.name


def test_a_class_without_a_name_is_told_what_to_write() -> None:
    class Nameless(tx.Tool):
        def call(self) -> None: ...

    with pytest.raises(tx.DeclarationError, match="name = 'nameless'"):
        tx.Context([Nameless])
