"""A session with the provider under test in it: what a test says, does and looks at."""

from typing import Any

from tapui.testing.memory_host import HostedSession
from tapui.testing.results import (
    CallResult,
    NativeVerdict,
    PromptedTurn,
    PushedLine,
    SentPrompt,
    StartedCall,
)
from tapui.testing.stage import LAST_MOMENT, Stage
from tapui.wire import limits
from tapui.wire.message import OfferedTool


class ProviderSession:
    """A session of the real gateway, in memory. A provider's fault fails the test as soon as it
    does something more here, and at the latest when it ends.

    The clock stands still until `advance` turns it; nothing else times out, but everything that
    is awaited here has `patience` real seconds.
    """

    def __init__(self, stage: Stage, hosted: HostedSession) -> None:
        self._stage = stage
        self._hosted = hosted
        self._read_prompts = 0
        self._read_pushes = 0

    @property
    def id(self) -> str:
        """The session's id."""
        return self._hosted.id

    # Tools

    @property
    def tools(self) -> dict[str, OfferedTool]:
        """The session's tools as its agent sees them, by name."""
        return {tool.name: tool for tool in self._hosted.tools}

    async def call(
        self, tool: str, args: dict[str, Any] | None = None, /, **more: Any
    ) -> CallResult:
        """Call a tool as the agent does, with arguments by name, and return how it ended."""
        result = await self.start(tool, args, **more).result
        self._stage.faults.check()
        return result

    def start(self, tool: str, args: dict[str, Any] | None = None, /, **more: Any) -> StartedCall:
        """Begin to call a tool; what is returned gives progress and the result, and cancels."""
        self._stage.faults.check()
        host = self._stage.host
        invoke = host.invoke(self._hosted, tool, {**(args or {}), **more})
        call = StartedCall(
            tool,
            lambda reason: host.abort(invoke, reason),
            self._stage.wait,
            self._stage.call_errors,
        )
        host.call(invoke, call)
        return call

    @property
    def cancelling(self) -> int:
        """How many calls have ended for the agent that the provider has not answered yet."""
        calls = self._stage.gateway.core.state.calls.values()
        return sum(call.state == "cancelling" for call in calls)

    async def native(
        self, tool: str, args: dict[str, Any] | None = None, /, **more: Any
    ) -> NativeVerdict:
        """Ask whether a tool of the session's own may run, as `bash` with a command.

        Rules and gates of the provider decide. Subscribers hear of a call that may run as one
        that has run.
        """
        given = {**(args or {}), **more}
        answer = self._stage.host.ask_native(self._hosted, tool, given)
        decided = await self._stage.wait(answer, f"no gate has answered for '{tool}'")
        verdict = NativeVerdict.of(decided)
        if verdict.is_allowed:
            about = {"tool": tool, "toolCallId": decided.id}
            await self.happens("tool.execution_start", **about, args=given)
            await self.happens("tool.execution_complete", **about, result={"type": "success"})
        self._stage.faults.check()
        return verdict

    # Turns and prompts

    async def turn(self, prompt: str, **sections: str) -> PromptedTurn:
        """Send a prompt as the person does: its turn begins, and is over when this returns.

        `sections` are parts of the system prompt, which transforms change.
        """
        answer = self._stage.host.prepare(self._hosted, prompt, sections, is_prompt=True)
        prepared = await self._stage.wait(answer, "the prompt was not prepared")
        await self.happens("user.message", content=prompt)
        await self.happens("assistant.turn_start")
        if not self._hosted.is_busy:
            await self.happens("session.idle")
        return PromptedTurn.of(prompt, prepared)

    async def transformed(self, section: str, current: str) -> str:
        """Return what the provider makes of a section of the system prompt."""
        answer = self._stage.host.prepare(self._hosted, "", {section: current}, is_prompt=False)
        prepared = await self._stage.wait(answer, f"section '{section}' was not transformed")
        self._stage.faults.check()
        return prepared.sections[section]

    @property
    def prompts(self) -> list[SentPrompt]:
        """The prompts that providers have sent into the session, oldest first."""
        return list(self._hosted.prompts)

    async def next_prompt(self) -> SentPrompt:
        """Return the next prompt of a provider that this has not returned yet."""
        while len(self._hosted.prompts) == self._read_prompts:
            self._hosted.news.clear()
            await self._stage.wait(self._hosted.news.wait(), "no prompt has come")
        self._read_prompts += 1
        return self._hosted.prompts[self._read_prompts - 1]

    # What providers tell

    @property
    def pushes(self) -> list[PushedLine]:
        """The lines of all streams, oldest first. What a filter dropped is not among them."""
        return list(self._hosted.lines)

    async def next_push(self) -> PushedLine:
        """Return the next line of a stream that this has not returned yet."""
        while len(self._hosted.lines) == self._read_pushes:
            self._hosted.news.clear()
            await self._stage.wait(self._hosted.news.wait(), "no line has come")
        self._read_pushes += 1
        return self._hosted.lines[self._read_pushes - 1]

    def stream(self, name: str) -> list[PushedLine]:
        """Return the lines of a stream, by its own name or as `stream@provider`."""
        return [
            line for line in self._hosted.lines if name in (line.stream, line.stream.split("@")[0])
        ]

    @property
    def timeline(self) -> list[str]:
        """What was shown in the session's timeline: surfaced lines, warnings of the gateway."""
        return list(self._hosted.timeline)

    # What happens

    async def happens(self, event: str, /, **data: Any) -> None:
        """Let something happen in the session, which its subscribers hear of."""
        self._stage.host.event(self._hosted, event, data)
        await self._stage.settled()

    async def busy(self) -> None:
        """Let the agent work until `idle`: prompts of providers wait meanwhile."""
        self._hosted.is_busy = True
        await self.happens("session.busy")

    async def idle(self) -> None:
        """Let the agent rest, and return when all that this has set off is done."""
        self._hosted.is_busy = False
        await self.happens("session.idle")
        await self._stage.advance(limits.TOOLS_QUIET_MAX)
        self._stage.faults.check()

    async def advance(self, seconds: float) -> None:
        """Let time pass: deadlines of the gateway and pauses of the provider come in order."""
        await self._stage.advance(seconds)
        self._stage.faults.check()

    # The connection

    @property
    def is_bound(self) -> bool:
        """Whether the provider is connected and bound."""
        return self._stage.is_bound

    async def disconnect(self, *, keep_out: bool = False) -> None:
        """Break the provider's connection. With `keep_out` it finds no gateway until `reconnected`.

        Calls under way end `DISCONNECTED`.
        """
        self._stage.disconnect(keep_out=keep_out)
        await self._stage.settled()

    async def reconnected(self) -> None:
        """Return when the provider is bound again; its pauses pass on the clock."""
        self._stage.let_in()
        await self._stage.bound()

    async def restart_gateway(self) -> None:
        """Kill the gateway and start another, which knows nothing of the former."""
        self._stage.restart_gateway()
        await self._stage.settled()

    async def another(self, id_: str) -> "ProviderSession":
        """Open another session beside this one, for a provider that is bound to all."""
        hosted = HostedSession(id_, id_, self._hosted.cwd)
        self._stage.host.open(hosted)
        await self._stage.advance(limits.TOOLS_QUIET_MAX)
        return ProviderSession(self._stage, hosted)

    async def shutdown(self) -> bool:
        """Close the session; return whether the provider was done before its deadline."""
        self._stage.host.close(self._hosted)
        await self._stage.has_settled(LAST_MOMENT)
        is_in_time = not self._hosted.is_open
        if not is_in_time:
            await self._stage.advance(limits.SHUTDOWN_MS / 1000)
        self._stage.faults.check()
        return is_in_time
