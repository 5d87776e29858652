"""The sheet of requests: one follows the other, and no decision goes to another than the shown."""

import re
import threading
from collections.abc import Iterator

import msgspec
import pytest
from msgspec.structs import replace
from textual.events import Key, Paste

from tapui.projection.changes import MAX_LINES, changes
from tapui.projection.state import State
from tapui.tower.app.services import EarlierFault
from tapui.tower.calls.call_detail import CallDetail
from tapui.tower.providers.provider_detail import ProviderDetail
from tapui.tower.requests.answer_fields import Letters, RulePanel
from tapui.tower.requests.request_detail import RequestDetail
from tapui.tower.sessions.session_detail import SessionDetail
from tapui.tower.streams.line_detail import LineDetail
from tapui.tower.textual.detail import DetailView
from tapui.tower.textual.reader import Reader
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Error
from tapui.wire.tower import ApprovalDecide
from tests.rig.waiting import until_async
from tests.tower.running import Running, on_top, running, screen_text
from tests.tower.scripted import approval, at, call, lines, posts, session, world

COMMAND = {
    "kind": "shell",
    "fullCommandText": "rm -rf build && npm ci",
    "intention": "Clean install",
    "commandSegments": [
        {"identifier": "rm", "fullCommandText": "rm -rf build"},
        {"identifier": "npm", "fullCommandText": "npm ci"},
    ],
}


def command(id_: str, text: str, *, waited: float, left: float = 7200) -> subjects.Approval:
    detail = {"kind": "shell", "fullCommandText": text}
    times = {"created_at": at(waited), "expires_at": at(-left)}
    return approval(id_, "permission", detail, session_id="s1", **times)


def asked(*waiting: subjects.Approval) -> State:
    found = {one.id: one for one in waiting}
    return State(sessions={"s1": session("s1", "Fix pairing")}, approvals=found)


def three() -> State:
    return asked(
        command("late", "echo late", waited=5),
        command("old", "echo old", waited=500),
        command("soon", "echo soon", waited=1, left=30),
    )


async def sheet(rig: Running) -> RequestDetail:
    """Open the most urgent request and let the lock go by."""
    await rig.press("a")
    found = on_top(rig.app)
    assert isinstance(found, RequestDetail)
    await rig.turn(1)
    return found


def settle(rig: Running, one: subjects.Approval, state: str, by: str | None = None) -> None:
    settled = replace(one, state=state, decided_by=by)  # type: ignore[arg-type]
    kind = ev.ApprovalWithdrawn if state == "withdrawn" else ev.ApprovalDecided
    rig.feed.happen(kind(approval=settled))


async def test_after_a_decision_the_next_request_follows_with_a_lock_of_its_own() -> None:
    state = three()
    async with running(state) as rig:
        found = await sheet(rig)
        for this, following in (("soon", "old"), ("old", "late")):
            assert found.key == this
            await rig.press("y", "enter")
            assert rig.feed.sent[-1] == ApprovalDecide(approval_id=this, decision="approve")
            settle(rig, state.approvals[this], "approved", "tapui 1")
            await rig.settle()
            assert on_top(rig.app) is found
            assert found.key == following
            assert "✓ approved by you" in rig.text
            before = len(rig.feed.sent)
            await rig.turn(0.49)
            await rig.press("y", "enter")
            assert "Too early" in rig.text
            assert len(rig.feed.sent) == before
            await rig.turn(0.02)
        await rig.press("d", "enter")
        settle(rig, state.approvals["late"], "denied", "tapui 1")
        await rig.settle()
        assert on_top(rig.app) is not found, "none is left"


@pytest.mark.parametrize(
    ("settled", "by", "said"),
    [
        ("withdrawn", "cli", "answered by you, in Copilot"),
        ("denied", "other", "denied by other"),
        ("expired", None, "timed out"),
    ],
)
async def test_what_is_settled_elsewhere_is_said_and_the_choice_is_gone(
    settled: str, by: str | None, said: str
) -> None:
    state = three()
    async with running(state) as rig:
        found = await sheet(rig)
        await rig.press("y")
        settle(rig, state.approvals["soon"], settled, by)
        await rig.settle()
        assert found.key == "old"
        assert said in rig.text
        await rig.turn(1)
        await rig.press("enter")
        assert rig.feed.sent == []
        assert "Choose by a letter first" in rig.text


async def test_the_last_one_that_is_settled_elsewhere_stays_and_says_so() -> None:
    state = asked(command("a1", "echo", waited=9))
    async with running(state) as rig:
        found = await sheet(rig)
        settle(rig, state.approvals["a1"], "expired")
        await rig.settle()
        assert "timed out" in rig.text
        await rig.press("y", "enter")
        assert rig.feed.sent == []
        await rig.press("escape")
        assert on_top(rig.app) is not found


async def test_no_answer_is_offered_before_the_request_itself_stands_there() -> None:
    async with running(world()) as rig:
        detail = RequestDetail("a1")
        detail.display = False
        await rig.app.screen.mount(detail)
        await rig.settle()
        letters = detail.query_one(Letters)
        assert str(letters.content) == ""
        detail.display = True
        await until_async(lambda: "deny" in str(letters.content), what="the answers")
        assert "git push" in detail.reader.text


async def test_the_arrows_go_through_what_waits_and_drop_the_choice() -> None:
    async with running(three()) as rig:
        found = await sheet(rig)
        await rig.press("y", "right")
        assert found.key == "old"
        assert "2 of 3" in rig.text
        await rig.turn(1)
        await rig.press("enter")
        await rig.press("right", "right", "left")
        assert found.key == "old"
        await rig.turn(1)
        await rig.press("d", "enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="old", decision="deny")]


PUSHES = "curl https://x.test/f > f\ngit push --force \x1b[2J"


def fetch(id_: str, call_id: str) -> subjects.Approval:
    detail = {"kind": "url", "url": "https://x.test/f", "toolCallId": call_id}
    return approval(id_, "permission", detail, session_id="s1")


async def test_a_url_that_a_command_asks_for_is_shown_with_the_command() -> None:
    state = asked(fetch("a1", "c1"))
    arguments = msgspec.Raw(msgspec.json.encode({"command": PUSHES, "description": "Get it"}))
    bash = call("c1", "bash", args=arguments)
    async with running(state, size=(160, 40)) as rig:
        assert "git push" not in rig.text
        rig.feed.happen(ev.CallStarted("s1", bash))
        await rig.turn(1)
        band = rig.text.splitlines()[-2]
        assert "https://x.test/f   command: curl https://x.test/f > f ⏎ git push" in band
        await sheet(rig)
        shown = [line.partition("││")[2].strip(" │") for line in rig.text.splitlines()]
        at = shown.index("command")
        assert shown[at - 2 : at + 3] == [
            "https://x.test/f",
            "",
            "command",
            "curl https://x.test/f > f",
            "git push --force \\x1b[2J",
        ]
        await rig.press("y")
        rig.feed.happen(ev.CallStarted("s1", replace(bash, args=msgspec.Raw(b'{"command": "id"}'))))
        await rig.turn(1)
        assert "Its command is another now: look again." in rig.text
        await rig.press("enter")
        assert rig.feed.sent == []


def judged(one: subjects.Approval) -> ev.ApprovalJudged:
    """Rules were read by which the command writes a file and may not be kept."""
    writes = [subjects.FileWritten("out.txt")]
    part = subjects.RequestPart("echo soon", None, "", "> out.txt", writes)
    said = subjects.Judged([part], unkeepable="it writes to a file")
    return ev.ApprovalJudged(replace(one, judged=said), "s1")


@pytest.mark.parametrize("key", ["y", "s"])
async def test_what_rules_say_later_is_shown_and_to_be_looked_at_before_it_is_allowed(
    key: str,
) -> None:
    one = command("soon", "echo soon > out.txt", waited=1)
    async with running(asked(one)) as rig:
        await sheet(rig)
        assert ("writes" in rig.text, "until the session or tapui ends" in rig.text) == (
            False,
            True,
        )
        await rig.press(key)
        rig.feed.happen(judged(one))
        await rig.settle()
        assert ("writes out.txt" in rig.text, "until the session or tapui ends" in rig.text) == (
            True,
            False,
        )
        assert "Rules say something else of it now: look again." in rig.text
        await rig.press("y")
        assert "Too early" in rig.text
        await rig.turn(1)
        await rig.press("enter")
        assert rig.feed.sent == []
        await rig.press("y", "enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="soon", decision="approve")]


async def test_a_denial_holds_where_rules_say_something_else_later() -> None:
    one = command("soon", "echo soon > out.txt", waited=1)
    async with running(asked(one)) as rig:
        await sheet(rig)
        await rig.press("m", *"no")
        rig.feed.happen(judged(one))
        await rig.settle()
        assert "writes out.txt" in rig.text
        await rig.turn(1)
        await rig.press("enter")
        told = ApprovalDecide(approval_id="soon", decision="deny", reason="no")
        assert rig.feed.sent == [told]


async def test_a_denial_can_tell_the_agent_why() -> None:
    async with running(three()) as rig:
        await sheet(rig)
        await rig.press("m", "enter")
        assert "Write a message to the agent first" in rig.text
        await rig.press(*"use", "space", *"yarn", "enter")
        told = ApprovalDecide(approval_id="soon", decision="deny", reason="use yarn")
        assert rig.feed.sent == [told]


async def test_escape_drops_what_was_to_be_told_and_keeps_the_sheet() -> None:
    async with running(three()) as rig:
        found = await sheet(rig)
        await rig.press("m", *"yes", "escape", "enter")
        assert rig.feed.sent == []
        assert on_top(rig.app) is found
        await rig.press("d", "enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="soon", decision="deny")]


async def test_keys_of_one_read_neither_choose_nor_decide() -> None:
    async with running(three()) as rig:
        for read in ("y enter", "j y", "y j", "d enter", "enter y enter"):
            await sheet(rig)
            await rig.type(*read.split())
            assert rig.feed.sent == [], read
            assert "Pressed with other keys" in rig.text, read
            await rig.press("enter")
            assert rig.feed.sent == [], f"nothing was chosen: {read}"
            await rig.close_all()


async def test_enter_read_with_the_text_before_it_sends_nothing() -> None:
    async with running(three()) as rig:
        await sheet(rig)
        await rig.press("m")
        await rig.type(*"no", "enter")
        assert rig.feed.sent == []
        assert "Pressed with other keys" in rig.text
        await rig.press("enter")
        told = ApprovalDecide(approval_id="soon", decision="deny", reason="no")
        assert rig.feed.sent == [told]


async def test_a_paste_is_no_answer() -> None:
    async with running(three()) as rig:
        await sheet(rig)
        rig.app.post_message(Paste("y\n"))
        await rig.settle()
        assert "A paste is not an answer" in rig.text
        await rig.press("enter")
        assert rig.feed.sent == []


async def test_keys_typed_before_the_sheet_opened_do_not_answer_it() -> None:
    async with running(three()) as rig:
        await rig.type("a", "y", "enter")
        rig.clock.turn(1)
        rig.app.post_message(Key("enter", "\r"))
        await rig.settle()
        assert rig.feed.sent == []


async def test_a_click_on_a_letter_chooses_and_does_not_decide() -> None:
    async with running(three()) as rig:
        found = await sheet(rig)
        await rig.pilot.click(found.query_one(Letters), offset=(3, 3))
        await rig.settle()
        assert "Enter denies" in rig.text
        assert rig.feed.sent == []


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=str)
async def test_a_command_is_shown_with_its_parts_and_what_is_known(size: tuple[int, int]) -> None:
    parts = [
        subjects.RequestPart("rm -rf build"),
        subjects.RequestPart(
            "npm ci",
            redirections="> /tmp/log",
            writes=[subjects.FileWritten("/tmp/log", existing=True, outside=True)],
        ),
        subjects.RequestPart("ls", redirections="> x", writes=[subjects.FileWritten("x")]),
    ]
    text = "rm -rf build && npm ci > /tmp/log\nls > x"
    one = approval("a1", "permission", {**COMMAND, "fullCommandText": text}, session_id="s1")
    one = msgspec.structs.replace(one, judged=subjects.Judged(parts))
    async with running(asked(one), size=size) as rig:
        found = await sheet(rig)
        assert "Fix pairing asks to run a command" in rig.text
        assert rig.text.count("rm -rf build") == 2, "in the sheet, and in the band"
        order = [
            "rm -rf build && npm ci > /tmp/log",
            "└ npm ci > /tmp/log    writes /tmp/log: there already, outside of the",
            "ls > x",
            "└ writes x ",
            "y  allow once",
            "in /code/s1",
            "the agent says: “Clean install”",
        ]
        places = [rig.text.index(part) for part in order]
        assert places == sorted(places)
        assert found.copied() == text


def many_lines(lines: list[str]) -> subjects.Approval:
    """Return a request for a command of these lines, each of them a part that rules judge."""
    one = command("a1", "\n".join(lines), waited=5)
    return msgspec.structs.replace(
        one, judged=subjects.Judged([subjects.RequestPart(line) for line in lines])
    )


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (160, 45), (200, 50)], ids=str)
async def test_a_command_of_20_lines_is_allowed_by_3_keys(size: tuple[int, int]) -> None:
    lines = [f"touch build/{number}" for number in range(1, 21)]
    state = asked(many_lines(lines))
    folder = "/code/" + "deep/" * 20 if size[0] in (80, 160) else "/code/s1"
    state.sessions["s1"] = session("s1", "Fix pairing", cwd=folder)
    async with running(state, size=size) as rig:
        found = await sheet(rig)
        shown = rig.text
        for line in lines:
            assert len(re.findall(rf"{line}(?!\d)", shown)) >= 1, line
        assert shown.count("touch build/20") == 1
        assert "in /code" in shown
        assert found.query_one(Reader).scroll_offset.y == 0
        await rig.press("y", "enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="a1", decision="approve")]


async def test_lines_side_by_side_have_their_numbers_and_are_copied_as_they_are() -> None:
    lines = [f"touch build/{number}" for number in range(1, 21)]
    lines[3] = "ls \u202e│ 5  x"
    async with running(asked(many_lines(lines))) as rig:
        found = await sheet(rig)
        rows = [line for line in rig.text.splitlines() if "│  8 " in line or " 7  touch" in line]
        first, last = rows
        assert " 1  touch build/1 " in first
        assert "│  8  touch build/8 " in first
        assert "│ 15  touch build/15 " in first
        assert " 7  touch build/7 " in last
        assert " 4  ls \\u202e│ 5  x" in rig.text
        assert found.copied() == "\n".join(lines)


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=str)
async def test_of_lines_that_have_no_room_none_is_allowed_unseen(size: tuple[int, int]) -> None:
    lines = [f"touch build/{number} # {'long ' * 8}" for number in range(1, 31)]
    async with running(asked(many_lines(lines)), size=size) as rig:
        await sheet(rig)
        assert "touch build/30" not in rig.text
        assert "lines below: what is not shown cannot be allowed" in rig.text
        await rig.press("y", "enter")
        assert rig.feed.sent == []
        await rig.press("end")
        assert "touch build/30" in rig.text
        await rig.press("y", "enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="a1", decision="approve")]


async def test_the_folder_is_read_before_a_command_is_allowed_and_the_prompt_need_not() -> None:
    """What is known has no room below the answers: it stands behind the command."""
    lines = [f"echo {number} {'long ' * 12}" for number in range(7)]
    one = many_lines(lines)
    detail = {"kind": "shell", "fullCommandText": "\n".join(lines), "intention": "why " * 120}
    one = msgspec.structs.replace(one, detail=detail)
    async with running(asked(one)) as rig:
        found = await sheet(rig)
        reader = found.query_one(Reader)
        assert "in /code/s1" in rig.text
        assert len(reader.text.splitlines()) > reader.size.height
        await rig.press("y", "enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="a1", decision="approve")]


async def test_an_unknown_kind_is_answered_once_and_its_fields_are_folded() -> None:
    detail = {"kind": "new-kind", "secretPlan": ["\x1b[2J[bold]"], "path": "/etc"}
    async with running(asked(approval("a1", "permission", detail, session_id="s1"))) as rig:
        await sheet(rig)
        assert "2 fields that this tapui has no words for" in rig.text
        assert "secretPlan" not in rig.text
        for absent in ("until the session or tapui ends", "make a rule"):
            assert absent not in rig.text
        await rig.press("v")
        assert r"- \x1b[2J[bold]" in rig.text
        await rig.turn(1)
        await rig.press("s", "enter", "r", "enter")
        assert not rig.feed.sent
        await rig.press("y", "enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="a1", decision="approve")]


async def test_a_known_kind_shows_no_field_of_its_host() -> None:
    detail = {**COMMAND, "canOfferSomething": {"x": 1}}
    async with running(asked(approval("a1", "permission", detail, session_id="s1"))) as rig:
        await sheet(rig)
        assert "canOffer" not in rig.text
        assert "1 field that this tapui has no words for" in rig.text


async def permission(rig: Running, id_: str, detail: object) -> str:
    """Ask for this in the same app, and return what the sheet shows."""
    await rig.begin_again(asked(approval(id_, "permission", detail, session_id="s1")))
    await sheet(rig)
    return rig.text


KINDS: list[tuple[dict[str, object], str, str]] = [
    ({"kind": "read", "path": "/etc/hosts"}, "asks to read a file", "/etc/hosts"),
    ({"kind": "url", "url": "https://x.example/?q=1"}, "asks to fetch a URL", "x.example"),
    (
        {"kind": "mcp", "serverName": "tower", "toolName": "ping", "args": {"a": "“q”"}},
        "asks to call an MCP tool",
        "tower: ping",
    ),
    ({"kind": "custom-tool", "toolName": "greet"}, "asks to call a tool", "greet"),
    (
        {"kind": "hook", "toolName": "bash", "hookMessage": "is it tidy?"},
        "asks to call a tool that a hook holds back",
        "is it tidy?",
    ),
    ({"kind": "memory", "fact": "tabs"}, "asks to remember something", "tabs"),
    (
        {"kind": "read", "path": "/x", "riskAssessment": {"level": "high"}},
        "risk, as Copilot sends it",
        "level: high",
    ),
    (
        {"kind": "new-kind", "x": [1]},
        "asks for new-kind (unknown)",
        "1 field that this tapui has no words for",
    ),
]
"""A permission, the title of its sheet, and words in it."""


async def test_each_kind_of_permission() -> None:
    async with running() as rig:
        for number, (detail, title, words) in enumerate(KINDS):
            shown = await permission(rig, f"a{number}", detail)
            assert title in shown, detail
            assert words in shown, detail
            assert "\\u" not in shown, detail


JUDGED: list[tuple[object, str]] = [
    (
        {"recommendation": "requireApproval", "reason": "it\ndeletes", "model": "m1"},
        "Copilot's judge (m1) would have you asked: it deletes",
    ),
    ({"recommendation": "approve"}, "Copilot's judge would allow it"),
    (
        {"recommendation": "error", "failureReason": "timeout", "reason": 3},
        "Copilot's judge has not answered: timeout",
    ),
    ({"recommendation": ["approve"]}, "1 field that this tapui has no words for"),
    ("approve", "1 field that this tapui has no words for"),
]


async def test_what_copilots_judge_says_stands_with_the_request() -> None:
    async with running() as rig:
        for number, (said, words) in enumerate(JUDGED):
            shown = await permission(rig, f"a{number}", {**COMMAND, "assistedApproval": said})
            assert words in shown
            assert ("no words for" in shown) is ("no words for" in words), said


async def test_a_message_to_the_agent_may_have_several_lines() -> None:
    async with running(asked(command("a1", "ls", waited=5))) as rig:
        await sheet(rig)
        await rig.press("m")
        rig.app.post_message(Paste("use\nrg"))
        await rig.settle()
        await rig.press("alt+enter", "x", "enter")
        (sent,) = rig.feed.sent
        assert sent == ApprovalDecide(approval_id="a1", decision="deny", reason="use\nrg\nx")


DIFF = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n--- two\n+++ three\n"


def test_a_diff_is_told_apart_by_signs_and_tones() -> None:
    tones = [part.tone for part in changes(DIFF)]
    assert tones == ["muted", "muted", "accent", "", "error", "success"]
    assert [part.text for part in changes(DIFF)] == DIFF.splitlines()


def test_a_diff_beyond_all_measure_says_what_is_not_shown() -> None:
    parts = changes("+x\n" * (MAX_LINES + 5))
    assert len(parts) == MAX_LINES + 1
    assert parts[-1].text == "5 more lines are not shown"


async def test_a_diff_of_5000_lines_scrolls_to_its_end() -> None:
    diff = "@@ -1 +1 @@\n" + "".join(f"+[bold]line {number}[/]\x1b[2J\n" for number in range(5000))
    detail = {"kind": "write", "fileName": "a.py", "diff": diff}
    async with running(asked(approval("a1", "permission", detail, session_id="s1"))) as rig:
        found = await sheet(rig)
        assert "a.py  +5000 −0" in rig.text
        await rig.press("y")
        assert "more lines below" in rig.text
        reader = found.query_one(Reader)
        reader.scroll_to(y=reader.max_scroll_y, animate=False)
        await rig.settle()
        assert r"+[bold]line 4999[/]\x1b[2J" in rig.text


async def test_what_was_not_on_screen_cannot_be_allowed() -> None:
    text = "\n".join(f"echo {number}" for number in range(100)) + "\nrm -rf ~"
    async with running() as rig:
        for letter in "ysr":
            await rig.begin_again(asked(command(letter, text, waited=5)))
            found = await sheet(rig)
            await rig.press(letter)
            assert "more lines below: scroll to the end first." in rig.text, letter
            await rig.press("enter")
            assert not rig.feed.sent, letter
            assert not found.query(RulePanel), letter
            await rig.press("pagedown", letter, "enter")
            assert not rig.feed.sent, letter
            await rig.press(letter)
            assert "scroll to the end first" in rig.text, letter
            await rig.press("end")
            assert "scroll to the end first" not in rig.text, "it was"
            await rig.press("home", "y", "enter")
            assert rig.feed.sent == [ApprovalDecide(approval_id=letter, decision="approve")]


@pytest.mark.parametrize("size", [(1, 24), (3, 10), (5, 24)])
async def test_nothing_is_allowed_on_a_screen_that_shows_nothing(size: tuple[int, int]) -> None:
    async with running(asked(command("a1", "rm -rf ~", waited=5)), size=size) as rig:
        await sheet(rig)
        await rig.press("y", "enter", "end", "y", "enter")
        assert not rig.feed.sent


async def test_what_was_not_on_screen_can_be_denied() -> None:
    async with running(asked(command("a1", "true\n" * 100, waited=5))) as rig:
        await sheet(rig)
        await rig.press("d", "enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="a1", decision="deny")]


async def test_nothing_in_a_command_is_out_of_sight() -> None:
    text = "echo x" + " " * 3000 + ";\u3164 rm\ufe0f\u00a0y" + "\n" * 500 + "rm z"
    async with running(asked(command("a1", text, waited=5)), size=(120, 36)) as rig:
        found = await sheet(rig)
        shown = found.query_one(Reader).text
        assert "echo x⟨3,000 blanks⟩;\\u3164 rm\\ufe0f\\xa0y" in shown
        assert "⟨499 empty lines⟩" in shown
        assert "rm z" in rig.text


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50)], ids=str)
@pytest.mark.parametrize(
    ("pane", "kind", "count"), [("1", SessionDetail, 3), ("4", ProviderDetail, 5)]
)
async def test_sheets_go_through_the_list_that_they_were_opened_from(
    pane: str, kind: type[DetailView], count: int, size: tuple[int, int]
) -> None:
    async with running(world(), size=size) as rig:
        await rig.press(pane, "enter")
        found = on_top(rig.app)
        assert isinstance(found, kind)
        keys = [found.key]
        for _ in range(count + 1):
            await rig.press("right")
            keys.append(found.key)
        assert len(set(keys)) == count
        assert f"{count} of {count}" in rig.text
        assert "Esc back" in rig.text
        await rig.press("left")
        assert found.key == list(dict.fromkeys(keys))[-2]
        frame = found.region
        below = rig.app.screen_stack[0].query_one("PaneArea").region
        assert frame.width == size[0], "nothing of the panes is left at its sides"
        assert frame.y <= below.y
        assert frame.bottom == below.bottom - 1, "what waits stays in sight"


async def test_calls_and_lines_have_neighbours_too() -> None:
    async with running(world(), size=(120, 36)) as rig:
        rig.feed.happen(*posts(("s1", "ci-watch@ci-watcher"), lines(60)[48:]))
        await rig.settle()
        await rig.press("5", "enter")
        call = on_top(rig.app)
        assert isinstance(call, CallDetail)
        first, text = call.key, call.query_one(Reader).text
        await rig.press("right")
        assert (call.key, call.query_one(Reader).text) != (first, text)
        await rig.press("escape", "3", "enter")
        line = on_top(rig.app)
        assert isinstance(line, LineDetail)
        seq = line.line.seq
        await rig.press("left")
        assert line.line.seq == seq - 1
        assert line.copied() == line.line.event


# Rules

ALLOWED = subjects.AppliedRule("allow", "shell", "npm ci", "person", "config.toml:7")


def ruled(**judged: object) -> subjects.Approval:
    parts = [
        subjects.RequestPart("rm -rf build"),
        subjects.RequestPart("npm ci", ALLOWED),
        subjects.RequestPart("timeout 5 x", None, "timeout runs what follows it"),
    ]
    found = subjects.Judged(parts, **judged)  # type: ignore[arg-type]
    return approval("a1", "permission", COMMAND, session_id="s1", judged=found)


async def test_the_sheet_says_of_each_part_what_rules_say() -> None:
    async with running(asked(ruled(why="it uses a variable"))) as rig:
        shown = (await sheet(rig)).query_one(Reader).text
        assert shown.splitlines()[:5] == [
            "│ rm -rf build && npm ci",
            "  └ npm ci    allowed by rule “npm ci” (config.toml:7)",
            "",
            "│ timeout 5 x    no rule allows it: timeout runs what follows it",
            "no rule may allow it: it uses a variable",
        ]


async def test_exactly_this_is_allowed_by_a_letter_and_enter() -> None:
    async with running(asked(ruled())) as rig:
        await sheet(rig)
        await rig.press("s")
        assert "Enter allows exactly this, until the session or tapui ends" in rig.text
        assert rig.feed.sent == []
        await rig.press("enter")
        assert rig.feed.sent == [ApprovalDecide("a1", "approve", keep=True)]


async def test_what_is_always_asked_cannot_be_kept() -> None:
    async with running(asked(ruled(unkeepable="it names tapui"))) as rig:
        await sheet(rig)
        await rig.press("s", "enter")
        assert rig.feed.sent == []
        assert "until the session or tapui ends" not in rig.text


@pytest.mark.parametrize("why", ["", "it uses a variable"])
async def test_a_rule_is_offered_only_where_one_may_allow_the_request(why: str) -> None:
    async with running(asked(ruled(why=why)), on_rule=lambda _: None) as rig:
        found = await sheet(rig)
        assert ("no rule may allow it" in rig.text) == bool(why)
        assert ("make a rule from it" in rig.text) == (not why)
        await rig.press("r")
        assert ("Enter writes the rule" in rig.text) == (not why)
        assert bool(found.query(RulePanel)) == (not why)


async def test_a_rule_is_shown_with_what_it_would_have_allowed_and_then_written() -> None:
    written: list[str] = []

    def write(rules: str) -> None:
        written.append(rules)

    state = asked(
        command("a1", "pnpm test --silent", waited=500),
        command("a2", "pnpm test -s", waited=5),
        command("a3", "pnpm install", waited=4),
    )
    async with running(state, on_rule=write) as rig:
        found = await sheet(rig)
        await rig.press("r")
        assert "allow shell “pnpm test” in /code/s1" in rig.text
        assert "of 2 requests it would have allowed 1: pnpm test -s (1×)" in rig.text
        assert written == []
        await rig.press("enter")
        assert written == ['[[rules]]\nallow = "pnpm test"\nfolder = "/code/s1"\n']
        assert rig.feed.sent == []
        assert "The rule is written" in rig.text
        assert not found.query(RulePanel)


async def test_the_sheet_of_a_request_that_the_written_rule_has_answered_closes() -> None:
    state = asked(command("a1", "pnpm test", waited=5))
    async with running(state, on_rule=lambda _: None) as rig:
        found = await sheet(rig)
        await rig.press("r", "enter")
        settle(rig, state.approvals["a1"], "approved", "rule")
        await rig.settle()
        assert on_top(rig.app) is not found


@pytest.mark.parametrize("order", ["event", "error"])
@pytest.mark.parametrize(
    ("letter", "state", "by", "words"),
    [
        ("d", "approved", "you", "approved by you"),
        ("y", "denied", "process 7", "denied by process 7"),
        ("y", "withdrawn", "cli", "answered by you, in Copilot"),
    ],
)
async def test_an_answer_that_came_too_late_says_so_and_who_decided(
    letter: str, state: str, by: str, words: str, order: str
) -> None:
    begun = asked(command("a1", "echo one", waited=50), command("a2", "echo two", waited=5))
    error = Error(
        ErrorCode.UNKNOWN_APPROVAL, "approval a1 no longer waits for a decision", "approval.decide"
    )
    async with running(begun, size=(120, 36)) as rig:
        found = await sheet(rig)
        await rig.press(letter, "enter")
        for told in (order, "event" if order == "error" else "error"):
            if told == "error":
                rig.feed.put(error)
            else:
                settle(rig, begun.approvals["a1"], state, by)
            await rig.settle()
        assert found.key == "a2"
        assert re.search(rf"Your answer came too late\. . {words}: run echo one", rig.text)
        assert "no longer waits" not in rig.text
        await rig.turn(1)
        await rig.press(letter, "enter")
        settle(rig, begun.approvals["a2"], state, by)
        await rig.settle()
        assert on_top(rig.app) is found, "the last one is not taken for answered from here"
        assert re.search(rf"Your answer came too late\. . {words}: run echo two", rig.text)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("more", [0, 1])
async def test_another_answer_of_the_same_kind_that_came_too_late_says_so(
    order: int, more: int
) -> None:
    detail = {"question": "Which database?", "allowFreeform": True}
    one = approval("a1", "userInput", detail, session_id="s1")
    two = [command("a2", "echo two", waited=1)] * more
    late = Error(ErrorCode.UNKNOWN_APPROVAL, "approval a1 no longer waits", "approval.decide")
    async with running(asked(one, *two), size=(110, 30)) as rig:
        await sheet(rig)
        await rig.press(*"blue", "escape", "y", "enter")
        for told in (True, False)[::order]:
            if told:
                settle(rig, one, "approved", "process 7")
            else:
                rig.feed.put(late)
            await rig.settle()
        assert "Your answer came too late" in rig.text + "".join(rig.notices)
        assert "UNKNOWN_APPROVAL" not in "".join(rig.notices)


async def test_a_form_that_is_sent_back_was_not_too_late() -> None:
    plan = {"message": "The plan", "refusal": "changes", "requestedSchema": {"properties": {}}}
    form = approval("a1", "elicitation", plan, session_id="s1")
    async with running(asked(form)) as rig:
        found = await sheet(rig)
        await rig.press("y", "enter")
        assert rig.feed.sent[-1] == ApprovalDecide("a1", "approve", {})
        settle(rig, form, "denied", "you")
        await rig.settle()
        assert on_top(rig.app) is not found


async def test_a_rule_is_shown_with_what_the_records_say_while_the_sheet_goes_on() -> None:
    goes_on = threading.Event()

    def earlier(folder: str, most: int) -> Iterator[subjects.Approval]:
        assert (folder, most > 100) == ("/code/s1", True)
        assert goes_on.wait(30)
        yield from (command(f"e{n}", text, waited=1) for n, text in enumerate(["pnpm test", "ls"]))

    state = asked(command("a1", "pnpm test --silent", waited=9))
    async with running(
        state, size=(120, 36), on_rule=lambda _: None, earlier_requests=earlier
    ) as rig:
        await sheet(rig)
        await rig.press("r")
        assert "In the records: looking …" in rig.text
        assert "Enter writes" in rig.text
        goes_on.set()
        await rig.app.workers.wait_for_complete(
            [one for one in rig.app.workers if one.group == "proposal"]
        )
        await rig.settle()
        told = "In the records of this folder of 2 requests it would have allowed 1: pnpm test (1×)"
        assert told in rig.text


@pytest.mark.parametrize("said", ["Nothing is indexed of the records yet.", "broken"])
async def test_records_that_cannot_be_read_are_told(said: str) -> None:
    def earlier(_folder: str, _most: int) -> Iterator[subjects.Approval]:
        raise EarlierFault(said)

    state = asked(command("a1", "pnpm test -x", waited=9))
    async with running(
        state, size=(120, 36), on_rule=lambda _: None, earlier_requests=earlier
    ) as rig:
        await sheet(rig)
        await rig.press("r")
        await until_async(lambda: said in screen_text(rig.app), what="the fault")


async def test_a_rule_that_cannot_be_written_is_told() -> None:
    state = asked(command("a1", "pnpm test", waited=9))
    async with running(state, on_rule=lambda _: "config.toml: no space") as rig:
        await sheet(rig)
        await rig.press("r", "enter")
        assert "config.toml: no space" in rig.text


async def test_nothing_is_proposed_where_no_rule_may_be() -> None:
    async with running(on_rule=lambda _: None) as rig:
        for text, said in (
            ("echo $HOME", "No rule may allow this"),
            ("tapui stop", "No rule may allow this"),
            ("eval x y", "and nothing behind it"),
        ):
            await rig.begin_again(asked(command(text, text, waited=9)))
            await sheet(rig)
            await rig.press("r")
            assert said in rig.text, text


async def test_answers_of_rules_stand_in_the_band_and_the_header() -> None:
    settled = replace(
        approval("a1", "permission", COMMAND, session_id="s1"),
        state="approved",
        decided_by="rule",
        rule=ALLOWED,
    )
    async with running(asked(), size=(120, 36)) as rig:
        rig.feed.happen(ev.ApprovalDecided(settled, "s1"))
        await rig.settle()
        assert "rule “npm ci”  allowed" in rig.text
        assert "rules allowed 1" in rig.text
        kept = subjects.AppliedRule("allow", "shell", "", "session")
        rig.feed.happen(ev.ApprovalDecided(replace(settled, id="a2", rule=kept), "s1"))
        await rig.settle()
        assert "allowed by you until the session ends  Fix pairing" in rig.text
        assert "rules allowed 1" in rig.text


async def test_of_what_is_so_the_words_alone_stand_there() -> None:
    detail = {"kind": "read", "path": "/etc/x", "hardLinks": True}
    waits = approval("a1", "permission", detail, session_id="s1")
    async with running(asked(waits), size=(80, 24)) as rig:
        await sheet(rig)
        assert "has other names" in rig.text
        assert "true" not in rig.text.lower()
