"""The web service in examples/: real clients that stay, and that leave, with and without a middleware around it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self, TypeAlias

import httpx
import pytest

from command import CHECKOUT, TIMEOUT_S, environment
from providers.strict_openai import check_request
from toolexec.testing import Gate

# Of each kind one that nobody would wait for: a query, a sleep, a child process.
COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) SELECT count(*) FROM n"
FOR_EVER = [["query", {"sql": COUNT.format(10**15)}], ["remind", {"seconds": 10**6}], ["primes", {"limit": 10**9}]]
SOON_OVER = [["query", {"sql": COUNT.format(3)}], ["remind", {"seconds": 0}], ["primes", {"limit": 10}], ["none", {}]]

Happened: TypeAlias = dict[str, Any]


class Server:
    """A server process.

    Attributes:
        url: Where it listens.
        folder: Where its tools write their files.
    """

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        path = os.pathsep.join([str(CHECKOUT / "examples"), os.environ.get("PYTHONPATH", "")])
        # Safe path: the script imports what lies beside it.
        env = environment(PYTHONPATH=path.strip(os.pathsep), PYTHONSAFEPATH="", TMPDIR=str(folder))
        command: list[str | Path] = [sys.executable, CHECKOUT / "tests" / "web_server.py", *words]
        self._process = subprocess.Popen(command, cwd=folder, env=env, stderr=subprocess.PIPE, text=True)
        self._log = ""

    def __enter__(self) -> Self:
        try:
            line = self._read_until(lambda line: "Uvicorn running on" in line)
        except BaseException:
            self._kill()
            raise
        found = re.search(r"http://[\d.]+:\d+", line)
        assert found is not None
        self.url = found[0]
        return self

    def __exit__(self, kind: object, *exc: object) -> None:
        try:
            self._process.send_signal(signal.SIGTERM)
            assert self._process.stderr is not None
            self._log += self._process.stderr.read()
            code = self._process.wait(TIMEOUT_S)
        finally:
            self._kill()
        if kind is None:
            assert (0, "INFO:web_server:nothing is left") == (code, self._log.splitlines()[-1]), self._log

    def _kill(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()

    def _read_until(self, wanted: Callable[[str], object]) -> str:
        assert self._process.stderr is not None
        while line := self._process.stderr.readline():
            self._log += line
            if wanted(line):
                return line
        raise AssertionError(f"the server has ended:\n{self._log}")

    def wait_until_it_has_left(self, conversation: str) -> None:
        """Until the server knows that the client, whose request was the first in a conversation, has left."""
        self._read_until(lambda line: f"in conversation {conversation}" in line)
        self._read_until(lambda line: "a client has left" in line)

    def events(self, conversation: str) -> Iterator[Happened]:
        """What happens to calls, as it happens, from the first request in a conversation on."""
        self._read_until(lambda line: f"in conversation {conversation}" in line)
        while True:
            yield json.loads(self._read_until(lambda line: ":web_service:{" in line).partition(":web_service:")[2])

    def ask(self, conversation: str, **script: Any) -> dict[str, Any]:
        """Ask in one piece, and wait for the answer."""
        answer = httpx.post(f"{self.url}/chat", json=body(conversation, script), timeout=TIMEOUT_S)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        check_request(found)
        return found

    def begin(self, path: str, conversation: str, **script: Any) -> socket.socket:
        """Ask over a connection that the test may cut."""
        url = httpx.URL(self.url)
        connection = socket.create_connection((url.host, url.port or 80), TIMEOUT_S)
        sent = json.dumps(body(conversation, script))
        connection.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(sent)}\r\n\r\n{sent}".encode())
        return connection

    def files(self) -> list[Path]:
        """The files of primes."""
        return [*self.folder.glob("primes-*")]


def body(conversation: str, script: dict[str, Any]) -> dict[str, Any]:
    return {"conversation": conversation, "messages": [{"role": "user", "content": json.dumps(script)}]}


def until_all_work(events: Iterator[Happened]) -> int:
    """Read on until the query searches, the child computes and the sleep has begun; the child's process id."""
    seen: dict[tuple[str, str], Any] = {}
    wanted = {("progress", "query"), ("started", "remind"), ("progress", "primes")}
    while not wanted <= seen.keys():
        event = next(events)
        seen[event["type"], event.get("tool", "")] = event.get("message")
    return int(seen["progress", "primes"].split()[1])


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module", params=["bare", "timed"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The same app, without a middleware and with one; at its end, nothing is left of what it used."""
    with Server(tmp_path_factory.mktemp("server"), request.param) as running:
        yield running


@pytest.fixture
def conversation() -> str:
    """A name that no other test uses, nor this one when it is run again."""
    return uuid.uuid4().hex


PATHS = ("/chat", "/chat/stream")


def test_an_answer_in_one_piece_has_the_text_and_the_history(server: Server, conversation: str) -> None:
    answer = server.ask(conversation, text="Let me see.", calls=SOON_OVER)

    assert answer["text"] == "That was all."
    said = answer["messages"]
    assert ["user", "assistant", *["tool"] * 4, "assistant"] == [message["role"] for message in said]
    query, reminder, file, unknown = (message["content"] for message in said[2:6])
    assert (query, reminder) == ("[[3]]", "It is time.")
    assert Path(file).read_text().split() == ["2", "3", "5", "7"]
    assert "tool not found" in unknown
    Path(file).unlink()


def test_a_stream_tells_of_text_and_calls_as_they_happen(server: Server, conversation: str) -> None:
    request = body(conversation, {"text": "Let me see.", "calls": SOON_OVER})
    with httpx.stream("POST", f"{server.url}/chat/stream", json=request, timeout=TIMEOUT_S) as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        events = [json.loads(line.removeprefix("data: ")) for line in answer.iter_lines() if line]

    assert "Let me see.That was all." == "".join(event["delta"] for event in events if event["type"] == "text")
    statuses = {event["tool"]: event["status"] for event in events if event["type"] == "settled"}
    assert statuses == {"query": "ok", "remind": "ok", "primes": "ok", "none": "unknown_tool"}
    assert {"query", "remind", "primes"} <= {event["tool"] for event in events if event["type"] == "started"}
    assert any(event["type"] == "progress" and event["tool"] == "primes" for event in events)
    last = events[-1]
    assert (last["type"], last["text"]) == ("answer", "That was all.")
    check_request({"messages": last["messages"]})
    for file in server.files():
        file.unlink()


@pytest.mark.parametrize("path", PATHS)
def test_a_client_that_leaves_stops_its_calls_and_the_conversation_goes_on(
    server: Server, conversation: str, path: str
) -> None:
    with server.begin(path, conversation, calls=FOR_EVER):
        events = server.events(conversation)
        child = until_all_work(events)
        assert server.files()

    # At once: it is for the service to have the next request wait until the calls have ended.
    answer = server.ask(conversation, text="Welcome back.")

    settled: dict[str, Happened] = {}
    while len(settled) < 3:
        event = next(events)
        if event["type"] == "settled":
            settled[event["tool"]] = event
    assert {"query", "remind", "primes"} == set(settled)
    # None was left behind: the query's thread and the child have ended, within the grace.
    assert {("cancelled", False)} == {(event["status"], event["abandoned"]) for event in settled.values()}
    assert not is_there(child)
    assert [] == server.files(), "the hook has run, in the child"

    said = answer["messages"]
    assert ["user", "assistant", "tool", "tool", "tool", "user", "assistant"] == [message["role"] for message in said]
    assert [call["id"] for call in said[1]["tool_calls"]] == [message["tool_call_id"] for message in said[2:5]]
    assert all("the client disconnected" in message["content"] for message in said[2:5])
    assert answer["text"] == "Welcome back."


def test_a_reader_that_leaves_in_the_middle_of_a_stream(server: Server, conversation: str) -> None:
    """As above, by a client that has read what was sent, and closes as clients do."""
    request = body(conversation, {"text": "Let me see.", "calls": FOR_EVER})
    with httpx.stream("POST", f"{server.url}/chat/stream", json=request, timeout=TIMEOUT_S) as answer:
        lines = answer.iter_lines()
        child = until_all_work(json.loads(line.removeprefix("data: ")) for line in lines if line)

    said = server.ask(conversation, text="Welcome back.")["messages"]

    assert not is_there(child)
    assert 3 == sum("the client disconnected" in message["content"] for message in said[2:5])


@pytest.mark.parametrize("path", PATHS)
def test_a_text_that_nobody_waits_for_is_not_read_to_its_end(
    server: Server, conversation: str, path: str, tmp_path: Path
) -> None:
    with Gate(tmp_path / "gate") as gate:
        with server.begin(path, conversation, text="A long story.", gate=gate.path):
            gate.wait_until_reached()
        server.wait_until_it_has_left(conversation)
        gate.open()
        said = server.ask(conversation, text="Welcome back.")["messages"]

    assert ["user", "user", "assistant"] == [message["role"] for message in said]


@pytest.mark.parametrize("path", PATHS)
def test_calls_that_have_begun_stand_in_the_conversation(
    server: Server, conversation: str, path: str, tmp_path: Path
) -> None:
    """The client leaves while the model still speaks, and the first call has started already."""
    calls = [["remind", {"seconds": 10**6}], ["remind", {"seconds": 10**6 + 1}]]
    with Gate(tmp_path / "gate") as gate:
        with server.begin(path, conversation, calls=calls, gate=gate.path):
            gate.wait_until_reached()
        server.wait_until_it_has_left(conversation)
        gate.open()
        said = server.ask(conversation, text="Welcome back.")["messages"]

    assert ["user", "assistant", "tool", "tool", "user", "assistant"] == [message["role"] for message in said]
    assert all("the client disconnected" in message["content"] for message in said[2:4])


def test_what_a_client_sends_does_not_spoil_the_conversation(server: Server, conversation: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "remind", "arguments": "{}"}}
    unanswered = {"role": "assistant", "content": None, "tool_calls": [call]}
    user = {"role": "user", "content": '{"text": "I see."}'}
    request = {"conversation": conversation, "messages": [user, unanswered, user]}

    answer = httpx.post(f"{server.url}/chat", json=request, timeout=TIMEOUT_S)

    assert (200, "I see.") == (answer.status_code, answer.json()["text"])
    for wrong in ("no JSON", "{}", '{"conversation": "c", "messages": 3}'):
        assert 400 == httpx.post(f"{server.url}/chat", content=wrong, timeout=TIMEOUT_S).status_code
    assert server.ask(conversation, text="Go on.")["text"] == "Go on."


def test_a_model_that_fails_does_not_end_the_conversation(server: Server, conversation: str) -> None:
    request = {"conversation": conversation, "messages": [{"role": "user", "content": "no script"}]}

    assert 500 == httpx.post(f"{server.url}/chat", json=request, timeout=TIMEOUT_S).status_code

    assert server.ask(conversation, text="Welcome back.")["text"] == "Welcome back."


@pytest.mark.parametrize(("kind", "path"), [("bare", "/chat"), ("timed", "/chat/stream")])
def test_a_server_that_stops_amid_requests_leaves_nothing_behind(
    kind: str, conversation: str, path: str, tmp_path: Path
) -> None:
    with Server(tmp_path, kind, "hurried") as server:
        connection = server.begin(path, conversation, calls=FOR_EVER)
        child = until_all_work(server.events(conversation))
        assert is_there(child)
    connection.close()

    assert not is_there(child)
    assert [] == server.files(), "the hook has run, in the child"
