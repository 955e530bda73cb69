"""Agent frameworks and tool registries, each driven at what it has nearest to running a batch of calls.

An opener sets one up, with the tools that add, rest and add in a loop, and gives what makes so many calls
of one of them and takes seconds.  One that is not installed raises ImportError.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from _ours import check
from _tools import add, add_async, rest

# Seconds for so many calls of the tool of that name.
Way = Callable[[str, int], float]
ADD, REST, ADD_ASYNC = add.__name__, rest.__name__, add_async.__name__
_TOOLS: tuple[Callable[..., Any], ...] = (add, rest, add_async)
_SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}


@dataclass(frozen=True, slots=True)
class Peer:
    """One of them.

    Attributes:
        name: Its name, and what of it is driven.
        package: The distribution, for its version.
        lacks: What it does not do of what a toolexec call does.
        open: Sets it up; what is async runs in the loop that it is given.
        is_async: Whether it runs async tools too.
    """

    name: str
    package: str
    lacks: str
    open: Callable[[asyncio.Runner], Way]
    is_async: bool = True


def _arguments(count: int) -> list[dict[str, int]]:
    return [{"a": call, "b": 1} for call in range(count)]


async def _timed(make: Callable[[], Awaitable[Any]]) -> tuple[float, Any]:
    """Seconds and result, within the loop: who has one is in it."""
    started = time.perf_counter()
    result = await make()
    return time.perf_counter() - started, result


def _langgraph(runner: asyncio.Runner) -> Way:
    prebuilt: Any = import_module("langgraph.prebuilt")
    core: Any = import_module("langchain_core.messages")
    tool: Any = import_module("langchain_core.tools").tool
    runtime: Any = import_module("langgraph.runtime").Runtime()
    node = prebuilt.ToolNode([tool(one) for one in _TOOLS])
    # What a graph would hand its nodes.
    config = {"configurable": {"__pregel_runtime": runtime}}

    def way(name: str, count: int) -> float:
        calls = [
            {"name": name, "args": one, "id": f"call_{number}", "type": "tool_call"}
            for number, one in enumerate(_arguments(count))
        ]
        state = {"messages": [core.AIMessage(content="", tool_calls=calls)]}
        if name == ADD_ASYNC:
            took, answer = runner.run(_timed(lambda: node.ainvoke(state, config)))
        else:
            started = time.perf_counter()
            answer = node.invoke(state, config)
            took = time.perf_counter() - started
        check([int(message.content) for message in answer["messages"]])
        return took

    return way


def _haystack(runner: asyncio.Runner) -> Way:
    module: Any = import_module("haystack.components.agents.tool_calling")
    dataclasses: Any = import_module("haystack.dataclasses")
    make_tool: Any = import_module("haystack.tools").Tool
    make_state: Any = import_module("haystack.components.agents.state.state").State
    tools = [
        make_tool(name=one.__name__, description="A tool.", parameters=_SCHEMA, **{key: one})
        for one in _TOOLS
        for key in (["async_function"] if one is add_async else ["function"])
    ]

    # There is no public way to it any more.
    run, run_async = module._run_tool, module._run_tool_async  # noqa: SLF001 - see above

    def way(name: str, count: int) -> float:
        calls = [
            dataclasses.ToolCall(tool_name=name, arguments=one, id=f"call_{number}")
            for number, one in enumerate(_arguments(count))
        ]
        given = {
            "messages": [dataclasses.ChatMessage.from_assistant(tool_calls=calls)],
            "state": make_state(schema={}),
            "tools": tools,
        }
        if name == ADD_ASYNC:
            took, answer = runner.run(_timed(lambda: run_async(**given)))
        else:
            started = time.perf_counter()
            answer = run(**given)
            took = time.perf_counter() - started
        messages, _ = answer
        check([int(message.tool_call_result.result) for message in messages])
        return took

    return way


def _smolagents(_: asyncio.Runner) -> Way:
    module: Any = import_module("smolagents")
    models: Any = import_module("smolagents.models")
    memory: Any = import_module("smolagents.memory")

    def made(function: Callable[..., Any]) -> Any:
        members = {
            "name": function.__name__,
            "description": "A tool.",
            "inputs": {name: {"type": "integer", "description": "a number"} for name in ("a", "b")},
            "output_type": "integer",
            # Its own check of this wants a method of a class that stands in a file.
            "forward": (lambda _, a, b: add(a, b)) if function is add else (lambda _, a, b: rest(a, b)),
            "skip_forward_signature_validation": True,
        }
        return type(f"Made_{function.__name__}", (module.Tool,), members)()

    agent = module.ToolCallingAgent(tools=[made(add), made(rest)], model=models.Model(), verbosity_level=0)

    def way(name: str, count: int) -> float:
        calls = [
            models.ChatMessageToolCall(
                function=models.ChatMessageToolCallFunction(name=name, arguments=one),
                id=f"call_{number:05}",
                type="function",
            )
            for number, one in enumerate(_arguments(count))
        ]
        message = models.ChatMessage(role="assistant", content="", tool_calls=calls)
        step = memory.ActionStep(step_number=1, timing=import_module("smolagents.monitoring").Timing(0))
        started = time.perf_counter()
        outputs = list(agent.process_tool_calls(message, step))
        took = time.perf_counter() - started
        found = {one.id: one.output for one in outputs if hasattr(one, "output")}
        check([found[call.id] for call in calls])
        return took

    return way


def _toolregistry(runner: asyncio.Runner, mode: str) -> Way:
    module: Any = import_module("toolregistry")
    registry = module.ToolRegistry()
    for one in _TOOLS:
        registry.register(one)

    def way(name: str, count: int) -> float:
        calls = [
            {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(one)}}
            for number, one in enumerate(_arguments(count))
        ]
        sent = _chat_calls(calls)
        if name == ADD_ASYNC:
            took, results = runner.run(_timed(lambda: registry.aexecute_tool_calls(sent, execution_mode=mode)))
        else:
            started = time.perf_counter()
            results = registry.execute_tool_calls(sent, execution_mode=mode)
            took = time.perf_counter() - started
        check([int(one.result) for one in results])
        return took

    return way


def _chat_calls(calls: Sequence[dict[str, Any]]) -> list[Any]:
    chat: Any = import_module("openai.types.chat")
    return [chat.ChatCompletionMessageToolCall.model_validate(call) for call in calls]


# whole runs of an agent


def _less_an_empty_run(runner: asyncio.Runner, run: Callable[[str, int], Awaitable[list[int]]]) -> Way:
    """What the calls add to a run of an agent: a run that has them, less one that has none."""

    async def timed(name: str, count: int) -> float:
        started = time.perf_counter()
        await run(name, 0)
        between = time.perf_counter()
        results = await run(name, count)
        ended = time.perf_counter()
        check(results)
        # Nothing would do for a difference, but not for the ratios that are made of it.
        return max((ended - between) - (between - started), 1e-6)

    return lambda name, count: runner.run(timed(name, count))


def _pydantic_ai(runner: asyncio.Runner) -> Way:
    module: Any = import_module("pydantic_ai")
    messages_: Any = import_module("pydantic_ai.messages")
    model: Any = import_module("pydantic_ai.models.function").FunctionModel
    asked: list[Any] = [ADD, 0]

    def answer(messages: list[Any], _: Any) -> Any:
        name, count = asked
        if len(messages) > 1 or not count:
            return messages_.ModelResponse(parts=[messages_.TextPart("done")])
        parts = [messages_.ToolCallPart(name, json.dumps(one), f"call_{n}") for n, one in enumerate(_arguments(count))]
        return messages_.ModelResponse(parts=parts)

    agent = module.Agent(model(answer), tools=list(_TOOLS))

    async def run(name: str, count: int) -> list[int]:
        asked[:] = [name, count]
        done = await agent.run("go")
        return [
            part.content for message in done.all_messages() for part in message.parts if part.part_kind == "tool-return"
        ]

    return _less_an_empty_run(runner, run)


def _openai_agents(runner: asyncio.Runner) -> Way:
    agents: Any = import_module("agents")
    interface: Any = import_module("agents.models.interface")
    responses: Any = import_module("openai.types.responses")
    agents.set_tracing_disabled(True)
    asked: list[Any] = [ADD, 0]

    class Fake(interface.Model):  # type: ignore[misc]  # it is not installed where types are checked
        async def get_response(self, *given: Any, **_: Any) -> Any:
            name, count = asked
            asked[1] = 0  # the next turn ends it
            output: list[Any] = [
                responses.ResponseFunctionToolCall(
                    arguments=json.dumps(one), call_id=f"call_{number}", name=name, type="function_call"
                )
                for number, one in enumerate(_arguments(count))
            ]
            if not count:
                text = responses.ResponseOutputText(annotations=[], text="done", type="output_text")
                output = [
                    responses.ResponseOutputMessage(
                        id="m", content=[text], role="assistant", status="completed", type="message"
                    )
                ]
            return agents.ModelResponse(output=output, usage=agents.Usage(), response_id=None)

        def stream_response(self, *given: Any, **_: Any) -> Any:
            raise NotImplementedError("these runs are not streamed")

    agent = agents.Agent(name="a", model=Fake(), tools=[agents.function_tool(one) for one in _TOOLS])

    async def run(name: str, count: int) -> list[int]:
        asked[:] = [name, count]
        done = await agents.Runner.run(agent, "go")
        return [int(item.output) for item in done.new_items if item.type == "tool_call_output_item"]

    return _less_an_empty_run(runner, run)


def _strands(runner: asyncio.Runner) -> Way:
    strands: Any = import_module("strands")
    base: Any = import_module("strands.models").Model
    asked: list[Any] = [ADD, 0]

    class Fake(base):  # type: ignore[misc]  # it is not installed where types are checked
        def update_config(self, **_: Any) -> None: ...

        def get_config(self) -> Any:
            return {}

        def structured_output(self, *given: Any, **_: Any) -> Any:
            raise NotImplementedError("these runs have no such output")

        async def stream(self, *given: Any, **_: Any) -> Any:
            name, count = asked
            asked[1] = 0  # the next turn ends it
            yield {"messageStart": {"role": "assistant"}}
            for number, one in enumerate(_arguments(count)):
                yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": f"call_{number}", "name": name}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(one)}}}}
                yield {"contentBlockStop": {}}
            if not count:
                yield {"contentBlockStart": {"start": {}}}
                yield {"contentBlockDelta": {"delta": {"text": "done"}}}
                yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use" if count else "end_turn"}}

    tools = [strands.tool(one) for one in _TOOLS]
    # It wraps the threads and pools of the whole process, for traces; that would be in everybody's figures.
    strands.Agent(model=Fake(), tools=tools, callback_handler=None)
    import_module("opentelemetry.instrumentation.threading").ThreadingInstrumentor().uninstrument()

    async def run(name: str, count: int) -> list[int]:
        asked[:] = [name, count]
        agent = strands.Agent(model=Fake(), tools=tools, callback_handler=None)
        await agent.invoke_async("go")
        results = [
            block["toolResult"] for message in agent.messages for block in message["content"] if "toolResult" in block
        ]
        numbered = {int(one["toolUseId"].partition("_")[2]): int(one["content"][0]["text"]) for one in results}
        return [numbered[number] for number in range(len(numbered))]

    return _less_an_empty_run(runner, run)


_NO_CANCEL = "a call that runs cannot be cancelled"
_WHOLE = "a run with the calls less one without"

PEERS = (
    Peer("langgraph ToolNode", "langgraph", _NO_CANCEL, _langgraph),
    Peer("haystack tool step", "haystack-ai", f"no validation, no JSON; {_NO_CANCEL}", _haystack),
    Peer("smolagents process_tool_calls", "smolagents", f"no JSON; {_NO_CANCEL}", _smolagents, is_async=False),
    Peer("toolregistry, thread", "toolregistry", _NO_CANCEL, lambda runner: _toolregistry(runner, "thread")),
    Peer(
        "toolregistry, process",
        "toolregistry",
        "processes are shared",
        lambda runner: _toolregistry(runner, "process"),
        is_async=False,
    ),
    Peer("openai-agents", "openai-agents", f"{_WHOLE}; sync tools on threads, {_NO_CANCEL}", _openai_agents),
    Peer("pydantic-ai", "pydantic-ai-slim", f"{_WHOLE}; sync tools on threads, {_NO_CANCEL}", _pydantic_ai),
    Peer("strands", "strands-agents", f"{_WHOLE}; its wrapping of threads undone; {_NO_CANCEL}", _strands),
)
