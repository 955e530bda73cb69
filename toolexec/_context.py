"""Context: tools, a strategy, and the history of calls and Returns of one conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from toolexec._as_function import functions_of
from toolexec._call_state import Ask, check_reason
from toolexec._calls import CallRecord, call_dict
from toolexec._clock import MONOTONIC, Clock, check_clock
from toolexec._conversation import Conversation
from toolexec._deferral import Deferrals
from toolexec._discovery import AUTO, chosen
from toolexec._dumps import Dumps
from toolexec._factory import dependencies
from toolexec._formats import format_of
from toolexec._function import Function
from toolexec._functions import Functions
from toolexec._group import LIVE
from toolexec._inject import injectable
from toolexec._ladder import interrupt_all
from toolexec._launch import launch
from toolexec._provider import Provider
from toolexec._received import Received, read
from toolexec._rendering import Rendering, Reveal
from toolexec._return import Return
from toolexec._toolset import Toolset
from toolexec._tracer import Tracer, Tracing

if TYPE_CHECKING:
    from toolexec._budget import Budget
    from toolexec._group import Group
    from toolexec._retry import Retry
    from toolexec._stream import Start, Stream
    from toolexec._supervision import Supervision
    from toolexec._task import Task


class Context(Conversation, Deferrals, Dumps):
    """Tools, a strategy, and the history of calls and Returns of one conversation.

    It talks to no model: a response goes in by ``receive``, messages come out.  It may be used from
    several threads, and from any loop.

    Attributes:
        functions: The tools, by name.
        strategy: Where calls run whose tool has no strategy of its own and that are started
            without naming one.
    """

    def __init__(
        self,
        tools: Iterable[Any] = (),
        *,
        strategy: Any = AUTO,
        provider: Any = None,
        tracer: Tracer | None = None,
        history: bool = True,
        deps: Mapping[Any, Any] | None = None,
        intercept: Any = None,
        confirm: Any = None,
        on_confirm: Callable[[Function], Any] | None = None,
        budget: Budget | int | None = None,
        guard: Any = None,
        retry: Retry | None = None,
        reveal: Reveal = "message",
        redact: Callable[[str], str] | None = None,
        max_result_bytes: int | None = None,
        clock: Clock = MONOTONIC,
    ) -> None:
        """Take the tools; reads their signatures.

        Args:
            tools: Tool classes, instances, and Functions (what ``@tool`` and ``factory`` make).
            strategy: A name, "auto", or what ``toolexec.strategy`` made, which stays its maker's to close.
            provider: Whose format declarations and messages have where none is named: a name or an instance.
                Tools that it cannot express are refused here.  By default it is OpenAI's for declarations,
                and for messages that of the response.
            tracer: Told of every call.
            history: Whether to keep settled calls of earlier responses; without, a server's memory stays flat, and
                no ``LoopGuard`` can be given.
            deps: What parameters annotated ``Annotated[T, Inject]`` are filled with, by ``T``; a ``factory``
                makes it for each call, where its body runs.
            intercept: An ``Intercept``, which sees every call before it runs, and its Return.
            confirm: Calls that run only once ``on_confirm`` has said so: names of tools, and functions that
                are given a call whose arguments fit and judge; one of these, or a list.
            on_confirm: Given such a call, says True, False, ``DEFER`` or a Return; sync or async.  It runs
                like an intercept's ``call``, after it, on arguments that fit.  Without one the answer is no;
                without ``confirm`` it is refused.
            budget: A ``Budget``, or how many calls a turn may have.
            guard: True or a ``LoopGuard``; or an object whose ``call(context)`` gives None, or a warning
                that answers all calls that were to start.
            retry: Which failed calls are attempted again.
            reveal: What the model is told of a tool's exception: its "message", or no more than its "type".
            redact: Given what the model would read of a call that is not ``ok``; gives what it reads instead.  So it
                is with message and traceback of an exception that an ``OpenTelemetryTracer`` is to keep.
            max_result_bytes: How much of a result the model is sent: of its texts in UTF-8, and as much again of
                pictures and files, for which words stand where there is no room; the Return keeps all.
            clock: Tells the time for waits; for tests.

        Raises:
            DeclarationError: Something is no tool, cannot be described to a model, or two tools
                have one name.
            UnknownStrategy, StrategyUnavailable: The strategy, or a tool's own, cannot run here.
            FormatError: There is no such provider.
            ToolexecError: A tool has a parameter that is to be filled from ``deps``, and it is not in there.
        """
        chosen(strategy)
        super().__init__(provider, Rendering(reveal, redact, max_result_bytes), history=history)
        self.strategy = strategy
        self._deps = dependencies(deps)
        self._tools = Toolset()
        self.functions: dict[str, Function] = self._tools.functions
        for function in functions_of(tools):
            self._tools.take(function, self, self._deps, self._provider)
        self._supervision: Supervision | None = None
        supervising = (intercept, confirm, on_confirm, budget, guard, retry)
        if any(given is not None and given is not False for given in supervising):
            from toolexec._supervision import Supervision  # what a Context has no use for, it does not load

            self._supervision = Supervision(*supervising, tools=self.functions, history=history)
        self._put_off: dict[int, Function] = {}
        self._tracer = tracer
        tracing = None if tracer is None else Tracing(tracer)
        self._launching: dict[str, Any] = {
            "clock": check_clock(clock),
            "tracing": tracing,
            "context": self,
            "stopped": self._stops,
            "supervision": self._supervision,
            "note": self._note,
        }
        self._asks: list[str] = []  # why this turn was interrupted; the first counts
        self._stopped_ids: dict[str, str] = {}  # why the calls with these ids were

    def declarations(self, provider: Any = None, *, strict: bool = False) -> list[dict[str, Any]]:
        """The tools, as the provider's API takes them: ``client.chat.completions.create(tools=...)``.

        A parameter whose type is a function has that called anew; from then on calls are held to what
        this gave.

        Args:
            provider: A provider's name, or an object with ``adapt_function(function)``; the Context's by
                default, or else "openai".
            strict: Whether the model is to be held to the schema, where the provider can do that.

        Raises:
            DeclarationError: A tool cannot be declared to that provider.
            FormatError: There is no such provider.
        """
        return self._tools.declarations(provider or self._provider or "openai", strict=strict)

    def override(self, **tools: Any) -> AbstractContextManager[None]:
        """Run others in place of tools, for calls that come in while the ``with`` block lasts: for tests.

            with ctx.override(weather=lambda city: "sunny"): ...

        Declarations, and what arguments are held to, stay the real tool's, and so do its options but for the
        strategy; what the model leaves out, the fake is not given.  Calls bound before run the real one.

        Args:
            **tools: By name: a function, a Tool class, an instance or a Function.

        Raises:
            ToolexecError: There is no such tool; a DeclarationError, if what is given cannot run a call.
        """
        return self._tools.override(tools)

    # Calls in

    def receive(self, response: object, *, provider: Any = None) -> Functions:
        """Take the calls of a model's response.

        Args:
            response: A whole response as a provider's SDK gives it, as a dict or as JSON text; or a list
                of call dicts: ``{"id": ..., "name": ..., "arguments": ...}``.
            provider: Whose it is; by default that is seen from the response.

        Returns:
            One new pending Function per call, in call order; falsy when there are none.

        Raises:
            FormatError: It is neither; the text shows what was seen.
        """
        reply, known = read(response, provider, self._likely)
        functions = [self._bind(record, known or self._provider, reply.model) for record in reply.calls]
        self._remember(Received(reply, known, functions))
        return Functions(functions, self._open)

    def stream(self, stream: Any, *, start: Start = True, provider: Any = None) -> Stream:
        """Read a response while it streams in, and start each call once its arguments are complete.

            async for event in ctx.stream(stream):
                ...                          # every event, as it came
            returns = await ctx.group()      # all calls of the response, in call order

        A call that is to run under ``sequential``, or whose tool says ``exclusive`` or
        ``start_early=False``, waits for ``group()``, as do those behind an exclusive one.

        Args:
            stream: What the SDK gives, sync or async; or the pieces or lines of an HTTP body, server-sent
                events or one JSON object a line.
            start: False, or a function that is given each call and says whether it may start early.
            provider: Whose it is; by default that is seen from its events.

        Raises:
            FormatError: It is no stream, or there is no such provider.  What its items show to be wrong is
                raised as they are read.
        """
        from toolexec._incoming import Incoming
        from toolexec._stream import Stream

        return Stream(stream, Incoming(None if provider is None else format_of(provider), self._likely), self, start)

    def submit(
        self,
        call: Any,
        *,
        strategy: Any = None,
        timeout: float | None = None,
        on_progress: Callable[..., object] | None = None,
    ) -> Task:
        """Start one call at once: for servers, and for calls that arrive one by one.

        It belongs to no response: ``wait`` and ``messages`` leave it out.  ``deferred`` has it while it is.

        Args:
            call: A call dict, or a Function.
            strategy: For a tool that has none of its own; the Context's by default.
            timeout: Seconds the call has, from the start of its body, beside its tool's own limit.
            on_progress: Called with every ``Progress`` the tool reports.

        Raises:
            FormatError: It is no call.
            UnknownStrategy, StrategyUnavailable: Nothing was started.
        """
        function = call if isinstance(call, Function) else self._bind(call_dict(call, 0), None)
        return self._open([function], strategy, call_timeout=timeout, on_progress=on_progress).tasks[0]

    def _bind(self, record: CallRecord, provider: Provider | None, model: str | None = None) -> Function:
        function = self._tools.bind(record, provider)
        if model is not None:
            function.model = model
        function._launching = self._launching  # also where the call is started by itself
        if self._tracer is not None:
            function.tracer = self._tracer
        if self._supervision is not None:
            function.intercept = self._supervision.intercept
        return function

    # Running them

    @property
    def pending_functions(self) -> Functions:
        """The calls received and not yet claimed, called, cancelled or answered, in call order."""
        return Functions((function for function in self._calls() if function.pending), self._open)

    def group(self, strategy: Any = None, *, window: int | None = None, timeout: float | None = None) -> Group:
        """Start everything pending, as one Group; see :meth:`Functions.group`."""
        return Functions(self._calls(), self._open).group(strategy, window=window, timeout=timeout)

    def wait(
        self, strategy: Any = None, *, window: int | None = None, timeout: float | None = None
    ) -> tuple[Return, ...]:
        """Start what is pending and block until the calls of the last response have settled.

        Returns:
            Their Returns, in call order.

        Raises:
            WrongLoop: On a running loop's thread, before anything was started; ``await ctx.run()``.
            WaitTimeout: Some have not settled after ``timeout`` seconds; nothing was interrupted.
        """
        return self._last()._wait(strategy, window, timeout, "await ctx.run()")

    async def run(self, strategy: Any = None, *, window: int | None = None) -> tuple[Return, ...]:
        """:meth:`wait`, from a running loop."""
        return await self._last().run(strategy, window=window)

    def _last(self) -> Functions:
        return Functions(self._responses[-1].functions if self._responses else (), self._open)

    def _open(self, functions: Sequence[Function], strategy: Any = None, **options: Any) -> Group:
        otherwise = self.strategy if strategy is None else strategy
        choices = [function._definition.strategy or otherwise for function in functions]
        return launch(functions, choices, **self._launching, **options)

    def _choice(self, function: Function, strategy: Any = None) -> Any:
        return function._definition.strategy or (self.strategy if strategy is None else strategy)

    # Stopping them

    @property
    def interrupted(self) -> bool:
        """Whether this turn was interrupted."""
        return bool(self._asks)

    @property
    def interrupt_reason(self) -> str | None:
        """Why, or None."""
        return self._asks[0] if self._asks else None

    def interrupt(self, reason: str = "interrupted", *, id: str | None = None, after_running: bool = False) -> None:
        """Ask the calls of this turn to stop, those in flight and those still to come until ``next_turn``.

        It does not wait.  Any thread, loop or signal handler; a second call changes nothing.

        Args:
            reason: Why, in words fit for the model.
            id: Only the calls with this id; an unknown one is no error.
            after_running: What runs may finish, what waits never starts.
        """
        check_reason(reason)
        if id is None:
            # First the flag, then a look at who is there; who starts a Group does it the other way round.
            self._asks.append(reason)
        else:
            self._stopped_ids.setdefault(id, reason)
        tasks = [task for group in list(LIVE) if group._context is self for task in group.tasks]
        wanted = [task for task in tasks if id is None or task.function.id == id]
        interrupt_all(wanted, Ask(reason, tells=True), after_running=after_running)

    cancel = interrupt

    def interrupt_when(
        self, awaitable: Awaitable[object], reason: str = "interrupted", *, after_running: bool = False
    ) -> AbstractAsyncContextManager[None]:
        """Interrupt this turn as soon as ``awaitable`` is through, while the ``async with`` block lasts.

            async with ctx.interrupt_when(client_left()):  # what waits for it, and does not only look
                returns = await ctx.run()

        At the end of the block an awaitable that is not through is cancelled.  What it raises counts
        as being through, and comes out of the block.

        Args:
            awaitable: What to wait for, under asyncio or trio.
            reason: As for ``interrupt``.
            after_running: As for ``interrupt``.
        """
        from toolexec._interrupt_when import interrupt_when

        return interrupt_when(awaitable, partial(self.interrupt, reason, after_running=after_running))

    def _stops(self) -> Callable[[Function], str | None] | None:
        """What tells why a call of this turn may not start; None while all may."""
        return self._stop_reason if self._asks or self._stopped_ids else None

    def _stop_reason(self, function: Function) -> str | None:
        if self._asks:
            return self._asks[0]
        return self._stopped_ids.get(function.id) if function.id is not None else None

    def next_turn(self) -> None:
        """Begin the next turn.

        An interrupt holds no longer, guard and Budget begin anew, and exceptions of past Returns are
        replaced by copies that hold no frames.
        """
        self._asks.clear()
        self._stopped_ids.clear()
        self._turn += 1
        if self._supervision is not None:
            self._supervision.next_turn()
        for response in self._responses:
            response.drop_frames()


injectable(Context, "context")
