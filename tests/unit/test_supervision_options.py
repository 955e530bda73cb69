"""The options that have a say in calls: what they take, and what each counts."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest

import toolexec as tx
from toolexec._budget import Spending
from toolexec._outcome import Outcome


@tx.tool
def add(a: int, b: int) -> int:
    return a + b


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"confirm": ["ad"]}, "no tool named 'ad' \\(did you mean 'add'\\?\\); this Context has: add"),
        ({"confirm": "nothing"}, "no tool named 'nothing'"),
        ({"confirm": [3]}, "confirm has 3"),
        ({"confirm": True}, "confirm is True"),
        ({"confirm": ["add"], "on_confirm": "yes"}, "on_confirm is 'yes'"),
        ({"on_confirm": lambda function: False}, "on_confirm is given without confirm"),
        ({"budget": "much"}, "budget is 'much'"),
        ({"budget": True}, "budget is True"),
        ({"budget": tx.Budget(per_tool={"ad": 1})}, "budget: there is no tool named 'ad' \\(did you mean 'add'\\?\\)"),
        ({"guard": "on"}, "guard is 'on'"),
        ({"guard": tx.LoopGuard}, "guard is"),
        ({"guard": {"treshold": 3}}, "threshold"),
        ({"guard": {"threshold": 1}}, "two or more"),
        ({"guard": True, "history": False}, "history=False does not keep"),
        ({"retry": 3}, "retry is 3"),
        ({"intercept": 3}, "intercept is 3"),
        ({"history": "no"}, "history is 'no'; it takes True or False"),
        ({"clock": 3}, r"clock is 3; it takes an object with now\(\) and call_at"),
    ],
)
def test_what_cannot_be_an_option_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(tx.DeclarationError, match=words):
        tx.Context(tools=[add], **options)


def test_an_async_predicate_is_refused_as_it_would_always_be_true() -> None:
    async def judge(function: tx.Function) -> bool:
        return False

    class Judge:
        async def __call__(self, function: tx.Function) -> bool:
            return False

        call = __call__

    for options in ({"confirm": judge}, {"confirm": Judge()}, {"guard": Judge()}):
        with pytest.raises(tx.DeclarationError, match="async"):
            tx.Context(tools=[add], **options)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tx.Budget(per_turn=-1), "per_turn is -1"),
        (lambda: tx.Budget(per_turn=1.5), "per_turn is 1.5"),  # type: ignore[arg-type]  # what a user may write
        (lambda: tx.Budget(per_tool={"add": -1}), "per_tool\\['add'\\] is -1"),
        (lambda: tx.Budget(per_tool=3), "per_tool is 3"),  # type: ignore[arg-type]  # likewise
        (lambda: tx.LoopGuard(threshold=1), "threshold is 1"),
        (lambda: tx.LoopGuard(threshold=True), "threshold is True"),
        (lambda: tx.Retry(attempts=1), "attempts is 1"),
        (lambda: tx.Retry(on=["cancelled"]), "on has 'cancelled'"),
        (lambda: tx.Retry(on=[3]), "on has 3"),  # type: ignore[list-item]  # likewise
        (lambda: tx.Retry(on=3), "on is 3"),  # type: ignore[arg-type]  # likewise
        (lambda: tx.Retry(on=[]), "one at least"),
        (lambda: tx.Retry(on=()), "one at least"),
        (lambda: tx.Retry(on=iter(())), "one at least"),  # type: ignore[arg-type]  # likewise
        (lambda: tx.Retry(on=["lost", tx.ToolError]), "on has ToolError, which is never retried"),
        (lambda: tx.Retry(backoff=-1), "backoff is -1"),
        (lambda: tx.Retry(backoff=float("inf")), "backoff is inf"),
    ],
)
def test_values_that_cannot_be_are_refused(make: Any, words: str) -> None:
    with pytest.raises(tx.DeclarationError, match=words):
        make()


class NeedsInstance:
    def call(self, *, function: tx.Function) -> None:
        return None


class AsyncAfter:
    @classmethod
    def call(cls, *, function: tx.Function) -> None:
        return None

    @classmethod
    async def after(cls, *, function: tx.Function, ret: tx.Return, **options: Any) -> Any:
        return None


class OddOptions:
    options = ("not", "a", "dict")

    @classmethod
    def call(cls, *, function: tx.Function) -> None:
        return None


class Misspelt(tx.Intercept):
    @classmethod
    def explain(cls) -> None: ...

    @classmethod
    def before(cls, *, function: tx.Function) -> Any:
        return function.deny()


@pytest.mark.parametrize("given", [tx.Intercept, tx.Intercept(), Misspelt, Misspelt()])
def test_an_intercept_that_would_let_everything_through_is_refused(given: Any) -> None:
    with pytest.raises(tx.DeclarationError, match=r"neither a call nor an after of its own.*it has: ") as refused:
        tx.Context(intercept=given)

    named = str(refused.value).partition("it has: ")[2]
    assert named.startswith(
        "nothing else" if type(given) is tx.Intercept or given is tx.Intercept else "before, explain"
    )


def test_an_intercept_may_look_at_the_end_alone() -> None:
    class Hides(tx.Intercept):
        @classmethod
        def after(cls, *, function: tx.Function, ret: tx.Return) -> tx.Return:
            return function.return_("hidden")

    ctx = tx.Context(tools=[add], intercept=Hides, strategy="sequential")
    ctx.receive([{"id": "c1", "name": "add", "arguments": {"a": 1, "b": 2}}])

    assert ["hidden"] == [ret.value for ret in ctx.wait()]


@pytest.mark.parametrize(
    ("given", "words"),
    [(NeedsInstance, "@classmethod"), (AsyncAfter, "after is async"), (OddOptions, "takes a dict of keywords")],
)
def test_an_intercept_that_could_not_be_called_is_refused(given: Any, words: str) -> None:
    with pytest.raises(tx.DeclarationError, match=words):
        tx.Context(intercept=given)


def test_an_instance_may_be_an_intercept() -> None:
    ctx = tx.Context(tools=[add], intercept=NeedsInstance(), strategy="sequential")
    ctx.receive([{"id": "c1", "name": "add", "arguments": {"a": 1, "b": 2}}])

    assert [3] == [ret.value for ret in ctx.wait()]


def test_defer_is_one_object_also_after_its_way_through_pickle() -> None:
    import copy
    import pickle

    assert tx.DEFER is copy.deepcopy(tx.DEFER)
    assert tx.DEFER is pickle.loads(pickle.dumps(tx.DEFER))
    assert "toolexec.DEFER" == repr(tx.DEFER)


def test_a_guard_of_ones_own_needs_no_history() -> None:
    class Stops:
        def call(self, context: tx.Context) -> str:
            return "enough"

    ctx = tx.Context(tools=[add], guard=Stops(), history=False, strategy="sequential")
    ctx.receive([{"name": "add", "arguments": {"a": 1, "b": 2}}])

    assert ["enough"] == [ret.reason for ret in ctx.wait()]


def test_what_a_retry_is_for_may_be_read_only_once() -> None:
    retry = tx.Retry(on=(kind for kind in (ValueError, "lost")))  # type: ignore[arg-type]  # what a user may write

    assert (ValueError, "lost") == retry.on


# What a Budget counts


def test_a_budget_allows_just_so_many() -> None:
    spending = Spending(tx.Budget(per_turn=4, per_tool={"add": 2, "never": 0}))
    asked = ["add", "never", "add", "add", "other"]

    assert [True, False, True, False, False] == [spending.allows(name) for name in asked]
    assert {"add": 3, "never": 1, "other": 1} == spending.spent


def test_a_budget_goes_on_from_what_was_spent() -> None:
    spending = Spending(tx.Budget(per_turn=3, per_tool={"add": 1}), {"add": 1, "other": 1})

    assert [False, False] == [spending.allows("add"), spending.allows("other")]


def test_threads_that_ask_at_once_get_no_more_than_there_is() -> None:
    spending = Spending(tx.Budget(per_turn=100))
    allowed: list[bool] = []
    ready = threading.Barrier(8)

    def ask() -> None:
        ready.wait()
        allowed.extend(spending.allows("add") for _ in range(50))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 100 == allowed.count(True)


def test_no_count_is_lost_to_another_that_comes_between() -> None:
    spending = Spending(tx.Budget(per_turn=9))
    others = [lambda: spending.allows("add")] * 3

    class Interrupted(str):
        __slots__ = ()

        def __hash__(self) -> int:  # where another thread may come in
            if others:
                others.pop()()
            return super().__hash__()

    assert spending.allows(Interrupted("add"))
    assert not others
    assert {"add": 4} == spending.spent


# What a LoopGuard sees


@pytest.mark.parametrize(
    ("calls", "length"),
    [
        ("", 0),
        ("aa", 0),
        ("aaa", 1),
        ("aaaa", 1),
        ("baaa", 1),
        ("aaab", 0),
        ("ababab", 2),
        ("xababab", 2),
        ("abababa", 2),
        ("ababa", 0),
        ("abcabcabc", 3),
        ("abcdabcdabcd", 4),
        ("aabaabaab", 3),
        ("abcabcab", 0),
    ],
)
def test_a_pattern_that_the_sequence_ends_with_three_times_is_a_loop(calls: str, length: int) -> None:
    assert length == tx.LoopGuard().pattern(calls)


def test_a_pattern_is_found_as_who_compares_all_slices_finds_it() -> None:
    for size in range(9):
        for calls in itertools.product("ab", repeat=size):
            for threshold in (2, 3, 4):
                expected = next(
                    (
                        length
                        for length in range(1, size // threshold + 1)
                        if calls[size - length * threshold :] == calls[size - length :] * threshold
                    ),
                    0,
                )
                assert expected == tx.LoopGuard(threshold=threshold).pattern(calls), (calls, threshold)


# What a Retry wants


class Away(ConnectionError):
    pass


@pytest.mark.parametrize(
    ("retry", "outcome", "attempts", "idempotent", "wanted"),
    [
        (tx.Retry(), Outcome("raised", exception=Away()), 1, True, True),
        (tx.Retry(), Outcome("raised", exception=Away()), 1, False, False),
        (tx.Retry(), Outcome("lost", exception=tx.WorkerLost("gone")), 0, False, True),
        (tx.Retry(), Outcome("lost", exception=tx.WorkerLost("gone")), 1, False, False),
        (tx.Retry(), Outcome("timeout", exception=tx.DeadlineExceeded("late")), 1, True, True),
        (tx.Retry(), Outcome("timeout", exception=tx.DeadlineExceeded("late"), abandoned=True), 1, True, False),
        (tx.Retry(), Outcome("raised", exception=tx.ToolError("no")), 1, True, False),
        (tx.Retry(), Outcome("ok", 3), 1, True, False),
        (tx.Retry(), Outcome("cancelled", reason="stop"), 1, True, False),
        (tx.Retry(on="lost"), Outcome("raised", exception=Away()), 1, True, False),
        (tx.Retry(on=[ConnectionError]), Outcome("raised", exception=Away()), 1, True, True),
        (tx.Retry(on=ConnectionError), Outcome("raised", exception=ValueError()), 1, True, False),
        (tx.Retry(on=[BaseException]), Outcome("bad_arguments", exception=tx.ArgumentsError("no")), 0, True, False),
    ],
)
def test_a_retry_wants_another_attempt(
    retry: tx.Retry, outcome: Outcome, attempts: int, idempotent: bool, wanted: bool
) -> None:
    assert wanted is retry.wants(outcome, attempts, idempotent=idempotent)


def test_the_wait_between_attempts_doubles_up_to_half_a_minute() -> None:
    assert [0.5, 1.0, 2.0, 30.0, 30.0] == [tx.Retry().delay_s(made) for made in (1, 2, 3, 7, 10_000)]


def test_a_function_may_tell_the_wait() -> None:
    assert 3.0 == tx.Retry(backoff=lambda made: made).delay_s(3)
    with pytest.raises(ValueError, match="backoff gave -1"):
        tx.Retry(backoff=lambda made: -1).delay_s(1)
