"""The machine and what runs on it: what one has to know to compare figures with others."""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
import time
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from toolexec.lowlevel import usable_cpus


def describe(packages: Iterable[str] = ("pydantic", "trio")) -> dict[str, Any]:
    """The machine, the Python and the versions, before anything was measured."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "python": f"{platform.python_implementation()} {platform.python_version()}, {_build()}",
        "platform": f"{platform.system()} {platform.machine()}",
        "cpus": usable_cpus(),
        "load": load(),
        "versions": installed(("toolexec", *packages)),
    }


def installed(packages: Iterable[str]) -> dict[str, str]:
    """The versions of those that are installed."""
    found: dict[str, str] = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def load() -> float:
    """What else this machine does, and this program: how many processes ran or waited, over a minute."""
    return round(os.getloadavg()[0], 1)


def python_label() -> str:
    """The name of this Python in reports: figures are compared within one minor release of one build."""
    threads = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    return f"{sys.version_info[0]}.{sys.version_info[1]}{threads}"


def _build() -> str:
    return ", ".join(
        [
            platform.python_compiler(),
            "free-threaded" if sysconfig.get_config_var("Py_GIL_DISABLED") else "with GIL",
            *(["debug build"] if hasattr(sys, "gettotalrefcount") else []),
        ]
    )
