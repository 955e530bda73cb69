"""The command, as ``python -m toolexec``."""

from __future__ import annotations

import sys

from toolexec._cli import main

sys.exit(main())
