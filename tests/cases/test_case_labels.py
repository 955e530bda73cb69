"""The table of cases: faults that others have met, each with the tests that are named after it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

CASES = {
    # Exactly one Return per call
    "A1": "a cancelled call leaves no result, and the history becomes invalid",
    "A2": "one failing tool discards its siblings' results",
    "A3": "an unknown tool is dropped on one path and crashes another",
    "A5": "two calls share an id",
    "A6": "an id is missing, empty or null",
    "A7": "results come in the order of completion",
    "A8": "an error without id, name or text",
    "A9": "an empty result breaks the request",
    "A10": "a result that cannot be turned into text",
    "A11": "a failure is told as a success",
    "A12": "a wrapper in the tool swallows what the engine raises",
    "A13": "several results of one turn are split or miscounted",
    "A14": "a very large output",
    # Interrupts and limits of time
    "B1": "the run is cancelled, and the tool keeps working",
    "B2": "grandchildren survive the kill",
    "B3": "the limit of time waits for the tool's clean-up",
    "B4": "a tool that never cooperates",
    "B5": "a tool swallows the cancellation",
    "B7": "queued calls run after the cancel",
    "B9": "the tool's own TimeoutError is mistaken for the limit",
    "B11": "limits work only in the main thread, or in whole seconds",
    "B13": "the hook must run where the resource is, and before the kill",
    "B16": "progress keeps a call alive, within a ceiling",
    "B17": "a place is not given back after a cancel or a crash",
    # Event loops, threads, context
    "C1": "a sync tool blocks the loop",
    "C2": "a coroutine object is the answer",
    "C3": "context variables are lost",
    "C5": "called inside a running loop",
    "C7": "trio without asyncio",
    "C9": "generator tools",
    "C10": "the process will not exit",
    "C11": "parallel calls race for shared state",
    "C12": "no limit on parallel calls",
    "C13": "the tool changes its caller's record of the call",
    "C15": "Ctrl-C with processes",
    # Forked processes
    "D1": "a worker dies, and the caller waits for ever",
    "D3": "a result cannot be pickled",
    "D4": "an exception cannot be rebuilt here",
    "D5": "a large result or argument deadlocks",
    "D6": "traceback, cause and notes are lost",
    "D7": "a fork while another thread holds a lock",
    "D9": "buffered output is printed twice",
    "D10": "a fork from a running loop",
    "D11": "local functions, closures, bound methods",
    "D13": "tools that start processes themselves",
    "D15": "the identity of classes after the trip",
    # Subinterpreters
    "E1": "the function cannot be found on the other side",
    "E2": "an extension module refuses",
    "E3": "exceptions and values do not cross",
    # Arguments, and how tools are declared
    "F1": "no arguments: empty, null, absent",
    "F2": "broken JSON replaced by {} and run",
    "F3": "JSON that is not an object",
    "F4": "the whole object encoded twice",
    "F5": "a list or object sent as JSON text",
    "F6": "JSON-looking text altered",
    "F8": "several objects glued together",
    "F9": "null for an optional parameter",
    "F10": "an unexpected argument",
    "F11": "scalars of the wrong kind",
    "F13": "faults told one at a time",
    "F14": "a collision in the open end",
    "F15": "the body gets a dict where it declared a model",
    "G1": "postponed annotations",
    "G2": "self, cls, static",
    "G3": "*args and **kwargs",
    "G4": "positional-only and keyword-only",
    "G6": "constraints and texts lost",
    "G8": "Union, Optional, Literal, Enum",
    "G9": "recursive types",
    "G10": "fields of TypedDict and dataclass",
    "G11": "defaults that are not JSON",
    "G12": "docstrings",
    "G13": "two tools of one name, names a provider refuses",
    # What the Ruby ancestor's users could rely on in a Function, its Return, a Tool and the registry
    "anc_R1": "name, texts, params, id, arguments, tracer, model; a callable, a class or an instance",
    "anc_R2": "arguments go in by name, optional ones may be absent",
    "anc_R3": "a return has id, name and value, and its dict exactly these",
    "anc_R4": "an error only where the call failed",
    "anc_R5": "an exception becomes type and message, under every strategy",
    "anc_R6": "the answer for a tool that is not there",
    "anc_R7": "a spent budget (there a ToolLoopError, here a cancellation)",
    "anc_R8": "cancel answers the call, which is no longer pending",
    "anc_R9": "equality and hash by call id, else by identity",
    "anc_R10": "a tool without parameters is an empty object",
    "anc_R11": "the runner can be looked at, and gets the tracer",
    "anc_R12": "skill, mcp and a2a",
    "anc_T1": "subclassing registers, but not unnamed classes",
    "anc_T2": "the list has the order of definition",
    "anc_T3": "unregister gives the tool back and is harmless twice; clear forgets functions too",
    "anc_T4": "a tool is found by name or not at all; the strict form raises",
    "anc_T5": "the registry is safe between threads",
    "anc_T7": "parameters with name, type, text, default, values",
    "anc_T8": "plain types, enums, arrays, mixed arrays",
    "anc_T9": "unions, nested schemas, references, inference, a type that is none",
    # What the Kotlin ancestor's users could rely on, or what is done instead
    "anc_K1": "a function, and a method of an object, become tools without a receiver",
    "anc_K2": "async and sync functions run alike",
    "anc_K3": "results stay what they are; a text goes unquoted, None is null",
    "anc_K4": "parameters of several types are filled by name",
    "anc_K5": "a parameter with a default may be left out",
    "anc_K6": "unknown keys are refused, or ignored where the tool says so",
    "anc_K7": "a type without a JSON form fails as_tool, not the call",
    "anc_K8": "name and description come from the function",
    "anc_K9": "a parameter without a text has its name as text",
    "anc_K10": "all marked methods become tools, by order of their names",
    "anc_K11": "mark and texts are inherited through several levels",
    "anc_K12": "a mark on the implementation is enough, and nothing comes from above",
    "anc_K13": "the nearest mark wins",
    "anc_K14": "a class has its own tools and the inherited ones",
    "anc_K15": "by interface there are only its tools",
    "anc_K16": "required is what has no default",
    "anc_K17": "arguments go by name, in any order",
    "anc_K18": "all that is missing is told at once, before the call",
    "anc_K19": "a receiver is never left out in silence",
    "anc_K20": "integers and numbers",
    "anc_K21": "nested dataclasses, also twice in a call",
    "anc_K22": "a list of dataclasses, and no mark",
    "anc_K23": "the native value beside its text",
    "anc_K24": "tools keep their order; the same again is ignored",
    "anc_K25": "a look-up of what is not there says so",
    "anc_K26": "a clash of two sets of tools is refused",
    "anc_K27": "texts unquoted, structures as JSON, or a form of the tool's own",
    "anc_K28": "JSON Schema, the values of enums, lists of any depth",
    "anc_K29": "the argument, then the mark, then the function",
    "anc_K30": "marks are looked for in the order of the MRO",
    "anc_K31": "whatever cannot be a tool is a DeclarationError",
    "anc_K32": "maps, sets, unions, generic and recursive types are no limit",
    "anc_K33": "null only where the type says so",
    "anc_K34": "members of enums by exact text",
    "anc_K35": "a second tool of one name is refused",
    "anc_K36": "every failure is a text for the model",
    "anc_K37": "calls overlap, answers are in call order",
    "anc_K38": "a wrong number of arguments in a direct call",
    "anc_K39": "an object that answers a question as a tool",
    # What the Ruby ancestor's users could rely on, as far as it is about running calls
    "anc_S1": "one entry point, and an unknown strategy's error names those there are",
    "anc_S2": "every strategy gives a task, which can be waited for and interrupted",
    "anc_S3": "sequential has the shape of a task too",
    "anc_S4": "alive while it runs, and not after the wait",
    "anc_S5": "a strategy that is missing says what would help",
    "anc_S6": "what cannot be carried is refused in its place",
    "anc_S7": "fork: result, error, trace, and an interrupt that is delivered in the child",
    "anc_S8": "isolated calls are traced here",
    "anc_S9": "a scoped tracer stays attached across threads, tasks and fibers",
    "anc_S10": "calls together are answered in their order",
    "anc_S11": "a group is alive if one call is, and its interrupt reaches all",
    "anc_S12": "a task's interrupt reaches the isolated task as well as the runner",
    # in its queue, which is a Context's pending calls here
    "anc_Q1": "calls of any strategy, and ready returns, wait together",
    "anc_Q2": "each is waited for by its own kind, in the order of the calls",
    "anc_Q5": "a streamed call is told of once its arguments are whole, with tracer and model",
    "anc_Q6": "names are looked up (there in the registry too, here among the Context's own tools only)",
    "anc_Q7": "an interrupt reaches every call, and leaves ready returns alone",
    # and in its context
    "anc_C1": "pending is what is neither called, cancelled nor answered",
    "anc_C2": "whether there is anything to see to",
    "anc_C3": "what has begun is waited for, the rest begun together, under every strategy alike",
    "anc_C4": "waiting is traced, and calls can be left out",
    "anc_C5": "what a stream has begun is kept until it was waited for, and no longer",
    "anc_C6": "a guard's warning answers every call that was to start, and leaves alone what runs",
    "anc_C7": "a guard is True, options, an object, or off",
    "anc_C8": "an interrupt reaches what runs and what is pending, and nothing else",
    "anc_C9": "calls that nobody answered are closed before the next request",
    "anc_C12": "calls, and the responses they came in, survive serialising and restoring",
    # in its agent, as far as that runs calls
    "anc_A2": "so many calls, and then one is told that it makes too many; or no bound at all",
    "anc_A4": "named calls are confirmed first (there their answers came first, here they stay in call order)",
    # and the faults that it still has
    "anc_fault_class_hook": "the hook of a class was never called",
    "anc_fault_crash": "a crash was a hang",
    "anc_fault_fiber_wait": "a fiber could not be waited for",
    "anc_fault_cancelled": "a cancelled call ran all the same, and had two answers",
    "anc_fault_double_hook": "the hook ran twice",
    "anc_fault_strategy_lists": "a list of strategies failed as soon as it mattered",
    "anc_fault_200_kb": "more than 200 KB were lost",
    "anc_fault_descriptors": "ten descriptors a call",
    "anc_fault_zombies": "children stayed zombies",
    "anc_fault_loop_guard": "the loop guard compared nothing that is ever equal, and never fired",
    "anc_fault_guard_bypassed": "streamed calls, and those that were confirmed, ran past the guard",
    "anc_fault_guard_pending": "what a guard had answered stayed pending, and could run after all",
    "anc_fault_budget": "a spent budget began anew by itself, and the loop had no end",
    "anc_fault_confirmed_twice": "calls that were confirmed ran once more with the others",
}

_LABELS = re.compile(r"test_(?=[A-G]\d|anc_[ACKQRST]\d)((?:anc_)?(?:[A-GKQRST]\d+_)+)")


def _tests() -> Iterator[str]:
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield node.name


def _labels(test: str) -> set[str]:
    """The cases that a test is named after; it may be several."""
    found = _LABELS.match(test)
    if found is not None:
        prefix = "anc_" if found[1].startswith("anc_") else ""
        return {f"{prefix}{label}" for label in found[1].removeprefix("anc_").strip("_").split("_")}
    words = "anc_fault_"
    if not test.startswith(f"test_{words}"):
        return set()
    said = test.removeprefix(f"test_{words}")
    faults = [label.removeprefix(words) for label in CASES if label.startswith(words)]
    return {f"{words}{fault}" for fault in faults if fault in said} or {test}


NAMED = [(test, label) for test in _tests() for label in _labels(test)]


@pytest.mark.parametrize("label", CASES)
def test_every_case_has_a_test(label: str) -> None:
    assert [test for test, of in NAMED if of == label], CASES[label]


def test_no_test_is_named_after_a_case_that_is_not_in_the_table() -> None:
    other = {label for _, label in NAMED} - CASES.keys()
    assert set() == other
