"""The real language server, offline: fifteen turns of a session, with a model that is scripted."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Command, provider, tower
from tests.conftest import missing
from tests.rig.gateway import Gateway, Home
from tests.rig.model_server import ModelServer, Rule
from tests.rig.peers import Peer
from tests.rig.signed_in_server import MODEL, PROVIDER, VERSION, find_server, installed
from tests.rig.taken import are_taken
from tests.rig.waiting import until_async

Json = dict[str, Any]
Call = tuple[str, Json]


@pytest.fixture
def program(home: Home, model: ModelServer) -> Path:
    """The server in the version of the lock file, signed in, with the scripted model."""
    server = find_server()
    if server is None:
        missing("the language server is not installed (npm ci in tests/live)")
        raise AssertionError
    return installed(home.root / "bin", server, model.url)


class Talk:
    """A session of the server's, at a tower that gives prompts and answers requests."""

    def __init__(self, watching: Peer, session: Json, model: ModelServer) -> None:
        self._watching = watching
        self._model = model
        self.session: str = session["id"]
        self._turns = 0

    async def turn(self, *calls: Call, allows: bool = True) -> list[Json]:
        """Have the model make these calls, one a round; return the turn's events."""
        await self.begin(*calls)
        events = await self.events(allows=allows)
        assert said(events)[-1] == f"end of turn-{self._turns:02}", events
        return events

    async def begin(self, *calls: Call) -> None:
        """Give the prompt of a turn in which the model makes these calls."""
        self._turns += 1
        name = f"turn-{self._turns:02}"
        last = f"end of {name}"
        first = Rule(calls=list(calls[:1]), when=name) if calls else Rule(last, when=name)
        rounds = [Rule(calls=[call], role="tool") for call in calls[1:]]
        self._model.script(first, *rounds, Rule(last, role="tool"))
        tell = {"type": "session.tell", "id": name, "sessionId": self.session}
        await self._watching.send({**tell, "text": f"Do {name}"})

    async def stop(self) -> None:
        await self._watching.send({"type": "session.stop", "id": "stop", "sessionId": self.session})

    async def next_event(self) -> Json:
        event: Json = (await self._watching.expect("tower.event"))["event"]
        return event

    async def events(self, *, allows: bool = True) -> list[Json]:
        """Return the events until the session rests; requests are answered meanwhile."""
        events: list[Json] = []
        while not events or events[-1].get("event") != "session.idle":
            events.append(event := await self.next_event())
            if event["kind"] == "approval.requested":
                answer = {"type": "approval.decide", "approvalId": event["approval"]["id"]}
                decision = "approve" if allows else "deny"
                await self._watching.send({**answer, "decision": decision})
        return events

    def result(self) -> str:
        """Return what the model read as the last result of a tool."""
        return [one for one in self._model.requests if one.role == "tool"][-1].text


def said(events: list[Json]) -> list[str]:
    return [one["data"]["content"] for one in events if one.get("event") == "assistant.message"]


def asked(events: list[Json]) -> list[Json]:
    return [one["approval"]["detail"] for one in events if one["kind"] == "approval.requested"]


def ended(events: list[Json]) -> list[tuple[str, str]]:
    """Return the calls that ended, and how."""
    calls = [one["call"] for one in events if one["kind"] == "call.finished"]
    return [(one["tool"], one["state"]) for one in calls]


def command(text: str) -> Call:
    return "run_in_terminal", {"command": text, "explanation": "to see"}


def create(file: Path, text: str) -> Call:
    return "create_file", {"filePath": str(file), "content": text}


def read(file: Path) -> Call:
    return "read_file", {"filePath": str(file)}


def replace(file: Path, old: str, new: str) -> Call:
    given = {"filePath": str(file), "oldString": old, "newString": new, "explanation": "x"}
    return "replace_string_in_file", given


def real(file: Path) -> str:
    return str(file.resolve())


def text_of(file: Path) -> str:
    return file.read_text()


@asynccontextmanager
async def talking(
    home: Home, gateway: Gateway, program: Path, model: ModelServer
) -> AsyncIterator[Talk]:
    """Run the command in the folder `work`, until the context ends."""
    watching = await tower(gateway)
    words = ("-w", str(home.root / "work"), "--program", str(program))
    running = await Command.start(home, "language-server", *words, "--model", f"{PROVIDER}/{MODEL}")
    while (event := (await watching.expect("tower.event"))["event"])["kind"] != "session.opened":
        pass
    try:
        yield Talk(watching, event["session"], model)
    finally:
        running.interrupt()
        await running.end()
        await watching.close()


async def test_fifteen_turns(
    home: Home, gateway: Gateway, program: Path, model: ModelServer
) -> None:
    work, secret = home.root / "work", home.root / "secret.txt"
    work.mkdir()
    notes = work / "notes.txt"
    notes.write_text("alpha\nbeta\ngamma\n")
    secret.write_text("hidden\n")
    mark = home.root / "a-hook-ran"
    add_hooks(work, mark)
    async with talking(home, gateway, program, model) as talk:
        await reading(talk, notes, secret)
        await writing(talk, notes, home.root)
        await running(talk, work)
        await calling(talk, home, gateway)
        await stopping(talk)
    assert not mark.exists()


def add_hooks(work: Path, mark: Path) -> None:
    """Have the folder name a program for each call and prompt, which the server would start."""
    hook = {"type": "command", "bash": f"touch {mark}"}
    names = ("preToolUse", "userPromptSubmitted", "sessionStart")
    folder = work / ".github" / "hooks"
    folder.mkdir(parents=True)
    content = {"version": 1, "hooks": {name: [hook] for name in names}}
    (folder / "hooks.json").write_text(json.dumps(content))


async def reading(talk: Talk, notes: Path, secret: Path) -> None:
    assert asked(await talk.turn()) == []

    events = await talk.turn(read(notes))
    assert (asked(events), ended(events)) == ([], [("read_file", "done")])
    assert "beta" in talk.result()

    events = await talk.turn(read(secret), allows=False)
    (detail,) = asked(events)
    assert (detail["kind"], detail["path"]) == ("read", real(secret))
    assert "hidden" not in talk.result()

    # Two rounds of one turn, in the folder: unasked.
    search = ("grep_search", {"query": "gamma", "isRegexp": False})
    events = await talk.turn(search, ("list_dir", {"path": str(notes.parent)}))
    assert asked(events) == []
    assert "notes.txt" in talk.result()


async def writing(talk: Talk, notes: Path, root: Path) -> None:
    new = notes.parent / "sub" / "new.txt"
    events = await talk.turn(create(new, "one\ntwo\n"))
    (detail,) = asked(events)
    assert (detail["kind"], detail["fileName"]) == ("write", real(new))
    assert "+one\n+two" in detail["diff"]
    assert text_of(new) == "one\ntwo\n"

    denied = notes.parent / "denied.txt"
    events = await talk.turn(create(denied, "x\n"), allows=False)
    assert ended(events) == [("create_file", "failed")]
    assert not denied.exists()

    outside = root / "outside.txt"
    assert asked(await talk.turn(create(outside, "x\n"))) == []
    assert not outside.exists()

    events = await talk.turn(replace(notes, "beta", "BETA"))
    (detail,) = asked(events)
    assert "-beta\n+BETA" in detail["diff"]
    assert text_of(notes) == "alpha\nBETA\ngamma\n"
    assert ended(events) == [("replace_string_in_file", "done")]

    # The server reads what was written here.
    await talk.turn(read(notes))
    assert "BETA" in talk.result()


async def running(talk: Talk, work: Path) -> None:
    events = await talk.turn(command("echo from-here; exit 3"))
    (detail,) = asked(events)
    assert (detail["kind"], detail["fullCommandText"]) == ("shell", "echo from-here; exit 3")
    assert "from-here\n[exit code 3]" in talk.result()
    (call,) = [one["call"] for one in events if one["kind"] == "call.finished"]
    assert call["exitCode"] == 3

    mark = work / "mark"
    events = await talk.turn(command(f"touch {mark}"), allows=False)
    assert len(asked(events)) == 1
    assert not mark.exists()


async def calling(talk: Talk, home: Home, gateway: Gateway) -> None:
    """A provider's tool, its error, and the tool once it is gone."""
    async with provider(gateway, session=talk.session) as one:
        await until_async(lambda: are_taken(home, talk.session, providers=1), what="its tools")
        fault = {"error": "nobody there", "errorCode": "NOT_FOUND"}
        for answer, text in (({"data": "hello you"}, "hello you"), (fault, "nobody there")):
            turning = asyncio.ensure_future(talk.turn(("greet", {"name": "you"})))
            call = await one.expect("tool.call")
            assert call["args"] == {"name": "you"}
            await one.send({"type": "tool.result", "id": call["id"], **answer})
            await turning
            assert text in talk.result()


async def stopping(talk: Talk) -> None:
    await talk.begin(command("sleep 1000"))
    while (await talk.next_event())["kind"] != "approval.requested":
        pass
    await talk.stop()
    events = await talk.events()
    assert "abort" in [one.get("event") for one in events]
    assert asked(await talk.turn()) == []


def test_the_server_is_the_version_of_the_lock_file() -> None:
    lock = json.loads((Path(__file__).parent / "package-lock.json").read_text())
    packages = [one for name, one in lock["packages"].items() if "language-server" in name]
    assert [one["version"] for one in packages] == [VERSION]
