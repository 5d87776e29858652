"""A host that starts sessions, played: each says something to its prompt and rests."""

import asyncio
from collections.abc import Sequence
from typing import TypeVar

from tests.rig.peers import Json, Peer

SAID = "here I am"
HostT = TypeVar("HostT", bound="StartingHost")


class StartingHost(Peer):
    """Answers starts, prompts and ends until it is closed; `asked` holds the permissions that its
    agent asks for first, `more` fields of its sessions, and `starts` what it was told to start."""

    asked: Sequence[Json] = ()
    problem: Json | None = None
    more: Json = {}  # noqa: RUF012 - never changed
    says = SAID

    async def live(self) -> None:
        """Do what a host does; runs until it is cancelled."""
        self.starts: list[Json] = []
        number = 0
        while True:
            told = await self.next(within=3600)
            match told.get("type"):
                case "session.start" if self.problem is not None:
                    self.starts.append(told)
                    await self.send({"type": "session.started", "id": told["id"], **self.problem})
                case "session.start":
                    self.starts.append(told)
                    number += 1
                    await self._begin(told, told.get("resume") or f"started-{number}")
                case "session.tell":
                    await self._turn(told)
                case "session.end":
                    await self.send({"type": "order.result", "id": told["id"], "state": "done"})
                    await self.send({"type": "session.close", "sessionId": told["sessionId"]})

    async def _begin(self, told: Json, id_: str) -> None:
        session = {"id": id_, "label": "x", "cwd": told.get("folder", "/"), "start": told["id"]}
        session |= {"headless": True, "can": ["tell", "stop", "close"], **self.more}
        await self.send({"type": "session.open", "session": session})
        await self.send({"type": "session.started", "id": told["id"], "sessionId": id_})

    async def _turn(self, told: Json) -> None:
        id_ = told["sessionId"]
        await self._event(id_, "user.message", content=told["text"])
        await self.send({"type": "order.result", "id": told["id"], "state": "done"})
        for number, detail in enumerate(self.asked):
            request = {"type": "approval.request", "id": f"{id_}-r{number}", "sessionId": id_}
            await self.send({**request, "kind": "permission", "detail": detail})
            await self.expect("approval.answer", id=f"{id_}-r{number}")
        await self._work(id_)
        await self._event(id_, "session.idle")

    async def _work(self, id_: str) -> None:
        await self._event(id_, "assistant.message", content=self.says)

    async def _event(self, id_: str, name: str, **data: object) -> None:
        message = {"type": "session.event", "sessionId": id_, "event": name, "data": data}
        await self.send(message)


async def start_host(
    url: str, internal_token: str, kind: type[HostT] = StartingHost
) -> tuple[HostT, "asyncio.Task[None]"]:
    """Connect such a host; return it with the task that it lives in."""
    host = await kind.connect(url, token=internal_token)
    hello = {"type": "host.hello", "name": "copilot", "kind": "test", "protocolVersion": 2}
    await host.send({**hello, "starts": True})
    await host.expect("host.ack")
    return host, asyncio.create_task(host.live())
