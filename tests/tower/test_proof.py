"""What is recorded of turns, on the screen: the line of a turn, `done ✓ ✗ ○`, says and recorded."""

import re
from pathlib import Path

import pytest
from msgspec import Raw
from msgspec.structs import replace

from tapui import times
from tapui.projection.feed import Link
from tapui.projection.fold import fold
from tapui.projection.proof import record_of
from tapui.projection.proof_report import LIVE, ReportSource, as_markdown, report
from tapui.projection.state import State
from tapui.projection.turns.session import LiveTurns
from tapui.projection.turns.turn import LiveTurn
from tapui.tower.app.digest import AwayRows, digest
from tapui.tower.app.view import View
from tapui.tower.sessions.session_detail import SessionDetail
from tapui.tower.table.table import Table
from tapui.tower.textual.reader import Reader
from tapui.tower.turns.steps import lines_changed, turn_lines
from tapui.tower.turns.turn_detail import TurnDetail
from tapui.wire import events as ev
from tapui.wire import limits, subjects
from tapui.wire.changes import ChangedFile, ChangesList, ChangesRead, FileWriter
from tapui.wire.criteria import Pointer, SessionStanding, TurnProof
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Error
from tapui.wire.proving import ProofBegan, ProofEnded, ProofRun
from tapui.wire.tower import TurnsList, TurnsRead
from tapui.wire.turns import FileChange, SessionTurns, Turn, TurnHead, Usage
from tests.records.test_replay import all_folders
from tests.records.turns import Writer
from tests.rig.replayed import replay
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import START, approval, at, session
from tests.tower.test_notices import Called
from tests.tower.told import head, step

CHECKED = TurnProof("checked", "pytest, 212 tests, after the last change")
FAILED = TurnProof("failed", "pytest, exit 1")
UNCHECKED = TurnProof(
    "unchecked",
    "3 files changed since pytest passed",
    [Pointer("command", "call:c1", "recorded", at(1_700))],
)
LINE = "○ unchecked: 3 files changed since pytest passed, 19:41"
SIZES = [(80, 24), (120, 36), (160, 45)]
CHANGED = [FileChange("CHANGELOG.md", 41, 2), FileChange("src/app/version.py", 1, 1)]
SAYS = "Done: the changelog is complete and all tests pass."


def turns_of(session_id: str, *heads: TurnHead) -> LiveTurns:
    """Return turns of which the newest is here with a step."""
    *before, newest = heads
    made = [
        step(
            f"{newest.number}.1", ago=170, tool="edit", summary="CHANGELOG.md", added=41, removed=2
        ),
        step(f"{newest.number}.2", "message", ago=150, summary=newest.says),
    ]
    return LiveTurns.of(SessionTurns(session_id, before, Turn(newest, made)))


def recorded_world() -> State:
    """Return sessions that rest, one of each mark, and one that changed nothing."""
    state = State()
    marks: dict[str, tuple[str, TurnProof | None]] = {
        "s1": ("Release notes for 0.4", UNCHECKED),
        "s2": ("Gateway migration", FAILED),
        "s3": ("Fix the flaky pairing test", CHECKED),
        "s4": ("Sketches", None),
    }
    for id_, (name, proof) in marks.items():
        state.sessions[id_] = session(id_, name)
        newest = head(
            6, "Write the release notes", 180, 170, session_id=id_, files=CHANGED, proof=proof,
            steps=2, says=SAYS,
        )  # fmt: skip
        state.turns[id_] = turns_of(id_, newest)
        state.turns[id_].standing = standing(newest, proof)
    state.sessions["s5"] = session("s5", "Questions")
    asked = head(1, "Where are we?", 400, 20, session_id="s5", steps=2, says="Nearly there.")
    state.turns["s5"] = turns_of("s5", asked)
    state.turns["s1"] = turns_of(
        "s1",
        head(4, "Fix the build", 2_400, 311, files=CHANGED, proof=FAILED, steps=9),
        head(5, "Run the tests", 1_750, 62, files=CHANGED, proof=CHECKED, steps=1),
        head(6, "Write the release notes", 180, 170, files=CHANGED, proof=UNCHECKED, steps=2,
             says=SAYS),
    )  # fmt: skip
    latest = state.turns["s1"].latest
    assert latest is not None
    state.turns["s1"].standing = standing(latest.head(), UNCHECKED)
    return state


def standing(newest: TurnHead, proof: TurnProof | None) -> SessionStanding | None:
    return None if proof is None else SessionStanding(proof, newest.started_at)


def alone(id_: str) -> State:
    """Return that world with one session."""
    state = recorded_world()
    state.sessions = {id_: state.sessions[id_]}
    return state


def began(state: State, session_id: str = "s1") -> str:
    latest = state.turns[session_id].latest
    assert latest is not None
    return latest.started_at


def stood(state: State, session_id: str, proof: TurnProof) -> ev.SessionStood:
    return ev.SessionStood(session_id, SessionStanding(proof, began(state, session_id)))


def row(rig: Running, name: str) -> str:
    return next(line for line in rig.lists.splitlines()[1:] if name in line)


async def test_a_session_that_changed_files_says_how_it_stands() -> None:
    async with running(recorded_world()) as rig:
        for size in SIZES:
            await rig.resize(size)
            for name, state in (
                ("Release notes", "done ○"),
                ("Gateway migration", "done ✗"),
                ("Fix the flaky", "done ✓"),
                ("Sketches", "done "),
                ("Questions", "idle"),
            ):
                line = row(rig, name).split("Turns:")[0]
                assert state in line, (size, line)
            assert "done ○" not in row(rig, "Sketches"), size


async def test_what_is_not_proven_stands_before_what_is() -> None:
    async with running(recorded_world()) as rig:
        keys = [one.key for one in rig.pane(1).query_one(Table).rows]
        assert keys == ["s1", "s2", "s3", "s4", "s5"]
        busy = session("s5", "Questions", state="busy")
        rig.feed.happen(ev.SessionUpdated("s5", busy))
        await rig.settle()
        keys = [one.key for one in rig.pane(1).query_one(Table).rows]
        assert keys == ["s1", "s2", "s5", "s3", "s4"]


async def test_the_header_counts_what_is_unchecked() -> None:
    state = recorded_world()
    async with running(state) as rig:
        for size in ((60, 15), *SIZES, (200, 50)):
            await rig.resize(size)
            assert "○ 1" in rig.text.splitlines()[0], size
        rig.feed.happen(stood(state, "s1", CHECKED))
        await rig.settle()
        assert "○" not in rig.text.splitlines()[0]


async def test_the_header_names_the_session_that_rests_unchecked() -> None:
    state = recorded_world()
    async with running(state, size=(160, 40)) as rig:
        assert "○ 1 unchecked: Release notes for 0.4" in rig.text.splitlines()[0]
    newer = head(7, "Go on", 20, 15, session_id="s3", files=CHANGED, proof=UNCHECKED)
    state.turns["s3"] = turns_of("s3", newer)
    state.turns["s3"].standing = standing(newer, UNCHECKED)
    async with running(state, size=(160, 40)) as rig:
        assert "○ 2 unchecked: Fix the flaky pairing test, 1 more" in rig.text.splitlines()[0]


async def test_a_sessions_detail_has_the_files_that_it_changed() -> None:
    async with running(alone("s1"), size=(160, 40)) as rig:
        detail = rig.app.screen.query_one(SessionDetail)
        (files,) = [line for line in detail.reader.text.splitlines() if "changed  " in line][:1]
        assert re.search(r"^changed +\S+ +\+\d+ −\d+$", files), files
        assert "7  changes" in detail.reader.text
        rig.feed.happen(ev.SessionHappened("s1", "session.idle", Raw(b"{}")))
        await rig.settle()
        written = FileWriter("tool", at(200), "edit")
        found = [ChangedFile("/code/app", "CHANGELOG.md", "modified", 41, 2, by=[written])]
        found += [ChangedFile("/code/app", f"src/{n}.py", "modified", 1, 1) for n in range(6)]
        (asked,) = [one for one in rig.feed.sent if isinstance(one, ChangesRead)]
        rig.feed.put(ChangesList(asked.id, "s1", found))
        await rig.settle()
        text = detail.reader.text
        assert re.search(r"CHANGELOG.md +\+41 −2 +edit +\S+ +not seen", text), text
        assert "and 2 more" in text


async def test_a_sessions_detail_has_its_own_answers() -> None:
    state = alone("s3")
    shell = {"kind": "shell", "fullCommandText": "npm ci"}
    rule = subjects.AppliedRule("allow", "permission", "npm ci", "user", "config.toml:7")
    for id_, of, settled in (
        ("a1", "s3", {"decided_by": "you", "state": "approved"}),
        ("a2", "s3", {"decided_by": "you", "state": "denied"}),
        ("a3", "s3", {"decided_by": "rule", "state": "approved", "rule": rule}),
        ("a4", "s5", {"decided_by": "you", "state": "denied"}),
    ):
        state.approvals[id_] = approval(id_, "permission", shell, session_id=of, **settled)
    async with running(state, size=(160, 40)) as rig:
        text = rig.app.screen.query_one(SessionDetail).reader.text
        assert re.search(r"lately +rule “npm ci”.* 1×   you allowed 1, denied 1", text), text
        told = text.partition("\nanswers\n")[2].split("\n\n")[0].splitlines()
        assert len(told) == 3
        assert all("npm ci" in line for line in told)


@pytest.mark.parametrize(("used", "tone"), [(50_000, "muted"), (85_000, "warning")])
async def test_a_full_context_offers_to_compact_it(used: int, tone: str) -> None:
    state = alone("s3")
    use = subjects.ContextUse(used, 100_000)
    state.sessions["s3"] = replace(state.sessions["s3"], context=use, can=["compact"])
    async with running(state, size=(160, 40)) as rig:
        reader = rig.app.screen.query_one(SessionDetail).reader
        (line,) = [one for one in reader.text.splitlines() if one.startswith("context")]
        assert (". k  compact" in line) == (tone == "warning"), line


async def test_a_turn_that_only_answers_leaves_its_session_done() -> None:
    state = alone("s3")
    async with running(state) as rig:
        assert "done ✓" in row(rig, "Fix the flaky")
        asked = Raw(b'{"content":"why?"}')
        rig.feed.happen(ev.SessionHappened("s3", "user.message", asked), ts=at(-1))
        await rig.settle()
        assert "busy" in row(rig, "Fix the flaky"), "before its host says so"
        assert "1 busy" in rig.text.splitlines()[0]
        rig.feed.happen(ev.SessionHappened("s3", "session.idle", Raw(b"{}")), ts=at(-2))
        await rig.settle()
        line = row(rig, "Fix the flaky")
        assert "done" in line
        assert "idle" not in line
        rig.feed.happen(stood(rig.app.view.state, "s3", CHECKED), ts=at(-3))
        await rig.settle()
        assert "done ✓" in row(rig, "Fix the flaky")


async def test_what_commands_changed_is_done_without_a_sign() -> None:
    async with running(alone("s5")) as rig:
        assert "idle" in row(rig, "Questions")
        rig.feed.happen(ev.SessionStood("s5", has_changed=True), ts=at(-1))
        await rig.settle()
        assert "done " in row(rig, "Questions")
        await rig.press("enter")
        assert "no check known here; . v names one" in rig.text


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_turn_that_changed_files_ends_with_its_line(size: tuple[int, int]) -> None:
    async with running(recorded_world(), size=size) as rig:
        if size[0] < 100:
            await rig.press("2")
        lines = rig.lists.splitlines()
        end = next(at for at, line in enumerate(lines) if "○ unchecked: 3 files changed" in line)
        assert "says" in lines[end - 1], "it stands below the last step"
        assert lines[end].index("○") == lines[end - 2].index("✓ edit"), "below the steps' signs"
        assert "✓ checked" in row(rig, "Run the tests")
        assert "✗ check failed" in row(rig, "Fix the build")
        assert " ✓" not in row(rig, "you: “Write the release").split("Turns")[-1]


async def test_the_line_comes_with_the_proof_and_leaves_the_cursor_where_it_is() -> None:
    state = alone("s1")
    latest = state.turns["s1"].latest
    assert latest is not None
    latest.proof = None
    async with running(state, size=(115, 36)) as rig:
        await rig.press("2", "G")
        selected = rig.pane(2).query_one(Table).selected
        assert "unchecked: 3" not in rig.text
        rig.feed.happen(ev.TurnProved("s1", latest.started_at, UNCHECKED))
        await rig.settle()
        assert LINE.split(",", maxsplit=1)[0] in rig.text
        assert rig.pane(2).query_one(Table).selected == selected
        checked_in = TurnProof("unchecked", UNCHECKED.text, UNCHECKED.pointers, checked_in=7)
        rig.feed.happen(ev.TurnProved("s1", latest.started_at, checked_in))
        rig.feed.happen(stood(state, "s1", CHECKED))
        await rig.settle()
        assert "· checked in 7" in rig.text
        assert "done ✓" in row(rig, "Release notes")


async def test_the_sheet_of_a_turn_begins_with_says_and_recorded() -> None:
    async with running(recorded_world(), size=(120, 36)) as rig:
        await rig.press("2", "home", ".", "o")
        assert type(on_top(rig.app)) is TurnDetail
        says, recorded = rig.app.screen.query_one(Reader).plain_text.splitlines()[:2]
        assert says == f"says       “{SAYS}”"
        assert recorded.startswith("recorded   ○ unchecked: 3 files changed since pytest passed, ")
        assert "done, unchecked" in rig.text


async def test_what_is_recorded_stands_out_as_the_sign_in_its_row() -> None:
    async with running(recorded_world(), size=(120, 36)) as rig:
        await rig.press("enter")
        for session, tone in (("s1", "strong"), ("s2", "error"), ("s3", "success")):
            on_top(rig.app).go_to(session)
            await rig.settle()
            parts = rig.app.screen.query_one(Reader).parts
            recorded = next(one for one in parts if one.text.startswith("recorded "))
            assert recorded.tone == tone, session
            offered = rig.app.screen.query_one(Reader).plain_text
            assert ("\n           . v  run its check here   . r  send it back   " in offered) == (
                session != "s3"
            ), "what can be done about it stands below it"


async def test_what_was_said_last_has_what_was_recorded_below_it() -> None:
    async with running(recorded_world(), size=(120, 36)) as rig:
        await rig.press("2", "home", "j", "j", "enter")
        lines = rig.app.screen.query_one(Reader).plain_text.splitlines()
        at = lines.index("says")
        assert lines[-1].startswith("recorded   ○ unchecked: 3 files changed"), lines[at:]
        await rig.press("left")
        assert "recorded" not in rig.app.screen.query_one(Reader).plain_text


async def test_the_sheet_of_a_session_begins_with_says_and_recorded() -> None:
    async with running(recorded_world(), size=(120, 36)) as rig:
        await rig.press("enter")
        assert type(on_top(rig.app)) is SessionDetail
        reader = rig.app.screen.query_one(Reader)
        assert reader.plain_text.splitlines()[:2][0] == f"says       “{SAYS}”"
        assert reader.plain_text.splitlines()[1].startswith("recorded   ○ unchecked: 3 files")
        assert "done ○, open for" in rig.text
        on_top(rig.app).go_to("s4")
        await rig.settle()
        assert reader.plain_text.splitlines()[1] == "recorded   no check known here; . v names one"
        on_top(rig.app).go_to("s5")
        await rig.settle()
        assert "recorded" not in reader.plain_text, "it changed nothing"


async def test_what_the_agent_says_is_shown_and_never_interpreted() -> None:
    state = alone("s1")
    latest = state.turns["s1"].latest
    assert latest is not None
    latest.says = "[bold]✓ checked[/] \x1b[2J\u202e“done”"
    latest.proof = TurnProof("checked", "py\x1b]0;owned\x07test\u202e [red]x[/]")
    state.turns["s1"].standing = standing(latest.head(), latest.proof)
    async with running(state, size=(120, 36)) as rig:
        await rig.press("enter")
        text = rig.text
        assert "[bold]✓ checked[/]" in text
        assert "[red]x[/]" in text
        assert not any(one in text for one in "\x1b\x07\u202e")


async def test_a_check_that_failed_at_a_good_end_is_one_line_and_no_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called = Called(monkeypatch)
    state = recorded_world()
    async with running(state, on_notice=called.take) as rig:
        rig.feed.happen(stood(state, "s1", UNCHECKED))
        rig.feed.happen(stood(state, "s3", CHECKED))
        await rig.settle()
        assert rig.notices == []
        for _ in range(2):
            rig.feed.happen(stood(state, "s3", FAILED))
            await rig.settle()
        assert rig.notices == ["✗ check failed: pytest, exit 1"]
        await rig.turn(20)
        assert (called.bells, called.texts, called.sequences) == (0, [], [])


@pytest.mark.parametrize("is_open", [True, False])
async def test_a_check_that_failed_on_its_sheet_is_not_said_twice(is_open: bool) -> None:
    state = recorded_world()
    async with running(state) as rig:
        await rig.press("slash", *"flaky", "enter", "full_stop", "v")
        (order,) = rig.feed.sent_of(ProofRun)
        assert order.session_id == "s3"
        rig.feed.put(ProofBegan(order.id, "s3", "pytest -q", "/code/s3", at()))
        await rig.settle()
        if not is_open:
            await rig.press("escape")
        rig.feed.happen(stood(state, "s3", FAILED))
        rig.feed.put(ProofEnded(order.id, "failed", "pytest, exit 1", 1))
        await rig.settle()
        assert rig.notices == ([] if is_open else ["✗ check failed: pytest, exit 1"])


@pytest.mark.parametrize("what", ["stopped", "history"])
async def test_a_check_that_failed_is_no_news_where_the_turn_was_stopped_or_is_past(
    what: str,
) -> None:
    state = recorded_world()
    latest = state.turns["s3"].latest
    assert latest is not None
    if what == "stopped":
        latest.state = "stopped"
    else:
        latest.is_history = True
    async with running(state) as rig:
        rig.feed.happen(stood(state, "s3", FAILED))
        await rig.settle()
        assert rig.notices == []


async def test_the_screen_of_records_is_the_live_one(tmp_path: Path) -> None:
    def told(session_id: str) -> list[ev.AnyEvent]:
        opened = session(session_id, "Release notes", opened_at=at(60))
        made = subjects.Call(
            "c1", session_id, "copilot", "edit", "running", at(50), changes=CHANGED
        )  # fmt: skip
        return [
            ev.SessionOpened(session_id, opened),
            ev.SessionHappened(session_id, "user.message"),
            ev.CallStarted(session_id, made),
            ev.CallFinished(session_id, made),
            ev.SessionHappened(session_id, "session.idle"),
        ]

    live = State()
    with Writer(tmp_path / "state") as writer:
        writer.turn(*told("s1"))
        (prompt,) = [
            one.ts
            for one in writer.entries.values()
            if isinstance(one.event, ev.SessionHappened) and one.event.event == "user.message"
        ]
        writer.turn(ev.TurnProved("s1", prompt, UNCHECKED))
        writer.turn(ev.SessionStood("s1", SessionStanding(UNCHECKED, prompt)))
        entries = list(writer.entries.values())
    for entry in entries:
        fold(live, entry.event, entry.ts)
    replayed = replay(all_folders(tmp_path / "state"))
    texts = []
    for state in (live, replayed):
        async with running(state, size=(120, 36)) as rig:
            texts.append(rig.text)
    assert "done ○" in texts[0]
    assert "○ unchecked: 3 files changed since pytest passed" in texts[0]
    assert texts[0] == texts[1]


def test_the_digest_says_how_sessions_stand() -> None:
    view = View()
    view.state = recorded_world()
    view.now = START
    rows = AwayRows(view, digest(view.state, {}, START - 1000, START)).rows
    told = [row.texts[0].strip() for row in rows]
    for name, line in (
        ("Gateway migration", "✗ check failed: pytest, exit 1"),
        ("Release notes for 0.4", "○ unchecked: 3 files changed since pytest passed"),
    ):
        at = next(at for at, text in enumerate(told) if text.startswith(name))
        assert any(one.startswith(line) for one in told[at + 1 : at + 3]), told


async def test_a_turn_that_changed_files_has_no_tick_where_no_check_is_known() -> None:
    async with running(alone("s4"), size=(115, 36)) as rig:
        await rig.press("2", ".", "f")
        assert "✓" not in row(rig, "you: “Write the release notes”")
    async with running(alone("s5"), size=(115, 36)) as rig:
        await rig.press("2", ".", "f")
        assert row(rig, "you: “Where are we?”").split("you:")[1].count("✓") == 1


# What others are shown


@pytest.mark.parametrize("keys", [["1"], ["2", "home"]], ids=["session", "turn"])
async def test_y_copies_what_tapui_proof_prints(keys: list[str]) -> None:
    state = recorded_world()
    turns = [turn.told() for turn in state.turns["s1"].turns]
    async with running(state, size=(120, 36)) as rig:
        await rig.press(*keys, "full_stop", "y")
        (asked,) = rig.feed.sent_of(TurnsRead)
        assert (asked.session_id, asked.before, asked.last) == ("s1", None, limits.TURNS)
        assert rig.app.clipboard == ""
        rig.feed.put(TurnsList(asked.id, turns))
        await rig.settle()
        source = ReportSource("Release notes for 0.4", "/code/s1", LIVE)
        known = rig.app.view.state
        record, standing = record_of(known, known.sessions["s1"]), known.turns["s1"].standing
        told = report(source, turns, record, standing, times.date_and_time)
        assert rig.app.clipboard.split("\n") == as_markdown(told, times.date_and_time)
        assert "| 6 | Write the release notes | 2 files +42 −3 | ○ unchecked:" in rig.app.clipboard
        assert "recorded by tapui on this machine" in rig.app.clipboard
        assert rig.notices == ["The report was copied"]


async def test_a_report_that_is_not_there_is_not_copied() -> None:
    async with running(recorded_world(), size=(120, 36)) as rig:
        await rig.press("full_stop", "y")
        asked = rig.feed.sent_of(TurnsRead)[0]
        refused = Error(ErrorCode.INVALID_SESSION, "gone", reply_to="turns.read", id=asked.id)
        rig.feed.put(refused)
        rig.feed.put(TurnsList(asked.id, []))
        await rig.settle()
        assert rig.app.clipboard == ""
        assert rig.notices == ["INVALID_SESSION: gone"]
        await rig.press("full_stop", "y")
        rig.feed.put(Link("down", "lost"))
        rig.feed.put(TurnsList(rig.feed.sent_of(TurnsRead)[-1].id, []))
        await rig.settle()
        assert rig.app.clipboard == ""


async def test_what_is_copied_formats_no_page_and_moves_no_cursor() -> None:
    state = alone("s1")
    state.sessions["s1"] = session("s1", "[x](https://evil.example)\x1b[2J`|")
    async with running(state, size=(120, 36)) as rig:
        await rig.press("full_stop", "y")
        asked = rig.feed.sent_of(TurnsRead)[0]
        rig.feed.put(TurnsList(asked.id, [turn.told() for turn in state.turns["s1"].turns]))
        await rig.settle()
        first = rig.app.clipboard.split("\n")[0]
        assert first == "### What was recorded: \\[x\\](https://evil.example) \\[2J\\`\\|"


async def test_an_ended_session_can_still_be_shown_to_others() -> None:
    state = alone("s1")
    ended = session("s1", "Release notes", state="ended", ended_at=at(5))
    state.sessions["s1"] = ended
    async with running(state, size=(120, 36)) as rig:
        await rig.press("full_stop")
        assert "y  copy what was recorded" in rig.text
        assert "prove it now" not in rig.text


async def test_a_turn_says_how_often_it_was_sent_back() -> None:
    state = alone("s1")
    latest = state.turns["s1"].latest
    assert latest is not None
    latest.sent_back, latest.again = 2, Usage(38_000, 900)
    async with running(state, size=(120, 36)) as rig:
        await rig.press("2", "z")
        assert "sent back 2× ↑39k" in row(rig, "you: “Write the release")
        await rig.press("home", "full_stop", "o")
        assert "goals      sent back 2×  ↑38k ↓900" in rig.text


@pytest.mark.parametrize(
    ("files", "shown"),
    [
        ([FileChange("a.py")], "1 file"),
        ([FileChange("a.py", 0, 0), FileChange("b.py", 0, 0)], "2 files"),
        ([FileChange("a.py", 0, 3), FileChange("b.py")], "+0 −3"),
        ([], ""),
    ],
)
def test_a_changed_file_is_never_shown_as_unchanged(files: list[FileChange], shown: str) -> None:
    turn = LiveTurn.of_head(head(1, "go", 60, files=files))
    assert turn_lines(turn) == shown


def test_a_step_without_changed_lines_names_none() -> None:
    assert lines_changed(0, 0) == lines_changed(None, None) == ""
    assert lines_changed(1, None) == "+1 −0"
