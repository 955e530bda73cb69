"""boto3 decodes converse_stream's binary frames; it has no async client."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import toolexec as tx
from aws_event_stream import CONTENT_TYPE, frame
from provider_formats import Call
from provider_streams import events
from providers.bedrock_client import client_of
from providers.stream_checks import (
    SDK,
    Broken,
    Left,
    Served,
    check_a_broken_answer,
    check_a_call_runs_while_the_server_still_sends,
    check_a_whole_loop,
    half,
)
from providers.strict_bedrock import check_request

# Without stubs.
boto3: Any = importlib.import_module("boto3")
eventstream: Any = importlib.import_module("botocore.eventstream")
exceptions: Any = importlib.import_module("botocore.exceptions")
http: Any = importlib.import_module("urllib3.exceptions")
validate: Any = importlib.import_module("botocore.validate")

FAILED = {"modelStreamErrorException": {"message": "overloaded"}}
BROKEN = {
    # botocore lets the exception of its transport through.
    "the connection breaks": Broken(http.ProtocolError, half, breaks=True),
    "it ends too early": Broken(tx.FormatError),
    # Of half a frame botocore says nothing.
    "it ends within an event": Broken(tx.FormatError, half),
    "a frame is damaged": Broken(eventstream.ChecksumMismatch, lambda rest: rest[0][:-1] + b"?"),
    "the provider fails": Broken(exceptions.EventStreamError, lambda rest: frame(FAILED)),
    "the reader leaves": Broken(Left, left=True),
}


@contextlib.contextmanager
def opened(url: str) -> Iterator[SDK]:
    def ask(messages: list[Any], tools: list[dict[str, Any]]) -> Any:
        reply = client.converse_stream(modelId="m", messages=messages, toolConfig={"tools": tools})
        stack.enter_context(contextlib.closing(reply["stream"]))  # one that is left early holds its connection
        return reply["stream"]

    asked = {"role": "user", "content": [{"text": "Do it."}]}
    with client_of(url) as client, contextlib.ExitStack() as stack:
        yield SDK("bedrock", ask, frame, CONTENT_TYPE, asked, "messages")


@pytest.fixture
def served() -> Served:
    return Served(opened, check_request)


@pytest.mark.parametrize("check", [check_a_whole_loop, check_a_call_runs_while_the_server_still_sends])
def test_a_conversation(served: Served, check: Callable[[Served], None]) -> None:
    check(served)


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_answer(served: Served, broken: Broken) -> None:
    check_a_broken_answer(served, broken)


def test_the_events_are_the_sdks() -> None:
    """Each has the members, of the types, that ConverseStream's output has in its service model."""
    client = boto3.client("bedrock-runtime", region_name="us-east-1")
    shape = client.meta.service_model.operation_model("ConverseStream").output_shape.members["stream"]
    for event in [*events("bedrock", Call("add", {"x": 1}, "c1"), Call("add", {}, "c2")), FAILED]:
        report = validate.ParamValidator().validate(event, shape)
        assert not report.has_errors(), report.generate_report()
        assert event.keys() <= shape.members.keys()
        ((kind, payload),) = event.items()
        assert payload.keys() <= shape.members[kind].members.keys()
    client.close()


def test_the_frames_are_botocores() -> None:
    made = events("bedrock", Call("add", {"word": "ü€"}, "c1"))
    buffer = eventstream.EventStreamBuffer()
    buffer.add_data(b"".join(map(frame, made)))

    assert [next(iter(event)) for event in made] == [message.headers[":event-type"] for message in buffer]
