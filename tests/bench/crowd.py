"""A crowd: as many providers with as many tools as a gateway takes, and what that costs calls.

A call goes host process → gateway → provider process and back, as in `roundtrip`; the crowd's
other providers are connected and idle. Two gateways run, one with the crowd and one without, and
are measured by turns: what else the machine does then weighs on both alike.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.bench import roundtrip
from tests.bench.frames import Frames
from tests.bench.roundtrip import SESSION, Caller, Rate
from tests.rig.gateway import Gateway

PROVIDERS = 48
TOOLS = 100
HELLOS = 150
ROUNDS = 5


def tools(owner: str, count: int = TOOLS) -> list[dict[str, Any]]:
    """Return definitions such as a real provider has, some 300 bytes each."""
    parameters = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where to look, relative to the folder"},
            "limit": {"type": "integer", "minimum": 1, "default": 20},
        },
        "required": ["path"],
    }
    return [
        {
            "name": f"{owner}_{number}",
            "description": "Reads something and returns what it found there",
            "parameters": parameters,
        }
        for number in range(count)
    ]


def _provider(gateway: Gateway, name: str, count: int) -> Frames:
    """Connect a provider to the benchmark's session."""
    hello = {"type": "hello", "name": name, "protocolVersion": 2, "session": SESSION}
    return Frames.connect(gateway.url, gateway.token, {**hello, "tools": tools(name, count)})


@contextmanager
def _crowd(gateway: Gateway, size: int) -> Iterator[None]:
    members = [_provider(gateway, f"crowd{number}", TOOLS) for number in range(size)]
    try:
        yield
    finally:
        for member in members:
            member.socket.close()


def _offered(host: Frames, name: str, count: int) -> None:
    """Wait until the host is offered the tool `name` and `count` tools of the crowd."""
    while True:
        offered = host.expect("tools.changed", sessionId=SESSION)["tools"]
        names = [tool["name"] for tool in offered]
        if name in names and sum(one.startswith("crowd") for one in names) == count:
            return


@contextmanager
def _calling(gateway: Gateway, others: int) -> Iterator[Caller]:
    """A host that calls a provider's tool while `others` are connected, 100 tools each."""
    host = roundtrip.host(gateway.url, gateway.internal_token)
    request = roundtrip.invoke("bench", b'{"text":"' + b"x" * 89 + b'"}')
    try:
        with (
            roundtrip.provider(gateway.url, gateway.token, 100, tools=TOOLS, session=SESSION),
            _crowd(gateway, others),
        ):
            _offered(host, "bench", others * TOOLS)
            yield Caller(host, request, b'{"type":"tool.outcome"')
    finally:
        host.socket.close()


def calls(
    alone: Gateway, crowded: Gateway, in_flight: int, seconds: float
) -> tuple[Rate, Rate, float]:
    """Measure calls of one provider's tool: alone, in the crowd, and the ratio of CPU.

    The rates are those of the middle round by CPU, the ratio is the middle one of all rounds.
    """
    found: list[tuple[Rate, Rate]] = []
    with _calling(alone, 0) as one, _calling(crowded, PROVIDERS - 1) as many:
        for _ in range(ROUNDS):
            turn = seconds * 2 / ROUNDS
            found.append(
                (
                    roundtrip.measure(one, alone.pid, in_flight, turn),
                    roundtrip.measure(many, crowded.pid, in_flight, turn),
                )
            )
    ratio = sorted(pair[1].cpu / pair[0].cpu for pair in found)[ROUNDS // 2]
    middle = [
        sorted((pair[side] for pair in found), key=lambda rate: rate.cpu)[ROUNDS // 2]
        for side in (0, 1)
    ]
    return middle[0], middle[1], ratio


def hello(gateway: Gateway, count: int) -> float:
    """Return the gateway's CPU milliseconds for a hello with `count` tools.

    All that a provider causes that comes and goes counts: the handshake, the token, the hello, the
    host's new list of tools, the record, the end.
    """
    host = roundtrip.host(gateway.url, gateway.internal_token)
    try:
        _provider(gateway, "warm", count).socket.close()
        began = roundtrip.cpu_seconds(gateway.pid)
        for number in range(HELLOS):
            _provider(gateway, f"one{number}", count).socket.close()
        return (roundtrip.cpu_seconds(gateway.pid) - began) / HELLOS * 1e3
    finally:
        host.socket.close()
