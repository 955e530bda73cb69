"""Which copy of the packages is under test."""

from __future__ import annotations

import os
import sysconfig
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

import toolexec
import toolexec_pytest
import toolexec_strategies


def test_all_packages_come_from_the_wheel() -> None:
    """Under nox the wheel is tested; the checkout must not shadow it."""
    if os.environ.get("TOOLEXEC_EXPECT_WHEEL") != "1":
        pytest.skip("not told to expect a wheel")
    site_packages = Path(sysconfig.get_path("purelib")).resolve()

    for package in (toolexec, toolexec_strategies, toolexec_pytest):
        assert package.__file__ is not None
        assert site_packages in Path(package.__file__).resolve().parents
        assert (Path(package.__file__).parent / "py.typed").is_file()


def test_no_test_folder_is_a_package() -> None:
    """An `__init__.py` here makes pytest put the checkout on `sys.path`, before the wheel."""
    tests = Path(__file__).parents[1]
    plugins = {tests / "plugin_dist", tests / "provider_dist"}

    assert [] == [path for path in tests.rglob("__init__.py") if plugins.isdisjoint(path.parents)]


def test_the_strategies_are_entry_points_that_load() -> None:
    """A name that does not load would be found by a user's first call only."""
    found = entry_points(group="toolexec.strategies")
    ours = [entry for entry in found if entry.dist is not None and entry.dist.name == "toolexec"]

    assert {"sequential", "thread", "asyncio", "trio", "fork", "interpreter"} == {entry.name for entry in ours}
    for entry in ours:
        assert isinstance(entry.load(), type)


def test_the_pytest_plugin_is_found() -> None:
    """Under the name of its module, so that `-p toolexec_pytest` beside it is not a second one."""
    found = entry_points(group="pytest11", name="toolexec_pytest")

    assert [toolexec_pytest] == [entry.load() for entry in found]


def test_the_version_is_stated_once() -> None:
    """Where the package has a `__version__`, it is the one of its metadata."""
    stated = getattr(toolexec, "__version__", None)

    assert stated in (None, version("toolexec"))
