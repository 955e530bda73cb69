"""The agents with OpenAI's and Anthropic's clients go through a whole conversation, streamed and not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agent_examples import CALLS, SAID, check_told, play
from provider_formats import response, results
from provider_streams import body, events
from providers import strict_anthropic, strict_openai, strict_responses
from providers.json_server import JsonServer, Streamed


class Agent(NamedTuple):
    script: str
    provider: str
    check: Callable[[dict[str, Any]], None]
    variables: dict[str, str]
    last: dict[str, Any]  # what a response says that is over, in place of what one with calls says


TEXT = {"type": "output_text", "text": SAID, "annotations": []}
MESSAGE = {"type": "message", "id": "msg_2", "role": "assistant", "status": "completed", "content": [TEXT]}
CHOICE = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": SAID}}
OPENAI = {"OPENAI_BASE_URL": "{}/v1", "OPENAI_API_KEY": "x"}
ANTHROPIC = {"ANTHROPIC_BASE_URL": "{}", "ANTHROPIC_API_KEY": "x"}
AGENTS = (
    Agent("agent_openai.py", "openai", strict_openai.check_request, OPENAI, {"choices": [CHOICE]}),
    Agent(
        "agent_openai_responses.py",
        "openai-responses",
        strict_responses.check_request,
        OPENAI,
        {"output": [MESSAGE]},
    ),
    Agent(
        "agent_anthropic.py",
        "anthropic",
        strict_anthropic.check_request,
        ANTHROPIC,
        {"content": [{"type": "text", "text": SAID}], "stop_reason": "end_turn"},
    ),
)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.script)
def test_an_agent_tells_the_model_of_every_call(agent: Agent, streamed: bool, tmp_path: Path) -> None:
    answers: list[dict[str, Any] | Streamed]
    if streamed:
        made = events(agent.provider, *CALLS), events(agent.provider, text=SAID)
        answers = [Streamed([body(agent.provider, each)]) for each in made]
    else:
        answers = [response(agent.provider, *CALLS), {**response(agent.provider), **agent.last}]

    with JsonServer(agent.check, answers) as server:
        variables = {name: value.format(server.url) for name, value in agent.variables.items()}
        printed = play(agent.script, tmp_path, *(["--stream"] if streamed else []), **variables)

    assert [] == server.faults
    assert SAID in printed
    assert [streamed] * 2 == [sent.get("stream", False) for sent in server.bodies]
    sent = server.bodies[1]["input" if "input" in server.bodies[1] else "messages"]
    check_told(results(agent.provider, sent[-1:] if agent.provider == "anthropic" else sent[-4:]))
