"""LogTracer: one line for each thing that happens, and nothing of what a call is about unless asked."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest

import toolexec as tx

SECRET = "hunter2"


@tx.tool
def echo(value: Any) -> Any:
    return value


@tx.tool
def refuse(value: str) -> None:
    raise PermissionError(f"not with {value}")


@tx.tool
def count(to: int) -> Iterator[int]:
    yield from range(to)


@tx.tool
def say(words: str) -> None:
    tx.progress(1, 4, words)


@pytest.fixture
def caplog(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG)
    return caplog


def run(tracer: tx.Tracer, name: str, arguments: Any, id: str = "c1") -> tx.Return:
    ctx = tx.Context([echo, refuse, count, say], tracer=tracer)
    return ctx.submit({"id": id, "name": name, "arguments": arguments}).wait(10)


def lines(caplog: pytest.LogCaptureFixture, logger: str = "toolexec.calls") -> list[tuple[str, str]]:
    """Level and text, with every duration shown as #."""
    return [
        (record.levelname, re.sub(r"\d+\.\d{3} s", "# s", record.getMessage()))
        for record in caplog.records
        if record.name == logger
    ]


def test_a_call_is_two_lines_without_its_values(caplog: pytest.LogCaptureFixture) -> None:
    run(tx.LogTracer(), "echo", {"value": SECRET})

    assert [("INFO", "tool 'echo' (call 'c1') started"), ("INFO", "tool 'echo' (call 'c1') ok after # s")] == (
        lines(caplog)
    )


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("refuse", {"value": SECRET}, "raised after # s, PermissionError"),
        ("refuse", {"value": [SECRET]}, "bad_arguments after # s, ArgumentsError"),
        ("refuse", f'{{"value": "{SECRET}', "bad_arguments after # s, ArgumentsError"),
    ],
)
def test_a_failure_is_a_warning_without_its_text(
    caplog: pytest.LogCaptureFixture, name: str, arguments: Any, said: str
) -> None:
    ret = run(tx.LogTracer(level=logging.DEBUG), name, arguments)

    assert ret.error
    assert [("DEBUG", "tool 'refuse' (call 'c1') started"), ("WARNING", f"tool 'refuse' (call 'c1') {said}")] == (
        lines(caplog)
    )
    assert SECRET not in caplog.text


def test_a_cancelled_call_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    ctx = tx.Context([echo], tracer=tx.LogTracer())
    ctx.interrupt(SECRET)
    ctx.submit({"id": "c1", "name": "echo", "arguments": {"value": 1}}).wait(10)

    assert [("INFO", "tool 'echo' (call 'c1') started"), ("INFO", "tool 'echo' (call 'c1') cancelled after # s")] == (
        lines(caplog)
    )


def test_progress_is_for_who_debugs(caplog: pytest.LogCaptureFixture) -> None:
    run(tx.LogTracer(), "count", {"to": 2})
    run(tx.LogTracer(), "say", {"words": SECRET})

    assert ["progress 1", "progress 2", "progress 1 of 4"] == [
        text.partition(") ")[2] for level, text in lines(caplog) if level == "DEBUG"
    ]
    assert SECRET not in caplog.text


def test_values_are_logged_where_that_is_asked_for_and_cut(caplog: pytest.LogCaptureFixture) -> None:
    tracer = tx.LogTracer(values=True)
    run(tracer, "echo", {"value": "x" * 5000})
    run(tracer, "refuse", {"value": SECRET})
    run(tracer, "say", {"words": "half"})
    run(tracer, "echo", '{"value": 1')
    texts = [text for _, text in lines(caplog)]

    assert f"tool 'echo' (call 'c1') ok after # s: {'x' * 1000}" == texts[1]
    assert "tool 'refuse' (call 'c1') started: {\"value\": \"hunter2\"}" == texts[2]
    assert texts[3].startswith("tool 'refuse' (call 'c1') raised after # s, PermissionError: ")
    assert SECRET in texts[3]
    assert "tool 'say' (call 'c1') progress 1 of 4: half" == texts[5]
    assert "tool 'echo' (call 'c1') started: {\"value\": 1" == texts[7]


class Hostile:
    def __str__(self) -> str:
        raise ZeroDivisionError


def test_arguments_that_have_no_text_are_no_fault_of_the_call(caplog: pytest.LogCaptureFixture) -> None:
    ret = run(tx.LogTracer(values=True), "echo", {"value": Hostile()})

    assert "ok" == ret.status
    assert ("INFO", "tool 'echo' (call 'c1') started: (a dict that cannot be shown: ZeroDivisionError)") == (
        lines(caplog)[0]
    )
    assert not [record for record in caplog.records if record.name == "toolexec"]


def test_an_error_from_elsewhere_is_named_by_its_own_class(caplog: pytest.LogCaptureFixture) -> None:
    @tx.tool
    def fail() -> None:
        raise tx.ForeignError("Odd", "it was made in a worker")

    tx.Context([fail], tracer=tx.LogTracer()).submit({"name": "fail"}).wait(10)

    assert ("WARNING", "tool 'fail' (call None) raised after # s, Odd") == lines(caplog)[-1]


def test_what_a_model_writes_makes_no_line_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    run(tx.LogTracer(), "gone\nERROR it worked", None, id="c1\nfaked")

    assert 2 == len(lines(caplog))
    assert not any("\n" in text for _, text in lines(caplog))


def test_ones_own_logger_and_the_facts_as_attributes(caplog: pytest.LogCaptureFixture) -> None:
    ret = run(tx.LogTracer(logging.getLogger("mine"), logging.WARNING), "echo", {"value": 1})
    start, end = [record for record in caplog.records if record.name == "mine"]

    assert [] == lines(caplog)
    assert ("WARNING", "echo", "c1") == (start.levelname, vars(start)["tool"], vars(start)["call_id"])
    assert ("ok", ret.duration_s) == (vars(end)["status"], vars(end)["duration_s"])


def test_a_level_that_nobody_hears_costs_no_text(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    run(tx.LogTracer(values=True), "say", {"words": "half"})
    run(tx.LogTracer(values=True), "refuse", {"value": "x"})

    assert [] == lines(caplog)


@pytest.mark.parametrize(
    ("mistaken", "words"),
    [(("tools",), "takes a logger"), ((None, "INFO"), "such as logging.INFO"), ((None, True), "a number")],
)
def test_what_is_no_logger_or_level_is_refused_at_once(mistaken: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        tx.LogTracer(*mistaken)


def test_an_adapter_is_a_logger(caplog: pytest.LogCaptureFixture) -> None:
    adapter: Any = logging.LoggerAdapter(logging.getLogger("mine"), {})
    run(tx.LogTracer(adapter), "echo", {"value": 1})

    assert 2 == len(lines(caplog, "mine"))


def test_values_are_what_the_model_is_sent_of_them(caplog: pytest.LogCaptureFixture) -> None:
    def hide(text: str) -> str:
        return text.replace(SECRET, "***")

    for options in ({"redact": hide}, {"reveal": "type"}):
        ctx = tx.Context([refuse], tracer=tx.LogTracer(values=True), **options)
        ctx.receive([{"id": "c1", "name": "refuse", "arguments": {"value": SECRET}}])
        ctx.wait(timeout=10)
        sent = ctx.messages("openai")[0]["content"]

        assert SECRET not in sent
        assert lines(caplog)[-1][1] == f"tool 'refuse' (call 'c1') raised after # s, PermissionError: {sent}"


def test_a_large_result_is_cut_in_the_log_as_it_is_for_the_model(caplog: pytest.LogCaptureFixture) -> None:
    ctx = tx.Context([echo], tracer=tx.LogTracer(values=True), max_result_bytes=100)
    ctx.submit({"name": "echo", "arguments": {"value": "x" * 500}}).wait(10)

    assert "[cut: the result has 500 bytes" in caplog.text
    assert "x" * 101 not in lines(caplog)[-1][1]


def test_a_value_takes_one_line(caplog: pytest.LogCaptureFixture) -> None:
    run(tx.LogTracer(values=True), "echo", '{"value": 1}\n\nINFO forged')

    assert all(len(record.getMessage().splitlines()) == 1 for record in caplog.records)
    assert "forged" in caplog.text


@pytest.mark.parametrize("flag", ["no", 0, None])
def test_what_is_no_flag_is_refused(flag: Any) -> None:
    with pytest.raises(TypeError, match=r"LogTracer: values is .*; it takes True or False"):
        tx.LogTracer(values=flag)


def test_what_a_body_calls_is_told_by_the_rules_around_it(caplog: pytest.LogCaptureFixture) -> None:
    @tx.tool
    def outer() -> str:
        tx.progress(1, 2, f"with {SECRET}")
        return tx.run(refuse, {"value": SECRET}).status

    ctx = tx.Context(
        [outer], tracer=tx.LogTracer(values=True), redact=lambda text: text.replace(f"with {SECRET}", "***")
    )

    assert "raised" == ctx.submit({"name": "outer"}).wait(10).value
    assert f"with {SECRET}" not in caplog.text
    assert 2 == caplog.text.count("***")
