"""`tapui call` at a running gateway."""

import json

import pytest

from tests.cli.running import HOSTILE, RAW, Command, begun, provider, ran, run
from tests.cli.sharing import gateway, home, own_gateway, running
from tests.rig.gateway import Gateway, Home

__all__ = ["gateway", "home", "own_gateway", "running"]


async def test_call_prints_the_result_as_json_and_progress_as_notes(
    gateway: Gateway, home: Home
) -> None:
    async with provider(gateway) as one:
        command = await Command.start(home, "call", "greet", "--args", '{"name": "Ada"}')
        call = await one.expect("tool.call")
        assert (call["args"], call["sessionId"]) == ({"name": "Ada"}, "local")
        await one.send({"type": "tool.progress", "id": call["id"], "message": f"50 % {HOSTILE}"})
        assert "50 % \\x1b]0;owned" in await command.note()
        data = {"text": HOSTILE, "number": 12345678901234567890.5}
        await one.send({"type": "tool.result", "id": call["id"], "data": data})
        code, out, err = await command.end()
    assert (code, err) == (0, "")
    assert RAW.search(out) is None
    assert json.loads(out) == data


@pytest.mark.parametrize(
    ("result", "code", "out", "err"),
    [
        ({"data": None}, 0, "null\n", ""),
        ({"data": 1e400}, 0, "1e400\n", ""),
        (
            {"error": "not\tthere\nat all", "errorCode": "NOT_FOUND"},
            1,
            "",
            "tapui: NOT_FOUND: not\\x09there at all\n",
        ),
        ({"errorCode": "RATE_LIMITED"}, 1, "", "tapui: RATE_LIMITED: RATE_LIMITED\n"),
    ],
)
async def test_how_a_call_ends(
    gateway: Gateway, home: Home, result: dict[str, object], code: int, out: str, err: str
) -> None:
    async with provider(gateway) as one:
        command = begun(home, "call", "greet")
        call = await one.expect("tool.call")
        message = json.dumps({"type": "tool.result", "id": call["id"], **result})
        await one._socket.send(message.replace("Infinity", "1e400"))
        assert await command == (code, out, err)


@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("nope",), "there is no tool nope; there are: tap_post, tap_list_streams,"),
        (
            ("tap_list_stream",),
            "there is no tool tap_list_stream; did you mean tap_list_streams? there are: tap_",
        ),
        (("tap_list_streams", "--session", "gone"), "there is no session gone"),
    ],
)
def test_a_call_that_cannot_be_made_is_1(home: Home, args: tuple[str, ...], said: str) -> None:
    done = ran(home, "call", *args)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr


@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("{}", "stream (string), message (string); give them as stream=…, or with --args"),
        ('{"stream": "x"}', "message (string); give it as message=…, or with --args"),
    ],
)
def test_arguments_that_the_tool_requires_are_asked_for(home: Home, args: str, said: str) -> None:
    done = ran(home, "call", "tap_post", "--args", args)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"tapui: tap_post requires {said}\n"


@pytest.mark.usefixtures("gateway")
def test_arguments_are_given_as_key_and_value(home: Home) -> None:
    posted = ran(home, "call", "tap_post", "stream=builds", "message=42 passed")
    assert (posted.returncode, posted.stderr) == (0, "")
    read = ran(home, "call", "tap_stream_history", "stream=builds", "last=1")
    assert "42 passed" in read.stdout, read.stderr
    for given, told in (
        ("last=1", "requires stream (string); give it as stream=…"),
        ("streem=builds", "there is no argument streem; did you mean stream?"),
    ):
        wrong = ran(home, "call", "tap_stream_history", given)
        assert (wrong.returncode, wrong.stdout) == (2, "")
        assert told in wrong.stderr


async def test_arguments_that_do_not_fit_the_schema_are_not_sent(
    gateway: Gateway, home: Home
) -> None:
    schema = {
        "type": "object",
        "properties": {"count": {"type": "integer"}, HOSTILE: {"const": HOSTILE}},
        "required": ["name"],
        "additionalProperties": False,
    }
    tool = {"name": "t", "description": "d", "parameters": schema}
    async with provider(gateway, tools=[tool]):
        args = json.dumps({"count": "x", HOSTILE: 1, "nmae": 1})
        code, out, err = await run(home, "call", "t", "--args", args)
    assert (code, out) == (2, "")
    assert RAW.search(err) is None
    told = err.splitlines()
    assert told[0] == "tapui: t requires name; give it as name=…, or with --args"
    assert "tapui: t: count: takes integer, got string" in told
    assert any("nmae: is not known; there are: count, " in one for one in told)
    assert all(one.startswith("tapui: t") for one in told)


@pytest.mark.parametrize(
    ("schema", "noted"),
    [
        ({"type": "object", "required": "all of them"}, "is not of type"),
        ({"required": [1, None]}, "is not of type"),
        ({"properties": {"x": {"pattern": "("}}}, "is not a"),
        ({"properties": {"x": {"$ref": "#/nowhere"}}}, "nowhere"),
    ],
)
async def test_a_schema_that_cannot_be_used_lets_the_call_through_with_a_note(
    gateway: Gateway, home: Home, schema: dict[str, object], noted: str
) -> None:
    tool = {"name": "t", "description": "d", "parameters": schema}
    async with provider(gateway, tools=[tool]) as one:
        command = begun(home, "call", "t", "--args", '{"x": 1}')
        await one.answer(data="done")
        code, out, err = await command
    assert (code, out) == (0, '"done"\n')
    begin = "the arguments are not checked: the schema of t cannot be used: "
    assert err.startswith(begin)
    assert noted in err


async def test_interrupting_a_call_cancels_it_and_is_130(gateway: Gateway, home: Home) -> None:
    async with provider(gateway) as one:
        command = await Command.start(home, "call", "greet")
        call = await one.expect("tool.call")
        command.interrupt()
        cancel = await one.expect("tool.cancel")
        assert (cancel["id"], cancel["reason"]) == (call["id"], "interrupted by the person")
        assert await command.end() == (130, "", "")


async def test_a_gateway_that_is_killed_during_a_call_is_1(own_gateway: Gateway) -> None:
    home = own_gateway.home
    async with provider(own_gateway) as one:
        command = begun(home, "call", "greet")
        await one.expect("tool.call")
        own_gateway.kill()
        code, out, err = await command
        assert (code, out) == (1, "")
        assert err == "tapui: the gateway closed the connection\n"
    code, _, err = await run(home, "status")
    assert code == 3
    assert err.startswith("tapui: no gateway runs; start one")
