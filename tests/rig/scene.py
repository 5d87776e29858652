"""The person at the machine, and an agent on it: terminals, a gateway in one of them, a session.

The tmux server of a test is the person's. The gateway asks on its own terminal, as `tapui serve`
does. A played agent is the foreground program of a terminal, as Copilot is; what wants to answer is
a real process, which leaves what came of it in a folder.
"""

import contextlib
import itertools
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import psutil

from tests.rig import escapes, played_agent, raw_client
from tests.rig.gateway import Home
from tests.rig.peers import Host, Json, Peer
from tests.rig.processes import has_ended
from tests.rig.tmux import Screen, Tmux
from tests.rig.waiting import HUNG, until, until_async

WITHIN = HUNG
Fate = Literal["refused", "taken", "asked", "ended"]
ASKED = ("terminal", "command")
"""Kinds of approvals that let a process answer."""


def python(module: Any, *args: str) -> str:
    """Return a shell's command that runs a module of the rig as a script."""
    return shlex.join([sys.executable, "-I", str(module.__file__), *args])


def escape(way: str) -> str:
    """Return what stands before a command that leaves its starter in a way of `escapes`."""
    return python(escapes, way)


@dataclass(frozen=True)
class Verdict:
    """What became of an attempt: refused or taken (with `command.asked`), asked in the tower (with
    its approval), or `ended` by itself before any of these."""

    fate: Fate
    seen: Json

    @property
    def why(self) -> str:
        """The reason of a refusal."""
        return str(self.seen.get("refused", ""))

    @property
    def kind(self) -> str:
        """What the person is asked: `terminal` or `command`."""
        return str(self.seen.get("kind", ""))


@dataclass(frozen=True)
class Attempt:
    """A script that answers an approval: `sh answer.sh`, wherever it is started."""

    folder: Path
    approval: str
    since: int
    """How many events there were before."""

    @property
    def command(self) -> str:
        """The command that runs it."""
        return f"sh {self.folder / 'answer.sh'}"

    @property
    def code(self) -> int | None:
        """The exit code, once it has ended."""
        file = self.folder / "code"
        return int(file.read_text()) if file.exists() else None

    @property
    def said(self) -> str:
        """What it has printed."""
        file = self.folder / "said"
        return file.read_text() if file.exists() else ""

    @property
    def terminal(self) -> str:
        """The terminal that it runs on, as `pts/7`."""
        return (self.folder / "tty").read_text().strip()


class Terminal:
    """A terminal of the person's with a shell: commands are typed, and their exit code read."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self._numbers = itertools.count(1)

    def enter(self, command: str) -> int:
        """Type a command; return the number by which its end is shown."""
        number = next(self._numbers)
        self.screen.type(f"{command}; printf '\\nend %s with %s\\n' {number} $?\n")
        return number

    async def ended(self, number: int) -> int:
        """Wait for the end of a command; return its exit code."""
        return int((await self.screen.seen(rf"^end {number} with (\d+)", within=WITHIN))[1])

    async def run(self, command: str) -> int:
        """Type a command, and return its exit code."""
        return await self.ended(self.enter(command))


class Scene:
    """One gateway with what a test needs around it; used as an async context manager.

    `person` is a terminal whose shell the person lets in.
    """

    def __init__(
        self, home: Home, tmux: Tmux, settings: str = "", user: Sequence[str] = ()
    ) -> None:
        self.home = home
        self.tmux = tmux
        self.user = user
        """What runs a shell of the person's with the rights that it is to have."""
        home.settle(settings)
        self._stack = AsyncExitStack()
        self._numbers = itertools.count(1)
        self._agents: list[psutil.Process] = []
        self.events: list[Json] = []

    async def __aenter__(self) -> Self:
        self.person = self.open_terminal()
        self._for_agent = self.open_terminal()
        self._for_gateway = self.open_terminal()
        self.start_gateway()
        await self.connect()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()
        self.kill_gateway()
        for agent in self._agents:
            with contextlib.suppress(psutil.NoSuchProcess):
                for one in (*agent.children(recursive=True), agent):
                    one.kill()
        for folder in {one.parent for one in self.home.root.glob("*/order.1")}:
            played_agent.stop(folder)

    def at_end(self, done: Callable[[], object]) -> None:
        """Do something before the gateway goes."""
        self._stack.callback(done)

    # The person

    @property
    def env(self) -> dict[str, str]:
        """The environment of the person's shells."""
        return self.home.env(PS1="ready ")

    def open_terminal(self, *argv: str, tmux: Tmux | None = None) -> Terminal:
        """Open a window on the person's tmux server, or on another; it runs a shell."""
        screen = (tmux or self.tmux).start(
            argv or [*self.user, "sh"], env=self.env, cwd=self.home.root, size=(160, 40)
        )
        screen.wait_for("^ready")
        return Terminal(screen)

    def split_terminal(self, terminal: Terminal) -> Terminal:
        """Open a pane beside the one of a terminal."""
        screen = terminal.screen.split([*self.user, "sh"], env=self.env, cwd=self.home.root)
        screen.wait_for("^ready")
        return Terminal(screen)

    def enter_inside(self, terminal: Terminal, command: str, prompt: str = "^inside") -> None:
        """Run a program with a shell in a terminal; what is typed goes to that shell from now on.

        `prompt` is what the shell shows: that of `PS1` in its environment, or one of its own.
        """
        terminal.screen.type(f"PS1='inside ' {command}\n")
        terminal.screen.wait_for(prompt)
        exports = " ".join(f"{name}={shlex.quote(value)}" for name, value in self.env.items())
        terminal.screen.type(f"export {exports}; clear\n")
        terminal.screen.wait_for("\\Aready")

    async def let_in(self, terminal: Terminal) -> None:
        """Let the shell of a terminal in: it answers once."""
        attempt = self.expected(await self.request())
        number = terminal.enter(f"tapui deny {attempt.approval}")
        verdict = await self.verdict(attempt)
        assert (verdict.fate, verdict.kind) == ("asked", "terminal"), verdict
        await self.answer(verdict)
        assert await terminal.ended(number) == 0
        assert (await self.host.expect("approval.answer"))["decision"] == "deny"

    async def answer(self, verdict: Verdict, key: str = "y") -> None:
        """Answer what the gateway asks on its own terminal, which takes no answer at first."""
        asked = str(verdict.seen["id"])

        async def pressed() -> bool:
            self._for_gateway.screen.keys(key, "Enter")
            try:
                return await until_async(lambda: self._is_settled(asked), within=1, what=key)
            except AssertionError:
                return False

        while not await pressed():
            assert not self._for_gateway.screen.is_dead

    def _is_settled(self, approval: str) -> bool:
        self.look()
        return any(
            one["kind"] == "approval.decided" and one["approval"]["id"] == approval
            for one in self.events
        )

    async def give_up(self, verdict: Verdict) -> None:
        """End the process that waits for an answer."""
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(int(verdict.seen["detail"]["line"][0].rpartition(" ")[2])).kill()
        asked = str(verdict.seen["id"])
        await self.event(
            lambda one: one["kind"] == "approval.withdrawn" and one["approval"]["id"] == asked,
            f"{asked} is withdrawn",
        )

    # The gateway

    def start_gateway(self, *more: str) -> None:
        """Start it in a shell of its own, as the person does."""
        words = " ".join(("serve", "--port", "0", "--no-attach", *more))
        self._for_gateway.enter(f"clear; tapui {words}")
        self.gateway: Json = until(
            self._announced, within=WITHIN, what=self._for_gateway.screen.text
        )

    def _announced(self) -> Json | None:
        for file in self.home.tapui.glob("run/*/gateway.json"):
            found: Json = json.loads(file.read_text())
            return None if has_ended(found["pid"]) else found
        return None

    def kill_gateway(self) -> None:
        """End it at once; what waits for it ends, too."""
        psutil.Process(self.gateway["pid"]).kill()
        until(lambda: has_ended(self.gateway["pid"]), what="the gateway is gone")

    async def connect(self) -> None:
        """Connect what plays the hosts, and what sees all events without being a tower."""
        self.host = await self._stack.enter_async_context(
            await Host.hello(self.url, self.internal_token)
        )
        self.observer = await self._stack.enter_async_context(
            await Peer.connect(self.url, token=self.internal_token)
        )
        await self.observer.send(
            {"type": "tower.hello", "protocolVersion": 2, "role": "client", "name": "observer"}
        )
        await self.observer.expect("tower.snapshot")

    @property
    def own_shell(self) -> Terminal:
        """The terminal in whose shell the gateway was started."""
        return self._for_gateway

    @property
    def url(self) -> str:
        """The gateway's address."""
        return str(self.gateway["url"])

    @property
    def token_file(self) -> str:
        """The file of the provider token."""
        return str(self.gateway["tokenFile"])

    @property
    def internal_token_file(self) -> str:
        """The file of the token of hosts and towers."""
        return str(self.gateway["internalTokenFile"])

    @property
    def internal_token(self) -> str:
        """The token of hosts and towers."""
        return Path(self.internal_token_file).read_text().strip()

    # The agent

    async def start_process(self, name: str, terminal: Terminal | None = None) -> Path:
        """Start a played agent in the foreground of a terminal; return its folder."""
        folder = self.home.root / name
        folder.mkdir()
        (terminal or self._for_agent).enter(python(played_agent, str(folder)))
        await until_async((folder / "pid").exists, within=WITHIN, what="the agent runs")
        self._agents.append(psutil.Process(self.pid_of(folder)))
        return folder

    async def start_agent(self, session: str = "s1", terminal: Terminal | None = None) -> Path:
        """Start an agent as above, and open its session."""
        folder = await self.start_process(f"agent-{session}", terminal)
        await self.host.open(session, pid=self.pid_of(folder))
        return folder

    async def end_agent(self, agent: Path, session: str = "s1") -> None:
        """Kill an agent, and close its session."""
        pid = self.pid_of(agent)
        psutil.Process(pid).kill()
        await until_async(lambda: has_ended(pid), what="the agent has ended")
        await self.host.send({"type": "session.close", "sessionId": session})
        await self.host.expect("session.closed", sessionId=session)

    @staticmethod
    def pid_of(agent: Path) -> int:
        """Return an agent's process id."""
        return int((agent / "pid").read_text())

    async def request(self, session: str = "s1") -> str:
        """Let a session ask for a permission; return the approval's id."""
        ask = f"{session}-r{next(self._numbers)}"
        detail = {"kind": "shell", "fullCommandText": f"echo {ask}"}
        await self.host.send(
            {
                "type": "approval.request",
                "id": ask,
                "sessionId": session,
                "kind": "permission",
                "detail": detail,
            }
        )
        approval = await self.event(
            lambda one: one["kind"] == "approval.requested" and one["approval"]["detail"] == detail,
            f"the request {ask}",
        )
        return str(approval["approval"]["id"])

    async def asked(self, kind: str) -> str:
        """Wait until the person is asked something of a kind; return the approval's id."""
        found = await self.event(
            lambda one: one["kind"] == "approval.requested" and one["approval"]["kind"] == kind,
            f"a request about {kind}",
        )
        return str(found["approval"]["id"])

    # What is seen

    def look(self) -> None:
        """Take the events that have come."""
        while (message := self.observer.inbox.take("tower.event", {})) is not None:
            self.events.append(message["event"])

    def requests(self, *kinds: str) -> list[str]:
        """Return the ids of what the person was asked so far, by kinds."""
        self.look()
        asked = [one["approval"] for one in self.events if one["kind"] == "approval.requested"]
        return [one["id"] for one in asked if one["kind"] in kinds]

    async def settled(self, approval: str) -> Json:
        """Wait until an approval is decided; return it as it is then."""
        found = await self.event(
            lambda one: one["kind"] == "approval.decided" and one["approval"]["id"] == approval,
            f"{approval} is decided",
        )
        return dict(found["approval"])

    async def event(self, fits: Any, what: str, since: int = 0) -> Json:
        """Wait for an event."""

        def there() -> Json | None:
            self.look()
            return next((one for one in self.events[since:] if fits(one)), None)

        return await until_async(there, within=WITHIN, what=lambda: f"{what}; {self._story()}")

    async def standing(self, approval: str) -> str:
        """Return the state of an approval, as one who comes now gets it."""
        async with await Peer.connect(self.url, token=self.internal_token) as one:
            hello = {"type": "tower.hello", "protocolVersion": 2, "role": "client"}
            await one.send(hello)
            state = (await one.expect("tower.snapshot"))["state"]
            found = {each["id"]: each for each in state["approvals"]}
            return str(found[approval]["state"])

    # Attempts

    def expected(self, approval: str) -> Attempt:
        """Return what a verdict is about that is answered in a terminal."""
        self.look()
        return Attempt(self.home.root, approval, len(self.events))

    def attempt(self, approval: str, command: str | None = None) -> Attempt:
        """Write a script that answers an approval with `command`, else with `tapui approve`."""
        self.look()
        folder = self.home.root / f"attempt-{next(self._numbers)}"
        folder.mkdir(0o700)
        env = "\n".join(f"export {k}={shlex.quote(v)}" for k, v in self.home.env().items())
        (folder / "answer.sh").write_text(
            f"{env}\ncd {folder}\nps -o tty= -p $$ >tty\n"
            f"{command or f'tapui approve {approval}'} >said 2>&1\n"
            "echo $? >code.new; mv code.new code\n"
        )
        return Attempt(folder, approval, len(self.events))

    def raw(self, approval: str, transport: str, role: str, name: str, *more: str) -> Attempt:
        """Write a script that approves over a raw WebSocket; `more` as `raw_client` has it."""
        decide = {"type": "approval.decide", "approvalId": approval, "decision": "approve"}
        command = self.raw_client(transport, role, name, json.dumps(decide), *more)
        return self.attempt(approval, command)

    def raw_client(self, transport: str, role: str, name: str, message: str, *more: str) -> str:
        """Return a shell's command that says a message over a raw WebSocket."""
        end = "-" if transport == "tcp" else str(self.gateway["socket"])
        token = self.token_file if role == "provider" else self.internal_token_file
        return python(raw_client, self.url, end, token, role, name, message, *more)

    async def verdict(self, attempt: Attempt) -> Verdict:
        """Wait until it is clear what becomes of an attempt."""

        def clear() -> Verdict | None:
            self.look()
            for event in self.events[attempt.since :]:
                if (found := _verdict(event, attempt.approval)) is not None:
                    return found
            return None if attempt.code is None else Verdict("ended", {"said": attempt.said})

        def story() -> str:
            return f"{attempt.command}: {attempt.said} {self._story()}"

        found = await until_async(clear, within=WITHIN, what=story)
        if found.fate != "ended":
            return found
        # What the gateway told before the program ended may still be unread.
        ask = f"ask{next(self._numbers)}"
        await self.observer.send({"type": "tools.read", "id": ask, "sessionId": "local"})
        await self.observer.expect("tools.list", id=ask, within=WITHIN)
        return clear() or found

    def _story(self) -> str:
        kinds = [(one["kind"], one.get("refused")) for one in self.events[-6:]]
        return f"the last events: {kinds}; the gateway:\n{self._for_gateway.screen.text()}"


def _verdict(event: Json, approval: str) -> Verdict | None:
    about = event.get("approval", {})
    match event["kind"]:
        case "command.asked" if event.get("approvalId") == approval:
            return Verdict("refused" if "refused" in event else "taken", event)
        case "approval.requested" if about["kind"] in ASKED:
            return Verdict("asked", about)
        case "approval.decided" if about["id"] == approval:
            return Verdict("taken", event)
    return None
