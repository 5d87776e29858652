"""The server's process: where it is found, and how it goes wrong."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tapui.hosts.language_server.installation import NoProgramError, found_program
from tapui.hosts.language_server.server import ServerTiming
from tapui.hosts.language_server.server_host import HostEndedError, LanguageServerHost
from tapui.wire.host import SessionClose
from tapui.wire.steering import OrderResult, SessionStop
from tests.hosts.language_server.hosting import hosting
from tests.rig.language_server import LAST_WORDS, VERSION, installed, told
from tests.rig.waiting import until_async

QUICK = ServerTiming(ping_after=0.05, ping=5.0, end=0.2)
"""For a server that hangs; one that answers does so within that, on a busy machine too."""


def program(folder: Path) -> Path:
    folder.mkdir(parents=True)
    file = folder / "copilot-language-server"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_where_the_program_is_looked_for(tmp_path: Path) -> None:
    mine = program(tmp_path / "bin")
    work = tmp_path / "work"
    theirs = program(work / "node_modules" / ".bin")
    path = os.pathsep.join([str(theirs.parent), ".", "", "node_modules/.bin", str(mine.parent)])
    assert found_program("", {"PATH": path}, work) == str(mine)
    link = tmp_path / "link"
    link.symlink_to(theirs.parent)
    with pytest.raises(NoProgramError, match="npm install -g @github/copilot-language-server"):
        found_program("", {"PATH": f"{theirs.parent}:{link}"}, work)
    assert found_program(str(mine), {}, work) == str(mine)


@pytest.mark.parametrize("named", ["copilot-language-server", "./x", "/nowhere/x", "/etc/passwd"])
def test_a_program_that_is_none(tmp_path: Path, named: str) -> None:
    with pytest.raises(NoProgramError):
        found_program(named, {"PATH": "/bin"}, tmp_path)


async def test_the_handshake(tmp_path: Path) -> None:
    async with hosting(tmp_path) as seen:
        methods = [one.get("method") for one in told(seen.program)]
        assert methods[:5] == [
            *("initialize", "initialized", "workspace/didChangeConfiguration", "checkStatus"),
            "conversation/registerTools",
        ]
        (greeting,) = told(seen.program, "initialize")
        assert set(greeting["params"]["initializationOptions"]) == {
            "editorInfo",
            "editorPluginInfo",
        }
        (told_,) = told(seen.program, "workspace/didChangeConfiguration")
        agent = told_["params"]["settings"]["github"]["copilot"]["agent"]
        assert agent == {
            "editorHandlesAllConfirmation": True,
            "enableHooks": False,
            "enablePlugins": False,
        }
        assert seen.reports == []
        assert seen.host.conversation.server.version == VERSION


async def test_nobody_is_signed_in(tmp_path: Path) -> None:
    async with hosting(tmp_path, status={"status": "NotSignedIn"}) as seen:
        (said,) = seen.reports
        assert said.startswith("the language server is not signed in (NotSignedIn): ")
        assert said.endswith("language-server sign-in")
        assert len(told(seen.program, "conversation/registerTools")) == 2


async def test_what_the_server_asks_is_answered(tmp_path: Path) -> None:
    asked: list[tuple[str, Any, Any]] = [
        ("window/showMessageRequest", {"type": 1, "message": "Sign in?", "actions": []}, None),
        ("window/showDocument", {"uri": "https://github.com/login"}, {"success": True}),
        ("workspace/configuration", {"items": [{}, {}]}, [None, None]),
        ("workspace/configuration", 5, []),
        ("client/registerCapability", {"registrations": []}, None),
        ("copilot/watchedFiles", {"workspaceUri": "file:///"}, {"files": []}),
    ]
    steps = [{"ask": method, "params": params} for method, params, _ in asked]
    async with hosting(tmp_path, [*steps, {"ask": "copilot/dynamicOAuth", "params": {}}]) as seen:
        await seen.turn()
        answered = [one for one in told(seen.program) if "method" not in one]
        assert [one.get("result") for one in answered] == [*(one[2] for one in asked), None]
        assert answered[-1]["error"]["code"] == -32601
        assert seen.reports == [
            "language server: Sign in?",
            "language server: look at https://github.com/login",
        ]


async def test_a_flood_of_messages_is_cut_off(tmp_path: Path) -> None:
    steps = [{"ask": "window/showMessageRequest", "params": {"message": "x"}}] * 250
    async with hosting(tmp_path, steps) as seen:
        await seen.turn()
        assert len(seen.reports) == 201
        assert seen.reports[-1] == "language server: … lines left out"


async def test_a_server_that_dies_ends_its_session(tmp_path: Path) -> None:
    async with hosting(tmp_path, [{"say": "x"}, {"die": 7}]) as seen:
        seen.prompt()
        why = await seen.ended()
        assert why == f"the language server has ended (7): {LAST_WORDS}"
        (closed,) = seen.gateway.of(SessionClose)
        assert closed.reason == why


async def test_a_server_that_hangs_is_given_up(tmp_path: Path) -> None:
    async with hosting(tmp_path, [{"hang": True}], timing=QUICK) as seen:
        seen.prompt()
        why = await seen.ended()
        assert why == "the server did not answer getVersion in 5 s"
        assert seen.gateway.of(SessionClose)
        assert seen.host.conversation.server.pid is None


@pytest.mark.parametrize(
    "raw",
    ["Content-Length: 99999999999\r\n\r\n", "Content-Length: x\r\n\r\n", "x" * 200_000],
    ids=["too long", "no length", "no end"],
)
async def test_a_server_that_writes_nonsense_is_given_up(tmp_path: Path, raw: str) -> None:
    async with hosting(tmp_path, [{"raw": raw}, {"wait": True}]) as seen:
        seen.prompt()
        assert (await seen.ended()).startswith("the server sent ")


@pytest.mark.parametrize(
    "answer", [None, 5, [], [5], {"conversationId": 5}, {"conversationId": {}}, "x"]
)
async def test_answers_of_other_shapes_are_no_answers(tmp_path: Path, answer: Any) -> None:
    given = {"initialize": answer, "checkStatus": answer, "conversation/registerTools": answer}
    async with hosting(tmp_path, [{"say": "x"}], answers=given) as seen:
        await seen.turn()
        assert seen.gateway.events("assistant.message") == [{"content": "x"}]


def host(tmp_path: Path, program: Path, timing: ServerTiming | None = None) -> LanguageServerHost:
    return LanguageServerHost(
        program=str(program),
        folder=tmp_path,
        environ=dict(os.environ),
        report=lambda text, level: None,
        timing=timing,
    )


async def test_a_server_that_does_not_start(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no program")
    text.chmod(0o755)
    with pytest.raises(HostEndedError, match="cannot be started"):
        await host(tmp_path, text).start()


async def test_a_server_that_ends_at_once(tmp_path: Path) -> None:
    with pytest.raises(HostEndedError, match=r"the language server has ended \(0\)"):
        await host(tmp_path, program(tmp_path / "bin")).start()


async def test_a_server_that_never_greets(tmp_path: Path) -> None:
    silent = installed(tmp_path / "bin", silent=["initialize"])
    quick = ServerTiming(start=0.2, end=0.2)
    with pytest.raises(HostEndedError, match=r"did not answer initialize in 0\.2 s"):
        await host(tmp_path, silent, quick).start()


async def test_a_start_that_is_given_up(tmp_path: Path) -> None:
    silent = installed(tmp_path / "bin", silent=["initialize"])
    starting = host(tmp_path, silent, ServerTiming(end=0.2))
    begun = asyncio.ensure_future(starting.start())
    await until_async(lambda: told(silent, "initialize"), what="its greeting")
    starting.stop()
    assert await begun is False
    assert starting.conversation.requests  # it was never begun


async def test_a_turn_that_does_not_end_when_it_is_stopped(tmp_path: Path) -> None:
    timing = ServerTiming(rest=0.2, end=0.2)
    async with hosting(tmp_path, [{"hang": True}], timing=timing) as seen:
        seen.prompt()
        await until_async(lambda: seen.gateway.events("assistant.turn_start"), what="a turn")
        seen.gateway.tell(SessionStop("stop", seen.session))
        result = await seen.gateway.got(OrderResult, id="stop", state="failed")
        assert result.error == "the turn does not end within 0.2 s"
