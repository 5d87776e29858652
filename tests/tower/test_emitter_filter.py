"""The filter of an emitter: its rules are changed, tried on what its stream has, then applied."""

import re

import pytest
from msgspec.structs import replace

from tapui.projection.feed import Link
from tapui.projection.state import State
from tapui.tower.emitters.emitter_filter import EmitterFilterScreen
from tapui.wire import events as ev
from tapui.wire import limits, subjects
from tapui.wire.emitters import EmitterFilter, EmitterKeep, EmitterTried, EmitterTry, TriedSeq
from tapui.wire.message import Error, Line
from tapui.wire.provider import FilterRule
from tests.tower.emitters_world import RULES, emitter, quiet
from tests.tower.running import Running, running
from tests.tower.scripted import at, posts

TEXTS = ["all is fine", "debug: 12 files", "a test has failed", "error: no such file"]
LINES = [Line(seq=n, ts=at(60 - n), level="keep", event=text) for n, text in enumerate(TEXTS, 1)]


def filtered_world(**fields: object) -> State:
    state = quiet()
    one = emitter("e1", "tests", **{"rules": RULES, **fields})
    state.emitters[one.id] = one
    state.streams["s1", "tests@tap"] = subjects.Stream("tests@tap", "tap", "s1", 4, LINES[-1])
    return state


def made_of(rules: list[FilterRule]) -> list[TriedSeq]:
    """Return what rules make of the lines, as the gateway says it."""
    found = []
    for line in LINES:
        fits = (
            n for n, rule in enumerate(rules) if re.search(rule.match, line.event, re.IGNORECASE)
        )
        index = next(fits, None)
        outcome = rules[index].outcome if index is not None else "keep"
        found.append(TriedSeq(line.seq, outcome, index))
    return found


async def answer(rig: Running) -> EmitterTry:
    """Answer the last trial as the gateway would."""
    asked = rig.feed.sent_of(EmitterTry)[-1]
    rig.feed.put(EmitterTried(asked.id, made_of(asked.rules)))
    await rig.settle()
    return asked


async def opened(rig: Running) -> EmitterFilterScreen:
    """Open the filter, with what the rules in force make of the lines."""
    rig.feed.happen(*posts(("s1", "tests@tap"), LINES))
    await rig.press("6", "m")
    screen = rig.app.screen
    assert isinstance(screen, EmitterFilterScreen)
    for _ in range(2):  # the rules in force, then those that are written
        asked = await answer(rig)
        assert asked.rules == rig.app.view.state.emitters["e1"].rules
    return screen


def line_of(rig: Running, text: str) -> str:
    (found,) = [line for line in rig.text.splitlines() if text in line]
    return found


async def test_the_rules_and_what_they_make_of_the_lines_are_shown() -> None:
    async with running(filtered_world(), size=(120, 36)) as rig:
        await opened(rig)
        assert re.search(r"1  sent to the agent +fail\|error +2", rig.text)
        assert re.search(r"2  dropped +\^debug +1", rig.text)
        assert "4 lines: 2 sent to the agent, 1 kept, 1 dropped" in rig.text
        assert "would change" not in rig.text
        assert "→ sent to the agent" in line_of(rig, "a test has failed")
        assert "kept" not in line_of(rig, "a test has failed")
        assert "Nothing is changed." in rig.text


async def test_a_pattern_is_tried_as_it_is_written_and_applied_by_enter_alone() -> None:
    async with running(filtered_world(), size=(120, 36)) as rig:
        screen = await opened(rig)
        await rig.press("e", *["backspace"] * 6)
        await answer(rig)
        asked = await answer(rig)
        assert [rule.match for rule in asked.rules] == ["fail", "^debug"]
        assert "1 would change" in rig.text
        assert "→ sent to the agent  · kept " in line_of(rig, "error: no such file")
        assert not rig.feed.sent_of(EmitterFilter)
        await rig.press("enter")
        assert not rig.feed.sent_of(EmitterFilter), "the pattern is taken, and nothing else"
        await rig.press("enter")
        (sent,) = rig.feed.sent_of(EmitterFilter)
        assert sent.rules == [FilterRule("fail", "inject"), RULES[1]]
        assert rig.app.screen is screen
        changed = replace(rig.app.view.state.emitters["e1"], rules=sent.rules)
        rig.feed.happen(ev.EmitterChanged("s1", changed))
        await rig.settle()
        assert rig.app.screen is not screen


async def test_rules_are_added_removed_moved_and_given_another_outcome() -> None:
    async with running(filtered_world(), size=(120, 36)) as rig:
        screen = await opened(rig)
        await rig.press("a", *"fine", "enter")
        assert screen.rules[1] == FilterRule("fine", "inject")
        await rig.press("space", "space", "space")
        assert screen.rules[1] == FilterRule("fine", "drop")
        await rig.press("left_square_bracket")
        assert [rule.match for rule in screen.rules] == ["fine", "fail|error", "^debug"]
        await rig.press("right_square_bracket", "right_square_bracket")
        assert [rule.match for rule in screen.rules] == ["fail|error", "^debug", "fine"]
        await rig.press("right_square_bracket")
        assert [rule.match for rule in screen.rules] == ["fail|error", "^debug", "fine"]
        await rig.press("up", "x")
        assert [rule.match for rule in screen.rules] == ["fail|error", "fine"]


async def test_esc_drops_what_is_written_then_asks_before_it_drops_changes() -> None:
    async with running(filtered_world(), size=(120, 36)) as rig:
        screen = await opened(rig)
        await rig.press("a", *"zzz", "escape")
        assert screen.rules == RULES
        await rig.press("e", *"zzz", "escape")
        assert screen.rules == RULES
        await rig.press("x", "escape")
        assert rig.app.screen is screen
        assert "not applied" in rig.text
        await rig.press("escape")
        assert rig.app.screen is not screen
        assert not rig.feed.sent_of(EmitterFilter)


async def test_enter_without_a_change_closes_and_sends_nothing() -> None:
    async with running(filtered_world()) as rig:
        screen = await opened(rig)
        await rig.press("enter")
        assert rig.app.screen is not screen
        assert not rig.feed.sent_of(EmitterFilter)


async def test_a_bad_pattern_is_told_at_its_rule_and_not_applied() -> None:
    async with running(filtered_world(), size=(120, 36)) as rig:
        await opened(rig)
        await rig.press("down", "e", "end", "left_parenthesis")
        why = "rules[1].match: missing ), unterminated subpattern"
        rig.feed.put(Error(code="INVALID_JSON", message=why, reply_to="emitter.try"))
        await rig.settle()
        (row,) = [line for line in rig.text.splitlines() if "2  drop" in line]
        assert "missing ), unterminated subpattern" in row
        await rig.press("enter", "enter")
        assert "Rule 2 is no pattern" in rig.text
        assert not rig.feed.sent_of(EmitterFilter)
        await rig.press("e", "backspace")
        await answer(rig)
        assert "unterminated" not in rig.text


async def test_a_rule_that_is_not_written_yet_is_not_tried() -> None:
    async with running(filtered_world(), size=(120, 36)) as rig:
        screen = await opened(rig)
        await rig.press("a")
        before = rig.feed.sent_of(EmitterTry)
        assert all(rule.match for one in before for rule in one.rules)
        await rig.press("enter")
        assert "at least one character" in rig.text
        assert len(screen.rules) == 3
        await rig.press("x")
        assert rig.feed.sent_of(EmitterTry)[-1].rules == [
            RULES[0],
            FilterRule("x", "inject"),
            RULES[1],
        ]
        rig.feed.put(
            Error(code="INVALID_JSON", message="rules[2].match: odd", reply_to="emitter.try")
        )
        await rig.settle()
        (row,) = [line for line in rig.text.splitlines() if "3  drop" in line]
        assert "odd" in row


async def test_a_slow_pattern_is_found_and_told_at_its_rule() -> None:
    async with running(filtered_world(), size=(120, 36)) as rig:
        rig.feed.happen(*posts(("s1", "tests@tap"), LINES))
        await rig.press("6", "m")
        await answer(rig)
        written = rig.feed.sent_of(EmitterTry)[-1]
        slow = [replace(one, undecided=one.seq == 4) for one in made_of(written.rules)]
        rig.feed.put(EmitterTried(written.id, slow))
        await rig.settle()
        for index in range(2):
            alone = rig.feed.sent_of(EmitterTry)[-1]
            assert alone.rules == [RULES[index]]
            found = [TriedSeq(4, "keep", undecided=index == 1)]
            rig.feed.put(EmitterTried(alone.id, found))
            await rig.settle()
        (row,) = [line for line in rig.text.splitlines() if "2  drop" in line]
        assert "takes too long for 1 line" in row
        assert "a pattern takes too long" in line_of(rig, "error: no such file")


async def test_what_could_not_be_tried_is_said_and_can_be_applied_all_the_same() -> None:
    async with running(filtered_world(), size=(120, 36)) as rig:
        await opened(rig)
        await rig.press("x")
        asked = rig.feed.sent_of(EmitterTry)[-1]
        rig.feed.put(EmitterTried(asked.id, [], "the runner ended"))
        await rig.settle()
        assert "the runner ended" in rig.text
        await rig.press("enter")
        assert rig.feed.sent_of(EmitterFilter)[-1].rules == RULES[1:]


async def test_a_refusal_is_said_and_the_rules_stay() -> None:
    async with running(filtered_world(), size=(120, 36)) as rig:
        screen = await opened(rig)
        await rig.press("x", "enter")
        why = "emitter e1 is not there"
        rig.feed.put(Error(code="NOT_FOUND", message=why, reply_to="emitter.filter"))
        await rig.settle()
        assert why in rig.text
        assert screen.rules == RULES[1:]
        assert not rig.notices


async def test_the_rules_are_written_into_the_file_too() -> None:
    async with running(filtered_world(), size=(120, 36)) as rig:
        await opened(rig)
        await rig.press("w")
        assert not rig.feed.sent_of(EmitterKeep), "there is nothing new"
        await rig.press("x", "w")
        (kept,) = rig.feed.sent_of(EmitterKeep)
        (applied,) = rig.feed.sent_of(EmitterFilter)
        assert kept.rules == applied.rules == RULES[1:]


async def test_what_an_agent_started_is_in_no_file() -> None:
    async with running(filtered_world(source="tool"), size=(120, 36)) as rig:
        await opened(rig)
        await rig.press("x", "w")
        assert not rig.feed.sent_of(EmitterKeep)
        assert "into the file" not in rig.text


async def test_a_trial_that_was_lost_with_the_link_is_asked_again() -> None:
    state = filtered_world()
    async with running(state, size=(120, 36)) as rig:
        await opened(rig)
        await rig.press("x")
        before = len(rig.feed.sent_of(EmitterTry))
        rig.feed.put(Link("down", "gone"))
        rig.feed.begin(state)
        await rig.settle()
        assert len(rig.feed.sent_of(EmitterTry)) == before + 1
        await answer(rig)
        assert "2 would change" in rig.text


async def test_without_rules_every_line_is_kept_and_there_are_at_most_fifty() -> None:
    async with running(filtered_world(rules=[]), size=(120, 36)) as rig:
        screen = await opened(rig)
        assert "No rule: every line is kept." in rig.text
        await rig.press("e", "x", "space", "left_square_bracket")
        assert screen.rules == []
    full = [FilterRule(f"p{n}", "drop") for n in range(limits.MAX_HOOK_RULES)]
    async with running(filtered_world(rules=full), size=(120, 36)) as rig:
        screen = await opened(rig)
        await rig.press("a")
        assert len(screen.rules) == limits.MAX_HOOK_RULES
        assert "at most 50 rules" in rig.text


async def test_without_lines_there_is_nothing_to_try_them_on() -> None:
    async with running(filtered_world(), size=(120, 36)) as rig:
        await rig.press("6", "m")
        for _ in range(2):
            rig.feed.put(EmitterTried(rig.feed.sent_of(EmitterTry)[-1].id, []))
            await rig.settle()
        assert "no lines of it yet" in rig.text


@pytest.mark.parametrize("size", [(40, 12), (200, 50)], ids=str)
async def test_it_fits(size: tuple[int, int]) -> None:
    async with running(filtered_world(), size=size) as rig:
        await opened(rig)
        await rig.press("x")
        await answer(rig)
        assert "Enter applies these rules" in rig.text
        assert "^debug" in rig.text
