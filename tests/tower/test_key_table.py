"""The table of keys: what the person may change of it, and that nothing in it clashes."""

from itertools import combinations
from pathlib import Path

import pytest

from tapui.tower.keys.key_table import BY_ID, TABLE, faults, keymap, may_share, meet, replay_keys
from tapui.tower.keys.names import key_name, key_names, textual_key, written_keys
from tests.rig.gateway import Home
from tests.tower.running import running
from tests.tower.scripted import world


def test_no_two_actions_have_a_key_in_common_where_both_work() -> None:
    for one, other in combinations(TABLE, 2):
        if meet(one.area, other.area) and not may_share(one.id, other.id):
            both = set(one.keys.split(",")) & set(other.keys.split(","))
            if {one.id, other.id} == {"close", "close-sheet"}:
                continue
            assert not both, (one.id, other.id)
    assert len(BY_ID) == len(TABLE)


def test_only_three_pairs_differ_by_case_alone() -> None:
    keys = {key for one in TABLE for key in one.keys.split(",") if len(key) == 1}
    assert {key for key in keys if key.isupper() and key.lower() in keys} == {"N", "S", "G"}


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("a", "a"),
        ("A", "A"),
        ("?", "question_mark"),
        ("/", "slash"),
        ("+", "plus"),
        ("Esc", "escape"),
        ("ctrl+f", "ctrl+f"),
        ("Ctrl+Shift+F5", "ctrl+shift+f5"),
        ("PgUp", "pageup"),
        ("ctrl++", "ctrl+plus"),
        ("nosuch", None),
        ("hyper+a", None),
        ("", None),
        ("\x1b", None),
    ],
)
def test_keys_are_written_as_they_are_printed(written: str, key: str | None) -> None:
    assert textual_key(written) == key


def test_every_key_of_the_table_has_a_name_that_can_be_written() -> None:
    for one in TABLE:
        for key in one.keys.split(","):
            assert textual_key(key) == key
            assert key_name(key)
        assert [textual_key(key) for key in written_keys(one.keys).split()] == one.keys.split(",")


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"anser": "A"}, "did you mean answer?"),
        ({"answer": ""}, "write a key"),
        ({"answer": 7}, "write a key"),
        ({"answer": "hyper+a"}, "hyper+a is no key"),
        ({"answer": "z"}, "z is the key of zoom already"),
        ({"answer": "3"}, "3 goes to a pane"),
        ({"answer": "B", "zoom": "B"}, "B is the key of"),
    ],
)
def test_what_cannot_be_a_key_is_refused_with_its_reason(
    chosen: dict[str, object], said: str
) -> None:
    assert any(said in fault for fault in faults(chosen).values())


@pytest.mark.parametrize(
    "chosen", [{"answer": "A"}, {"answer": "z", "zoom": "a"}, {"commands": ": ctrl+k"}]
)
def test_sound_keys_have_no_faults(chosen: dict[str, str]) -> None:
    assert faults(chosen) == {}
    assert set(keymap(chosen)) == set(chosen)


async def test_a_chosen_key_works_and_is_shown_and_the_default_no_longer_does() -> None:
    async with running(world(), size=(120, 36), keys={"zoom": "Z"}) as rig:
        await rig.press("z")
        assert not rig.app.main.area.is_zoomed
        assert "Z zoom" in rig.text.splitlines()[-1]
        await rig.press("Z")
        assert rig.app.main.area.is_zoomed


async def test_alt_and_a_key_is_escape_and_the_key_unless_it_is_bound() -> None:
    async with running(world(), size=(120, 36)) as rig:
        await rig.press("z")
        await rig.type("alt+question_mark")
        assert not rig.app.main.area.is_zoomed
        assert len(rig.app.screen_stack) == 2
    async with running(world(), size=(120, 36), keys={"help": "alt+h"}) as rig:
        await rig.press("z")
        await rig.type("alt+h")
        assert rig.app.main.area.is_zoomed
        assert len(rig.app.screen_stack) == 2


async def test_the_keys_of_a_replay_are_told_where_they_work_and_can_be_changed(
    home: Home,
) -> None:
    replay = replay_keys()
    assert len(replay) == 8
    told = home.run("replay", "--help").stdout
    page = Path(__file__).parents[2].joinpath("tapui/docs/records.md").read_text()
    for one in replay:
        assert f"  {key_names(one.keys):<3} {one.does}\n" in told
        assert f"`{key_names(one.keys)}`" in page
    assert faults({"play": "P"}) == {}
    assert "is the key of answer already" in faults({"play": "a"})["play"]
    async with running(world(), size=(120, 50)) as rig:
        await rig.press("question_mark", "end")
        assert "In a replay" not in rig.text
