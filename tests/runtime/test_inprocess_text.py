"""Text that no JSON can carry, from an end in this process: it costs nobody anything."""

import asyncio
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw, Struct

from tapui.hosts.local import LocalHost
from tapui.wire import host as h
from tapui.wire.codec import raw
from tapui.wire.message import Error, Message
from tests.runtime.house import GREET, House, Witness, until

HALF = "\ud83d"
KINDS: list[type[Message]] = list(get_args(h.FromHost))


def filled(kind: Any, text: str) -> Any:
    """Return a value of a type with `text` wherever it has text."""
    if kind is str:
        return text
    if kind is Raw:
        return raw({text: [text]})
    if get_origin(kind) is Annotated:
        return filled(get_args(kind)[0], text)
    if kind is Any:
        return {text: [text]}
    if kind in (int, float):
        return 2
    if kind is bool:
        return True
    origin, args = get_origin(kind), get_args(kind)
    if origin is Literal:
        return args[0]
    if origin is list:
        return [filled(args[0], text)]
    if origin is dict:
        return {filled(args[0], text): filled(args[1], text)}
    if args:  # a union
        return filled(next(one for one in args if one is not types.NoneType), text)
    assert issubclass(kind, Struct)
    return kind(**{field.name: filled(field.type, text) for field in msgspec.structs.fields(kind)})


def conversation(text: str) -> Iterator[Message]:
    """Yield a hello, a session and its whole life, then one message of each kind."""
    yield h.HostHello("host" + text, "test" + text, 2)
    yield h.SessionOpen(h.HostSession("s" + text, "label" + text, "/" + text, foreground=True))
    for kind in KINDS:
        message = filled(kind, text)
        for field in ("session_id", "id"):
            if hasattr(message, field) and field == "session_id":
                message = msgspec.structs.replace(message, session_id="s" + text)
        yield message


def send_all(house: House, text: str) -> tuple[Any, list[Message]]:
    heard: list[Message] = []
    end = house.turn.open_port(heard.append, lambda: None)
    for message in conversation(text):
        end.send(message)
    return end, heard


async def test_half_emojis_in_every_text_of_every_host_message(
    house: House, witness: Witness
) -> None:
    _, heard = send_all(house, HALF)
    id_ = witness.ask()
    await witness.is_answered(id_)
    assert heard
    labels = {one.label for one in house.gateway.state.sessions.values()}
    assert any("\ufffd" in label for label in labels)
    late = house.tower()
    await until(lambda: late.heard("tower.snapshot"))
    witness.saw_every_event()
    assert not [one for one in house.records() if one["kind"] == "error.event"]


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text(st.characters(codec=None), max_size=8))
def test_any_text_in_every_text_of_every_host_message(tmp_path: Path, text: str) -> None:
    async def run(folder: str) -> None:
        house = House(Path(folder))
        try:
            witness = Witness(house)
            await witness.is_bound()
            end, _ = send_all(house, text)
            await witness.is_answered(witness.ask())
            end.close()
            await witness.is_answered(witness.ask())
            witness.saw_every_event()
        finally:
            house.turn.close()
            house.journal.close(1.0)

    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        asyncio.run(run(folder))


async def test_halves_of_one_emoji_are_joined(house: House) -> None:
    end = house.turn.open_port(lambda _: None, lambda: None)
    end.send(h.HostHello("host", "test", 2))
    end.send(h.SessionOpen(h.HostSession("s1", "a\ud83d\ude00b", "/")))
    assert house.gateway.state.sessions["s1"].label == "a\U0001f600b"


async def test_what_cannot_be_json_is_answered_like_a_socket_s(
    house: House, witness: Witness
) -> None:
    heard: list[Message] = []
    end = house.turn.open_port(heard.append, lambda: None)
    end.send(h.HostHello("host", "test", 2))
    end.send(h.SessionOpen(h.HostSession("s1", object(), "/")))  # type: ignore[arg-type]
    id_ = witness.ask()
    await until(lambda: any(isinstance(one, Error) for one in heard))
    (error,) = [one for one in heard if isinstance(one, Error)]
    assert (error.code, error.reply_to) == ("INVALID_JSON", "session.open")
    assert "s1" not in house.gateway.state.sessions
    await witness.is_answered(id_)
    witness.saw_every_event()


async def test_a_working_folder_that_is_not_utf8_is_shown_with_replacements(
    house: House, witness: Witness
) -> None:
    LocalHost(house.turn.open_port, Path("/caf\udce9"))
    await until(lambda: "local" in house.gateway.state.sessions)
    assert house.gateway.state.sessions["local"].cwd == "/caf\ufffd"
    await witness.is_answered(witness.ask())
    witness.saw_every_event()


async def test_an_event_that_cannot_be_encoded_costs_itself(house: House, witness: Witness) -> None:
    """A fault of ours: a value comes from inside the core that no edge has seen."""
    host, provider = await house.bound()
    connection = house.gateway.parts.connections.by_number[provider.number]
    connection.bound_provider.view = msgspec.structs.replace(
        connection.bound_provider.view, metadata=object()
    )
    before = house.gateway.seq
    house.say(provider, type="tools.update", tools=[{**GREET, "name": "other"}])
    house.say(host, type="tool.invoke", id="i1", sessionId="s1", tool="other", args={})
    id_ = witness.ask()
    await until(lambda: provider.heard("tool.call"))
    call = provider.heard("tool.call")[0]["id"]
    house.say(provider, type="tool.result", id=call, data="hello")
    await until(lambda: host.heard("tool.outcome"))
    assert host.heard("tool.outcome")[0]["data"] == "hello"
    await witness.is_answered(id_)
    witness.saw_every_event()
    (lost,) = [one for one in house.records() if one["kind"] == "error.event"]
    assert lost["seq"] == before + 1
    assert (lost["lost"], lost["sessionId"]) == ("provider.updated", "s1")
    assert "object" in lost["error"]
    late = house.tower()
    await until(lambda: late.heard("tower.snapshot"))
