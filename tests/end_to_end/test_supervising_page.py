"""What the page on supervising calls says is so: its examples run, its steps are taken in their order."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

import toolexec as tx
from documents import as_responses, examples_in, run_example, table_after

PAGE = (Path(__file__).parents[2] / "docs" / "supervising.md").read_text(encoding="utf-8")
EXAMPLES = examples_in(PAGE)
ORDER = table_after(PAGE, "<!-- table: order -->")
STATUSES = table_after(PAGE, "<!-- table: statuses -->")


@pytest.mark.parametrize("number", range(7))
def test_example_runs(number: int, tmp_path: Path) -> None:
    assert 7 == len(EXAMPLES)
    run_example(EXAMPLES[number], tmp_path)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, 6])  # number 5 has responses of its own
def test_example_runs_for_the_responses_of_a_provider(number: int, provider: str, tmp_path: Path) -> None:
    """One sends arguments as text, the other as an object: who supervises need not know."""
    example = EXAMPLES[number]
    if 'message["content"]' in example:  # it shows messages as OpenAI's API takes them
        example = example.replace("ctx.messages()", 'ctx.messages("openai")')
    run_example(as_responses(example, provider), tmp_path)


def words(cell: str) -> list[str]:
    return re.findall(r"`([\w.]+)`", cell)


class Everybody:
    """Guard, intercept, judge, who is asked and tool in one; each answers, if it is the one that is to."""

    def __init__(self, answers: str | None = None) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def note(self, who: str, answer: Any = None, otherwise: Any = None) -> Any:
        self.asked.append(who)
        return answer if who == self.answers else otherwise

    def call(self, context: tx.Context | None = None, *, function: tx.Function | None = None) -> Any:
        if function is None:
            return self.note("guard", "enough")
        return self.note("intercept", function.deny("no") if self.answers == "intercept" else None)

    def after(self, *, function: tx.Function, ret: tx.Return) -> None:
        self.note("intercept.after")

    def context(self) -> tx.Context:
        @tx.tool(idempotent=True)
        def body(n: int) -> None:
            self.note("body")
            raise ValueError

        return tx.Context(
            [body],
            guard=self,
            intercept=self,
            budget=0 if self.answers == "budget" else 9,
            confirm=lambda function: self.note("confirm", True, otherwise=True),
            on_confirm=lambda function: self.note("on_confirm", False, otherwise=True),
            retry=tx.Retry(attempts=2, backoff=0),
        )


def _say(answer: Any, function: tx.Function) -> Any:
    return answer


def settled(ctx: tx.Context, arguments: Any = None) -> tx.Return:
    ctx.receive([{"id": "c1", "name": "body", "arguments": {"n": 1} if arguments is None else arguments}])
    (ret,) = ctx.wait(timeout=15)
    return ret


def test_the_steps_are_taken_in_the_order_of_the_table() -> None:
    said = [word for row in ORDER for word in (words(row["who"]) or [row["who"]])]
    everybody = Everybody()
    ret = settled(everybody.context())

    # Nobody of one's own is asked for these.
    silent = {"an interrupt of the turn", "budget", "the tool's parameters"}
    told = {"retry": "body"}
    assert [told.get(word, word) for word in said if word not in silent] == everybody.asked
    assert ("raised", 2) == (ret.status, ret.attempts)


@pytest.mark.parametrize(
    ("answers", "arguments", "step"),
    [
        ("interrupt", None, 1),
        ("guard", None, 2),
        ("budget", None, 2),
        ("intercept", None, 3),
        (None, {}, 4),
        ("on_confirm", None, 5),
    ],
)
def test_the_first_that_answers_ends_it(answers: str | None, arguments: Any, step: int) -> None:
    everybody = Everybody(answers)
    ctx = everybody.context()
    if answers == "interrupt":
        ctx.interrupt()
    ret = settled(ctx, arguments)

    row = ORDER[step - 1]
    assert ret.status in words(row["what may come of it"]) or step == 3
    asked = [word for row in ORDER[:step] for word in words(row["who"])]
    assert {*everybody.asked} <= {*asked, "intercept.after"}
    assert "intercept.after" == everybody.asked[-1]
    assert "body" not in everybody.asked


@pytest.mark.parametrize("row", STATUSES, ids=lambda row: f"{row['status']} {row['given by']}")
def test_a_row_of_the_statuses_is_what_the_model_reads(row: dict[str, str]) -> None:
    (status,) = words(row["status"])
    for by in words(row["given by"]) or ["interrupt"]:
        answer = tx.DEFER if status == "deferred" else None

        class Answers(tx.Intercept):
            options: ClassVar = {"answer": answer}

            @classmethod
            def call(cls, *, function: tx.Function, answer: Any) -> Any:
                return answer or function.deny("no")

        class Guards:
            def call(self, context: tx.Context) -> str:
                return "enough"

        options: dict[str, dict[str, Any]] = {
            "confirm": {"confirm": "body", "on_confirm": partial(_say, answer)},
            "intercept": {"intercept": Answers},
            "budget": {"budget": 0},
            "guard": {"guard": Guards()},
        }
        ctx = tx.Context([tx.as_tool(lambda n: n, name="body", description="-")], **options.get(by, {}))
        if by == "interrupt":
            ctx.interrupt()
        ret = settled(ctx)

        assert status == ret.status
        assert ("yes" if ret.cancelled else "no") == row["`ret.cancelled`"]
        assert set(words(row["the value has"])) == ret.value.keys()
        if "never sent" in row["the value has"]:
            with pytest.raises(tx.ToolexecError, match="deferred"):
                ctx.messages()
        else:
            assert ctx.messages()
