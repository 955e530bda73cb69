"""The agents with Google's, Ollama's and AWS's clients go through a whole conversation, streamed and not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agent_examples import CALLS, SAID, check_told, play
from aws_event_stream import CONTENT_TYPE, frame
from provider_formats import response, results
from provider_streams import body, events
from providers import strict_bedrock, strict_google, strict_ollama
from providers.json_server import JsonServer, Streamed


class Agent(NamedTuple):
    provider: str
    check: Callable[[dict[str, Any]], None]
    variables: dict[str, str]
    content_type: str
    last: dict[str, Any]  # what a response says that is over, in place of what one with calls says
    conversation: str  # under which key a request has it
    told: int  # how many messages hold the results

    def streamed(self, made: list[dict[str, Any]]) -> Streamed:
        pieces = map(frame, made) if self.provider == "bedrock" else [body(self.provider, made)]
        return Streamed(pieces, self.content_type)


CONTENT = {"role": "model", "parts": [{"text": SAID}]}
GOOGLE = {"GOOGLE_GEMINI_BASE_URL": "{}", "GEMINI_API_KEY": "x"}
AWS = {
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "{}",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "x",
    "AWS_SECRET_ACCESS_KEY": "x",
}
AGENTS = (
    Agent(
        "google",
        strict_google.check_request,
        GOOGLE,
        "text/event-stream",
        {"candidates": [{"content": CONTENT, "finishReason": "STOP", "index": 0}]},
        "contents",
        1,
    ),
    Agent(
        "ollama",
        strict_ollama.check_request,
        {"OLLAMA_HOST": "{}"},
        "application/x-ndjson",
        {"message": {"role": "assistant", "content": SAID}},
        "messages",
        4,
    ),
    Agent(
        "bedrock",
        strict_bedrock.check_request,
        AWS,
        CONTENT_TYPE,
        {"output": {"message": {"role": "assistant", "content": [{"text": SAID}]}}, "stopReason": "end_turn"},
        "messages",
        1,
    ),
)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.provider)
def test_an_agent_tells_the_model_of_every_call(agent: Agent, streamed: bool, tmp_path: Path) -> None:
    answers: list[dict[str, Any] | Streamed]
    if streamed:
        made = events(agent.provider, *CALLS), events(agent.provider, text=SAID)
        answers = [agent.streamed(each) for each in made]
    else:
        answers = [response(agent.provider, *CALLS), {**response(agent.provider), **agent.last}]

    with JsonServer(agent.check, answers) as server:
        variables = {name: value.format(server.url) for name, value in agent.variables.items()}
        printed = play(f"agent_{agent.provider}.py", tmp_path, *(["--stream"] if streamed else []), **variables)

    assert [] == server.faults
    assert SAID in printed
    assert 2 == len(server.bodies)
    check_told(results(agent.provider, server.bodies[1][agent.conversation][-agent.told :]))
