"""The example of a user's test suite: it is green, quick, and fails for the right reason when its tools are broken."""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from command import CHECKOUT, environment

EXAMPLE = CHECKOUT / "examples" / "testing"
# No plugins but ours: what is installed for other tests is none of this suite's affair.
ENVIRONMENT = environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", COLUMNS="400")
for _name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTHONDONTWRITEBYTECODE"):
    ENVIRONMENT.pop(_name, None)


class Broken(NamedTuple):
    """One thing broken on purpose, and what has to notice it.

    Attributes:
        module: Where.
        old: What stands there.
        new: What stands there instead.
        test: The one test that may fail.
        why: What it has to say, as a pattern.
        how: FAILED, or ERROR where the test itself passes.
    """

    module: str
    old: str
    new: str
    test: str
    why: str
    how: str = "FAILED"


BROKEN = {
    "a wrong value": Broken(
        "travel_tools",
        '{"Köln", "Aachen"}): 70}',
        '{"Köln", "Aachen"}): 70, frozenset({"Bonn", "Rom"}): 1400}',
        "test_agent_answers",
        r"AssertionError: Rome is not on the map, and the agent goes on",
    ),
    "an unsorted list": Broken(
        "travel_tools",
        "sorted(TIMETABLE[station])[:count]",
        "TIMETABLE[station][:count]",
        "test_departures_are_in_order",
        r"assert \['09:12 Bonn', '08:43 Aachen'\] == \['08:05 Bonn', '08:43 Aachen'\]",
    ),
    "a type that takes everything": Broken(
        "travel_tools",
        "count: int = 2",
        "count: object = 2",
        "test_departures_want_a_number",
        "assert 'raised' == 'bad_arguments'",
    ),
    "a service asked the wrong way round": Broken(
        "travel_tools",
        "fares.euros(start, end)",
        "fares.euros(end, start)",
        "test_price_is_asked_for_once",
        r"assert \[\('Köln', 'Bonn'\)\] == \[\('Bonn', 'Köln'\)\]",
    ),
    "a failure that is not caught": Broken(
        "travel_tools",
        "except ConnectionError:",
        "except TimeoutError:",
        "test_price_when_nobody_knows_it",
        r"assert 'ConnectionE.*' == 'no prices .*'",
    ),
    "no limit of time": Broken(
        "travel_tools",
        "@tx.tool(timeout=30)",
        "@tx.tool",
        "test_find_room_gives_up_after_half_a_minute",
        "assert 'ok' == 'timeout'",
    ),
    "no hook": Broken(
        "travel_tools",
        "def on_cancel",
        "def on_cancelled",
        "test_watch_train_that_is_stopped_subscribes_to_nothing_any_more",
        r"AssertionError: assert \['ICE 5'\] == \[\]",
    ),
    "a thread that is left": Broken(
        "travel_tools",
        "    return sorted(",
        "    import threading as t\n\n    t.Thread(target=t.Event().wait, name='ping', daemon=True).start()\n"
        "    return sorted(",
        "test_departures_are_in_order",
        r"Leftovers: not given back after 2 s: .*thread 'ping'",
        "ERROR",
    ),
    "calls one after another": Broken(
        "travel_tools",
        "@tx.tool\ndef price",
        "@tx.tool(exclusive=True)\ndef price",
        "test_prices_are_looked_up_at_the_same_time",
        r"TimeoutError: after 3 s still waiting for 2 calls at a gate, which 1 have reached: \['Köln'\]",
    ),
    "an answer that is dropped": Broken(
        "travel_agent",
        "messages += ctx.turn()",
        "messages += ctx.turn()[:2]",
        "test_agent_answers",
        r"ScriptError: request 2 does not fit the script: not answered: 'call_2' \(price\)$",
    ),
    "answers without their calls": Broken(
        "travel_agent",
        "conversation.extend(ctx.turn())",
        "conversation.extend(ctx.messages())",
        "test_agent_streams",
        r"ScriptError: request 2 does not fit .*: asked for by the model, and not in .*: 'call_1' \(distance\);",
    ),
    "an agent that gives up": Broken(
        "travel_agent",
        "        ctx.wait()\n",
        "        if ctx.wait()[-1].error:\n            return '27 km, for 9 EUR.'\n",
        "test_agent_answers",
        "ScriptError: the script has 3 items, and 2 were asked for; next is the text '27 km, for 9 EUR.'",
    ),
}


def copied(folder: Path) -> Path:
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def python(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", *args]
    return subprocess.run(command, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=55, check=False)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What pytest says of each of the broken ones; all at once, for what they have to import takes longest."""
    base = tmp_path_factory.mktemp("suites")
    for name, broken in BROKEN.items():
        module = copied(base / name) / f"{broken.module}.py"
        text = module.read_text("utf-8")
        assert 1 == text.count(broken.old), f"{name}: what it replaces"
        module.write_text(text.replace(broken.old, broken.new), "utf-8")
    done = python(str(CHECKOUT / "tests" / "many_suites.py"), *(str(base / name) for name in BROKEN), cwd=base)
    assert (0, "") == (done.returncode, done.stderr)
    return {name: (base / name / "report").read_text("utf-8") for name in BROKEN}


def test_it_is_green_and_quick(tmp_path: Path) -> None:
    """Ten tests in less than two seconds: of computing, for others may be using this machine."""
    folder = copied(tmp_path / "suite")
    took: list[float] = []
    for _ in range(2):  # the first run may have modules to compile
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = python("-m", "pytest", "-p", "toolexec_pytest", "--basetemp=temporary", cwd=folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert "= 10 passed in " in done.stdout, done.stdout + done.stderr
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(took) < 2


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_found_by_one_test(reports: dict[str, str], name: str) -> None:
    broken, told = BROKEN[name], reports[name]

    failed = re.findall(r"^(FAILED|ERROR) test_travel\.py::(\w+)(?: - (.*))?$", told, re.MULTILINE)
    assert [(broken.how, broken.test)] == [(how, test) for how, test, _ in failed], told
    assert re.search(broken.why, failed[0][2]), told
