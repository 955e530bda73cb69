"""The one list of commands: what is run on a developer's machine is what CI runs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2026.2.9"  # older ones cannot renew an environment that uv has made
nox.options.sessions = ["lint", "tests"]
nox.options.default_venv_backend = "uv|virtualenv"
# A missing Python is skipped with a message, and is an error in CI; it is never downloaded
# behind the developer's back.
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = os.environ.get("CI", "").lower() not in ("", "0", "false")
# Left alone, uv trusts its own list of certificates and not the system's: behind a proxy that
# signs with its own, pip would work and uv would not.  (The older releases know the second name.)
os.environ.setdefault("UV_SYSTEM_CERTS", "true")
os.environ.setdefault("UV_NATIVE_TLS", "true")
# Containers often ask for no bytecode to be kept, and uv compiles none by itself: then each of the thousand or so
# processes that the tests start, and each worker, would compile anew all that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = nox.project.python_versions(PROJECT)
# The two ends of what the code has to bear: the oldest Python, and the newest, which alone
# has everything that the code asks for by version.
ENDS = [PYTHONS[0], PYTHONS[-1]]
# The oldest for which targets are set, and the one that most of them are about; the scripts run on all.
BENCHED = ["3.11", "3.14"]
BENCHMARKS = Path("benchmarks")
# Not for the session `bench`: one has an environment of its own, and one is run at the end.
APART = ("peers.py", "report.py")
# Distributions with a strategy and with a provider of their own, as third parties would publish them.
PLUGINS = [Path("tests/plugin_dist"), Path("tests/provider_dist")]


@nox.session(default=False)
def wheel(session: nox.Session) -> None:
    """Build the wheel that the other sessions of this run install."""
    session.install("build")
    shutil.rmtree(_wheel_dir(session), ignore_errors=True)
    session.run("python", "-m", "build", "--wheel", f"--outdir={_wheel_dir(session)}", silent=True)


@nox.session(python=PYTHONS, requires=["wheel"])
def tests(session: nox.Session) -> None:
    """Run every test, all strategies, from the installed wheel."""
    _install_for_tests(session)
    # Three workers, for two cores: of its time a test computes for about half, and waits for the rest.
    # By class and module, because these share what is costly to set up.  And up to twice more what has failed,
    # which the summary says: some are about force and real graces, and a machine that does much else
    # may leave them no time.
    _pytest(session, options=("--numprocesses=3", "--dist=loadscope", "--reruns=2"))


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, import rules and types."""
    # Editable: the type checkers and import-linter have to find the checkout, not a copy.
    session.install("-e", ".[cli]", *_group("lint"), *_group("test"), *_group("bench"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")
    # Twice: what stands behind a version check is seen by one of the two only.
    for python in ENDS:
        session.run("mypy", f"--python-version={python}")
    for python in ENDS:
        session.run("pyright", f"--pythonversion={python}")
    # What users' type checkers see of it; fails below 100 %.
    session.run("pyright", "--verifytypes", "toolexec", "--ignoreexternal")


@nox.session(python=ENDS, default=False, requires=["wheel"])
def coverage(session: nox.Session) -> None:
    """Measure branch coverage, threads and child processes included."""
    _install_for_tests(session)
    _pytest(session, "-m", "coverage", "run")
    session.notify("coverage_report")


@nox.session(default=False)
def coverage_report(session: nox.Session) -> None:
    """Combine what `coverage` has measured under all its Pythons, and report."""
    session.install(*_group("test"))
    session.run("coverage", "combine")
    session.run("coverage", "report")


@nox.session(python=PYTHONS[0], venv_backend="uv", default=False, requires=["wheel"])
def minimums(session: nox.Session) -> None:
    """Run the tests with the lowest direct dependencies that pyproject.toml allows."""
    # First ours at their lowest, then the tools at their newest: these raise a version only
    # where they cannot live with ours.
    session.install("--resolution=lowest-direct", f"{_wheel(session)}[cli,otel]")
    session.install(*_group("test"), *_plugins())
    _pytest(session)


@nox.session(python=PYTHONS, default=False, requires=["wheel"])
def stress(session: nox.Session) -> None:
    """Interrupt calls at random moments, in great number; takes long. After `--`: its options, such as --scale 0.1."""
    _install_for_tests(session)
    session.run("python", "-P", "tests/stress/interrupts.py", *session.posargs)


@nox.session(python=ENDS[-1], default=False, requires=["wheel"])
def fuzz(session: nox.Session) -> None:
    """Send odd arguments and responses for ten minutes. After `--`: its options, such as --seconds 60."""
    _install_for_tests(session)
    session.run("python", "-P", "tests/fuzz/arguments.py", *session.posargs)


@nox.session(python=BENCHED, default=False, requires=["wheel"])
def bench(session: nox.Session) -> None:
    """Run the benchmarks, about ten minutes for each Python, and write benchmarks/RESULTS.md; no time fails anything.

    After `--`: scripts (what ends in .py) to run those only, and options, which all of them get.
    """
    scripts = [word for word in session.posargs if word.endswith(".py")]
    session.install(f"{_wheel(session)}[cli]", *_group("bench"))
    _measure(session, scripts or [str(path) for path in sorted(BENCHMARKS.glob("[!_]*.py")) if path.name not in APART])


@nox.session(python=BENCHED, default=False, requires=["wheel"])
def bench_peers(session: nox.Session) -> None:
    """Measure toolexec beside the newest releases of what does something alike; options stand after `--`."""
    session.install(f"{_wheel(session)}[cli]", *_group("bench"))
    # One by one, because one that does not install here is to be named in the report and not to end it.
    for peer in _group("peers"):
        session.install("--upgrade", peer, success_codes=[0, 1, 2])
    _measure(session, [str(BENCHMARKS / "peers.py")])


def _measure(session: nox.Session, scripts: list[str]) -> None:
    options = [word for word in session.posargs if not word.endswith(".py")]
    # What a quick run finds must not stand in for what was measured.
    to = ["--results", session.create_tmp()] if "--quick" in options else []
    for script in scripts:
        session.run("python", script, *options, *to)
    report = [*to, "--to", f"{to[1]}/RESULTS.md"] if to else []
    session.run("python", str(BENCHMARKS / "report.py"), *report)


def _wheel_dir(session: nox.Session) -> Path:
    return Path(session.cache_dir) / "wheel"


def _wheel(session: nox.Session) -> Path:
    found = sorted(_wheel_dir(session).glob("*.whl"))
    if len(found) != 1:
        session.error(f"expected one wheel in {_wheel_dir(session)}, found {len(found)}; run `nox -s wheel`")
    return found[0]


def _group(name: str) -> tuple[str, ...]:
    return nox.project.dependency_groups(PROJECT, name)


def _plugins() -> tuple[str, ...]:
    return tuple(f"./{plugin}" for plugin in PLUGINS if plugin.is_dir())


def _install_for_tests(session: nox.Session) -> None:
    # Compiled at once, as pip does it: else all workers of a new environment would compile the same modules.
    session.install(f"{_wheel(session)}[cli]", *_group("test"), *_plugins(), env={"UV_COMPILE_BYTECODE": "1"})


def _pytest(session: nox.Session, *runner: str, options: tuple[str, ...] = ()) -> None:
    # -P: without it the checkout stands first on sys.path, and it is the wheel that is to be
    # tested. tests/architecture/test_installed.py holds us to it by the variable.
    command = ("python", "-P", *runner, "-m", "pytest", *options, *session.posargs)
    session.run(*command, env={"TOOLEXEC_EXPECT_WHEEL": "1"})
