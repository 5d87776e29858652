"""The sheet of requests: one follows the other, and no decision goes to another than the shown."""

import threading
from collections.abc import Iterator

import pytest
from msgspec.structs import replace
from textual.events import Key, Paste

from tapui.projection.changes import MAX_LINES, changes
from tapui.projection.state import State
from tapui.tower.app.services import EarlierFault
from tapui.tower.calls.call_sheet import CallScreen
from tapui.tower.providers.provider_sheet import ProviderScreen
from tapui.tower.requests.answer_fields import Letters, RulePanel
from tapui.tower.requests.approval_sheet import ApprovalScreen
from tapui.tower.sessions.session_sheet import SessionScreen
from tapui.tower.streams.line_sheet import LineScreen
from tapui.tower.textual.reader import Reader
from tapui.tower.textual.sheet import Sheet
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.tower import ApprovalDecide
from tests.rig.waiting import until_async
from tests.tower.running import Running, running, screen_text
from tests.tower.scripted import approval, at, lines, posts, session, world

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


async def sheet(rig: Running) -> ApprovalScreen:
    """Open the most urgent request and let the lock go by."""
    await rig.press("a")
    found = rig.app.screen
    assert isinstance(found, ApprovalScreen)
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
            assert rig.app.screen is found
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
        assert rig.app.screen is not found, "none is left"


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
        assert rig.app.screen is not found


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
        assert rig.app.screen is found
        await rig.press("d", "enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="soon", decision="deny")]


@pytest.mark.parametrize(
    "read", [["y", "enter"], ["j", "y"], ["y", "j"], ["d", "enter"], ["enter", "y", "enter"]]
)
async def test_keys_of_one_read_neither_choose_nor_decide(read: list[str]) -> None:
    async with running(three()) as rig:
        await sheet(rig)
        await rig.type(*read)
        assert rig.feed.sent == []
        assert "Pressed with other keys" in rig.text
        await rig.press("enter")
        assert rig.feed.sent == [], "nothing was chosen"


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


async def test_a_command_is_shown_with_its_parts_place_and_reason() -> None:
    async with running(asked(approval("a1", "permission", COMMAND, session_id="s1"))) as rig:
        found = await sheet(rig)
        assert "Fix pairing asks to run a command" in rig.text
        shown = found.query_one(Reader).text
        for part in ("rm -rf build && npm ci", "1  rm -rf build", "2  npm ci", "in /code/s1"):
            assert part in shown
        assert "the agent says: “Clean install”" in shown
        assert found.copied() == "rm -rf build && npm ci"


@pytest.mark.parametrize(
    ("detail", "title", "shown"),
    [
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
        ({"kind": "new-kind", "x": [1]}, "asks to new-kind", "- 1"),
    ],
)
async def test_each_kind_of_permission(detail: dict[str, object], title: str, shown: str) -> None:
    async with running(asked(approval("a1", "permission", detail, session_id="s1"))) as rig:
        await sheet(rig)
        assert title in rig.text
        assert shown in rig.text
        assert "\\u" not in rig.text


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


@pytest.mark.parametrize("letter", ["y", "s", "r"])
async def test_what_was_not_on_screen_cannot_be_allowed(letter: str) -> None:
    text = "\n".join(f"echo {number}" for number in range(100)) + "\nrm -rf ~"
    async with running(asked(command("a1", text, waited=5))) as rig:
        found = await sheet(rig)
        await rig.press(letter)
        assert "more lines below: scroll to the end first." in rig.text
        await rig.press("enter")
        assert not rig.feed.sent
        assert not found.query(RulePanel)
        await rig.press("pagedown", letter, "enter")
        assert not rig.feed.sent
        await rig.press("end", "home", "y", "enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="a1", decision="approve")]


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
    ("pane", "kind", "count"), [("1", SessionScreen, 3), ("4", ProviderScreen, 5)]
)
async def test_sheets_go_through_the_list_that_they_were_opened_from(
    pane: str, kind: type[Sheet], count: int, size: tuple[int, int]
) -> None:
    async with running(world(), size=size) as rig:
        await rig.press(pane, "enter")
        found = rig.app.screen
        assert isinstance(found, kind)
        keys = [found.key]
        for _ in range(count + 1):
            await rig.press("right")
            keys.append(found.key)
        assert len(set(keys)) == count
        assert f"{count} of {count}" in rig.text
        assert "Esc closes" in rig.text
        await rig.press("left")
        assert found.key == list(dict.fromkeys(keys))[-2]
        frame = found.query_one(".sheet").region
        below = rig.app.screen_stack[0].query_one("PaneArea").region
        assert frame.width == size[0], "nothing of the panes is left at its sides"
        assert frame.y <= below.y
        assert frame.bottom >= below.bottom


async def test_calls_and_lines_have_neighbours_too() -> None:
    async with running(world(), size=(120, 36)) as rig:
        rig.feed.happen(*posts(("s1", "ci-watch@ci-watcher"), lines(60)[48:]))
        await rig.settle()
        await rig.press("5", "enter")
        call = rig.app.screen
        assert isinstance(call, CallScreen)
        first, text = call.key, call.query_one(Reader).text
        await rig.press("right")
        assert (call.key, call.query_one(Reader).text) != (first, text)
        await rig.press("escape", "3", "enter")
        line = rig.app.screen
        assert isinstance(line, LineScreen)
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
        assert "1  rm -rf build    no rule" in shown
        assert "2  npm ci          allowed by rule “npm ci” (config.toml:7)" in shown
        assert "3  timeout 5 x     no rule may allow it: timeout runs what follows it" in shown
        assert "no rule may allow it: it uses a variable" in shown


async def test_exactly_this_is_allowed_by_a_letter_and_enter() -> None:
    async with running(asked(ruled())) as rig:
        await sheet(rig)
        await rig.press("s")
        assert "Enter allows exactly this, until the session ends" in rig.text
        assert rig.feed.sent == []
        await rig.press("enter")
        assert rig.feed.sent == [ApprovalDecide("a1", "approve", keep=True)]


async def test_what_is_always_asked_cannot_be_kept() -> None:
    async with running(asked(ruled(unkeepable="it names tapui"))) as rig:
        await sheet(rig)
        await rig.press("s", "enter")
        assert rig.feed.sent == []
        assert "until the session ends" not in rig.text


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


@pytest.mark.parametrize("text", ["echo $HOME", "tapui stop", "eval x y"])
async def test_nothing_is_proposed_where_no_rule_may_be(text: str) -> None:
    state = asked(command("a1", text, waited=9))
    async with running(state, on_rule=lambda _: None) as rig:
        await sheet(rig)
        await rig.press("r")
        if text == "eval x y":
            assert "and nothing behind it" in rig.text
        else:
            assert "No rule may allow this" in rig.text


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
