"""Plays a script in a session, and lets the person's answers decide how it goes on."""

import asyncio
import difflib
import itertools
import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import singledispatchmethod
from pathlib import Path

from tapui.cli.demo.committed import commit
from tapui.cli.demo.conversation import Conversation
from tapui.cli.demo.line import Json, ended
from tapui.cli.demo.script import (
    LATER,
    Ask,
    Delegate,
    Enquire,
    Fail,
    Intend,
    Meet,
    Mode,
    OneOf,
    Pause,
    Provided,
    Replace,
    Say,
    Script,
    Step,
    Tell,
    Use,
    Write,
)

CONTEXT = 64_000
"""Tokens of the context window."""
_AGENT_TOKENS = 9_000
"""Tokens that a subagent begins with."""
_COMPACTED_AT = 0.92
_COST = 0.33
_PIECES = 4
_NO_LEADS: Json = {"words": {}, "holding": [], "linked": [], "below": []}
"""What a host says of a command with no word that leads out of the folder."""
_PIECE = 0.25


@dataclass(frozen=True, slots=True)
class _Prompt:
    """What opens a turn: an event with its data; and the order behind it, if there is one."""

    opening: str
    data: Json
    order: str = ""


class Player:
    """A session of the demo.

    `pace` multiplies all seconds. With the same `seed` a script is played in the same way.
    """

    def __init__(
        self, conversation: Conversation, script: Script, folder: Path, *, seed: str, pace: float
    ) -> None:
        self._conversation = conversation
        self._script = script
        self._folder = folder
        self._pace = pace
        self._chosen = random.Random(f"{seed} {script.session} choices")  # noqa: S311 - a play
        self._varied = random.Random(f"{seed} {script.session} times")  # noqa: S311
        self._tokens = script.tokens
        self._mode = "interactive"
        self._answer = ""
        self._prompts: asyncio.Queue[_Prompt] = asyncio.Queue()
        self._stops: list[str] = []
        """Orders to stop that are reported when the session rests."""
        self._turn: asyncio.Task[None] | None = None
        self._agents: list[asyncio.Task[None]] = []
        """Those of the turn under way. They stay until its end, which looks at how each ended."""

    async def open(self) -> None:
        self._folder.mkdir()
        self._put(self._script.files)
        if self._script.is_recorded:
            own = {name: text for name, text in self._script.files.items() if "/" not in name}
            commit(self._folder, own)
        session = {
            "id": self._script.session,
            "label": self._script.label,
            "cwd": str(self._folder),
            "workspace": str(self._folder),
            "foreground": self._script.foreground,
            "mode": self._mode,
            "model": "scripted",
        }
        if self._script.is_recorded:
            session["shellTools"] = ["bash"]
        await self._conversation.open(session, self)
        await self._told_context()

    async def play(self) -> None:
        adding = asyncio.create_task(self._add_files())
        try:
            await self._play_turns()
        finally:
            await ended([adding])

    async def _add_files(self) -> None:
        await self._sleep(LATER)
        self._put(self._script.later_files)

    def _put(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self._folder / name).write_text(text)

    async def _play_turns(self) -> None:
        await self._sleep(self._script.begins)
        for turn in itertools.cycle(self._script.turns):
            prompt = self._chosen.choice(turn.prompts)
            await self._play_turn(turn.steps, "user.message", {"content": prompt})
            await self._rest(turn.rest)

    # What the gateway says

    def prompted(self, prompt: str, provider: str) -> None:
        """A provider's prompt is a turn, after the one under way."""
        data = {"content": prompt, "from": provider}
        self._prompts.put_nowait(_Prompt("prompt.injected", data))

    async def told(self, order: str, text: str, by: str, way: str) -> None:
        """The person's text is a turn, after the one under way, or as soon as that is stopped."""
        if self._turn is not None:
            await self._conversation.became(order, "stopping" if way == "stopFirst" else "queued")
            if way == "stopFirst":
                self.stop()
        self._prompts.put_nowait(_Prompt("user.message", {"content": text, "from": by}, order))

    async def ordered_to_stop(self, order: str) -> None:
        """Stop the turn under way, and tell when the session rests."""
        if self._turn is None:
            await self._conversation.became(order, "done")
        else:
            await self._conversation.became(order, "stopping")
            self._stops.append(order)
            self.stop()

    def stop(self) -> None:
        if self._turn is not None:
            self._turn.cancel()

    def set_mode(self, mode: str) -> None:
        """The mode has changed; in autopilot the agent does not ask before it acts."""
        self._mode = mode

    # Turns

    async def _rest(self, seconds: float) -> None:
        """Be idle, but for prompts of providers and of the person."""
        until = asyncio.get_running_loop().time() + seconds * self._pace
        while True:
            try:
                async with asyncio.timeout_at(until):
                    prompt = await self._prompts.get()
            except TimeoutError:
                return
            if prompt.order:
                await self._conversation.became(prompt.order, "done")
            await self._play_turn(self._script.woken, prompt.opening, prompt.data)

    async def _play_turn(self, steps: Iterable[Step], opening: str, prompt: Json) -> None:
        await self._event(opening, **prompt)
        await self._event("assistant.turn_start")
        turn = self._turn = asyncio.create_task(self._play_all(steps))
        try:
            await asyncio.wait([turn])
        finally:
            self._turn = None
            agents, self._agents = self._agents, []
            await ended([turn, *agents])
        if turn.cancelled():
            await self._event("abort", reason="stopped by the person")
        await self._event("session.idle", aborted=turn.cancelled())
        stops, self._stops = self._stops, []
        for order in stops:
            await self._conversation.became(order, "done")

    async def _play_all(self, steps: Iterable[Step], agent: str | None = None) -> None:
        for step in steps:
            self._tokens += self._varied.randrange(200, 1_200)
            await self._play(step, agent)

    @singledispatchmethod
    async def _play(self, step: object, agent: str | None) -> None:
        raise TypeError(f"no step of a script: {step!r}, {agent}")

    @_play.register
    async def _pause(self, step: Pause, agent: str | None) -> None:
        del agent
        await self._sleep(step.seconds)

    @_play.register
    async def _intend(self, step: Intend, agent: str | None) -> None:
        await self._event("assistant.intent", agent, intent=step.text)
        await self._sleep(0.3)

    @_play.register
    async def _say(self, step: Say, agent: str | None) -> None:
        text = step.text.replace("{answer}", self._answer)
        words = text.split(" ")
        for piece in range(1, _PIECES):
            written = " ".join(words[: len(words) * piece // _PIECES])
            if written and agent is None:
                await self._send("session.now", text=written)
            await self._sleep(_PIECE)
        await self._event("assistant.message", agent, content=text)
        await self._used(agent)

    @_play.register
    async def _call(self, step: Use, agent: str | None) -> None:
        call_id = self._conversation.new_id(step.tool)
        await self._start(call_id, step, agent)
        await self._carry_out(call_id, step, agent)

    @_play.register
    async def _ask(self, step: Ask, agent: str | None) -> None:
        call_id = self._conversation.new_id(step.call.tool)
        detail = {
            "kind": "shell",
            "fullCommandText": step.call.args["command"],
            "leads": {"folders": [str(self._folder)], "home": str(Path.home()), **_NO_LEADS},
        }
        if await self._is_allowed(call_id, step.intention, detail, step.call, agent):
            await self._carry_out(call_id, step.call, agent)
            await self._play_all(step.then, agent)
        else:
            await self._play_all(step.otherwise, agent)

    @_play.register
    async def _edit(self, step: Replace, agent: str | None) -> None:
        file = self._folder / step.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(step.text)
        text = step.text.replace(step.old, step.new)
        diff = difflib.unified_diff(
            step.text.splitlines(keepends=True),
            text.splitlines(keepends=True),
            f"a/{step.path}",
            f"b/{step.path}",
        )
        args = {"path": step.path, "old_str": step.old, "new_str": step.new}
        call = Use("edit", args, 0.2, "the text was replaced")
        call_id = self._conversation.new_id("edit")
        detail = {"kind": "write", "fileName": step.path, "diff": "".join(diff)}
        if await self._is_allowed(call_id, step.intention, detail, call, agent):
            file.write_text(text)
            await self._carry_out(call_id, call, agent)
            await self._play_all(step.then, agent)
        else:
            await self._play_all(step.otherwise, agent)

    @_play.register
    async def _write(self, step: Write, agent: str | None) -> None:
        call_id = self._conversation.new_id("edit")
        file = self._folder / step.path
        texts = {"old_str": file.read_text(), "new_str": step.text}
        call = Use("edit", {"path": step.path, **texts}, 0.2, "the text was replaced")
        await self._start(call_id, call, agent)
        file.write_text(step.text)
        await self._carry_out(call_id, call, agent)

    @_play.register
    async def _tell(self, step: Tell, agent: str | None) -> None:
        del agent
        await self._conversation.notice(step.text)

    @_play.register
    async def _question(self, step: Enquire, agent: str | None) -> None:
        kind = "userInput"
        detail: Json = {"question": step.text, "choices": step.choices, "allowFreeform": True}
        if step.schema is not None:
            kind, detail = "elicitation", {"message": step.text, "requestedSchema": step.schema}
        said = await self._conversation.approval(self._script.session, kind, detail)
        answer = said.get("answer")
        is_answered = said.get("decision") == "approve"
        self._answer = answer if isinstance(answer, str) else json.dumps(answer)
        await self._play_all(step.then if is_answered else step.otherwise, agent)

    @_play.register
    async def _mode_step(self, step: Mode, agent: str | None) -> None:
        if self._mode == step.mode:
            return
        args = {"mode": step.mode, "reason": step.reason}
        said = await self._conversation.outcome(self._script.session, "tap_set_session_mode", args)
        await self._play_all(step.otherwise if "error" in said else step.then, agent)

    @_play.register
    async def _provided(self, step: Provided, agent: str | None) -> None:
        del agent
        await self._conversation.outcome(
            self._script.session,
            step.tool,
            step.args,
            step.gives_up and step.gives_up * self._pace,
        )

    @_play.register
    async def _agent(self, step: Delegate, agent: str | None) -> None:
        del agent
        self._agents.append(asyncio.create_task(self._work_of(step)))
        await self._sleep(0.2)

    async def _work_of(self, step: Delegate) -> None:
        call_id, id_ = self._conversation.new_id("task"), self._conversation.new_id(step.name)
        args = {"agent_type": step.name, "description": step.description}
        call = Use("task", args, output="the subagent is done")
        await self._start(call_id, call, None)
        await self._event(
            "subagent.started",
            remoteSessionId=id_,
            agentName=step.name,
            toolCallId=call_id,
            description=step.description,
        )
        await self._event("session.context", id_, tokens=_AGENT_TOKENS, limit=CONTEXT)
        await self._play_all(step.steps, id_)
        await self._event("subagent.completed", agentName=step.name, toolCallId=call_id)
        await self._complete(call_id, call, None)

    @_play.register
    async def _meet(self, step: Meet, agent: str | None) -> None:
        del step, agent
        await asyncio.gather(*self._agents)

    @_play.register
    async def _one_of(self, step: OneOf, agent: str | None) -> None:
        await self._play_all(self._chosen.choice(step.choices), agent)

    @_play.register
    async def _fail(self, step: Fail, agent: str | None) -> None:
        await self._event("session.error", agent, errorType=step.kind, message=step.text)

    # Calls

    async def _is_allowed(
        self, call_id: str, intention: str, detail: Json, call: Use, agent: str | None
    ) -> bool:
        """Begin a call and ask whether it may run; in autopilot without a question."""
        await self._start(call_id, call, agent)
        if self._mode == "autopilot":
            return True
        asked = {**detail, "intention": intention, "toolCallId": call_id}
        said = await self._conversation.approval(self._script.session, "permission", asked)
        is_allowed: bool = said.get("decision") == "approve"
        if not is_allowed:
            await self._complete(call_id, call, agent, is_denied=True)
        return is_allowed

    async def _carry_out(self, call_id: str, call: Use, agent: str | None) -> None:
        await self._sleep(call.seconds)
        await self._complete(call_id, call, agent)

    async def _start(self, call_id: str, call: Use, agent: str | None) -> None:
        data: Json = {"tool": call.tool, "toolCallId": call_id, "args": call.args}
        await self._event("tool.execution_start", agent, **data)

    async def _complete(
        self, call_id: str, call: Use, agent: str | None, *, is_denied: bool = False
    ) -> None:
        result = {"type": "success", "output": call.output}
        if is_denied:
            result = {"type": "denied", "output": "it was not allowed"}
        data: Json = {"tool": call.tool, "toolCallId": call_id, "result": result}
        if call.exit_code is not None and not is_denied:
            data["exitCode"] = call.exit_code
            if self._script.is_recorded:
                data["shell"] = {"id": "1"}
        await self._event("tool.execution_complete", agent, **data)

    # Context

    async def _used(self, agent: str | None) -> None:
        """Tell what an answer used, and make the context smaller when it is nearly full."""
        output = self._varied.randrange(60, 600)
        await self._event(
            "assistant.usage",
            agent,
            model="scripted",
            inputTokens=self._tokens,
            outputTokens=output,
            cost=_COST,
        )
        await self._told_context()
        if agent is not None:
            used = _AGENT_TOKENS + output
            await self._event("session.context", agent, tokens=used, limit=CONTEXT)
        if agent is None and self._tokens > _COMPACTED_AT * CONTEXT:
            before = self._tokens
            await self._event("session.compaction_start")
            await self._sleep(2.0)
            self._tokens = before // 5
            gone = before - self._tokens
            await self._event(
                "session.compaction_complete", success=True, tokensBefore=before, tokensRemoved=gone
            )
            await self._told_context()

    async def _told_context(self) -> None:
        await self._event("session.context", tokens=min(self._tokens, CONTEXT), limit=CONTEXT)

    # The line

    async def _event(self, name: str, agent: str | None = None, **data: object) -> None:
        if agent is not None:
            data["agentId"] = agent
        await self._conversation.event(self._script.session, name, **data)

    async def _send(self, type_: str, **fields: object) -> None:
        await self._conversation.send(type_, self._script.session, **fields)

    async def _sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds * self._pace * self._varied.uniform(0.75, 1.25))
