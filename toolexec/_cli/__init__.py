"""The ``toolexec`` command: runs the calls in a file, shows tools and strategies."""

from __future__ import annotations

import signal
import sys

_NEEDS = ("click", "rich")


def main() -> int:
    """Run the command with the process's arguments.

    Returns:
        The exit code: 0 when all is well, 1 when some call is not ``ok``, 2 for an error of use,
        130 after a Ctrl-C, 143 after a SIGTERM.
    """
    try:
        return _run()
    except KeyboardInterrupt:  # while the command itself was being loaded
        print("interrupted", file=sys.stderr)
        return 130
    finally:
        # All is said: a Ctrl-C that comes while the program ends just ends it, without a traceback.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _run() -> int:
    try:
        from toolexec._cli._commands import run_command
    except ModuleNotFoundError as exc:
        if exc.name is None or exc.name.partition(".")[0] not in _NEEDS:
            raise
        print(
            f"toolexec: the command needs {' and '.join(_NEEDS)}, and not both are installed; they come with\n"
            "    python -m pip install 'toolexec[cli]'",
            file=sys.stderr,
        )
        return 2
    return run_command()
