"""The Turns pane: what it shows of a session's story, what follows, and what stays where it is."""

import re

import pytest
from msgspec import Raw
from msgspec.structs import replace

from tapui.projection.state import State
from tapui.projection.turns.session import LiveTurns
from tapui.tower.calls.call_detail import CallDetail
from tapui.tower.requests.request_detail import RequestDetail
from tapui.tower.table.table import Table
from tapui.tower.textual.reader import Reader
from tapui.tower.turns.turn_detail import StepDetail, TurnDetail
from tapui.tower.turns.turns_pane import TurnsPane
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.criteria import TurnProof
from tapui.wire.message import Error
from tapui.wire.tower import Detail, DetailRead, TurnsList, TurnsRead
from tapui.wire.turns import FileChange, SessionTurns, Step, Turn, TurnSource
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import at, call
from tests.tower.told import crowded, current, head, older, step, turns_world, whole


def shown(rig: Running) -> list[str]:
    """Return the lines of the pane, without its frame."""
    lines = rig.text.splitlines()
    start = next(index for index, line in enumerate(lines) if "2 Turns" in line)
    body = [line.split("│")[1] for line in lines[start + 1 :] if line.startswith("│")]
    return [line.rstrip() for line in body if line.strip()]


def selected(rig: Running) -> str:
    table = pane(rig).table
    return table.row_text(pane(rig).selected)


def pane(rig: Running) -> TurnsPane:
    found = rig.pane(2)
    assert isinstance(found, TurnsPane)
    return found


def started(id_: str, command: str = "make", session_id: str = "s1", **fields: object) -> ev.Event:
    args = Raw(b'{"command":"' + command.encode() + b'"}')
    made = call(
        id_,
        "bash",
        session_id=session_id,
        provider="copilot",
        provider_id=None,
        args=args,
        **fields,
    )
    return ev.CallStarted(session_id=session_id, call=made)


def finished(id_: str, exit_code: int = 0, **fields: object) -> ev.Event:
    done = call(id_, "bash", state="done", exit_code=exit_code, duration=2000.0, **fields)
    return ev.CallFinished(session_id="s1", call=done)


def asked(content: str) -> ev.Event:
    data = Raw(b'{"content":"' + content.encode() + b'"}')
    return ev.SessionHappened(session_id="s1", event="user.message", data=data)


def of_turns(*heads: object, current_turn: Turn | None = None) -> State:
    state = turns_world()
    state.turns["s1"] = LiveTurns.of(SessionTurns("s1", list(heads), current_turn))  # type: ignore[arg-type]
    return state


async def test_the_newest_turn_is_on_top_with_its_steps_and_the_others_are_folded() -> None:
    async with running(turns_world()) as rig:
        await rig.press("2")
        lines = shown(rig)
        assert "▾ 14  you: “Why does pairing flake?”" in lines[0]
        assert lines[0].rstrip().endswith("flake?”" + " " * 27 + "2m 40s")
        assert not re.search(r"[↑↓]|\d\d:\d\d:\d\d", "".join(lines)), "the detail has them"
        assert [line[:6] for line in lines[1:3]] == ["    ✓ ", "    ✓ "]
        assert lines[1].rstrip().endswith("30ms")
        assert [re.findall(r"[✓✗●!] (\w+)", line)[0] for line in lines[1:6]] == [
            "grep",
            "edit",
            "bash",
            "task",
            "bash",
        ]
        assert "tests/pty/test_pair.py  +6 −2" in lines[2]
        assert "✗" in lines[3]
        assert "exit 1" in lines[3]
        assert "reviewer: “Look for more" in lines[4]
        assert "! bash" in lines[5]
        assert [line.split()[2] for line in lines[6:]] == ["13", "12", "11", "10"]
        assert "7 steps   ✓" in lines[6]
        assert "ci-watch: “build" in lines[7]
        assert "2 failed" in lines[7]
        assert "unknown: tapui ended" in lines[9]


async def test_only_what_waits_for_the_person_is_amber() -> None:
    gated = step("14.9", "gate", "waiting", ago=5, tool="deploy", provider="guard")
    turn = current()
    async with running(of_turns(current_turn=replace(turn, steps=[gated]))) as rig:
        await rig.press("2")
        assert "asks guard" in rig.text
        tones = [piece for row in pane(rig).table.rows for cell in row.cells for piece in cell.lead]
        tones += [(cell.text, cell.tone) for row in pane(rig).table.rows for cell in row.cells]
        assert "warning" not in {tone for _text, tone in tones}


async def test_the_pane_shows_the_session_that_is_selected() -> None:
    state = turns_world()
    other = replace(head(1, "Write the notes", 400, 20), session_id="s2")
    state.turns["s2"] = LiveTurns.of(SessionTurns("s2", [], Turn(other)))
    async with running(state, size=(120, 36)) as rig:
        assert "2 Turns: Fix the flaky pairing test" in rig.text
        await rig.press("down")
        assert "2 Turns: Release notes for 0.4" in rig.text
        assert "Write the notes" in rig.text
        await rig.press("down")
        assert "No turn of local yet." in rig.text
        await rig.press("home")
        assert "Why does pairing flake?" in rig.text


async def test_what_happens_next_is_followed() -> None:
    async with running(turns_world(), size=(80, 16)) as rig:
        await rig.press("2")
        for number in range(12):
            rig.feed.happen(started(f"n{number}", f"make part-{number}"))
            await rig.settle()
            assert f"make part-{number}" in selected(rig)
            assert f"make part-{number}" in rig.text
        assert "▾ 14  you" in shown(rig)[0], "its prompt stays in sight above its steps"
        rig.feed.happen(ev.SessionHappened("s1", "session.idle"), asked("And now?"), ts=at(-1))
        rig.feed.happen(started("m1", "make again"), ts=at(-2))
        await rig.settle()
        assert "make again" in selected(rig)
        assert "▸ 14" in rig.text, "the turn before is folded"


async def test_nothing_moves_under_a_cursor_that_is_elsewhere() -> None:
    async with running(turns_world(), size=(80, 24)) as rig:
        await rig.press("2", "up", "up")
        before, line = selected(rig), shown(rig).index(next(x for x in shown(rig) if "▌" in x))
        rig.feed.happen(started("n1"), finished("n1"), started("n2"))
        await rig.settle()
        rig.feed.happen(ev.SessionHappened("s1", "session.idle"), asked("And now?"), ts=at(-1))
        await rig.settle()
        assert selected(rig) == before
        assert "▾ 14" in rig.text, "what one reads is not folded away"
        await rig.press("home")
        assert "▾ 15  you: “And now?”" in shown(rig)[0]
        assert line > 0


async def test_end_of_the_newest_turn_follows_again() -> None:
    async with running(turns_world()) as rig:
        await rig.press("2", "up", "down")
        rig.feed.happen(started("n1", "make more"))
        await rig.settle()
        assert "make more" in selected(rig)


async def test_older_turns_are_read_when_the_person_gets_there() -> None:
    async with running(turns_world()) as rig:
        await rig.press("2", "down", "enter")
        assert "its steps are being read" in rig.text
        (read,) = [one for one in rig.feed.sent if isinstance(one, TurnsRead)]
        assert (read.session_id, read.before, read.last) == ("s1", 14, 8)
        rig.feed.put(TurnsList(id=read.id, turns=[whole(12), whole(13)]))
        await rig.settle()
        assert "make step-7" in rig.text
        await rig.press("enter")
        assert "make step-7" not in rig.text
        await rig.press("down", "enter")
        assert "make step-5" in rig.text
        assert "exit 2" in rig.text
        asked_for = [one.before for one in rig.feed.sent if isinstance(one, TurnsRead)]
        assert asked_for == [14], "turn 12 came with it"


async def test_a_click_on_its_mark_folds_a_turn_and_elsewhere_only_selects_it() -> None:
    async with running(turns_world()) as rig:
        await rig.press("2")
        await rig.pilot.click(pane(rig).table, offset=(30, 0))
        await rig.settle()
        assert "▾ 14" in rig.text
        assert "Why does pairing" in selected(rig)
        await rig.pilot.click(pane(rig).table, offset=(7, 0))
        await rig.settle()
        assert "▸ 14" in rig.text


async def test_steps_that_are_kept_no_longer_are_told() -> None:
    found = replace(whole(13), steps=whole(13).steps[4:])
    async with running(of_turns(current_turn=found)) as rig:
        await rig.press("2")
        assert "4 earlier steps no longer kept here; the records have them" in rig.text


async def test_a_subagent_is_a_turn_within_the_turn() -> None:
    async with running(turns_world()) as rig:
        await rig.press("2", "up")
        assert "Two files sleep" not in rig.text
        await rig.press("enter")
        assert "▾ 3 calls" in rig.text
        inner = [line for line in shown(rig) if "“Two files sleep.”" in line]
        assert inner[0].startswith("      · says"), "it is set in"
        await rig.press("enter")
        assert "Two files sleep" not in rig.text


NAMES = {" ": "space", ">": "greater_than_sign", ":": "colon", "^": "circumflex_accent"}
NAMES |= {".": "full_stop", "*": "asterisk"}


async def filtered(rig: Running, typed: str) -> list[str]:
    """Filter the pane by a text, and return its lines."""
    await rig.press("slash", *(NAMES.get(sign, sign) for sign in typed), "enter")
    return shown(rig)


async def test_the_filter_leaves_steps_under_the_heads_of_their_turns() -> None:
    async with running(of_turns(current_turn=current())) as rig:
        await rig.press("2")
        for typed, left in (
            ("failed", ["pytest -x tests/pty"]),
            (">10s", ["pytest -x tests/pty", "Look for more", "tests/rig.py", "rm -rf build"]),
            (">1m bash", ["rm -rf build"]),
            ("sleep", ['"sleep(" tests/', "Look for more", '"sleep(" tests', "Two files sleep"]),
            ("re:^.*edit", ["test_pair.py"]),
        ):
            lines = await filtered(rig, typed)
            assert "you: “Why does pairing flake?”" in lines[0], typed
            assert len(lines) == 1 + len(left), typed
            for line, text in zip(lines[1:], left, strict=True):
                assert text in line, typed
            await rig.press("escape")
            assert len(shown(rig)) == 6, typed


async def test_the_filter_knows_how_steps_ended() -> None:
    ways = ("failed", "denied", "cancelled", "stopped", "timedOut", "done")
    ended = [
        step(f"14.{at_}", state=way, ago=60 - at_, tool="bash", summary=f"make-{way}")
        for at_, way in enumerate(ways)
    ]
    turn = Turn(head(14, "Go", 70, None, steps=len(ended)), ended)
    async with running(of_turns(current_turn=turn)) as rig:
        await rig.press("2")
        for typed, left in (
            ("denied", {"denied"}),
            ("cancelled", {"cancelled"}),
            ("stopped", {"stopped"}),
            ("timed out", {"timedOut"}),
            ("timed out failed make", {"timedOut", "failed"}),
            ("denied make-cancelled", set()),
            ("time", {"timedOut"}),
        ):
            lines = "\n".join(await filtered(rig, typed))
            assert {way for way in ways if f"make-{way}" in lines} == left, typed
            await rig.press("escape")


async def test_a_filter_reads_the_turns_of_which_only_heads_are_here() -> None:
    async with running(turns_world()) as rig:
        await rig.press("2", "slash", *"failed", "enter")
        (read,) = [one for one in rig.feed.sent if isinstance(one, TurnsRead)]
        turns = [whole(number) for number in (10, 11, 12, 13)]
        rig.feed.put(TurnsList(id=read.id, turns=turns))
        await rig.settle()
        assert sum("exit 2" in line for line in shown(rig)) == 2
        assert "ci-watch: “build 4711" in rig.text
        assert len([one for one in rig.feed.sent if isinstance(one, TurnsRead)]) == 1


async def test_enter_opens_a_step_with_its_diff_and_who_allowed_it() -> None:
    async with running(turns_world()) as rig:
        await rig.press("2", "up", "up", "up", "enter")
        assert isinstance(on_top(rig.app), StepDetail)
        reader = rig.app.screen.query_one(Reader)
        for line in (
            "turn       14  you: “Why does pairing flake?”",
            "allowed by you",
            "changed in tests/pty/test_pair.py",
            "│ -    time.sleep(2)",
            "│ +    code = wait_for(host.code)",
        ):
            assert line in reader.text
        tones = {part.text[:1]: part.tone for part in reader.parts if part.margin}
        assert (tones["+"], tones["-"]) == ("success", "error")
        await rig.press("v")
        assert '"decidedBy": "tapui 4242"' in reader.text
        await rig.press("v", "right")
        assert "exit code  1" in reader.text
        assert "1 failed in 30.8s" in reader.text
        await rig.press("left", "left")
        assert "grep" in on_top(rig.app).border_title
        await rig.press("escape")
        assert len(rig.app.screen_stack) == 1


async def test_a_step_says_why_copilots_judge_allowed_it() -> None:
    state = turns_world()
    judged = step("14.3", call_id="t9", ago=30, tool="bash", decided_by="cli-judge")
    state.turns["s1"] = LiveTurns.of(SessionTurns("s1", [], Turn(head(14, "Go", 70), [judged])))
    async with running(state) as rig:
        data = b'{"toolCallId":"t9","by":"cli-judge","reason":"it only reads"}'
        for told in (b"[]", b"{", b'{"toolCallId":"t9","reason":1}', data):
            rig.feed.happen(ev.SessionHappened("s1", "permission.completed", Raw(told)))
        await rig.press("2", "enter")
        reader = rig.app.screen.query_one(Reader)
        assert "allowed by Copilot's judge" in reader.text
        assert "because    it only reads" in reader.text


async def test_a_cut_body_of_a_step_is_fetched() -> None:
    state = turns_world()
    state.recent_calls["t3"] = replace(
        state.recent_calls["t3"], data=None, data_cut=subjects.Cut("FAILED", 9000, ""), is_cut=True
    )
    async with running(state) as rig:
        await rig.press("2", "up", "up", "enter")
        assert [one.subject for one in rig.feed.sent if hasattr(one, "subject")] == ["t3"]


async def test_a_call_that_is_kept_no_longer_is_read_from_the_records() -> None:
    async with running(turns_world()) as rig:
        await rig.press("2", *["up"] * 4, "enter")
        reader = rig.app.screen.query_one(Reader)
        assert "Its arguments and result are being read" in reader.text
        (read,) = [one for one in rig.feed.sent if isinstance(one, DetailRead)]
        assert (read.of, read.subject, read.session_id) == ("call", "t1", "s1")
        args = Raw(b'{"pattern":"sleep("}')
        found = call("t1", "grep", state="done", args=args, data=Raw(b'"tests/rig.py:8"'))
        rig.feed.put(Detail(read.id, call=found))
        await rig.settle()
        assert "pattern: sleep(" in reader.text
        assert "tests/rig.py:8" in reader.text
        await rig.press("escape", "enter")
        assert len([one for one in rig.feed.sent if isinstance(one, DetailRead)]) == 1


async def test_a_call_of_an_earlier_run_is_read_from_the_records() -> None:
    async with running(of_turns(current_turn=current())) as rig:
        earlier = whole(10)
        turn = replace(earlier, head=replace(earlier.head, is_history=True))
        rig.feed.happen(ev.TurnsRestored("s1", [turn]))
        await rig.settle()
        await rig.press("2", "end", "enter")
        await rig.press("down", "enter")
        assert "before this run of tapui" in rig.app.screen.query_one(Reader).text
        (read,) = [one for one in rig.feed.sent if isinstance(one, DetailRead)]
        assert (read.of, read.subject, read.session_id) == ("call", "o10-1", "s1")


async def test_a_call_that_the_records_do_not_have_says_so() -> None:
    async with running(turns_world()) as rig:
        await rig.press("2", *["up"] * 4, "enter")
        rig.feed.put(Error("NOT_FOUND", "no call t1", "detail.read"))
        await rig.settle()
        text = rig.app.screen.query_one(Reader).text
        assert "not kept here; the records have them" in text
        assert '"sleep(" tests/' in text


async def test_enter_on_a_step_that_waits_opens_the_request() -> None:
    async with running(turns_world()) as rig:
        await rig.press("2", "enter")
        assert isinstance(on_top(rig.app), RequestDetail)


async def test_a_turns_sheet_has_its_prompt_and_files() -> None:
    async with running(turns_world()) as rig:
        await rig.press("2", "down", "down", "full_stop", "o")
        assert isinstance(on_top(rig.app), TurnDetail)
        text = rig.app.screen.query_one(Reader).text
        for line in ("asked by   ci-watch", "│ build 4711 failed", "files, +84 −12", "a.py  +80"):
            assert line in text
        await rig.press("right")
        assert "│ Plan the fix" in rig.app.screen.query_one(Reader).text


async def test_all_of_a_message_is_shown_as_long_as_it_is_known() -> None:
    said = "A long answer. " * 100
    async with running(turns_world()) as rig:
        data = Raw(b'{"content":"' + said.encode() + b'"}')
        rig.feed.happen(ev.SessionHappened("s1", "assistant.message", data), ts=at(-3))
        await rig.press("2", "enter")
        assert said.strip() in rig.app.screen.query_one(Reader).plain_text.strip()


async def test_the_next_failure_is_a_step_of_any_kind_in_any_session() -> None:
    state = turns_world()
    error = step("1.1", "error", "failed", ago=20, summary="quota", error="no requests left")
    other = replace(head(1, "Write the notes", 400, None), session_id="s2", failed=1)
    state.turns["s2"] = LiveTurns.of(SessionTurns("s2", [], Turn(other, [error])))
    async with running(state, size=(120, 36)) as rig:
        await rig.press("e")
        assert "no requests left" in selected(rig)
        assert isinstance(on_top(rig.app), StepDetail)
        assert pane(rig).title() == "Turns: Release notes for 0.4"
        assert rig.app.view.chosen_session == "s2"
        await rig.press("escape", "e")
        assert isinstance(on_top(rig.app), CallDetail)
        assert rig.pane(5).query_one(Table).selected == "d2", "a call of no turn"


async def test_a_failure_in_a_folded_turn_is_unfolded_and_the_filter_gives_way() -> None:
    turn = whole(13)
    broken = replace(turn.steps[2], state="failed", exit_code=2)
    failed = replace(turn.head, failed=1)
    state = of_turns(current_turn=Turn(failed, [*turn.steps[:2], broken]))
    state.recent_calls.clear()
    async with running(state) as rig:
        rig.feed.happen(asked("And now?"), ts=at(-1))
        await rig.press("2", "slash", "q", "enter", "e")
        assert "make step-3" in selected(rig)


def tried(*codes: int, **fields: object) -> Turn:
    """Return a turn that ended well, in which pytest ran once for each exit code."""
    steps_ = [
        step(
            f"4.{number}",
            state="failed" if code else "done",
            ago=300 - number,
            tool="bash",
            summary="pytest -q",
            exit_code=code,
        )
        for number, code in enumerate(codes, 1)
    ]
    failed = sum(map(bool, codes))
    return Turn(head(4, "Run the tests", 300, failed=failed, steps=len(codes), **fields), steps_)


@pytest.mark.parametrize(
    ("codes", "folded", "unfolded", "tone"),
    [
        ((0,), "1 step   ✓", "tests”   ✓", "success"),
        ((1, 0), "2 steps   1 failed   ✓", "tests”   ✓", "success"),
        ((0, 1), "2 steps   1 failed   ✗", "tests”   ✗ 1 failed", "error"),
        ((1, 1, 0, 2, 2), "5 steps   4 failed   ✗", "tests”   ✗ 2 failed", "error"),
    ],
)
async def test_a_turn_that_ended_well_has_its_tick_only_where_what_failed_passed_later(
    codes: tuple[int, ...], folded: str, unfolded: str, tone: str
) -> None:
    async with running(of_turns(current_turn=tried(*codes))) as rig:
        await rig.press("2", "full_stop", "u")
        first = shown(rig)[0]
        assert unfolded in first
        assert first.split(unfolded)[1].split() == ["1m", "00s"]
        assert pane(rig).table.rows[0].cells[0].rest[-1][1] == tone
        await rig.press("full_stop", "f")
        assert folded in shown(rig)[0]
        await rig.press("full_stop", "o")
        assert isinstance(on_top(rig.app), TurnDetail)
        assert ("done, 2 failed" in rig.text) == (unfolded.endswith("2 failed"))


async def test_a_turn_whose_steps_are_gone_is_not_ticked_where_some_failed() -> None:
    heads = [
        head(1, "All well", 900, steps=3),
        head(2, "Not all well", 800, steps=3, failed=2),
    ]
    async with running(of_turns(*heads, current_turn=current())) as rig:
        await rig.press("2")
        well = next(line for line in shown(rig) if "All well" in line)
        other = next(line for line in shown(rig) if "Not all well" in line)
        assert "3 steps   ✓" in well
        assert "3 steps   2 failed" in other
        assert not {"✓", "✗"} & set(other)


async def test_what_was_recorded_goes_before_what_failed_on_the_way() -> None:
    proof = TurnProof("checked", "pytest, 2 tests, after the last change")
    changed = [FileChange("a.py", 1, 1)]
    turn = tried(0, 1, proof=proof, files=changed)
    async with running(of_turns(current_turn=turn)) as rig:
        await rig.press("2", "full_stop", "f")
        assert "1 failed   ✓ checked" in shown(rig)[0]
    async with running(of_turns(current_turn=tried(0, 1, files=changed))) as rig:
        await rig.press("2", "full_stop", "f")
        assert "1 failed   ✗" in shown(rig)[0], "files were changed, and no check is known"


async def test_turns_of_before_are_put_below_and_the_cursor_stays_on_its_row() -> None:
    state = of_turns(current_turn=current())
    async with running(state) as rig:
        await rig.press("2", "up", "up")
        before = selected(rig)
        found = [replace(whole(10), head=replace(whole(10).head, is_history=True))]
        rig.feed.happen(ev.TurnsRestored("s1", found))
        await rig.settle()
        assert selected(rig) == before
        assert "▸ 1  you: “Where are we?”   5 steps   ✓" in shown(rig)[-1]


async def test_a_turn_without_a_known_prompt_names_no_sender() -> None:
    unknown = replace(whole(12).head, source=TurnSource("unknown"), prompt="")
    heads = [
        unknown,
        replace(unknown, number=13, is_outside=True),
        replace(unknown, number=14, source=TurnSource("unknown", "later")),
        replace(unknown, number=15, prompt="Go"),
    ]
    async with running(of_turns(*heads)) as rig:
        await rig.press("2")
        turns = [line for line in shown(rig) if re.search("[▸▾]", line)]
        assert [re.split(r" {2,}", line)[1] for line in turns] == [
            "a sender that was not seen: “Go”",
            "later: (its prompt was not seen)",
            "without a prompt",
            "a prompt that was not seen",
        ]


async def test_actions_fold_and_unfold_all_turns() -> None:
    async with running(of_turns(current_turn=current())) as rig:
        rig.feed.happen(asked("And now?"), ts=at(-1))
        await rig.press("2", "full_stop", "u")
        assert "▾ 14" in rig.text
        await rig.press("down", "down", "full_stop", "f")
        assert len(shown(rig)) == 2
        assert selected(rig).endswith("2m 40s") or "14" in selected(rig)


async def test_a_crowd_of_turns_is_shown_and_gone_through() -> None:
    async with running(crowded(), size=(120, 36)) as rig:
        await rig.press("2", "home", "pagedown", "end")
        assert "Prompt number 1 " in selected(rig)
        await rig.press("full_stop", "u")
        assert len(pane(rig).table.rows) > 250


def test_keys_of_steps_are_unique_even_where_times_and_calls_are_not() -> None:
    from tapui.tower.app.view import View
    from tapui.tower.turns.steps import keyed_steps, keyed_turns, place_of

    same = [Step("1.1", "message", "done", at()), Step("1.2", "message", "done", at())]
    view = View()
    view.state.turns["s\n1"] = LiveTurns.of(
        SessionTurns("s\n1", [head(1, "a", 5)], Turn(head(2, "b", 5), same))
    )
    turns = keyed_turns(view, "s\n1")
    assert len({key for key, _turn in turns}) == 2
    found = [key for key, _place in keyed_steps(*turns[0])]
    assert len(set(found)) == 2
    for key, step_ in zip(found, turns[0][1].steps, strict=True):
        place = place_of(view, key)
        assert place is not None
        assert place.step is step_


def test_the_older_heads_are_the_ones_that_can_be_read() -> None:
    assert [whole(one.number).head for one in older()] == older()
