"""A call that cannot run is answered in its place, and its siblings run."""

from __future__ import annotations

import toolexec
from toolexec.testing import _ordered_tools as ordered
from toolexec.testing import _tools as tools
from toolexec.testing._harness import Harness
from toolexec.testing._needs import about_the_body


def check_unknown_tool(harness: Harness) -> None:
    """A name that no tool has, and an empty one, are answered; the known one runs."""
    calls = [("ad", {"a": 1}), ("add", {"a": 1}), ("", {"a": 1})]
    returns = harness.run([tools.add], calls)

    assert [ret.status for ret in returns] == ["unknown_tool", "ok", "unknown_tool"], returns
    assert [ret.name for ret in returns] == ["ad", "add", ""], returns
    assert [ret.attempts for ret in returns] == [0, 1, 0], returns
    assert (returns[0].value["error"], returns[0].value["type"]) == (True, "NoSuchToolError"), returns[0]
    assert isinstance(returns[0].exception, toolexec.NoSuchToolError), returns[0]


@about_the_body
def check_bad_arguments(harness: Harness) -> None:
    """Arguments that do not fit are answered, and the body never runs."""
    journal = harness.journal()
    good = {"journal": journal.path, "label": "good"}
    calls = [
        ("note", {"journal": journal.path}),
        ("note", good),
        ("note", {**good, "label": ["a", "list"]}),
        ("note", {**good, "extra": 1}),
        ("note", [1]),
    ]
    returns = harness.run([ordered.note], calls)

    assert [ret.status for ret in returns] == ["bad_arguments", "ok", *["bad_arguments"] * 3], returns
    assert journal.lines() == ["good"], journal.lines()
    assert "label" in returns[0].value["message"], returns[0]
    assert "extra" in returns[3].value["message"], returns[3]
    assert all(isinstance(ret.exception, toolexec.ArgumentsError) for ret in returns if not ret.ok), returns


@about_the_body
def check_broken_json(harness: Harness) -> None:
    """Broken JSON is never taken for no arguments: the body never runs, the answer shows a short excerpt."""
    journal = harness.journal()

    @toolexec.tool
    def write(text: str = "nothing", path: str = journal.path) -> str:
        with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123 - a closure that travels captures no module
            file.write(f"{text}\n")
        return text

    broken = ['{"text": "hel', '{"text": "x",}', "{'text': 'x'}", '{"text": "a"}{"text": "b"}', '{"text": "a"} thanks']
    returns = harness.run([write], [*(("write", text) for text in broken), ("write", {"text": "good"})])

    assert [ret.status for ret in returns] == [*["bad_arguments"] * len(broken), "ok"], returns
    assert journal.lines() == ["good"], journal.lines()
    for text, ret in zip(broken, returns, strict=False):
        assert text in ret.value["message"], ret


def check_refused_before_and_after(harness: Harness) -> None:
    """A call that is answered at once keeps its place among those that run."""
    calls = [("add", {"a": 1}), ("add", {"b": 1}), ("nobody", None), ("add", {"a": 4})]
    returns = harness.run([tools.add], calls)

    assert [ret.id for ret in returns] == ["c0", "c1", "c2", "c3"], returns
    assert [ret.status for ret in returns] == ["ok", "bad_arguments", "unknown_tool", "ok"], returns


@about_the_body
def check_nothing_but_refused(harness: Harness) -> None:
    """A Group in which nothing runs settles all the same."""
    returns = harness.run([tools.add], [("nobody", {}), ("add", "[")])

    assert [ret.status for ret in returns] == ["unknown_tool", "bad_arguments"], returns


@about_the_body
def check_duplicate_ids(harness: Harness) -> None:
    """Two calls with one id both run, once, and have their own Returns, by position."""
    journal = harness.journal()
    calls = [
        {"id": "c", "name": "add", "arguments": {"a": 1}},
        {"id": "c", "name": "note", "arguments": {"journal": journal.path, "label": "ran"}},
    ]
    returns = harness.run([tools.add, ordered.note], calls)

    assert [(ret.id, ret.name, ret.value) for ret in returns] == [("c", "add", 2), ("c", "note", "ran")], returns
    assert journal.lines() == ["ran"], journal.lines()


@about_the_body
def check_missing_ids(harness: Harness) -> None:
    """Calls without an id, or with an empty one, are matched by position."""
    calls = [
        {"name": "add", "arguments": {"a": 1}},
        {"name": "add", "arguments": {"a": 2}},
        {"id": "", "name": "add", "arguments": {"a": 3}},
        {"id": None, "name": "add", "arguments": {"a": 4}},
    ]
    returns = harness.run([tools.add], calls)

    assert [ret.value for ret in returns] == [2, 3, 4, 5], returns


CHECKS = (
    check_unknown_tool,
    check_bad_arguments,
    check_broken_json,
    check_refused_before_and_after,
    check_nothing_but_refused,
    check_duplicate_ids,
    check_missing_ids,
)
