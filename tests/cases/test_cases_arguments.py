"""Theme F: what models send as arguments, over every form in which a tool can be declared."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import toolexec as tx
from cases import argument_tools as tools

Form = Callable[[Callable[..., Any]], Any]

forms = pytest.mark.parametrize("form", tools.FORMS, ids=lambda form: form.__name__)


def answer(tool: Any, arguments: Any, name: str) -> tx.Return:
    """The Return of one call; nothing may come out of wait."""
    (ret,) = tx.Context(tools=[tool]).receive([{"id": "c1", "name": name, "arguments": arguments}]).wait("sequential")
    return ret


def told(ret: tx.Return) -> str:
    assert ("bad_arguments", 0) == (ret.status, ret.attempts), ret
    return str(ret.value["message"])


@forms
@pytest.mark.parametrize("arguments", ["", "  ", None, "null", {}, "{}", '"{}"'], ids=repr)
def test_F1_no_arguments_mean_none(form: Form, arguments: Any) -> None:
    assert {} == answer(form(tools.nothing), arguments, "nothing").value
    whole = {"path": "", "text": "", "n": 5, "m": 5, "xs": None}
    assert whole == answer(form(tools.optional), arguments, "optional").value
    assert "q: required, and not supplied" in told(answer(form(tools.required), arguments, "required"))


@forms
@pytest.mark.parametrize("broken", ['{"path": "a", "text": "hel', '{"path": "a",}', "{'path': 'a'}"])
def test_F2_broken_json_never_runs_and_its_sibling_does(form: Form, broken: str) -> None:
    ctx = tx.Context(tools=[form(tools.optional)])
    calls = [
        {"id": "bad", "type": "function", "function": {"name": "optional", "arguments": broken}},
        {"id": "good", "type": "function", "function": {"name": "optional", "arguments": '{"n": 1}'}},
    ]
    ctx.receive({"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": calls}}]})
    bad, good = ctx.wait("sequential")

    assert broken in told(bad)
    assert 1 == good.value["n"]
    assistant, *results = ctx.turn()
    assert ["bad", "good"] == [call["id"] for call in assistant["tool_calls"]]
    assert ["bad", "good"] == [result["tool_call_id"] for result in results]
    assert json.loads(json.dumps(ctx.turn()))


@forms
@pytest.mark.parametrize(("sent", "kind"), [("[1]", "an array"), ('"x"', "a string"), ("3", "a number"), ("true", "a")])
def test_F3_what_is_no_object_says_that_one_is_needed(form: Form, sent: str, kind: str) -> None:
    assert f"must be a JSON object, not {kind}" in told(answer(form(tools.optional), sent, "optional"))


@forms
def test_F4_one_layer_of_encoding_is_peeled_and_no_more(form: Form) -> None:
    once = json.dumps({"n": 1})

    assert 1 == answer(form(tools.optional), json.dumps(once), "optional").value["n"]
    for sent in (json.dumps(json.dumps(once)), json.dumps("no object"), json.dumps("[1]")):
        assert "must be a JSON object" in told(answer(form(tools.optional), sent, "optional"))


@forms
def test_F5_a_container_as_json_text_is_decoded_where_the_type_asks_for_it(form: Form) -> None:
    assert [1, 2] == answer(form(tools.required), {"q": "x", "ids": "[1, 2]"}, "required").value["ids"]
    assert ["a"] == answer(form(tools.optional), {"xs": '["a"]'}, "optional").value["xs"]
    for text in ("not json", "1, 2", '["x"]', "{}"):
        message = told(answer(form(tools.required), {"q": "x", "ids": text}, "required"))
        assert "ids: should be a valid array, not the text" in message


@forms
@pytest.mark.parametrize("text", ["12345", '{"a": 1}', "[1]", "true", "null", '"quoted"', "  padded  ", "\u2028é€𝄞"])
def test_F6_a_text_stays_the_very_same_characters(form: Form, text: str) -> None:
    for sent in ({"text": text}, json.dumps({"text": text}), json.dumps({"text": text}, ensure_ascii=False)):
        assert text == answer(form(tools.optional), sent, "optional").value["text"]


@forms
@pytest.mark.parametrize("sent", ['{"text":"a"}{"text":"b"}', '{"text":"a"} thanks', '{"text":"a"}\n{"text":"b"}'])
def test_F8_several_objects_are_refused_and_never_the_first_taken(form: Form, sent: str) -> None:
    assert "Extra data" in told(answer(form(tools.optional), sent, "optional"))


@forms
def test_F9_null_for_what_cannot_be_null_and_has_a_default_means_left_out(form: Form) -> None:
    sent = {"n": None, "m": None, "text": None, "xs": None}

    assert {"path": "", "text": "", "n": 5, "m": None, "xs": None} == answer(
        form(tools.optional), sent, "optional"
    ).value
    assert "q: should be a valid string, not null" in told(
        answer(form(tools.required), {"q": None, "ids": []}, "required")
    )
    assert "n: should be a valid integer" in told(answer(form(tools.optional), {"n": ""}, "optional"))


@forms
@pytest.mark.parametrize(
    "sent", [{"text": "x", "reason": "y"}, {"parameters": {"text": "x"}}], ids=["beside", "around"]
)
def test_F10_an_unexpected_argument_is_refused_by_name(form: Form, sent: dict[str, Any]) -> None:
    message = told(answer(form(tools.optional), sent, "optional"))

    assert f"{list(sent)[-1]}: not a parameter of this tool" in message
    assert "expected: path, text, n, m, xs" in message


def test_F10_where_any_name_is_taken_none_is_unexpected() -> None:
    @tx.tool
    def takes(q: str, **more: Any) -> dict[str, Any]:
        return more

    assert {"reason": "y"} == answer(takes, {"q": "x", "reason": "y"}, "takes").value


@forms
@pytest.mark.parametrize(
    ("name", "sent", "meant"),
    [
        ("n", "3", 3),
        ("n", 3.0, 3),
        ("n", "3.0", 3),
        ("n", "1e3", 1000),
        ("n", 3.5, None),
        ("n", True, None),
        ("n", "three", None),
        ("text", 5, None),
        ("text", True, None),
    ],
)
def test_F11_scalars_are_converted_only_without_loss(form: Form, name: str, sent: Any, meant: Any) -> None:
    ret = answer(form(tools.optional), {name: sent}, "optional")

    if meant is None:
        assert f"{name}: " in told(ret)
    else:
        assert (meant, type(meant)) == (ret.value[name], type(ret.value[name]))


@forms
@pytest.mark.parametrize(
    ("name", "sent", "meant"),
    [("flag", "true", True), ("flag", 1, None), ("flag", "no", None), ("ratio", 2, 2.0), ("ratio", "2.5", 2.5)],
)
def test_F11_booleans_and_numbers_too(form: Form, name: str, sent: Any, meant: Any) -> None:
    ret = answer(form(tools.required), {"q": "x", "ids": [], name: sent}, "required")

    if meant is None:
        assert f"{name}: " in told(ret)
    else:
        assert (meant, type(meant)) == (ret.value[name], type(ret.value[name]))


@forms
def test_F13_everything_that_is_wrong_is_told_at_once(form: Form) -> None:
    message = told(answer(form(tools.required), {"flag": "perhaps", "extra": 1}, "required"))

    for part in ("q: required", "ids: required", "flag: should be a valid boolean", "extra: not a parameter"):
        assert part in message


@pytest.mark.parametrize("strategy", ["sequential", "thread", "asyncio", "trio", "fork", "interpreter"])
def test_F14_F15_the_body_gets_real_instances_and_the_validated_value_everywhere(strategy: str) -> None:
    try:
        made = tx.strategy(strategy)
    except tx.StrategyUnavailable as exc:
        pytest.skip(str(exc))
    box, user = {"width": "3"}, {"name": "Ada"}
    arguments = {
        "box": box,
        "boxes": [box],
        "colour": "red",
        "when": "2030-01-02T03:04:05",
        "path": "/tmp",
        "numbers": [1, 1],
        "pair": [1, "x"],
    }
    with made:
        ctx = tx.Context(tools=[tools.kinds, tools.models], strategy=made)
        plain, modelled = ctx.receive(
            [
                {"name": "kinds", "arguments": json.dumps(arguments)},
                {"name": "models", "arguments": {"user": user, "users": [user], "maybe": user, "by": {"a": user}}},
            ]
        ).wait()

    paths = ["Box", "list", "Colour", "datetime", "PosixPath", "set", "tuple"]
    assert paths == plain.unwrap()
    if strategy == "interpreter":  # pydantic refuses to load there
        assert "raised" == modelled.status
        assert "fork" in modelled.value["message"]
    else:
        assert ["User", "list", "User", "dict"] == modelled.unwrap()


def test_F14_a_payload_in_the_open_end_never_takes_a_parameters_place() -> None:
    @tx.tool
    def takes(*, opt: int = 1, **more: Any) -> Any:
        return opt, more

    @tx.tool
    def by_place(x: int, /, *rest: int, **more: Any) -> Any:
        return x, rest, more

    assert (5, {"kw": {"opt": 9}}) == answer(takes, '{"opt": "5", "kw": {"opt": 9}}', "takes").value
    assert "is there twice" in told(answer(takes, '{"opt": 1, "opt": 2}', "takes"))
    assert (1, (), {"rest": [2]}) == answer(by_place, {"x": 1, "rest": [2]}, "by_place").value
