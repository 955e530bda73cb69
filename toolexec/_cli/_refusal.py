"""Refusal: what the command was asked for cannot be done as asked."""

from __future__ import annotations

import click


class Refusal(click.ClickException):
    """An error of use: its text is shown without a traceback, and the exit code is 2."""

    exit_code = 2
