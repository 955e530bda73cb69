"""What all tests need."""

from __future__ import annotations

import signal

# A shell starts what it runs in the background with SIGINT ignored, and every process started from
# there inherits that; then no Ctrl-C of a test would arrive anywhere.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
