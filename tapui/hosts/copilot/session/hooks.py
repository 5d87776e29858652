"""The session's hooks: before each tool and each prompt, the gateway is asked.

The CLI awaits a hook for as long as its client lives, and takes silence of a client that died, and
failures of a hook, for "go ahead". So each question here has an end, and every end of a question
about a tool other than a plain yes is a refusal; unless the gateway has said that no rule and no
gate is in force, and then could not be asked: Copilot's own question to the person stays.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from tapui.hosts.copilot.connection import OnHook
from tapui.hosts.copilot.uplink import SessionUplink
from tapui.text import safe_text
from tapui.wire import limits
from tapui.wire.codec import raw
from tapui.wire.errors import ErrorCode
from tapui.wire.host import (
    ApprovalAnswer,
    ApprovalRequest,
    ApprovalWithdraw,
    HookDecision,
    HookPreToolUse,
    PromptHeld,
    PromptPrepared,
    PromptSubmitted,
    TurnEnd,
    TurnEnding,
)
from tapui.wire.message import Error

Asker = Literal["copilot", "hook", "tapui"]
"""Who puts the question of a rule to the person: Copilot by itself, Copilot because a `hook` wants
it, or tapui while the hook waits."""
REASON_LENGTH = 2_000
"""Characters of a refusal's reason: the CLI shows it, and the model reads it."""
LEFT = "tapui is leaving the session and its providers cannot be asked; try again in a while"
"""The reason of what is refused at the end."""

STOPPED = "the turn was stopped"
LAST_WORDS = 4_000
"""Characters of what the agent wrote last that the gateway gets at a turn's end: the last."""

_Answer = HookDecision | PromptPrepared | TurnEnd | Error


class CliHooks:
    """The hooks of one session.

    Nothing is asked until `open()`: what comes before waits, within its time. After `close()` the
    session is no longer tapui's to govern, and every tool and prompt goes ahead. `asker` says who
    puts the question of a rule to the person now, `call_of` which call a tool and its arguments
    are, `last_words` what the agent wrote last in this turn. The end of a turn waits for nothing:
    it is asked about while the session is open, and ends without an answer.
    """

    def __init__(
        self,
        uplink: SessionUplink,
        *,
        asker: Callable[[], Asker],
        call_of: Callable[[str, Any], str | None] = lambda _tool, _args: None,
        last_words: Callable[[], str] = str,
    ) -> None:
        self._uplink = uplink
        self._timing = uplink.timing
        self._asker = asker
        self._call_of = call_of
        self._last_words = last_words
        self.has_run = False
        """Whether the CLI has asked about a tool."""
        self._is_closed = False
        self._is_guarded = True
        """Whether a rule or a gate may refuse a tool, as far as the gateway has said."""
        self._opened = asyncio.Event()
        self._asked: dict[str, asyncio.Future[_Answer]] = {}
        self._for_person: dict[str, asyncio.Future[str | None]] = {}
        """Questions of rules to the person, by their ids: None allows, a text denies."""
        self._denial = (0, "")
        """How often all of these were denied at once, and why the last time."""
        self._answering: set[asyncio.Task[Any]] = set()
        """The connection's tasks that wait for a hook here; each ends with the CLI's answer."""

    def handlers(self) -> dict[str, OnHook]:
        return {
            "preToolUse": self._before_tool,
            "userPromptSubmitted": self._before_prompt,
            "agentStop": self._turn_ends,
            "subagentStop": self._subagent_ends,
        }

    def open(self) -> None:
        """The gateway knows the session, and was told all that happened in it so far."""
        self._opened.set()

    def hold(self) -> None:
        """The connection to the CLI is gone: give up what was asked, wait for `open()` again."""
        if not self._is_closed:
            self._opened.clear()
        self._answer_all("deny")

    def close(self) -> None:
        self._is_closed = True
        self._opened.set()
        self._answer_all("deny")

    def guarded(self, *, is_guarded: bool) -> None:
        self._is_guarded = is_guarded

    async def leave(self, *, is_lost: bool = False) -> None:
        """Close, and return when the CLI has been told what came of the tools that waited.

        They are refused: their gates had not said yes. With `is_lost`, the gateway is gone and
        no question can be asked: the CLI goes on with its own question to the person.
        """
        if is_lost:
            self._answer_all("allow")
        self.close()
        if self._answering:
            await asyncio.wait(self._answering)

    def _answer_all(self, decision: Literal["allow", "deny"]) -> None:
        for id_, asked in self._asked.items():
            if not asked.done():
                asked.set_result(HookDecision(id_, decision, reason=LEFT))
        self._deny_all(LEFT)

    def _deny_all(self, reason: str) -> None:
        self._denial = self._denial[0] + 1, reason
        for for_person in self._for_person.values():
            if not for_person.done():
                for_person.set_result(reason)

    def stopped(self) -> None:
        """The turn was stopped: the CLI waits for its hooks until it can end it."""
        self._deny_all(STOPPED)

    def answered(self, answer: ApprovalAnswer) -> bool:
        """Take the person's answer; return whether it is to a question from here."""
        for_person = self._for_person.pop(answer.id, None)
        if for_person is None:
            return False
        if not for_person.done():
            why = "it was not answered in time" if answer.decision == "expired" else "denied"
            is_yes = answer.decision == "approve"
            for_person.set_result(None if is_yes else answer.reason or why)
        return True

    async def _ask(
        self,
        question: HookPreToolUse | PromptSubmitted | TurnEnding,
        limit: asyncio.Timeout | None = None,
    ) -> _Answer:
        """Return the gateway's answer. `limit` is lifted while the gateway asks the person."""
        asked: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        self._asked[question.id] = asked

        def on_answer(answer: _Answer | PromptHeld) -> None:
            if isinstance(answer, PromptHeld):
                if limit is not None:
                    limit.reschedule(None)  # the person is asked: that takes as long as it takes
            elif not asked.done():
                asked.set_result(answer)

        self._uplink.answers[question.id] = on_answer
        self._uplink.send(question)
        try:
            return await asked
        finally:
            del self._asked[question.id], self._uplink.answers[question.id]

    # Tools

    async def _before_tool(self, given: Mapping[str, Any]) -> dict[str, Any] | None:
        self.has_run = True
        if (task := asyncio.current_task()) is not None:
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        try:
            async with asyncio.timeout(self._timing.decision) as limit:
                await self._opened.wait()
                return None if self._is_closed else await self._decide(given, limit)
        except TimeoutError:
            text = (
                f"tapui did not decide about {given.get('toolName')} in {self._timing.decision:g} s"
            )
            return self._undecided(text, "Restart tapui if this happens again.")
        except (msgspec.MsgspecError, LookupError, TypeError, ValueError, OverflowError) as error:
            text = f"tapui cannot read this call ({error})"
            return self._undecided(text, "Update tapui, or leave the tower.")

    def _undecided(self, text: str, advice: str = "") -> dict[str, Any] | None:
        """Refuse a tool about which the gateway could not be asked, where it might have refused."""
        if not self._is_guarded:
            self._uplink.report(
                f"{text}; it was left to Copilot, as no rule and no gate is in force", "warning"
            )
            return None
        self._uplink.report(f"{text}; it was refused", "warning")
        return _refusal(f"{text}. {advice}" if advice else text)

    async def _decide(
        self, given: Mapping[str, Any], limit: asyncio.Timeout
    ) -> dict[str, Any] | None:
        denial, args = self._denial, raw(_arguments(given["toolArgs"]))
        tool, session_id = given["toolName"], given["sessionId"]
        answer = await self._ask(HookPreToolUse(self._uplink.new_id(), session_id, tool, args))
        if isinstance(answer, Error) and session_id != self._uplink.id:
            # A subagent that began before tapui came: the session's own rules hold for it.
            again = HookPreToolUse(self._uplink.new_id(), self._uplink.id, tool, args)
            answer = await self._ask(again)
        match answer:
            case HookDecision(decision="allow"):
                return None  # not "allow", which would take the person's own prompt away
            case HookDecision(decision="context" | "ask"):
                context = {"additionalContext": answer.context} if answer.context else {}
                asker = self._asker() if answer.decision == "ask" else "copilot"
                if asker == "hook":
                    why = _shown(answer.reason or "")
                    context |= {"permissionDecision": "ask", "permissionDecisionReason": why}
                elif asker == "tapui" and denial != self._denial:
                    return _refusal(self._denial[1])  # meanwhile
                elif asker == "tapui":
                    limit.reschedule(None)  # that takes as long as it takes
                    denied = await self._ask_person(tool, given["toolArgs"], answer.reason or "")
                    if denied is not None:
                        return _refusal(denied)
                return context or None
            case HookDecision():
                return _refusal(answer.reason or "denied")
            case Error(code=ErrorCode.INVALID_SESSION):
                return _refusal(LEFT)  # the gateway is ending, and this host with it
            case _:
                said = answer.message if isinstance(answer, Error) else "nothing"
                return self._undecided(f"tapui could not decide: the gateway said {said}")

    async def _ask_person(self, tool: str, args: Any, why: str) -> str | None:
        """Ask in the tower whether a tool may run; return None for yes, else why not. It has the
        form of the CLI's own question about a tool that a hook holds back."""
        id_ = self._uplink.new_id()
        asked = {"kind": "hook", "toolName": tool, "toolArgs": _arguments(args), "hookMessage": why}
        call_id = self._call_of(tool, args)
        detail = asked if call_id is None else asked | {"toolCallId": call_id}
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._for_person[id_] = answer

        def on_refusal(error: Error) -> None:
            if self._for_person.pop(id_, None) is not None and not answer.done():
                answer.set_result(f"tapui could not ask you about it: {error.message}")

        self._uplink.answers[id_] = on_refusal
        request = ApprovalRequest(id_, self._uplink.id, kind="permission", detail=raw(detail))
        self._uplink.send(request)
        try:
            return await answer
        finally:
            del self._uplink.answers[id_]
            if self._for_person.pop(id_, None) is not None:
                self._uplink.send(ApprovalWithdraw(id_))

    # Prompts

    async def _before_prompt(self, given: Mapping[str, Any]) -> dict[str, Any] | None:
        if given.get("sessionId", self._uplink.id) != self._uplink.id:
            return None  # what an agent tells its own subagent
        try:
            async with asyncio.timeout(self._timing.prompt) as limit:
                await self._opened.wait()
                if self._is_closed:
                    return None
                prompt = PromptSubmitted(self._uplink.new_id(), self._uplink.id, given["prompt"])
                answer = await self._ask(prompt, limit)
        except TimeoutError:
            self._uplink.report(
                f"a prompt was not prepared in {self._timing.prompt:g} s; it went out without "
                "the providers' context",
                "warning",
            )
            return None
        if not isinstance(answer, PromptPrepared):
            if isinstance(answer, Error):
                self._uplink.report(f"a prompt went out as it was: {answer.message}", "warning")
            return None
        if answer.refused is not None:
            reason = safe_text(answer.refused, limit=REASON_LENGTH, newlines=True)
            return {"decision": "block", "reason": reason}
        return {"additionalContext": "\n\n".join(answer.context)} if answer.context else None

    # Ends of turns

    async def _turn_ends(self, given: Mapping[str, Any]) -> dict[str, Any] | None:
        reason = await self._go_on(given, self._last_words())
        return None if reason is None else {"decision": "block", "reason": reason}

    async def _subagent_ends(self, given: Mapping[str, Any]) -> dict[str, Any] | None:
        reason = await self._go_on(given, given.get("response"))
        return None if reason is None else {"decision": "block", "reason": reason}

    async def _go_on(self, given: Mapping[str, Any], said: Any) -> str | None:
        """Return why the agent is to go on; None where its turn ends."""
        if self._is_closed or not self._opened.is_set():
            return None
        if given.get("sessionId") != self._uplink.id:
            return None
        agent = given.get("agentId")
        ending = TurnEnding(
            self._uplink.new_id(),
            self._uplink.id,
            agent if isinstance(agent, str) and len(agent) <= limits.MAX_ID else None,
            said[-LAST_WORDS:] if isinstance(said, str) and said else None,
            True in (given.get("stop_hook_active"), given.get("stopHookActive")),
        )
        try:
            async with asyncio.timeout(self._timing.turn_end):
                answer = await self._ask(ending)
        except TimeoutError:
            silent = f"the gateway said nothing in {self._timing.turn_end:g} s"
            self._uplink.report(f"a turn ended unasked: {silent}", "warning")
            return None
        if isinstance(answer, Error):
            self._uplink.report(f"a turn ended unasked: {answer.message}", "warning")
        if not isinstance(answer, TurnEnd) or answer.decision != "again":
            return None
        return _shown(answer.reason or "") or None

    async def section(self, name: str, text: str) -> str:
        """Return a section as the providers want it; unchanged where that is not known in time."""
        try:
            async with asyncio.timeout(self._timing.prompt):
                await self._opened.wait()
                if self._is_closed:
                    return text
                id_, sections = self._uplink.new_id(), {name: text}
                question = PromptSubmitted(id_, self._uplink.id, "", sections, only_sections=True)
                answer = await self._ask(question)
        except TimeoutError:
            self._uplink.report(
                f"section {name} of the system prompt was not changed: no answer in "
                f"{self._timing.prompt:g} s",
                "warning",
            )
            return text
        if isinstance(answer, Error):
            told = f"section {name} of the system prompt stays unchanged: {answer.message}"
            self._uplink.report(told, "warning")
        return answer.sections.get(name, text) if isinstance(answer, PromptPrepared) else text


def _refusal(reason: str) -> dict[str, Any]:
    return {"permissionDecision": "deny", "permissionDecisionReason": _shown(reason)}


def _shown(reason: str) -> str:
    return safe_text(reason, limit=REASON_LENGTH, newlines=True)


def _arguments(given: Any) -> dict[str, Any]:
    """Return a tool's arguments as an object, which rules look into."""
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            return {"input": given}
    if given is None:
        return {}
    return given if isinstance(given, dict) else {"input": given}
