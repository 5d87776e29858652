"""The hooks of a session: what the CLI gets for each answer of the gateway, and for none."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tapui.hosts.copilot.session.hooks import LEFT, STOPPED, Asker, CliHooks
from tapui.hosts.copilot.uplink import HostTiming, SessionUplink
from tapui.wire.errors import ErrorCode
from tapui.wire.host import (
    ApprovalAnswer,
    ApprovalWithdraw,
    HookDecision,
    HookPreToolUse,
    PromptHeld,
    PromptPrepared,
    PromptSubmitted,
    TurnEnd,
    TurnEnding,
)
from tapui.wire.message import Error, Message
from tests.rig.waiting import until_async

Answer = Callable[[Any], Message | None]


class Asked:
    """Hooks of the session `s1`, and the gateway that `answer`s their questions a turn later."""

    def __init__(self, answer: Answer = lambda _: None, timing: HostTiming | None = None) -> None:
        self.questions: list[Any] = []
        self.reports: list[str] = []
        self.came = asyncio.Event()
        self._answer = answer
        self.asker: Asker = "copilot"
        self.answer_later = False
        uplink = SessionUplink(
            self._send,
            lambda: f"c{len(self.questions)}",
            lambda text, _: self.reports.append(text),
            timing or HostTiming(),
            id="s1",
            spawn=asyncio.create_task,
        )
        self.hooks = CliHooks(
            uplink,
            asker=lambda: self.asker,
            call_of=lambda tool, args: f"{tool} {args}",
            last_words=lambda: "all done",
        )
        self.answers = uplink.answers

    def _send(self, question: Message) -> None:
        self.questions.append(question)
        self.came.set()
        answer: Any = self._answer(question)
        if answer is not None and not self.answer_later:
            asyncio.get_running_loop().call_soon(self.answers[answer.id], answer)

    async def tool(self, args: Any = None, *, tool: str = "bash", session_id: str = "s1") -> Any:
        """Run the hook before a tool, as the CLI does."""
        handler: Any = self.hooks.handlers()["preToolUse"]
        given = {**_base(session_id), "toolName": tool, "toolArgs": args}
        return await asyncio.create_task(handler(given))

    async def prompt(self, text: str, *, session_id: str = "s1") -> Any:
        """Run the hook before a prompt, as the CLI does."""
        handler: Any = self.hooks.handlers()["userPromptSubmitted"]
        return await handler({**_base(session_id), "prompt": text})

    async def stop(self, **given: Any) -> Any:
        """Run the hook at a turn's end, as the CLI does."""
        handler: Any = self.hooks.handlers()["agentStop"]
        return await handler({**_base("s1"), **given})


def _base(session_id: str) -> dict[str, Any]:
    return {"sessionId": session_id, "timestamp": datetime.now(UTC), "workingDirectory": "/code"}


def asked(answer: Answer = lambda _: None, timing: HostTiming | None = None) -> Asked:
    """Return hooks that are open."""
    one = Asked(answer, timing)
    one.hooks.open()
    return one


def refusal(reason: str) -> dict[str, str]:
    return {"permissionDecision": "deny", "permissionDecisionReason": reason}


async def test_yes_says_nothing_so_that_the_cli_still_asks_the_person() -> None:
    one = asked(lambda q: HookDecision(q.id, "allow"))
    assert await one.tool({"command": "ls"}) is None
    question = one.questions[0]
    assert isinstance(question, HookPreToolUse)
    assert (question.session_id, question.tool) == ("s1", "bash")
    assert msgspec.json.decode(question.args) == {"command": "ls"}


async def test_no_refuses_with_a_reason_that_a_screen_can_show() -> None:
    one = asked(lambda q: HookDecision(q.id, "deny", reason="not on\x1b[2J a Friday"))
    assert await one.tool() == refusal("not on\\x1b[2J a Friday")


async def test_context_is_handed_on_and_decides_nothing() -> None:
    one = asked(lambda q: HookDecision(q.id, "context", context="mind the gap"))
    assert await one.tool() == {"additionalContext": "mind the gap"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, {}),
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ("*** Begin Patch", {"input": "*** Begin Patch"}),
        ("{broken", {"input": "{broken"}),
        ([1], {"input": [1]}),
    ],
)
async def test_rules_see_arguments_of_every_shape(given: Any, told: dict[str, Any]) -> None:
    one = asked(lambda q: HookDecision(q.id, "allow"))
    assert await one.tool(given) is None
    assert msgspec.json.decode(one.questions[0].args) == told


async def test_arguments_that_cannot_be_told_are_refused() -> None:
    one = asked(lambda q: HookDecision(q.id, "allow"))
    said = await one.tool({"a": object()})
    assert said["permissionDecision"] == "deny"
    assert not one.questions
    assert "refused" in one.reports[0]


async def test_silence_of_the_gateway_refuses() -> None:
    one = asked(timing=HostTiming(decision=0.05))
    said = await one.tool()
    assert said["permissionDecision"] == "deny"
    assert "did not decide about bash" in said["permissionDecisionReason"]
    assert "refused" in one.reports[0]
    assert not one.answers  # a late one is dropped


async def test_silence_of_the_gateway_lets_a_tool_run_where_nothing_is_in_force() -> None:
    one = asked(timing=HostTiming(decision=0.05))
    one.hooks.guarded(is_guarded=False)
    assert await one.tool() is None
    assert "it was left to Copilot, as no rule and no gate is in force" in one.reports[0]
    waiting = asyncio.create_task(one.tool())
    await asyncio.sleep(0)
    one.hooks.guarded(is_guarded=True)  # a gate came while the tool waited
    assert (await waiting)["permissionDecision"] == "deny"


@pytest.mark.parametrize("args", [{"a": object()}, {"a": 1}])
async def test_what_cannot_be_asked_about_runs_where_nothing_is_in_force(args: Any) -> None:
    one = asked(lambda q: Error(ErrorCode.PAYLOAD_TOO_LARGE, "too large", id=q.id))
    one.hooks.guarded(is_guarded=False)
    assert await one.tool(args) is None
    assert "no gate is in force" in one.reports[0]


async def test_a_refusal_holds_also_where_nothing_is_in_force_any_more() -> None:
    one = asked(lambda q: HookDecision(q.id, "deny", reason="no"))
    one.hooks.guarded(is_guarded=False)
    assert await one.tool() == refusal("no")


async def test_an_error_of_the_gateway_refuses() -> None:
    one = asked(lambda q: Error(ErrorCode.INTERNAL, "no idea", id=q.id))
    assert await one.tool() == refusal("tapui could not decide: the gateway said no idea")


async def test_a_session_that_the_gateway_has_ended_is_refused_until_we_have_left() -> None:
    one = asked(lambda q: Error(ErrorCode.INVALID_SESSION, "unknown session s1", id=q.id))
    assert await one.tool() == refusal(LEFT)
    await one.hooks.leave()
    assert await one.tool() is None
    assert one.reports == []


async def test_a_child_that_the_gateway_does_not_know_has_its_parents_rules() -> None:
    def answer(question: HookPreToolUse) -> Message:
        if question.session_id == "c1":
            return Error(ErrorCode.INVALID_SESSION, "unknown session c1", id=question.id)
        return HookDecision(question.id, "deny", reason="no")

    one = asked(answer)
    assert await one.tool(session_id="c1") == refusal("no")
    assert [question.session_id for question in one.questions] == ["c1", "s1"]
    assert one.reports == []


async def test_what_comes_before_the_gateway_knows_the_session_waits() -> None:
    one = Asked(lambda q: HookDecision(q.id, "deny", reason="no"))
    tool = asyncio.create_task(one.tool())
    await asyncio.sleep(0)
    assert not one.questions
    one.hooks.open()
    assert await tool == refusal("no")


async def test_leaving_refuses_what_waits_and_governs_nothing_more() -> None:
    one = asked()
    tool = asyncio.create_task(one.tool())
    await one.came.wait()
    await one.hooks.leave()
    assert tool.done()
    assert tool.result() == refusal(LEFT)
    assert await one.tool() is None
    assert await one.prompt("hello") is None
    assert len(one.questions) == 1


async def test_a_lost_connection_gives_up_and_waits_to_be_opened_again() -> None:
    one = asked()
    tool = asyncio.create_task(one.tool())
    await one.came.wait()
    one.hooks.hold()
    assert await tool == refusal(LEFT)
    later = asyncio.create_task(one.tool())
    await asyncio.sleep(0)
    assert len(one.questions) == 1
    one.hooks.close()
    assert await later is None


async def test_prompt_gets_the_context_of_all_providers() -> None:
    one = asked(lambda q: PromptPrepared(q.id, ["the sky is green", "so is the sea"], {"x": "y"}))
    assert await one.prompt("hello") == {"additionalContext": "the sky is green\n\nso is the sea"}
    question = one.questions[0]
    assert isinstance(question, PromptSubmitted)
    assert (question.prompt, question.session_id, question.sections) == ("hello", "s1", None)


@pytest.mark.parametrize(
    "answer",
    [
        lambda q: PromptPrepared(q.id, [], {}),
        lambda q: Error(ErrorCode.INVALID_SESSION, "unknown session s1", id=q.id),
    ],
)
async def test_prompt_without_context_goes_out_as_it_is(answer: Answer) -> None:
    assert await asked(answer).prompt("hello") is None


async def test_prompt_goes_out_as_it_is_when_the_gateway_is_silent() -> None:
    one = asked(timing=HostTiming(prompt=0.05))
    assert await one.prompt("hello") is None
    assert "without the providers' context" in one.reports[0]


async def test_a_prompt_that_is_held_waits_for_the_person_and_can_be_refused() -> None:
    one = asked(timing=HostTiming(prompt=0.05), answer=lambda q: PromptHeld(q.id))
    prompt = asyncio.create_task(one.prompt("hello"))
    await one.came.wait()
    await asyncio.wait([prompt], timeout=0.2)
    assert (prompt.done(), one.reports) == (False, [])
    id_ = one.questions[0].id
    one.answers[id_](PromptPrepared(id_, ["more"], {}, refused="no \x1b[2J more"))
    assert await prompt == {"decision": "block", "reason": "no \\x1b[2J more"}


async def test_a_prompt_that_is_held_goes_out_when_tapui_leaves() -> None:
    one = asked(lambda q: PromptHeld(q.id))
    prompt = asyncio.create_task(one.prompt("hello"))
    await one.came.wait()
    await one.hooks.leave()
    assert await prompt is None


async def test_what_an_agent_tells_its_subagent_is_no_prompt_of_the_session() -> None:
    one = asked()
    assert await one.prompt("look around", session_id="c1") is None
    assert not one.questions


async def section(one: Asked, name: str, text: str) -> str:
    """Return what becomes of a section."""
    return await one.hooks.section(name, text)


async def test_a_section_is_what_the_gateway_makes_of_it() -> None:
    def answer(question: PromptSubmitted) -> Message:
        assert question.only_sections
        made = {"tone": "Be brief."} if "tone" in (question.sections or {}) else {}
        return PromptPrepared(question.id, [], made)

    one = asked(answer)
    assert await section(one, "tone", "Be calm.") == "Be brief."
    assert await section(one, "safety", "Harm nobody.") == "Harm nobody."
    assert [question.sections for question in one.questions] == [
        {"tone": "Be calm."},
        {"safety": "Harm nobody."},
    ]


async def test_a_section_stays_as_it_is_where_nobody_says_otherwise() -> None:
    timing = HostTiming(prompt=0.01)
    refused = asked(lambda q: Error(ErrorCode.INVALID_JSON, "too long", id=q.id))
    assert await section(refused, "tone", "Be calm.") == "Be calm."
    silent = asked(timing=timing)
    assert await section(silent, "tone", "Be calm.") == "Be calm."
    early = Asked(timing=timing)  # the gateway does not know the session yet
    assert await section(early, "tone", "Be calm.") == "Be calm."
    left = asked()
    left.hooks.close()
    assert await section(left, "tone", "Be calm.") == "Be calm."
    assert [len(one.reports) for one in (refused, silent, early, left)] == [1, 1, 1, 0]


def of_a_rule(asker: Asker, timing: HostTiming | None = None) -> Asked:
    """Return hooks of a session in which a rule asks about each tool."""

    def answer(question: Any) -> HookDecision | None:
        if isinstance(question, HookPreToolUse):
            return HookDecision(question.id, "ask", "your rule asks", "and know this")
        return None

    one = asked(answer, timing)
    one.asker = asker
    return one


async def test_what_a_rule_asks_about_is_asked_by_copilot_where_it_asks_truly() -> None:
    assert await of_a_rule("copilot").tool() == {"additionalContext": "and know this"}
    assert await of_a_rule("hook").tool() == {
        "permissionDecision": "ask",
        "permissionDecisionReason": "your rule asks",
        "additionalContext": "and know this",
    }


async def waiting(one: Asked) -> "asyncio.Task[Any]":
    """Run the hook before a tool until the person is asked."""
    tool = asyncio.create_task(one.tool({"command": "npm ci"}))
    await until_async(lambda: len(one.questions) == 2, what="the question")
    return tool


@pytest.mark.parametrize(
    ("answer", "output"),
    [
        (ApprovalAnswer("c1", "approve"), {"additionalContext": "and know this"}),
        (ApprovalAnswer("c1", "deny", reason="use pnpm"), refusal("use pnpm")),
        (ApprovalAnswer("c1", "deny"), refusal("denied")),
        (ApprovalAnswer("c1", "expired"), refusal("it was not answered in time")),
    ],
)
async def test_elsewhere_tapui_asks_and_the_tool_waits_for_the_answer(
    answer: ApprovalAnswer, output: dict[str, Any]
) -> None:
    one = of_a_rule("tapui", HostTiming(decision=0.01))  # the person may take longer
    tool = await waiting(one)
    assert one.questions[1].kind == "permission"
    assert msgspec.json.decode(one.questions[1].detail) == {
        "kind": "hook",
        "toolName": "bash",
        "toolArgs": {"command": "npm ci"},
        "hookMessage": "your rule asks",
        "toolCallId": "bash {'command': 'npm ci'}",
    }
    assert not one.hooks.answered(ApprovalAnswer("c0", "approve"))
    assert one.hooks.answered(answer)
    assert not one.hooks.answered(answer)
    assert await tool == output
    assert len(one.questions) == 2


@pytest.mark.parametrize(
    ("end", "why"),
    [
        (lambda hooks: hooks.stopped(), STOPPED),
        (lambda hooks: hooks.hold(), LEFT),
        (lambda hooks: hooks.close(), LEFT),
        (lambda hooks: asyncio.ensure_future(hooks.leave(is_lost=True)), LEFT),
    ],
    ids=["the turn is stopped", "connection lost", "closed", "gateway lost"],
)
async def test_a_question_that_nobody_can_answer_any_more_is_a_no(
    end: Callable[[CliHooks], object], why: str
) -> None:
    one = of_a_rule("tapui")
    tool = await waiting(one)
    end(one.hooks)
    assert await tool == refusal(why)
    assert one.questions[2:] == [ApprovalWithdraw("c1")]


async def test_a_question_that_the_gateway_refuses_is_a_no() -> None:
    one = of_a_rule("tapui")
    tool = await waiting(one)
    one.answers["c1"](Error(ErrorCode.PAYLOAD_TOO_LARGE, "too deep", id="c1"))
    assert await tool == refusal("tapui could not ask you about it: too deep")
    assert (one.questions[2:], one.answers) == ([], {})


@pytest.mark.parametrize("end", ["stopped", "hold", "close"])
async def test_what_ended_while_the_gateway_decides_is_not_asked_about(end: str) -> None:
    one = of_a_rule("tapui")
    one.answer_later = True
    tool = asyncio.create_task(one.tool())
    await one.came.wait()
    getattr(one.hooks, end)()
    if end == "stopped":  # the others answer for the gateway
        one.answers["c0"](HookDecision("c0", "ask", "your rule asks"))
    assert await tool == refusal(STOPPED if end == "stopped" else LEFT)
    assert len(one.questions) == 1


# Ends of turns


async def test_a_turn_ends_where_the_gateway_has_nothing_to_say() -> None:
    one = asked(lambda q: TurnEnd(q.id, "end"))
    assert await one.stop() is None
    assert one.questions == [TurnEnding("c0", "s1", message="all done")]
    assert one.answers == {}


async def test_an_agent_that_is_sent_back_reads_why() -> None:
    one = asked(lambda q: TurnEnd(q.id, "again", "run\x1b[2J pytest"))
    assert await one.stop(stopHookActive=True) == {
        "decision": "block",
        "reason": "run\\x1b[2J pytest",
    }
    assert one.questions[0].active


async def test_a_subagent_is_asked_about_with_its_own_words() -> None:
    one = asked(lambda q: TurnEnd(q.id, "again", "run pytest"))
    handler: Any = one.hooks.handlers()["subagentStop"]
    given = {**_base("s1"), "agentId": "kid", "agentName": "task", "response": "x" * 9_000 + "end"}
    said = await handler(given)
    assert said == {"decision": "block", "reason": "run pytest"}
    question = one.questions[0]
    assert (question.agent_id, question.message[-4:], len(question.message)) == (
        "kid",
        "xend",
        4000,
    )


@pytest.mark.parametrize(
    "answer",
    [
        lambda q: TurnEnd(q.id, "again"),
        lambda q: Error(ErrorCode.INTERNAL, "no", "turn.ending", id=q.id),
    ],
    ids=["no reason", "an error"],
)
async def test_what_is_no_reason_to_go_on_ends_the_turn(answer: Answer) -> None:
    assert await asked(answer).stop() is None


async def test_a_silent_gateway_ends_the_turn() -> None:
    one = asked(timing=HostTiming(turn_end=0.01))
    assert await one.stop() is None
    assert len(one.reports) == 1
    assert one.answers == {}


async def test_the_end_of_a_turn_waits_for_no_session() -> None:
    one = Asked(lambda q: TurnEnd(q.id, "again", "more"))
    assert await one.stop() is None
    one.hooks.open()
    assert await one.stop(sessionId="child") is None
    one.hooks.close()
    assert await one.stop() is None
    assert one.questions == []


async def test_a_turns_end_that_waits_when_tapui_leaves_is_one() -> None:
    one = asked()
    waiting = asyncio.create_task(one.stop())
    await one.came.wait()
    one.hooks.close()
    assert await waiting is None
