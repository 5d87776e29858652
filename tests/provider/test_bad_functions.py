"""Functions of authors that do their worst: each call is answered, and the next one works."""

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tapui.provider import (
    Context,
    File,
    GateCall,
    Image,
    Provider,
    Session,
    SessionNews,
    ToolError,
    functions,
)
from tapui.testing.faults import ProviderFault
from tapui.testing.session import ProviderSession


class OwnError(BaseException):
    """An exception that is no `Exception`."""


class SilentError(Exception):
    def __str__(self) -> str:
        raise ValueError("it cannot be shown")

    __repr__ = __str__


KINDS: list[Callable[[], BaseException]] = [
    lambda: ValueError("the secret is 1234"),
    lambda: SystemExit(3),
    KeyboardInterrupt,
    GeneratorExit,
    lambda: StopIteration(1),
    StopAsyncIteration,
    lambda: OwnError("own"),
    lambda: asyncio.CancelledError("by itself"),
    lambda: RecursionError("too deep"),
    MemoryError,
    SilentError,
    lambda: ExceptionGroup("several", [ValueError(), KeyError()]),
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind()).__name__)


def with_sound_tool(provider: Provider) -> Provider:
    @provider.tool
    def sound() -> str:
        return "sound"

    return provider


async def still_sound(session: ProviderSession) -> None:
    assert (await session.call("sound")).data == "sound"


@asynccontextmanager
async def failing(provider: Provider, words: str) -> AsyncIterator[ProviderSession]:
    """A session of a provider whose fault fails the test, with these words."""
    try:
        async with provider.test() as session:
            yield session
    except ProviderFault as fault:
        assert words in str(fault)  # noqa: PT017 - it is raised by the end of the session
    else:
        pytest.fail(f"nothing failed with '{words}'")


# What functions raise


@every_kind
@pytest.mark.expects_error_log("the tool thrown failed", "the tool awaited failed")
async def test_a_tool_that_raises_is_an_error_of_its_call(
    kind: Callable[[], BaseException],
) -> None:
    provider = with_sound_tool(Provider("raising"))

    @provider.tool
    def thrown() -> None:
        raise kind()

    @provider.tool
    async def awaited() -> None:
        raise kind()

    async with provider.test() as session:
        for tool in ("thrown", "awaited"):
            result = await session.call(tool)
            assert result.error_code in ("INTERNAL", "CANCELLED"), result
            assert not {"Traceback", "secret"} & set((result.error or "").split()), result
            await still_sound(session)


@every_kind
@pytest.mark.parametrize("tool", ["bash", "edit"])
@pytest.mark.expects_error_log("the gate")
async def test_a_gate_that_raises_is_a_no_at_once(
    tool: str, kind: Callable[[], BaseException]
) -> None:
    provider = Provider("raising")

    @provider.gate(tool="bash")
    def thrown(call: GateCall) -> bool:
        raise kind()

    @provider.gate(tool="edit")
    async def awaited(call: GateCall) -> bool:
        raise kind()

    with_sound_tool(provider)
    async with provider.test() as session:
        with pytest.raises(ProviderFault, match=r"the gate '.*' failed"):
            await session.native(tool)
        await still_sound(session)


@every_kind
@pytest.mark.expects_error_log("the transform of")
async def test_a_transform_that_raises_leaves_the_section(
    kind: Callable[[], BaseException],
) -> None:
    provider = Provider("raising")

    @provider.transform("thrown")
    def thrown(current: str) -> str:
        raise kind()

    @provider.transform("awaited")
    async def awaited(current: str) -> str:
        raise kind()

    with_sound_tool(provider)
    async with failing(provider, "the transform of") as session:
        for section in ("thrown", "awaited"):
            assert (await session.turn("hi", **{section: "text"})).sections[section] == "text"


@every_kind
@pytest.mark.expects_error_log("the handler of")
async def test_a_handler_that_raises_keeps_no_other_from_hearing(
    kind: Callable[[], BaseException],
) -> None:
    provider = Provider("raising")
    heard: list[str] = []

    @provider.on("plan.changed")
    def thrown(news: SessionNews) -> None:
        raise kind()

    @provider.on("plan.changed")
    async def awaited(news: SessionNews) -> None:
        raise kind()

    @provider.on("plan.changed")
    def listens(news: SessionNews) -> None:
        heard.append(news.name)

    async with failing(provider, "the handler of plan.changed failed") as session:
        await session.happens("plan.changed")
        assert heard == ["plan.changed"]


@every_kind
@pytest.mark.expects_error_log("the background function crash failed")
async def test_a_background_function_that_raises_ends_alone(
    kind: Callable[[], BaseException],
) -> None:
    provider = Provider("raising")
    went_on = asyncio.Event()

    @provider.background
    async def crash(session: Session) -> None:
        raise kind()

    @provider.background
    async def go_on(session: Session) -> None:
        await asyncio.sleep(0)
        went_on.set()
        await asyncio.Event().wait()

    async with failing(provider, "the background function crash failed") as session:
        await went_on.wait()
        assert session.is_bound


# What functions return


class Unprintable:
    pass


@dataclass
class Spot:
    x: int
    y: int = 0


def circle() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def nested(depth: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(depth):
        made = [made]
    return made


@pytest.mark.parametrize(
    ("made", "code", "words"),
    [
        (Unprintable, "INTERNAL", "JSON cannot hold"),
        (lambda: math.nan, "INTERNAL", "NaN"),
        (lambda: {"deep": [1, {"x": math.inf}]}, "INTERNAL", "NaN or an infinite"),
        (circle, "INTERNAL", "contains itself"),
        (lambda: nested(5_000), "INTERNAL", "nests too deep"),
        (lambda: nested(300), "INTERNAL", "nests deeper than 256"),
        (lambda: "x" * 10 * 2**20, "PAYLOAD_TOO_LARGE", "10.0 MiB; a result has at most 5 MiB"),
        (lambda: bytes(21 * 2**20), "PAYLOAD_TOO_LARGE", "21.0 MiB"),
        (lambda: {Unprintable(): 1}, "INTERNAL", "JSON cannot hold"),
        (lambda: (one for one in [1]), "INTERNAL", "JSON cannot hold"),
        (lambda: object, "INTERNAL", "JSON cannot hold"),
        (lambda: Path("/nowhere/at/all"), "INTERNAL", "cannot be used"),
        (lambda: Path("/"), "INTERNAL", "cannot be used"),
        (lambda: Path("a\0b"), "INTERNAL", "cannot be used"),
        (lambda: File("/dev/zero"), "INTERNAL", "cannot be used"),
        (lambda: Image(b"no picture"), "INTERNAL", "no PNG"),
        (lambda: Image(3), "INTERNAL", ""),  # type: ignore[arg-type]
    ],
)
@pytest.mark.parametrize("is_coroutine", [False, True], ids=["plain", "coroutine"])
async def test_what_cannot_be_sent_is_a_clear_error(
    made: Callable[[], Any], code: str, words: str, is_coroutine: bool
) -> None:
    provider = with_sound_tool(Provider("returning"))

    def plain() -> Any:
        return made()

    async def coroutine() -> Any:
        return made()

    provider.tool(name="made")(coroutine if is_coroutine else plain)
    async with provider.test() as session:
        result = await session.call("made")
        assert (result.error_code, words in (result.error or "")) == (code, True), result
        await still_sound(session)


@pytest.mark.parametrize(
    ("made", "read"),
    [
        (lambda: None, None),
        (lambda: "\ud800 half", "\ufffd half"),
        (lambda: {1: "a", "b": (1, 2)}, {"1": "a", "b": [1, 2]}),
        (lambda: 2**62, 2**62),
        (lambda: {"\ud800": "x"}, {"\ufffd": "x"}),
        (lambda: frozenset([1]), [1]),
        (lambda: Spot(1), {"x": 1, "y": 0}),
    ],
)
async def test_what_can_be_sent_is_sent(made: Callable[[], Any], read: Any) -> None:
    provider = Provider("returning")

    @provider.tool(name="made")
    def returned() -> Any:
        return made()

    async with provider.test() as session:
        assert (await session.call("made")).data == read


@pytest.mark.parametrize(
    "kind", [KeyError, AssertionError, *KINDS[1:8]], ids=lambda kind: type(kind()).__name__
)
@pytest.mark.expects_error_log("the tool take failed")
async def test_a_type_that_raises_while_it_is_read_is_an_error_of_its_call(
    kind: Callable[[], BaseException],
) -> None:
    @dataclass
    class Checked:
        side: int

        def __post_init__(self) -> None:
            raise kind()

    provider = with_sound_tool(Provider("checking"))

    @provider.tool
    def take(shape: Checked) -> None:
        pass

    async with provider.test() as session:
        result = await session.call("take", {"shape": {"side": 0}})
        assert result.error_code == "INTERNAL"
        await still_sound(session)


# What never ends


async def test_functions_that_never_return_leave_room_for_others() -> None:
    provider = with_sound_tool(Provider("hanging", call_timeout=10))
    released = threading.Event()

    @provider.tool
    def hang() -> None:
        released.wait()

    async with provider.test() as session:
        try:
            for _ in range(3):
                calls = [session.start("hang") for _ in range(10)]
                await still_sound(session)
                await session.advance(11)
                assert {(await call).error_code for call in calls} == {"TIMEOUT"}
            await still_sound(session)
        finally:
            released.set()


@pytest.mark.expects_error_log("all threads of this provider are busy")
async def test_too_many_functions_that_never_return_are_an_error_until_they_do() -> None:
    provider = Provider("hanging", call_timeout=1)
    released = threading.Event()

    @provider.tool
    def hang() -> str:
        released.wait()
        return "released"

    async with failing(provider, "all threads of this provider are busy") as session:
        try:
            for _ in range(6):
                calls = [session.start("hang") for _ in range(8)]
                await session.advance(2)
                ends = {(await call.result).error_code for call in calls}
            assert ends == {"INTERNAL"}
        finally:
            released.set()
    async with provider.test() as session:
        assert (await session.call("hang")).data == "released"


@pytest.mark.expects_error_log("the gate 'hang' has not answered in 0.02 s")
@pytest.mark.parametrize("fail_open", [True, False])
async def test_a_gate_that_never_answers_is_given_up(
    monkeypatch: pytest.MonkeyPatch, fail_open: bool
) -> None:
    monkeypatch.setattr(functions, "GATE_TIMEOUT", 0.02)
    provider = with_sound_tool(Provider("hanging"))
    released = threading.Event()

    @provider.gate(tool="bash", fail_open=fail_open)
    def hang(call: GateCall) -> bool:
        return released.wait()

    async with provider.test() as session:
        try:
            with pytest.raises(ProviderFault, match="has not answered in"):
                await session.native("bash", command="ls")
            await still_sound(session)
        finally:
            released.set()


@pytest.mark.expects_error_log("the tool ask failed")
async def test_a_wait_for_in_a_coroutine_is_refused_also_without_a_gateway() -> None:
    provider = Provider("waiting")

    @provider.tool
    async def ask(context: Context) -> None:
        context.wait_for(context.query("news"))

    with pytest.raises(ToolError, match="RuntimeError"):
        await provider.call("ask")


@pytest.mark.expects_error_log("the tool never does not end", "a background function does not end")
async def test_a_coroutine_that_swallows_its_cancellation_does_not_hold_the_end_up() -> None:
    provider = Provider("stubborn")
    is_over = asyncio.Event()

    async def stay() -> None:
        while not is_over.is_set():
            try:
                await is_over.wait()
            except asyncio.CancelledError:
                continue

    @provider.tool
    async def never() -> None:
        await stay()

    @provider.background
    async def beside(session: Session) -> None:
        await stay()

    try:
        async with failing(provider, "does not end when it is cancelled") as session:
            call = session.start("never")
            await session.advance(0)
            call.cancel()
            assert (await call).error_code == "CANCELLED"
    finally:
        is_over.set()
    await asyncio.sleep(0)


async def test_a_thread_that_stays_behind_fails_the_test_and_is_named() -> None:
    provider = Provider("hanging", call_timeout=1)
    begun, released = threading.Event(), threading.Event()

    @provider.tool
    def hang() -> None:
        begun.set()
        released.wait()

    try:
        async with failing(provider, "the function 'hang' has not returned") as session:
            call = session.start("hang")
            await asyncio.to_thread(begun.wait)
            await session.advance(2)
            assert (await call).error_code == "TIMEOUT"
    finally:
        released.set()


async def test_a_call_that_is_cancelled_at_any_moment_is_answered_once() -> None:
    provider = with_sound_tool(Provider("hasty"))

    @provider.tool
    async def step(context: Context, times: int) -> str:
        for _ in range(times):
            await asyncio.sleep(0)
        return "over"

    async with provider.test() as session:
        for passes in range(12):
            for times in range(6):
                call = session.start("step", times=times)
                for _ in range(passes):
                    await asyncio.sleep(0)
                call.cancel()
                result = await call
                assert result.error_code == "CANCELLED" or result.data == "over"
        await session.advance(0)
        assert session.cancelling == 0
        await still_sound(session)
