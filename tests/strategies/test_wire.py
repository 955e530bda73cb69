"""What the isolated strategies say over a wire, without any worker."""

# Pipes, /proc and descriptors are not what pathlib is for, and here everything is caught:
# ruff: noqa: PTH112, PTH116, PTH123, PTH208, BLE001, ASYNC110, ASYNC230, SIM115, SIM117, RUF100

from __future__ import annotations

import contextvars
import os
import pickle
import socket
import sys
import threading
import tracemalloc
import types
from collections.abc import Iterator
from typing import Any

import pytest

import remote_tools
import toolexec as tx
from toolexec.lowlevel import Outcome, Parcel
from toolexec_strategies._remote import _carry, _wire

LOCAL_VAR: contextvars.ContextVar[int] = contextvars.ContextVar("test_wire_var", default=3)


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours.fileno(), theirs.fileno()


def received(payload: bytes) -> Parcel:
    """What a worker unpacks."""
    return _carry.unpack_request(payload)[0]


def parcel(source: Any, *args: Any, **kwargs: Any) -> Parcel:
    return Parcel("c1", "tool", source, args, kwargs, "asyncio")


def there_and_back(obj: Any) -> Any:
    """Carry an object as an argument, then as a result; both within this process."""
    request = received(_carry.pack_request(parcel(len, obj), "fork").payload)
    outcome = Outcome("ok", request.args[0])
    return _carry.unpack_outcome(_carry.pack_outcome(outcome, request, "the worker"), request, "the worker").value


class TestFrames:
    @pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, 1_000_000])
    def test_a_frame_arrives_as_it_was_sent(self, ends: tuple[int, int], size: int) -> None:
        payload = os.urandom(size)
        sender = threading.Thread(target=_wire.send, args=(ends[0], (_wire.RESULT, payload)))
        sender.start()

        kind, got = _wire.Reader(ends[1]).frame()
        sender.join()

        assert (_wire.RESULT, payload) == (kind, got)

    def test_frames_keep_their_order_and_borders(self, ends: tuple[int, int]) -> None:
        frames = [(_wire.PROGRESS, bytes([n]) * n) for n in range(200)]
        sender = threading.Thread(target=_wire.send, args=(ends[0], *frames))
        sender.start()

        reader = _wire.Reader(ends[1])
        got = [reader.frame() for _ in frames]
        sender.join()

        assert frames == got

    def test_the_end_within_a_frame_is_an_end(self, ends: tuple[int, int]) -> None:
        socket_end = socket.socket(fileno=os.dup(ends[0]))
        with socket_end:
            socket_end.sendall(_wire._HEADER.pack(_wire.RESULT, 1000) + b"half")
            socket_end.shutdown(socket.SHUT_WR)

            with pytest.raises(EOFError):
                _wire.Reader(ends[1]).frame()

    @pytest.mark.parametrize("garbage", [b"this is no frame", b"R" + b"\xff" * 8, b"R" + b"\x00\x00\x3f" + b"\xff" * 5])
    def test_garbage_is_told_from_a_frame(self, ends: tuple[int, int], garbage: bytes) -> None:
        os.write(ends[0], garbage)

        with pytest.raises(_wire.Garbled):
            _wire.Reader(ends[1]).frame()

    def test_non_blocking_ends_wait_only_when_they_have_to(self, ends: tuple[int, int]) -> None:
        """Neither side can finish alone: each `wait` lets the other go on."""
        payload = os.urandom(3_000_000)
        for end in ends:
            os.set_blocking(end, False)
        turn = threading.Condition()

        def wait() -> None:
            with turn:
                turn.notify_all()
                turn.wait(0.01)

        sender = threading.Thread(target=lambda: _wire.send(ends[0], (_wire.RESULT, payload), wait=wait))
        sender.start()
        got = _wire.Reader(ends[1], wait).frame()
        sender.join()

        assert (_wire.RESULT, payload) == got

    def test_a_large_payload_is_there_once(self, ends: tuple[int, int]) -> None:
        """Read into its place: neither into a buffer that is copied, nor into one that grows."""
        payload = os.urandom(10_000_000)
        sender = threading.Thread(target=_wire.send, args=(ends[0], (_wire.RESULT_BYTES, payload)))
        reader = _wire.Reader(ends[1])
        tracemalloc.start()
        try:
            sender.start()
            kind, got = reader.frame()
            sender.join()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

        assert (_wire.RESULT_BYTES, bytes, payload) == (kind, type(got), got)
        assert peak < 1.1 * len(payload)

    def test_an_ask_says_why_and_how_long_it_has(self) -> None:
        words = _wire.AskWords("genug, é", timeout=True, grace=0.5)

        assert words == _wire.read_ask(_wire.ask_frame(words))
        assert _wire.read_ask(_wire.ask_frame(words)[:-1]) is None
        assert _wire.read_ask(b"") is None


class TestRequests:
    def test_a_module_function_behind_tool_goes_by_reference(self) -> None:
        plain = remote_tools.add.__wrapped__

        request = _carry.pack_request(parcel(plain, 1), "fork")

        assert received(request.payload).source is plain
        assert "remote_tools" in request.modules
        assert len(request.payload) < 300

    def test_a_method_behind_tool_goes_by_reference(self) -> None:
        bound: Any = remote_tools.Greeter("hello").greet.__wrapped__

        source = received(_carry.pack_request(parcel(bound), "fork").payload).source

        assert source("you") == "hello, you"
        assert source.__func__ is bound.__func__

    def test_the_modules_a_closure_uses_are_named(self) -> None:
        def uses_a_module() -> str:
            return os.path.sep + str(LOCAL_VAR)

        request = _carry.pack_request(parcel(uses_a_module), "fork")

        assert "os" in request.modules

    def test_code_by_value_keeps_its_file(self) -> None:
        """Or a traceback has no lines to show."""

        def local() -> None: ...

        source = received(_carry.pack_request(parcel(local), "fork").payload).source

        assert source is not local
        assert source.__code__.co_filename == __file__

    def test_a_context_variable_goes_by_name(self) -> None:
        def reads() -> int:
            return LOCAL_VAR.get()

        source = received(_carry.pack_request(parcel(reads), "fork").payload).source

        assert source.__globals__["LOCAL_VAR"] is LOCAL_VAR

    def test_a_context_variable_of_no_module_is_made_once(self) -> None:
        var: contextvars.ContextVar[int] = contextvars.ContextVar("nowhere", default=5)

        def one() -> Any:
            return var

        payloads = [_carry.pack_request(parcel(one), "fork").payload for _ in range(2)]
        made = [received(payload).source() for payload in payloads]

        assert made[0] is made[1]
        assert made[0].get() == 5

    @pytest.mark.parametrize(
        ("captured", "named"),
        [
            (threading.Lock(), "_thread.lock"),
            ({"deep": [threading.Lock()]}, "_thread.lock"),
            (sys.stdin.__class__, None),
            (iter([]).__class__, None),
        ],
        ids=["lock", "nested lock", "class", "builtin class"],
    )
    def test_what_cannot_travel_is_named(self, captured: Any, named: str | None) -> None:
        def tool() -> Any:
            return captured

        if named is None:
            _carry.pack_request(parcel(tool), "fork")
            return
        with pytest.raises(tx.UnsendableError) as caught:
            _carry.pack_request(parcel(tool), "fork")

        for part in ("the fork strategy", "'tool'", "tool", "'captured'", named):
            assert part in str(caught.value)

    def test_an_argument_that_cannot_travel_is_named(self) -> None:
        with pytest.raises(tx.UnsendableError, match=r"argument 'stream' of tool 'tool' .*TextIOWrapper"):
            with open(os.devnull) as stream:
                _carry.pack_request(parcel(len, stream=stream), "fork")

    def test_getstate_that_exits_does_not_end_the_host(self) -> None:
        class Exits:
            def __getstate__(self) -> Any:
                sys.exit(3)

        with pytest.raises(tx.UnsendableError, match="SystemExit"):
            _carry.pack_request(parcel(len, Exits()), "fork")


class Sub(bytes):
    """No plain bytes."""


class TestReplies:
    def test_bytes_are_sent_as_they_are(self) -> None:
        value = os.urandom(100)

        assert (_wire.RESULT_BYTES, value) == (reply := _carry.pack_reply(Outcome("ok", value), None, "the worker"))
        assert reply[1] is value

    @pytest.mark.parametrize("value", [Sub(b"x"), bytearray(b"x"), [b"x"]])
    def test_what_only_resembles_bytes_is_pickled(self, value: Any) -> None:
        kind, payload = _carry.pack_reply(Outcome("ok", value), None, "the worker")

        back = _carry.unpack_outcome(payload, parcel(len), "the worker").value
        assert (_wire.RESULT, type(value), value) == (kind, type(back), back)

    @pytest.mark.parametrize("hangs_on_it", ["nothing", "note", "cause"])
    def test_an_interrupt_comes_back_as_it_was(self, hangs_on_it: str) -> None:
        """Also the usual one, for which there is a short way."""
        exc = tx.Interrupt("enough")
        if hangs_on_it == "note":
            exc.add_note("while it counted")
        if hangs_on_it == "cause":
            exc.__cause__ = ValueError("why")

        payload = _carry.pack_outcome(Outcome("cancelled", exception=exc, reason="enough"), None, "the worker")
        back = _carry.unpack_outcome(payload, parcel(len), "the worker")

        assert ("cancelled", None, "enough") == (back.status, back.value, back.reason)
        assert isinstance(back.exception, tx.Interrupt)
        assert back.exception.reason == "enough"
        assert hasattr(back.exception, "__notes__") == (hangs_on_it == "note")
        assert isinstance(back.exception.__cause__, ValueError) == (hangs_on_it == "cause")

    def test_a_class_that_came_from_the_host_keeps_its_identity(self) -> None:
        class Point:
            def __init__(self, x: int) -> None:
                self.x = x

        back = there_and_back(Point(3))

        assert type(back) is Point
        assert back.x == 3

    def test_the_hosts_class_is_not_overwritten(self) -> None:
        """A class by value comes back as itself, not as what the worker made of it."""

        class Counter:
            seen = 0

        request = received(_carry.pack_request(parcel(len, Counter), "fork").payload)
        payload = _carry.pack_outcome(Outcome("ok", request.args[0]), request, "the worker")
        before = dict(vars(Counter))
        back = _carry.unpack_outcome(payload, request, "the worker").value

        assert back is Counter
        assert before == dict(vars(Counter))

    @pytest.mark.parametrize(
        ("kind", "named"),
        [
            ("lock", "_thread.lock"),
            ("nested lock", "_thread.lock"),
            ("lambda", "function"),
            ("generator", "generator"),
            ("file", "TextIOWrapper"),
            ("refuses state", "RefusesState"),
            ("local class", "Local"),
        ],
    )
    def test_what_cannot_come_back_is_named(self, kind: str, named: str) -> None:
        value = remote_tools._odd(kind)

        payload = _carry.pack_outcome(Outcome("ok", value), parcel(len), "the worker")
        outcome = _carry.unpack_outcome(payload, parcel(len), "the worker")

        if kind == "file":
            value.close()
        assert outcome.status == "unsendable"
        assert isinstance(outcome.exception, tx.UnsendableError)
        assert named in str(outcome.exception)
        assert outcome.value["type"] == "UnsendableError"

    def test_what_cannot_be_rebuilt_is_unsendable(self) -> None:
        payload = _carry.pack_outcome(Outcome("ok", remote_tools.RefusesToLoad()), parcel(len), "the worker")

        outcome = _carry.unpack_outcome(payload, parcel(len), "the worker")

        assert outcome.status == "unsendable"
        assert "not loaded here" in str(outcome.exception)

    @pytest.mark.parametrize("payload", [b"", b"\x80", pickle.dumps(5), pickle.dumps(("raised", 1))])
    def test_a_payload_that_makes_no_sense_does_not_end_the_reader(self, payload: bytes) -> None:
        assert _carry.unpack_outcome(payload, parcel(len), "the worker").status == "unsendable"

    def test_a_report_of_progress_that_cannot_travel_goes_without_its_data(self) -> None:
        packed = _carry.pack_progress(tx.Progress(1, 2, "half", threading.Lock()))

        assert _carry.unpack_progress(packed) == tx.Progress(1, 2, "half", None)
        assert _carry.unpack_progress(b"nonsense") is None


class TestExceptions:
    def carried(self, exc: BaseException) -> tuple[BaseException, dict[str, Any]]:
        payload = _carry.pack_outcome(Outcome("raised", exception=exc), parcel(len), "the worker")
        outcome = _carry.unpack_outcome(payload, parcel(len), "the worker")
        assert outcome.status == "raised"
        assert outcome.exception is not None
        assert outcome.exception is not exc
        return outcome.exception, outcome.value

    def raised(self, tool: Any, *args: Any) -> BaseException:
        try:
            tool(*args)
        except BaseException as exc:
            return exc
        raise AssertionError("it did not raise")

    @pytest.mark.parametrize(
        ("kind", "cls", "attributes"),
        [
            (
                "two arguments",
                remote_tools.TwoArguments,
                {"code": 42, "text": "the answer", "args": ("42: the answer",)},
            ),
            ("keyword only", remote_tools.KeywordOnly, {"code": 7}),
            ("syntax", SyntaxError, {"lineno": 1, "filename": "some file"}),
            ("exit code", SystemExit, {"code": 17}),
        ],
    )
    def test_fields_survive(self, kind: str, cls: type[BaseException], attributes: dict[str, Any]) -> None:
        exc, form = self.carried(self.raised(remote_tools.raise_kind, kind))

        assert type(exc) is cls
        assert attributes == {name: getattr(exc, name) for name in attributes}
        assert form["type"] == cls.__name__

    @pytest.mark.parametrize(
        ("kind", "name", "text"),
        [
            ("exits on load", "ExitsOnLoad", "ouch"),
            ("holds a lock", "HoldsLock", "locked in"),
            ("local class", "Local", "nobody knows my class"),
        ],
    )
    def test_what_cannot_be_rebuilt_is_told(self, kind: str, name: str, text: str) -> None:
        exc, form = self.carried(self.raised(remote_tools.raise_kind, kind))

        if isinstance(exc, tx.ForeignError):
            assert exc.type_name == name
            assert "raise_kind" in exc.traceback_text
        assert text == str(exc)
        assert (name, text) == (form["type"], form["message"])

    def test_what_a_tool_has_written_for_the_model_stays_that(self) -> None:
        exc, form = self.carried(self.raised(remote_tools.raise_kind, "advice with a lock"))

        assert isinstance(exc, tx.ForeignError)
        assert isinstance(exc, tx.ToolError)
        assert ("AdviceWithLock", "take another day") == (exc.type_name, str(exc)) == (form["type"], form["message"])
        again, _ = self.carried(exc)
        assert type(again) is type(exc)
        assert "raise_kind" in exc.traceback_text

    def test_cause_note_and_traceback_survive(self) -> None:
        exc, form = self.carried(self.raised(remote_tools.raise_chain))

        assert isinstance(exc.__cause__, KeyError)
        assert exc.__suppress_context__
        assert exc.__notes__ == ["a note on it"]
        text = "\n".join(form["backtrace"])
        for part in ("inner text", "outer text", "a note on it", "_inner()", "raise outer from first"):
            assert part in text
        names = []
        step = exc.__cause__.__traceback__
        while step is not None:
            names.append(step.tb_frame.f_code.co_name)
            step = step.tb_next
        assert names[-1] == "_inner"

    def test_an_implicit_context_survives(self) -> None:
        exc, _ = self.carried(self.raised(remote_tools.raise_in_context))

        assert isinstance(exc.__context__, KeyError)
        assert exc.__cause__ is None
        assert not exc.__suppress_context__

    def test_members_of_a_group_survive(self) -> None:
        exc, _ = self.carried(self.raised(remote_tools.raise_group))

        assert isinstance(exc, ExceptionGroup)
        assert [remote_tools.TwoArguments, ValueError] == [type(member) for member in exc.exceptions]
        assert all(member.__traceback__ is not None for member in exc.exceptions)

    def test_a_circle_of_contexts_ends(self) -> None:
        first, second = ValueError("first"), ValueError("second")
        first.__context__, second.__context__ = second, first

        exc, _ = self.carried(first)

        assert exc.__context__ is not None
        assert exc.__context__.__context__ is exc

    def test_a_deep_recursion_is_cut_short(self) -> None:
        def deeper() -> None:
            deeper()

        exc, _ = self.carried(self.raised(deeper))

        assert isinstance(exc, RecursionError)
        steps = 0
        step: types.TracebackType | None = exc.__traceback__
        while step is not None:
            steps, step = steps + 1, step.tb_next
        assert 50 < steps <= 100

    def test_a_broken_str_does_not_end_the_reader(self) -> None:
        class Broken(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no text")

        exc, form = self.carried(Broken())

        assert form["type"] == "Broken"
        assert "cannot be shown" in str(exc)
