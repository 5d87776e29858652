"""Approvals by key: two keystrokes decide, one never does, and all of a request can be read."""

import asyncio
import re

import pytest
from msgspec.structs import replace
from textual.widgets import Digits

from tapui.projection.state import State
from tapui.projection.turns.session import LiveTurns
from tapui.tower.requests.answer_fields import PairingPanel, RequestFields
from tapui.tower.requests.request_detail import RequestDetail
from tapui.tower.textual.dialogs import AnswerText
from tapui.tower.textual.reader import Reader
from tapui.tower.workbench.arguments_view import ChoiceList
from tapui.wire import events as ev
from tapui.wire.message import Error
from tapui.wire.tower import ApprovalDecide, ApprovalReveal, RevealedCode
from tapui.wire.turns import SessionTurns, Turn
from tests.rig.waiting import HUNG
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import PERMISSION, approval, at, session
from tests.tower.told import head, step

SESSIONS = {
    "s1": session("s1", "first", foreground=True),
    "s2": session("s2", "second"),
}
MODE = {"from": "interactive", "to": "autopilot", "asker": "copilot", "reason": "all agreed"}


def asked(kind: str, detail: object, id_: str = "a1", **fields: object) -> State:
    one = approval(id_, kind, detail, **({"session_id": "s1"} | fields))
    return State(sessions=dict(SESSIONS), approvals={id_: one})


async def opened(rig: Running, *, seconds: float = 1.0) -> RequestDetail:
    """Open the first approval and let it be on screen for a while."""
    await rig.press("a")
    screen = on_top(rig.app)
    assert isinstance(screen, RequestDetail)
    await rig.turn(seconds)
    return screen


async def test_a_request_is_allowed_by_its_letter_and_then_enter() -> None:
    async with running(asked("permission", PERMISSION)) as rig:
        await opened(rig)
        await rig.press("y")
        assert rig.feed.sent == []
        assert "Enter allows it, this once" in rig.text
        await rig.press("enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="a1", decision="approve")]


async def test_a_request_is_denied_by_its_letter_and_then_enter() -> None:
    async with running(asked("permission", PERMISSION)) as rig:
        await opened(rig)
        await rig.press("d", "enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="a1", decision="deny")]


async def test_no_single_key_decides() -> None:
    async with running(asked("permission", PERMISSION)) as rig:
        for key in ("a", "d", "m", "enter", "y", "n", "space", "q", "tab", "1", "x", "s", "r"):
            await opened(rig)
            await rig.press(key)
            assert rig.feed.sent == [], key
            await rig.close_all()


async def test_no_keys_in_the_first_half_second() -> None:
    async with running() as rig:
        for kind in ("permission", "pairing", "mode", "bindAll"):
            await rig.begin_again(asked(kind, {}, kind))
            await opened(rig, seconds=0.49)
            await rig.press("y", "enter", "y", "d")
            assert "Too early" in rig.text, kind
            assert rig.feed.sent == [], kind
            await rig.turn(0.02)
            await rig.press("enter")
            assert "Choose by a letter first" in rig.text, kind
            assert rig.feed.sent == [], "what was pressed too early is not remembered"
            await rig.press("y", "enter")
            assert len(rig.feed.sent) == 1, kind


async def test_escape_takes_the_aim_back_before_it_closes() -> None:
    async with running(asked("permission", PERMISSION)) as rig:
        screen = await opened(rig)
        await rig.press("y", "escape", "enter")
        assert rig.feed.sent == []
        assert on_top(rig.app) is screen
        await rig.press("escape")
        assert on_top(rig.app) is not screen


async def test_a_decision_is_sent_once() -> None:
    async with running(asked("permission", PERMISSION)) as rig:
        await opened(rig)
        await rig.press("y", "enter", "enter", "d", "enter", "y", "m")
        assert len(rig.feed.sent) == 1


async def test_a_decision_that_waits_for_leave_says_where_that_is_given() -> None:
    async with running(asked("permission", PERMISSION)) as rig:
        await opened(rig)
        await rig.press("y", "enter")
        assert "sent, waiting for the gateway" in rig.text
        detail = {"program": "bash", "device": "pts/7", "about": "a1"}
        leave = approval("a2", "terminal", detail)
        rig.feed.happen(ev.ApprovalRequested(approval=leave))
        await rig.settle()
        assert "sent; it counts once you allow this shell" in rig.text
        settled = replace(leave, state="denied", decided_by="keyboard")
        rig.feed.happen(ev.ApprovalDecided(approval=settled))
        await rig.settle()
        assert "sent, waiting for the gateway" in rig.text


async def test_the_screen_closes_when_the_decision_is_in_force() -> None:
    state = asked("permission", PERMISSION)
    async with running(state) as rig:
        screen = await opened(rig)
        await rig.press("y", "enter")
        settled = replace(state.approvals["a1"], state="approved", decided_by="keyboard")
        rig.feed.happen(ev.ApprovalDecided(approval=settled))
        await rig.settle()
        assert on_top(rig.app) is not screen
        assert "approved by" in rig.text.splitlines()[-2]


async def test_a_request_that_was_settled_elsewhere_takes_no_decision() -> None:
    state = asked("permission", PERMISSION)
    async with running(state) as rig:
        await opened(rig)
        await rig.press("y")
        settled = replace(state.approvals["a1"], state="withdrawn", decided_by="cli")
        rig.feed.happen(ev.ApprovalWithdrawn(approval=settled))
        await rig.settle()
        assert "answered by you, in Copilot" in rig.text
        await rig.press("enter", "y", "enter")
        assert rig.feed.sent == []


async def test_a_refused_decision_can_be_made_again() -> None:
    async with running(asked("permission", PERMISSION)) as rig:
        await opened(rig)
        await rig.press("y", "enter")
        refusal = Error(
            code="INTERNAL",
            message="it cannot be recorded: the disk is full",
            reply_to="approval.decide",
        )
        rig.feed.put(refusal)
        await rig.settle()
        assert "the disk is full" in rig.text
        await rig.press("escape")
        await rig.press("a")
        await rig.turn(1)
        await rig.press("y", "enter")
        assert len(rig.feed.sent) == 2


async def test_every_field_of_a_permission_is_shown_uncut() -> None:
    command = "echo " + " ".join(f"part-{number}" for number in range(3000)) + " && rm -rf /tail"
    detail = PERMISSION | {"fullCommandText": command, "unknownField": {"deep": ["z" * 500]}}
    async with running(asked("permission", detail)) as rig:
        screen = await opened(rig)
        shown = screen.query_one(Reader).text.replace("\n│ ", "")
        assert command in shown
        for name in ("the agent says: “Publish", "paths in it", "1 field that this tapui has no"):
            assert name in shown
        assert "unknownField" not in shown
        await rig.press("v")
        shown = screen.query_one(Reader).text.replace("\n│ ", "")
        assert "z" * 500 in shown
        assert shown.index("echo") < shown.index("unknownField")


async def test_a_long_request_says_that_there_is_more() -> None:
    detail = PERMISSION | {"diff": "\n".join(f"+line {number}" for number in range(300))}
    async with running(asked("permission", detail)) as rig:
        screen = await opened(rig)
        await rig.press("y")
        assert "more lines" in rig.text
        await rig.press("end")
        reader = screen.query_one(Reader)
        async with asyncio.timeout(HUNG):
            while reader.lines_below:
                await rig.pilot.pause(0.01)
        await rig.press("escape", "y")
        assert "more lines" not in rig.text


async def test_a_mode_switch_tells_from_to_asker_and_reason() -> None:
    async with running(asked("mode", MODE)) as rig:
        await opened(rig)
        for part in ("interactive → autopilot", "copilot", "all agreed"):
            assert part in rig.text
        await rig.press("y", "enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="a1", decision="approve")]


async def test_bind_to_all_names_the_provider() -> None:
    async with running(asked("bindAll", {"name": "clock"}, session_id=None)) as rig:
        screen = await opened(rig)
        assert "clock" in screen.query_one(Reader).text
        await rig.press("d", "enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="a1", decision="deny")]


PAIRING = {"origin": "https://board.example.org", "transport": "websocket"}


async def test_pairing_reveals_for_the_foreground_session_by_default() -> None:
    async with running(asked("pairing", PAIRING, session_id=None)) as rig:
        screen = await opened(rig)
        assert "https://board.example.org" in screen.query_one(Reader).text
        await rig.press("y", "enter")
        assert rig.feed.sent == [ApprovalReveal(approval_id="a1", sessions=["s1"])]


async def test_pairing_lets_the_person_choose_sessions() -> None:
    async with running(asked("pairing", PAIRING, session_id=None)) as rig:
        await opened(rig)
        await rig.press("space", "down", "space", "y", "enter")
        assert rig.feed.sent == [ApprovalReveal(approval_id="a1", sessions=["s2"])]


async def test_fields_that_leave_before_they_were_made_are_not_filled_in() -> None:
    """Another detail has their place by then: they were made without what is in them."""
    state = asked("pairing", PAIRING, session_id=None)
    async with running(state) as rig:
        screen = await opened(rig)
        fields = screen.query_one(RequestFields)
        fields.fill(state.approvals["a1"], PAIRING, {})
        panel = fields.children[0]
        assert isinstance(panel, PairingPanel)
        panel.remove()
        async with asyncio.timeout(HUNG):
            while panel in fields.children:
                screen._focus_field()
                await asyncio.sleep(0)
        assert rig.app.crash is None


async def test_the_code_is_shown_in_large_digits_and_counts_down() -> None:
    state = asked("pairing", PAIRING, session_id=None)
    async with running(state) as rig:
        screen = await opened(rig)
        await rig.press("y", "enter")
        revealed = replace(state.approvals["a1"], state="revealed", expires_at=at(-121))
        rig.feed.put(RevealedCode(approval_id="a1", code="847293", expires_at=at(-121)))
        rig.feed.happen(ev.ApprovalRevealed(approval=revealed))
        await rig.settle()
        assert screen.query_one(Digits).value == "847 293"
        assert screen.query_one(Digits).display
        assert "2m 00s left" in rig.text
        await rig.turn(30)
        assert "1m 30s left" in rig.text
        await rig.press("y", "enter")
        assert len(rig.feed.sent) == 1, "a code that is shown is approval enough"
        await rig.press("d", "enter")
        assert rig.feed.sent[1:] == [ApprovalDecide(approval_id="a1", decision="deny")]


async def test_a_code_that_another_tower_opened_is_not_known_here() -> None:
    state = asked("pairing", PAIRING, session_id=None, state="revealed")
    async with running(state) as rig:
        screen = await opened(rig)
        assert screen.query_one(Digits).value == ""
        assert "shown in the tower that opened this request" in rig.text


async def test_a_question_is_answered_by_typing_and_two_enters() -> None:
    async with running(asked("userInput", {"question": "Which branch?"})) as rig:
        screen = await opened(rig)
        assert "Which branch?" in rig.text
        await rig.press(*"main", "enter")
        assert rig.feed.sent == []
        assert "Enter sends this answer" in rig.text
        await rig.press("enter")
        answer = ApprovalDecide(approval_id="a1", decision="approve", answer="main")
        assert rig.feed.sent == [answer]
        assert screen.query_one(AnswerText).value == "main"


async def test_letters_typed_as_an_answer_decide_nothing() -> None:
    async with running(asked("userInput", {"question": "Name?"})) as rig:
        screen = await opened(rig)
        await rig.press(*"daday")
        assert rig.feed.sent == []
        assert screen.query_one(AnswerText).value == "daday"


async def test_changing_an_answer_takes_the_aim_back() -> None:
    async with running(asked("userInput", {"question": "Name?"})) as rig:
        await opened(rig)
        await rig.press("x", "enter", "y")
        assert "Enter sends this answer" not in rig.text
        await rig.press("enter", "enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="a1", decision="approve", answer="xy")]


async def test_an_empty_answer_is_not_sent() -> None:
    async with running(asked("userInput", {"question": "Name?"})) as rig:
        await opened(rig)
        await rig.press("enter", "enter")
        assert rig.feed.sent == []
        assert "type an answer first" in rig.text


async def test_a_question_with_choices_sends_the_chosen_one() -> None:
    detail = {"question": "Which?", "choices": ["red", "green"], "allowFreeform": False}
    async with running(asked("userInput", detail)) as rig:
        screen = await opened(rig)
        assert not screen.query(AnswerText)
        await rig.press("down", "enter", "enter")
        answer = ApprovalDecide(approval_id="a1", decision="approve", answer="green")
        assert rig.feed.sent == [answer]


async def test_a_question_is_denied_after_leaving_the_field() -> None:
    async with running(asked("userInput", {"question": "Name?"})) as rig:
        await opened(rig)
        await rig.press("escape", "d", "enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="a1", decision="deny")]


FORM = {
    "message": "Deploy where?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "count": {"type": "integer", "title": "How many"},
            "region": {"type": "string", "enum": ["eu", "us"]},
            "dry": {"type": "boolean"},
            "note": {"type": "string"},
        },
        "required": ["count", "region", "dry"],
    },
}


async def test_a_form_answers_an_object_of_the_right_types() -> None:
    async with running(asked("elicitation", FORM), size=(100, 40)) as rig:
        await opened(rig)
        await rig.press("3", "enter", "u", "enter", "t", "enter", *"soon", "enter", "enter")
        answer = {"count": 3, "region": "us", "dry": True, "note": "soon"}
        assert rig.feed.sent == [
            ApprovalDecide(approval_id="a1", decision="approve", answer=answer)
        ]


async def answered(rig: Running, id_: str, form: object, typed: list[str]) -> list[object]:
    """Ask this in the same app, fill in the fields and allow it: return the answers sent."""
    await rig.begin_again(asked("elicitation", form, id_))
    await opened(rig)
    await rig.press(*typed, "escape", "y", "enter")
    return [one.answer for one in rig.feed.sent_of(ApprovalDecide)]


async def test_a_form_says_what_is_wrong() -> None:
    async with running(size=(100, 40)) as rig:
        for typed, said in (
            (["x", "tab", "e", "tab", "f"], "count: write a whole number"),
            (["1", "tab", "tab", "f"], "region is required"),
            (["1", "tab", "e"], "dry is required"),
        ):
            assert await answered(rig, said, FORM, typed) == []
            assert said in rig.text


async def test_a_form_has_its_defaults_and_shows_choices_by_their_names() -> None:
    kinds = [{"const": "a", "title": "All of them"}, {"const": "n", "title": "None"}]
    schema = {
        "type": "object",
        "properties": {
            "which": {"type": "string", "oneOf": kinds, "default": "n"},
            "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["small", "large"]},
            "keep": {"type": "boolean", "default": True},
        },
    }
    detail = {"message": "Which?", "requestedSchema": schema}
    async with running(asked("elicitation", detail), size=(100, 40)) as rig:
        await opened(rig)
        assert "○ All of them" in rig.text
        assert "● None" in rig.text
        await rig.press("tab", "l", "escape", "y", "enter")
        (sent,) = rig.feed.sent
        assert sent.answer == {"which": "n", "size": "l", "keep": True}


CHOICES = [f"choice {number}" for number in range(9)]
LONG_LISTS = [
    ("userInput", {"question": "Which?", "choices": CHOICES}),
    ("elicitation", {"requestedSchema": {"properties": {"one": {"enum": CHOICES}, "more": {}}}}),
]


@pytest.mark.parametrize(("kind", "detail"), LONG_LISTS)
async def test_on_a_low_screen_all_choices_are_reached_and_the_answers_stay_in_sight(
    kind: str, detail: object
) -> None:
    async with running(asked(kind, detail), size=(80, 14)) as rig:
        await opened(rig)
        for choice in CHOICES:
            assert choice in rig.text
            assert "y  send this answer" in rig.text
            assert "Esc back" in rig.text.splitlines()[-4]
            await rig.press("down")


async def test_on_a_low_screen_what_enter_does_stays_in_sight() -> None:
    async with running(asked("permission", PERMISSION), size=(80, 14)) as rig:
        await opened(rig)
        await rig.press("d")
        assert "Enter denies    Esc back" in rig.text


async def test_choices_of_one_name_are_told_apart_and_the_chosen_one_is_sent() -> None:
    accounts = [{"const": "a1", "title": "Ada"}, {"const": "a2", "title": "Ada"}]
    properties = {
        "who": {"type": "string", "oneOf": accounts},
        "all": {"type": "array", "items": {"anyOf": accounts}},
        "port": {"enum": [80, "80", "http"]},
    }
    detail = {"message": "Who?", "requestedSchema": {"type": "object", "properties": properties}}
    async with running(asked("elicitation", detail), size=(100, 40)) as rig:
        await opened(rig)
        for shown in ('○ Ada ("a1")', '[ ] Ada ("a2")', "○ 80 (80)", '○ 80 ("80")', "○ http\n"):
            assert shown in re.sub(r" +│?\n", "\n", rig.text)
        await rig.press("down", "space", "tab", "down", "space", "tab", "down", "space")
        await rig.press("escape", "y", "enter")
        (sent,) = rig.feed.sent
        assert sent.answer == {"who": "a2", "all": ["a2"], "port": "80"}


PARTS = {
    "message": "Which parts?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "parts": {
                "type": "array",
                "title": "Parts",
                "items": {"type": "string", "enum": ["api", "web", "worker"]},
                "minItems": 1,
                "maxItems": 2,
            },
            "n": {"type": "integer", "minimum": 1, "maximum": 3},
            "to": {"type": "string", "format": "email"},
            "code": {"type": "string", "pattern": "^[a-z]{3}$"},
            "lies": {"type": "string", "minLength": "many", "pattern": "("},
        },
        "required": ["parts"],
    },
}


CHOSEN: list[tuple[list[str], str, object]] = [
    (
        ["space", "down", "space", "down", "space"],
        "the value has more than 2 items",
        None,
    ),
    (["space", "tab", "9"], "n: the value is greater than the maximum of 3", None),
    (["tab", "2"], "parts is required", None),
    (["space", "tab", "tab", "a"], 'to: the value is not a "email"', None),
    (["space", "tab", "tab", "tab", "a"], 'code: the value does not match "^[a-z]{3}$"', None),
    (["space", *["tab"] * 4, "a"], "", {"parts": ["api"], "lies": "a"}),
    (["down", "space", "up", "space", "tab", "2"], "", {"parts": ["api", "web"], "n": 2}),
    (["space", "space", "down", "space"], "", {"parts": ["web"]}),
]
"""What is typed, what is said then, and the answer where one is sent."""


async def test_several_choices_are_made_by_space_and_bounds_hold() -> None:
    async with running(size=(100, 40)) as rig:
        for number, (typed, said, answer) in enumerate(CHOSEN):
            sent = await answered(rig, f"a{number}", PARTS, typed)
            assert "Parts *" in rig.text, typed
            assert said in rig.text, typed
            assert sent == ([] if answer is None else [answer]), typed


OPTIONAL = {
    "region": {"type": "string", "title": "Alpha " * 14, "enum": ["eu", "us"]},
    "wipe": {
        "oneOf": [
            {"const": 1, "title": "Alpha " * 20},
            {"const": 2, "title": "Delete all"},
            {"const": 3, "title": "Keep all"},
        ]
    },
    "parts": {"type": "array", "items": {"enum": ["a", "a", "b"]}, "default": ["a"]},
    "n": {"type": "number"},
    "t": {"type": "string", "default": ""},
}


async def test_only_what_was_chosen_is_sent() -> None:
    asks = {"message": "?", "requestedSchema": {"type": "object", "properties": OPTIONAL}}
    cases: list[tuple[list[str], object]] = [
        (["enter", "enter", "enter", "enter", "x"], {"parts": ["a"], "t": "x"}),
        (["down", "enter"], {"region": "us", "parts": ["a"]}),
        (["left", "right", "space"], {"region": "eu", "parts": ["a"]}),
        (["tab", "tab", "space"], {"parts": []}),
        (["tab", "tab", "down", "space"], {"parts": ["a", "b"]}),
        (["tab", "tab", "tab", *"1e999"], None),
    ]
    async with running(size=(100, 40)) as rig:
        for number, (typed, answer) in enumerate(cases):
            sent = await answered(rig, f"a{number}", asks, typed)
            assert sent == ([] if answer is None else [answer]), typed


async def test_a_pattern_that_takes_long_holds_no_answer_back() -> None:
    lie = {"type": "string", "default": "a" * 40_000, "pattern": "(?=(a+)+$)b"}
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "lie": lie}}
    asks = {"message": "Who?", "requestedSchema": schema}
    async with running(asked("elicitation", asks), size=(80, 40)) as rig:
        await opened(rig)
        await rig.press(*"Ada", "escape", "y", "enter")
        assert [one.answer["name"] for one in rig.feed.sent] == ["Ada"]  # type: ignore[attr-defined]


async def test_a_click_takes_the_choice_that_is_under_it() -> None:
    asks = {"message": "?", "requestedSchema": {"type": "object", "properties": OPTIONAL}}
    async with running(asked("elicitation", asks), size=(80, 40)) as rig:
        await opened(rig)
        rows = rig.text.splitlines()
        wipe = rig.app.screen.query(ChoiceList)[1]
        row = next(at for at, text in enumerate(rows) if "Delete all" in text)
        await rig.pilot.click(wipe, offset=(8, row - wipe.content_region.y))
        await rig.settle()
        assert wipe.value == "2"


async def test_a_required_field_that_is_left_out_says_so_at_its_place() -> None:
    schema = {
        "type": "object",
        "properties": {"field_17": {"type": "string", "title": "Age"}},
        "required": ["field_17"],
    }
    asks = {"message": "?", "requestedSchema": schema}
    async with running(asked("elicitation", asks), size=(80, 30)) as rig:
        await opened(rig)
        assert "Age *" in rig.text
        await rig.press("escape", "y", "enter")
        assert [row for row in rig.text.splitlines() if "is required" in row and "field" not in row]
        assert not rig.feed.sent


async def test_a_form_that_cannot_be_one_is_answered_as_json_and_says_why() -> None:
    detail = {"message": "Who?", "requestedSchema": {"type": "object", "allOf": [{}]}}
    async with running(asked("elicitation", detail), size=(100, 40)) as rig:
        await opened(rig)
        assert "written as JSON: the schema combines others (allOf)" in rig.text
        await rig.press("end", *["backspace"] * 2, *'{"name": "Ada"}', "escape", "y", "enter")
        (sent,) = rig.feed.sent
        assert sent.answer == {"name": "Ada"}


async def test_history_shows_who_decided() -> None:
    denied = {"a1": approval("a1", "mode", MODE, state="denied", decided_by="keyboard")}
    async with running(State(sessions=dict(SESSIONS), approvals=denied)) as rig:
        assert "denied by keyboard" in rig.text.splitlines()[-2]
        rig.app.action_answers()
        await rig.settle()
        assert "⊘ denied" in rig.text
        await rig.press("enter")
        assert isinstance(on_top(rig.app), RequestDetail)
        await rig.turn(1)
        await rig.press("y", "enter")
        assert rig.feed.sent == []


@pytest.mark.parametrize("kind", ["permission", "pairing", "mode", "userInput", "elicitation"])
async def test_odd_details_are_shown_as_they_are(kind: str) -> None:
    async with running() as rig:
        for detail in (None, [], "text", 7, {"origin": 5}, {"to": None}):
            await rig.begin_again(asked(kind, detail, f"a {detail}"))
            await opened(rig)
            await rig.press("escape", "d", "enter")
            assert all(isinstance(one, ApprovalDecide) for one in rig.feed.sent), detail


async def test_the_band_says_whole_how_often_it_failed_before() -> None:
    command = "python3 -m unittest discover -s tests/gateway -p 'test_pairing*' -v --locals"
    state = asked("permission", {"kind": "shell", "fullCommandText": command})
    failed = [
        step(f"1.{number}", state="failed", tool="bash", summary=command, exit_code=1)
        for number in (1, 2)
    ]
    state.turns["s1"] = LiveTurns.of(
        SessionTurns("s1", [], Turn(head(1, "Mend it", 60, None), failed))
    )
    async with running(state) as rig:
        for size in ((80, 24), (120, 36), (160, 45), (200, 50)):
            await rig.resize(size)
            (band,) = [line for line in rig.text.splitlines() if " run  " in line][-1:]
            assert "3rd try, failed twice" in band, size
            assert "python3" in band, size


async def test_what_is_most_urgent_stays_below_a_sheet_as_others_are_settled() -> None:
    state = asked("permission", PERMISSION)
    state.approvals["a2"] = approval("a2", "permission", PERMISSION, session_id="s2")
    async with running(state, size=(80, 24)) as rig:
        await opened(rig)
        last = rig.text.splitlines()[-2]
        assert " run " in last
        gone = replace(state.approvals["a2"], state="approved", decided_by="you")
        rig.feed.happen(ev.ApprovalDecided(approval=gone))
        await rig.settle()
        assert " run " in rig.text.splitlines()[-2]
