"""A repository with a configuration, and what a tower sees of its emitters."""

import json
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from tests.rig.gateway import Gateway
from tests.rig.peers import Host, Json, Tower
from tests.rig.processes import below, has_ended
from tests.rig.waiting import HUNG, until_async

WITHIN = HUNG


def repository(folder: Path, *emitters: Json, streams: list[Json] | None = None) -> str:
    """Write a folder's configuration; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    said = {"streams": streams or [], "emitters": list(emitters)}
    (folder / "tap.config.json").write_text(json.dumps(said))
    return str(folder.resolve())


def script(folder: str, name: str, text: str) -> str:
    """Write a script of a folder; return the command that runs it."""
    Path(folder, name).write_text(text)
    return f"sh {name}"


def configuration(folder: str) -> Json:
    """Return what a folder's configuration says."""
    said: Json = json.loads(Path(folder, "tap.config.json").read_text())
    return said


def cut(folder: str) -> None:
    """Cut a folder's configuration, as if somebody were writing it."""
    file = Path(folder, "tap.config.json")
    file.write_text(file.read_text()[:-5])


class Watcher:
    """A host and a tower on a gateway: opens sessions, answers, and keeps what it sees."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self._stack = AsyncExitStack()
        self.emitters: dict[str, Json] = {}
        """By name, as they were told last."""
        self.gone: list[str] = []
        self.lines: dict[str, list[str]] = {}
        """Output of commands, by stream; a level other than keep stands before the text."""
        self.said: list[str] = []
        """Lines about emitters themselves."""
        self.waiting: dict[str, Json] = {}
        """Approvals that wait, by the emitter's name."""
        self.notices: list[str] = []
        self.commands_asked: list[Json] = []
        """What commands and towers wanted, and how each was judged."""

    async def __aenter__(self) -> Self:
        self.host = await Host.hello(self.gateway.url, self.gateway.internal_token)
        await self._stack.enter_async_context(self.host)
        self.tower = await Tower.hello(self.gateway.url, self.gateway.internal_token)
        await self._stack.enter_async_context(self.tower)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    # What is done

    async def allow(self, name: str, decision: str = "approve", **answer: Any) -> Json:
        """Answer whether an emitter may start; return what was shown."""
        await self.until(lambda: name in self.waiting, f"{name} asks")
        approval = self.waiting.pop(name)
        await self.tower.send(
            {
                "type": "approval.decide",
                "approvalId": approval["id"],
                "decision": decision,
                "answer": answer or None,
            }
        )
        return dict(approval["detail"])

    async def order(self, order: str, name: str = "", **more: Any) -> None:
        """Order something of an emitter."""
        id_ = self.emitters[name]["id"]
        await self.tower.send({"type": f"emitter.{order}", "emitterId": id_, **more})

    async def close(self, session: str) -> None:
        """End a session."""
        await self.host.send({"type": "session.close", "sessionId": session})

    # What is seen

    def look(self) -> None:
        """Take what has come."""
        for message in [one for one in self.tower.inbox.messages if self._take(one)]:
            self.tower.inbox.messages.remove(message)

    def _take(self, message: Json) -> bool:
        if message["type"] == "tower.notice":
            self.notices.append(message["message"])
            return True
        if message["type"] != "tower.event":
            return False
        event = message["event"]
        match event["kind"]:
            case "emitter.changed":
                self.emitters[event["emitter"]["name"]] = event["emitter"]
            case "emitter.counted":
                for one in self.emitters.values():
                    if one["id"] == event["emitterId"]:
                        one["counts"] = event["counts"]
            case "command.asked":
                self.commands_asked.append(event)
            case "emitter.gone":
                self.gone.append(event["name"])
            case "stream.posted":
                self._take_line(event)
            case "approval.requested" if event["approval"]["kind"] == "emitter":
                self.waiting[event["approval"]["detail"]["name"]] = event["approval"]
            case "approval.withdrawn":
                withdrawn = event["approval"]["id"]
                for name in [n for n, one in self.waiting.items() if one["id"] == withdrawn]:
                    del self.waiting[name]
        return True

    def _take_line(self, event: Json) -> None:
        line = event["line"]
        level = "" if line["level"] == "keep" else f"{line['level']}: "
        if line.get("metadata", {}).get("source") == "system":
            self.said.append(level + line["event"])
        else:
            self.lines.setdefault(event["stream"], []).append(level + line["event"])

    async def until(self, look: Any, what: str, within: float = WITHIN) -> Any:
        """Wait until `look` returns something."""

        def looked() -> Any:
            self.look()
            return look()

        return await until_async(looked, within=within, what=lambda: f"{what}; {self}")

    async def state(self, name: str, *states: str) -> Json:
        """Wait until an emitter is in one of the states; return it."""
        found = await self.until(
            lambda: self.emitters.get(name, {}).get("state") in states, f"{name} is {states}"
        )
        assert found
        return self.emitters[name]

    async def line(self, start: str, stream: str) -> str:
        """Wait for a line of a stream that begins so; return the rest of the last one."""
        return await self.next_line(start, stream, "")

    async def next_line(self, start: str, stream: str, former: str) -> str:
        """Wait until the last line that begins so goes on otherwise than `former`."""

        def last() -> str:
            found = [one for one in self.lines.get(stream, ()) if one.startswith(start)]
            return found[-1].removeprefix(start).strip() if found else former

        await self.until(lambda: last() != former, f"{start!r} in {stream}")
        return last()

    def __repr__(self) -> str:
        states = {name: one["state"] for name, one in self.emitters.items()}
        streams = {name: lines[-5:] for name, lines in self.lines.items()}
        return f"{states} {streams} {self.said[-5:]} {list(self.waiting)} {self.notices}"


async def until_dead(*pids: str) -> None:
    """Wait until processes are gone."""
    await until_async(
        lambda: all(has_ended(int(pid)) for pid in pids),
        within=WITHIN,
        what=lambda: f"{[pid for pid in pids if not has_ended(int(pid))]} of {pids} end",
    )


def helper_of(gateway: Gateway) -> psutil.Process | None:
    """Return the runner's helper process of a gateway."""
    found = below(gateway.pid, lambda argv: "tapui.emitters.runner" in argv)
    return found[0] if found else None
