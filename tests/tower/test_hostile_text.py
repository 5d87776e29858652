"""Hostile text in every field: nothing that a terminal acts on is painted, no markup is read."""

import unicodedata
from typing import Any

import pytest
from msgspec import Raw, json
from msgspec.structs import replace
from textual.events import Paste

from tapui.projection.state import State
from tapui.tower.app.app import TowerApp
from tapui.tower.table.table import Table
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.criteria import Pointer, Ran, Verdict
from tapui.wire.emitters import Emitter
from tapui.wire.goals import Goal, GoalAnswer, GoalCriterion, SurfaceChange
from tapui.wire.message import Error, FileResult, Line, OfferedTool, ToolOutcome, ToolProgress
from tapui.wire.provider import FilterRule
from tapui.wire.steering import Order, SessionStart, SessionStarted
from tapui.wire.tower import Notice, RevealedCode, Snapshot, ToolsList
from tapui.wire.turns import (
    FileChange,
    ModelUsage,
    SessionTurns,
    Step,
    Turn,
    TurnHead,
    TurnSource,
    Usage,
)
from tests.rig.waiting import until_async
from tests.tower.emitters_world import emitter
from tests.tower.running import Running, running
from tests.tower.scripted import approval, at, call, posts, provider, session
from tests.tower.stores import ScriptedStore, stored

CORPUS = [
    "\x1b]52;c;cm0gLXJmIH4=\x07",
    "\x1b]0;owned\x07",
    "\x1b[2J\x1b[H",
    "\x9b31m\x90q\x9c",
    "\x00\x07\x08\x7f\x0b\x0c\r",
    "a\nb\u2028c\u2029d",
    "\u202eevil\u202c\u2066x\u2069",
    "\u200b\u200d\u2060\ufeff",
    "e" + "\u0301" * 40,
    "[@click=app.bell]x[/]",
    "[link=https://evil.example]x[/link]",
    "x[/]",
    "[bold red]not bold[/bold red]",
    "[[[]]]\\[x]",
    "\U000e0041\U000e0042\ue000",
    "表" * 50,
    "$error {x} %s",
]
HOSTILE = "|".join(CORPUS)
FORBIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def hostile_world(text: str) -> State:
    sessions = [
        session(
            "s1",
            text,
            cwd=text,
            host=text,
            model=text,
            state="busy",
            workspace=text,
            can=["tell", "stop", "label", text],
            cannot={"compact": text, text: text},
        ),
        session(f"s2{text}", text, state="ended", ended_at=at(5), reason=text),
    ]
    providers = [
        provider("p1", text, instance=text, origin=text, trust="external", tools=[text, text]),
        provider("p2", text, state="disconnected", reason=text),
    ]
    data = Raw(json.encode({text: [text]}))
    calls = [
        call("c1", text, provider=text, progress=text, caller=text, args=data),
        call("c2", text, state="failed", error=text, error_code=text, duration=3.0),
        call(
            "c3", text, state="done", data=data, duration=1.0, args_cut=subjects.Cut(text, 9, text)
        ),
    ]
    detail = {
        text: text,
        "fullCommandText": text,
        "from": text,
        "to": text,
        "asker": text,
        "origin": text,
        "name": text,
        "question": text,
        "message": text,
        "reason": text,
        "choices": [text, text],
        "requestedSchema": {"properties": {text: {"title": text, "enum": [text]}}},
    }
    detail |= hostile_emitter_detail(text)
    kinds = ("pairing", "mode", "bindAll", "permission", "userInput", "elicitation", "emitter")
    rule = subjects.AppliedRule("ask", text, text, "person", text)
    parts = [subjects.RequestPart(text, rule, text), subjects.RequestPart(text, None, text)]
    judged = subjects.Judged(parts, text, text)
    approvals = [
        approval(f"a-{kind}", kind, detail, provider=text, session_id="s1", judged=judged)
        for kind in kinds
    ]
    approvals.append(
        approval("b0", "permission", detail, state="approved", decided_by="rule", rule=rule)
    )
    approvals.append(approval("b1", "mode", detail, state="denied", decided_by=text, reason=text))
    line = Line(seq=3, ts=text, level="inject", event=text, metadata=data)
    streams = [subjects.Stream(text, text, "s1", 3, line)]
    apart = [subjects.Unattached(text, text, 7, text, why=text)]
    snapshot = Snapshot(sessions, providers, calls, streams, approvals, unattached=apart)
    return State.of(
        replace(
            snapshot,
            turns=hostile_turns(text),
            emitters=hostile_emitters(text),
            goals=hostile_goals(text),
        )
    )


def hostile_emitter_detail(text: str) -> dict[str, object]:
    """Return what a request to start an emitter says besides, a text in each field."""
    return {
        "emitterId": "e1",
        "command": text,
        "changed": text,
        "cwd": text,
        "shell": text,
        "env": {text: text},
        "schedule": text,
        "stream": text,
        "rules": [[text, text], {"match": text, "outcome": text}, text],
        "injector": text,
        "delivery": text,
        "description": text,
        "file": text,
        "line": text,
        "files": [text],
        "uncovered": [text],
        "doubts": [text],
        "maxRuns": text,
    }


def hostile_emitters(text: str) -> list[Emitter]:
    """Return emitters with a text in each field."""
    fields: dict[str, Any] = {
        "folder": text,
        "stream": text,
        "cwd": text,
        "shell": text,
        "description": text,
        "last_run_at": text,
        "next_run_at": text,
        "signal": text,
        "error": text,
        "why": text,
        "rules": [FilterRule(text, "drop")],
        "last_status": "failure",
    }
    given = (
        {"state": "asking", "approval_id": "a-emitter", "command": text},
        {"state": "running", "command": text},
        {"state": "waiting", "prompt": text, "source": "tool"},
        {"kind": "provider", "state": "error", "command": text, "args": [text]},
    )
    return [emitter(f"e{number}", text, **(fields | one)) for number, one in enumerate(given, 1)]


def hostile_goals(text: str) -> list[Goal]:
    """Return goals with a text in each field, as long as the wire lets it be."""
    long = (text * 2_000)[:2_000]
    pointers = [
        Pointer("command", "call:c3", "recorded", at(60)),
        Pointer("stream", f"{text}#3", "stated", text, sha256=text),
        Pointer("file", text, "observed"),
    ]
    diff = f"--- {text}\n+++ {text}\n@@ -1 +1 @@\n-{text}\n+{long}"
    criteria = [
        GoalCriterion(
            id=f"{text}{state}",
            text=long,
            check=Ran(command=long, root=text, globs=[text], after=text),
            verdict=Verdict(state, text, pointers),
            surface="a" * 64,
            changed=[SurfaceChange(text, diff)],
        )
        for state in ("unknown", "failed")
    ]  # fmt: skip
    common: dict[str, Any] = {
        "session_id": "s1",
        "title": text[:300],
        "revision": 1,
        "opened_at": at(200),
        "note": long,
        "note_by": "agent",
        "agent": text,
        "deadline": text,
        "trace_id": text,
    }
    closed = {"closed_at": text, "closed_by": text}
    return [
        Goal(id="g1", status="active", opened_by="person", criteria=criteria, **common),
        Goal(id="g2", status="achieved", opened_by="copilot", **closed, **common),
    ]


def hostile_goal_lines() -> list[Line]:
    """Return lines about the first goal, and some that are about none."""
    told = [{"goalId": "g1", "kind": HOSTILE}, {"goalId": "g1"}, ["g1"], HOSTILE]
    data = [Raw(json.encode(one)) for one in told] + [Raw(b'{"goalId":')]
    return [
        Line(number, at(100 - number), "keep", HOSTILE, metadata=one)
        for number, one in enumerate(data, 1)
    ]


def hostile_turns(text: str) -> list[SessionTurns]:
    kinds = ("call", "message", "prompt", "mode", "model", "compaction", "error", "gate")
    steps = [
        Step(
            id=f"2.{number}",
            kind=kind,
            state="failed",
            at=at(number),
            tool=text,
            provider=text,
            summary=text,
            error=text,
            call_id="c3" if kind == "call" else text,
            decided_by=text,
        )
        for number, kind in enumerate(kinds, 1)
    ]
    agent = Step(
        id="2.9", kind="subagent", state="running", at=text, tool=text, summary=text, steps=steps
    )
    source = TurnSource("provider", text)
    files = [FileChange(text, 1, 2), FileChange(text, is_probable=True)]
    heads = [
        TurnHead(
            number=number,
            session_id="s1",
            started_at=at(100 - number),
            state="unknown" if number == 1 else "running",
            source=source,
            prompt=text,
            files=files,
            usage=Usage(1, 2),
            is_history=number == 1,
        )
        for number in (1, 2)
    ]
    models = [ModelUsage(text, Usage(1, 2, 3.0, 4.0, 5, 6, 7.0, 8))]
    return [SessionTurns("s1", heads[:1], Turn(heads[1], [*steps, agent]), models=models)]


def check(app: TowerApp, where: str) -> None:
    """No character and no style of what is on the screen comes from the text's own commands."""
    for strip in app.screen._compositor.render_strips():
        marks = 0
        for segment in strip:
            assert segment.control is None, where
            for char in segment.text:
                category = unicodedata.category(char)
                assert category not in FORBIDDEN, f"{where}: {char!r} in {segment.text!r}"
                marks = marks + 1 if category.startswith("M") else 0
                assert marks <= 2, where
            style = segment.style
            if style is not None:
                assert style.link is None, where
                assert "@click" not in style.meta, where


async def visit(rig: Running) -> None:
    for number in "1234568":
        await rig.press(number)
        check(rig.app, f"pane {number}")


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_panes_show_hostile_text_harmlessly(size: tuple[int, int]) -> None:
    async with running(hostile_world(HOSTILE), size=size) as rig:
        await visit(rig)
        assert r"\x1b]52;c;" in rig.text


@pytest.mark.parametrize("text", CORPUS, ids=range(len(CORPUS)))
async def test_each_kind_of_hostile_text_in_every_field(text: str) -> None:
    async with running(hostile_world(text), size=(200, 50)) as rig:
        check(rig.app, "all panes")
        rig.feed.happen(ev.SessionHappened(session_id="s1", event=text, data=Raw(b'{"a":"b"}')))
        await rig.press("1", "enter")
        check(rig.app, "session")


async def test_every_screen_shows_hostile_text_harmlessly() -> None:
    state = hostile_world(HOSTILE)
    async with running(state, size=(120, 36)) as rig:
        rig.feed.happen(
            ev.SessionHappened(session_id="s1", event=HOSTILE, data=Raw(json.encode([HOSTILE]))),
            ev.ErrorSent(code=HOSTILE, message=HOSTILE, provider_id="p1"),
            *posts(("s1", "goals@tap"), hostile_goal_lines()),
        )
        rig.feed.put(RevealedCode(approval_id="a-pairing", code=HOSTILE, expires_at=HOSTILE))
        for keys in (
            ["1", "enter"],
            ["1", "full_stop"],
            ["1", "full_stop", "m"],
            ["1", "full_stop", "n"],
            ["1", "full_stop", "u"],
            ["1", "t", "tab", "a", "escape"],
            ["1", "x"],
            ["1", "slash", "x", "enter", "escape"],
            ["4", "enter"],
            ["4", "full_stop"],
            ["4", "full_stop", "m"],
            ["4", "x"],
            ["2", "home", "enter", "enter"],
            ["2", "home", "full_stop"],
            ["2", "home", "full_stop", "o"],
            *(["2", "home", *["down"] * index, "enter"] for index in range(1, 10)),
            *(["2", "home", *["down"] * index, "enter", "v"] for index in (1, 4)),
            ["2", "slash", "x", "enter", "escape"],
            ["5", "enter"],
            ["5", "down", "enter"],
            ["5", "down", "enter"],
            ["3", "enter"],
            *(["6", "home", *["down"] * index, "enter"] for index in range(4)),
            *(["6", "home", *["down"] * index, "full_stop"] for index in range(4)),
            ["8", "home", "full_stop"],
            *(["8", "home", key] for key in "mxyo"),
            ["8", "home", "down", "enter"],
            ["8", "home", "enter", "v"],
            *(["8", "home", "enter", *["down"] * index, "enter"] for index in (0, 1, 2, 3, 8, 9)),
            ["8", "home", "enter", "enter", "G", "enter"],
            ["6", "home", "down", "x"],
            ["6", "home", "down", "m", "e", "x", "escape", "x"],
            ["question_mark"],
            ["ctrl+p"],
            ["q"],
        ):
            await rig.press(*keys)
            await rig.turn(1)
            check(rig.app, f"keys {keys}")
            while len(rig.app.screen_stack) > 1:
                await rig.press("escape")
        for index in range(8):
            rig.app.main.band.focus_inside()
            await rig.press("home", *["down"] * index, "enter")
            await rig.turn(1)
            check(rig.app, f"approval {index}")
            await rig.press("d")
            check(rig.app, f"approval {index} aimed")
            while len(rig.app.screen_stack) > 1:
                await rig.press("escape")


async def test_notices_show_hostile_text_harmlessly() -> None:
    state = hostile_world(HOSTILE)
    async with running(state, size=(120, 36)) as rig:
        rig.feed.put(Notice(message=HOSTILE, level="error"))
        rig.feed.put(GoalAnswer("x", hostile_goals(HOSTILE)[0]))
        rig.feed.put(Error(code="INTERNAL", message=HOSTILE))
        order = Order("o1", "s1", "tell", "given", HOSTILE, at(), HOSTILE, "after")
        lost = ev.OrderChanged(
            session_id="s1", order_id="o1", state="failed", error=HOSTILE, running=[HOSTILE],
            dropped=[HOSTILE],
        )  # fmt: skip
        rig.feed.happen(
            ev.OrderGiven(session_id="s1", order=order),
            lost,
            ev.ProviderMoved(
                provider=state.providers["p1"], session_id="s1", source=HOSTILE, reason=HOSTILE
            ),
            ev.InjectPaused(session_id="s1", provider_id="p1", provider=HOSTILE),
            ev.CommandAsked(
                command=HOSTILE,
                wanted="approval.decide",
                asker=subjects.Asker(1, HOSTILE, [subjects.Program(2, HOSTILE)], HOSTILE),
                refused=HOSTILE,
            ),
            ev.ModeChanged(session_id="s1", mode="plan", state="failed", by=HOSTILE, error=HOSTILE),
        )
        await rig.settle()
        assert len(rig.notices) == 8
        check(rig.app, "notices")


async def test_stored_sessions_are_listed_harmlessly() -> None:
    store = ScriptedStore(stored(HOSTILE, HOSTILE), panes=HOSTILE)
    async with running(hostile_world(HOSTILE), size=(120, 36), store=store) as rig:
        await rig.press("ctrl+o")
        await until_async(lambda: "Enter what to do" in rig.text, what=lambda: rig.text)
        check(rig.app, "stored sessions")
        await rig.press("enter")
        check(rig.app, "what can be done with one")
        await rig.press("d")
        check(rig.app, "whether to delete it")


async def test_a_session_that_is_started_shows_hostile_text_harmlessly() -> None:
    async with running(hostile_world(HOSTILE), size=(120, 36)) as rig:
        await rig.press("plus")
        check(rig.app, "the sheet, in a session's folder")
        rig.app.screen.post_message(Paste(HOSTILE))
        await rig.settle()
        check(rig.app, "pasted into it")
    state = State()
    state.sessions["s1"] = session("s1", HOSTILE, cwd="/code")
    for problem in ("untrusted", "failed"):
        async with running(state, size=(120, 36)) as rig:
            await rig.press("plus", "x", "enter")
            (sent,) = rig.feed.sent_of(SessionStart)
            rig.feed.put(SessionStarted(sent.id, problem=problem, error=HOSTILE))
            await rig.settle()
            check(rig.app, f"it is {problem}")


def hostile_schema(text: str) -> Raw:
    """Return a schema with a text in every place that a form shows."""
    about = {"title": text, "description": text}
    kinds = [
        {"type": "string"},
        {"type": "string", "format": "password"},
        {"enum": [text, 1, {text: text}], "default": text},
        {"type": "array", "default": [text]},
        {"const": text},
    ]
    properties = {f"{text}{at}": {**kind, **about} for at, kind in enumerate(kinds)}
    return Raw(json.encode({"type": "object", "properties": properties, "required": [f"{text}0"]}))


@pytest.mark.parametrize("text", [HOSTILE, "x[/]", "[@click=app.bell]x[/]"], ids=range(3))
async def test_the_workbench_shows_hostile_text_harmlessly(text: str) -> None:
    schemas = [
        hostile_schema(text),
        Raw(json.encode({"$ref": f"http://{text}/"})),
        Raw(json.encode({"properties": {}, "required": [text]})),
    ]
    tools = [OfferedTool(f"{at}{text}", text, one, text) for at, one in enumerate(schemas)]
    async with running(hostile_world(text), size=(120, 36)) as rig:
        for number, tool in enumerate(tools):
            await rig.press("1", "r")
            rig.feed.put(ToolsList(rig.feed.sent[-1].id, tools))  # type: ignore[attr-defined]
            await rig.settle()
            check(rig.app, "tools")
            await rig.press(*["down"] * number, "enter")
            check(rig.app, f"form {number}")
            for paste in (text, f"{text}\n{text}"):
                rig.app.post_message(Paste(paste))
                await rig.settle()
                check(rig.app, f"pasted {number}")
            await rig.press("ctrl+r", "ctrl+r", "ctrl+t")
            check(rig.app, f"as JSON {number}")
            made = rig.app.calls_made.call("s1", tool.name, Raw(json.encode({text: text})), text)
            for message in (
                ToolProgress(made.id, text),
                ToolOutcome(made.id, data=Raw(json.encode({text: [text]})), context=[text]),
            ):
                rig.feed.put(message)
                await rig.settle()
                check(rig.app, f"{type(message).__name__} {number}")
            for outcome in (
                ToolOutcome("", error=text, error_code=text),
                ToolOutcome("", data=Raw(json.encode(text))),
                ToolOutcome("", file=FileResult(text, text, 9, note=text)),
            ):
                made = rig.app.calls_made.call("s1", tool.name, Raw(b"{}"), text)
                rig.feed.put(replace(outcome, id=made.id))
                rig.app.screen.set_focus(rig.app.screen.query_one(Table))
                await rig.press("home")
                check(rig.app, f"outcome {number}")
            while len(rig.app.screen_stack) > 1:
                await rig.press("escape")
