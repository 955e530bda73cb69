"""Tools that do small but real work; `calls.json` calls them all.

    toolexec run examples/calls.json --tools examples/tools.py

Every one of them gives the same under each strategy, in a thread as in a forked child or a
subinterpreter, and needs nothing but the standard library.  None reaches beyond this machine.
"""

from __future__ import annotations

import csv
import hashlib
import http.client
import http.server
import json
import math
import os
import signal
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import toolexec as tx
from toolexec.lowlevel import running_loop

# Reading files: the class form.


class ReadFile(tx.Tool):
    name = "read-file"
    description = "Read a text file from disk."

    def call(
        self,
        path: Annotated[str, "The file to read"],
        max_lines: Annotated[int, "How many lines to return at most"] = 20,
    ) -> dict[str, Any]:
        lines = Path(path).read_text("utf-8").splitlines()
        return {"path": path, "lines": lines[:max_lines], "more": max(0, len(lines) - max_lines)}


@tx.tool
def sha256(path: Annotated[str, "The file to hash"]) -> str:
    """Hash a file with SHA-256."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# A generator: each part is reported as progress when it comes, the value is the list of all parts.


@tx.tool
def sales_by_country(path: Annotated[str, "A CSV file with country and amount"]) -> Iterator[dict[str, Any]]:
    """Add up the orders in a CSV file, country by country."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        orders = list(csv.DictReader(file))
    for country in sorted({order["country"] for order in orders}):
        amounts = [Decimal(order["amount"]) for order in orders if order["country"] == country]
        yield {"country": country, "orders": len(amounts), "total": str(sum(amounts))}


# Another program.


@tx.tool(name="run-python")
def run_python(code: Annotated[str, "The program"]) -> dict[str, Any]:
    """Run a short Python program in a process of its own and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )
    return {"exit_code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


# The network.  The service is our own, and there only while the call lasts.


@tx.tool
def exchange_rate(currency: Annotated[Literal["CHF", "SEK", "USD"], "What one euro is to be priced in"]) -> Any:
    """Ask the exchange rate service what one euro costs."""
    with socketserver.TCPServer(("127.0.0.1", 0), _Rates) as service:
        service.timeout = 5
        server = threading.Thread(target=service.handle_request)  # no daemon: a subinterpreter has none
        server.start()
        # http.client asks the address itself, whatever proxy the environment names.
        connection = http.client.HTTPConnection("127.0.0.1", service.server_address[1], timeout=5)
        try:
            connection.request("GET", f"/rates/{currency}")
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()
            server.join()


class _Rates(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        currency = self.path.rpartition("/")[2]
        body = json.dumps({"currency": currency, "rate": _RATES[currency]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


_RATES = {"CHF": 0.94, "SEK": 11.2, "USD": 1.08}

# The processor.


@tx.tool(name="count-primes")
def count_primes(below: Annotated[int, "The first number not to be looked at"]) -> int:
    """Count the prime numbers below a number."""
    composite = bytearray(max(below, 2))
    for number in range(2, math.isqrt(len(composite)) + 1):
        if not composite[number]:
            multiples = range(number * number, len(composite), number)
            composite[multiples.start :: number] = b"\1" * len(multiples)
    return composite.count(0, 2)


# Async.  Under a strategy without a loop the call gets one of its own; this tool can do with either
# kind.  One that can do with asyncio only says so: @tx.tool(strategy="asyncio").


@tx.tool
async def wait(seconds: Annotated[float, "How long"]) -> str:
    """Wait for a while."""
    if running_loop() == "trio":
        import trio

        await trio.sleep(seconds)
    else:
        import asyncio

        await asyncio.sleep(seconds)
    return f"waited {seconds:g} s"


# A tool that is known to take its process down is given one to lose.  Anywhere else it would end the
# program that calls it, and all other calls with it.


@tx.tool(name="resize-image", strategy="fork")
def resize_image(path: Annotated[str, "The image"], width: Annotated[int, "The new width in pixels"]) -> str:
    """Resize an image (and die over it, as a process that runs out of memory does)."""
    os.kill(os.getpid(), signal.SIGKILL)
    return f"{path} is now {width} pixels wide"
