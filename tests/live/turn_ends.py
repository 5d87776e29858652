"""Ends of turns in one attached session: is each one asked about, with and without `again`?

    python -m tests.live.turn_ends [--ends 200]

Half of the turns end at once, half are sent back once or twice. Then two prompts at a time: queued
ones, and `immediate` ones, which are sent while the model answers the first prompt, or once its
turn's end was asked about; every other time the agent is sent back. A prompt that joins the turn
under way has no end of its own, any other has one: the CLI records which of the two became of a
prompt (`delivery` of its `user.message`: `steering` is one that joins). Then ends beside a second
client, which comes with hooks, is asked as well, and leaves. Prints a line for each part, and fails
with the turns that were not asked about as often as they should be.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tapui.wire.host import SessionOpen, TurnEnding
from tapui.wire.message import SessionEvent
from tests.hosts.gateway import GatewayPlayed, HostThread
from tests.rig.copilot import Copilot
from tests.rig.model_server import ALWAYS, ModelServer, Rule
from tests.rig.tmux import Tmux
from tests.rig.waiting import until_async

TURN = 60.0
PAIRS = 10
"""Turns of each kind with two prompts."""


class Soak:
    """One CLI, the Copilot host attached to it, and a client that writes the prompts."""

    def __init__(self, gateway: GatewayPlayed, session: Any, sent: threading.Event) -> None:
        self.gateway = gateway
        self.session = session
        self.sent = sent
        """Set once all prompts of a turn were sent."""
        self.missed: list[str] = []

    async def turn(self, *prompts: str, mode: Any = None, is_late: bool = False) -> tuple[int, int]:
        """Send prompts; return how often an end was asked about, and how many prompts joined the
        turn of another. With `is_late` the second is sent once the first one's end was asked
        about."""
        begin = len(self.gateway.messages)
        self.sent.clear()
        await self.session.send(prompts[0])
        if is_late:
            self.sent.set()
            await until_async(lambda: self._ends(begin), within=TURN, what="the first end")
        for prompt in prompts[1:]:
            await self.session.send(prompt, mode=mode)
        self.sent.set()
        await until_async(lambda: self._is_over(begin, prompts), within=TURN, what="it is idle")
        given = self._given(begin)
        return self._ends(begin), sum(one.get("delivery") == "steering" for one in given.values())

    def _ends(self, begin: int) -> int:
        return sum(isinstance(one, TurnEnding) for one in self.gateway.messages[begin:])

    def _given(self, begin: int) -> dict[int, dict[str, Any]]:
        """Return what is recorded of the prompts, by their places among the messages."""
        told = enumerate(self.gateway.messages[begin:], begin)
        return {
            at: json.loads(bytes(one.data))
            for at, one in told
            if isinstance(one, SessionEvent) and one.event == "user.message"
        }

    def _is_over(self, begin: int, prompts: Sequence[str]) -> bool:
        """Return whether the session was idle after all of the prompts."""
        given = self._given(begin)
        if not set(prompts) <= {one["content"] for one in given.values()}:
            return False
        later = self.gateway.messages[max(given) :]
        return any(isinstance(one, SessionEvent) and one.event == "session.idle" for one in later)

    async def part(self, name: str, turns: int, again: Callable[[int], int], **how: Any) -> None:
        """Let so many turns end, each of which the gateway sends back `again` times."""
        asked: Counter[int] = Counter()
        wrong: dict[int, int] = {}
        joined = own = 0
        for number in range(turns):
            left = again(number)

            def goes_on(_ending: TurnEnding) -> str | None:
                nonlocal left
                left -= 1
                return "once more" if left >= 0 else None

            self.gateway.goes_on = goes_on
            prompts = [f"{name} {number}"] + ([f"{name} {number} too"] if "mode" in how else [])
            asked[number], joining = await self.turn(*prompts, **how)
            joined, own = joined + joining, own + len(prompts) - joining
            if asked[number] != len(prompts) - joining + again(number):
                wrong[number] = asked[number]
        self.gateway.goes_on = lambda _: None
        ends = f"{own} prompts with an end of their own, {joined} that joined another's turn"
        print(f"{name}: {ends}, {asked.total()} ends asked about, wrong: {wrong}", flush=True)
        self.missed += [f"{name} {one}" for one in wrong]


async def soak(ends: int) -> list[str]:
    """Return the turns that were not asked about as they should be."""
    from copilot import CopilotClient, RuntimeConnection

    with tempfile.TemporaryDirectory(prefix="turn-ends-") as folder, Tmux() as tmux:
        root = Path(folder)
        sent = threading.Event()
        first = Rule(text="ok", when=r"joined \d+\b(?! too)", times=ALWAYS, until=sent)
        with ModelServer(first, Rule(text="ok", times=ALWAYS)) as model:
            copilot = Copilot(
                tmux,
                home=root / "home",
                cache=root / "cache",
                cwd=root / "repo",
                model_url=model.url,
                args=("--ui-server", "--allow-all-tools"),
            )
            gateway = GatewayPlayed()

            async def client(**more: Any) -> tuple[Any, Any]:
                joined = CopilotClient(
                    connection=RuntimeConnection.for_uri(f"127.0.0.1:{copilot.port}")
                )
                await joined.start()
                about = {"tools": [], "suppress_resume_event": True, **more}
                return joined, await joined.resume_session(copilot.session_id, **about)

            with HostThread(gateway, copilot.copilot_home):
                await asyncio.to_thread(gateway.wait, SessionOpen, within=TURN)
                writer, session = await client()
                one = Soak(gateway, session, sent)
                await one.part("at once", ends // 2, lambda _: 0)
                await one.part("sent back", ends - ends // 2, lambda number: 1 + number % 2)
                await one.part("queued", PAIRS, lambda number: number % 2, mode="enqueue")
                await one.part("joined", PAIRS, lambda number: number % 2, mode="immediate")
                await one.part(
                    "late", PAIRS, lambda number: number % 2, mode="immediate", is_late=True
                )
                also: list[Any] = []

                async def asked_too(given: Any, _context: Any) -> None:
                    also.append(given)

                other, second = await client(hooks={"on_agent_stop": asked_too})
                await one.part("beside another", 5, lambda _: 0)
                print(f"the other client was asked about {len(also)} of 5")
                await second.disconnect()
                await other.stop()
                await one.part("alone again", 5, lambda number: number % 2)
                await writer.stop()
    return one.missed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ends", type=int, default=200)
    missed = asyncio.run(soak(parser.parse_args().ends))
    sys.exit(f"not asked about as they should be: {missed}" if missed else 0)
