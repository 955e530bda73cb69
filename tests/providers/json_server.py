"""An endpoint on this machine that a real client talks to, and that checks what it is sent."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

import pytest


class Streamed(NamedTuple):
    """An answer that is sent piece by piece.

    Attributes:
        pieces: Of the body; each is sent before the next is taken, so that they may wait for something.
        content_type: What they are.
        breaks: Whether the connection is cut after the last one.
    """

    pieces: Iterable[bytes]
    content_type: str = "text/event-stream"
    breaks: bool = False


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # a connection that a client keeps is no reason to stay

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a client went away, as it may
            super().handle_error(request, client_address)


class JsonServer:
    """Answers each request with the next of ``answers``, or with 400 and the reason why it is refused.

    Attributes:
        bodies: What it was sent, in order.
        faults: Why it refused.
    """

    def __init__(self, check: Callable[[dict[str, Any]], None], answers: Iterable[dict[str, Any] | Streamed]) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.faults: list[str] = []
        self._check = check
        self._answers = iter(answers)
        self._patch = pytest.MonkeyPatch()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = outer._answer(body)
                if isinstance(answer, Streamed):
                    self._stream(answer)
                    return
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _stream(self, answer: Streamed) -> None:
                self.send_response(200)
                self.send_header("Content-Type", answer.content_type)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                try:
                    for piece in answer.pieces:
                        self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                        self.wfile.flush()
                    if not answer.breaks:
                        self.wfile.write(b"0\r\n\r\n")
                except (BrokenPipeError, ConnectionResetError):  # the client has gone
                    self.close_connection = True
                self.close_connection |= answer.breaks

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def _answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any] | Streamed]:
        self.bodies.append(body)
        try:
            self._check(body)
        except (AssertionError, KeyError, TypeError, ValueError) as exc:
            self.faults.append(f"{type(exc).__name__}: {exc}")
            # Wherever a client looks for the reason.
            error = {"code": 400, "type": "invalid_request_error", "status": "INVALID_ARGUMENT", "message": str(exc)}
            return 400, {"type": "error", "message": str(exc), "error": error}
        return 200, next(self._answers)

    def __enter__(self) -> Self:
        for name in ("NO_PROXY", "no_proxy"):
            self._patch.setenv(name, "127.0.0.1")
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        self._patch.undo()
