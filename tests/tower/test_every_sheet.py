"""What every sheet and dialog has: the help with its signs, all commands, one label for Escape."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from msgspec.structs import replace
from textual.command import CommandPalette

import tapui.tower
from tapui.tower.app.exit import LeavingScreen
from tapui.tower.app.help import HelpScreen, legend
from tapui.tower.app.tower import RowAction
from tapui.tower.keys.key_table import BY_ID
from tapui.tower.textual.detail import DetailView
from tapui.tower.textual.dialogs import ActionsScreen, Choice, ChooseScreen
from tapui.tower.textual.sheet import LiveScreen
from tapui.wire import events as ev
from tests.tower.emitters_world import watched
from tests.tower.running import running
from tests.tower.scripted import call, world
from tests.tower.told import turns_world

for found in walk_packages(tapui.tower.__path__, "tapui.tower."):
    import_module(found.name)


def below(base: type[Any]) -> Iterator[type[Any]]:
    for one in base.__subclasses__():
        yield one
        yield from below(one)


SHEETS = sorted({one for one in below(LiveScreen) if "[" not in one.__name__}, key=str)
KEYS_OF_ALL = ("close-sheet", "help", "commands")


def test_every_sheet_has_the_way_back_the_help_and_all_commands() -> None:
    for sheet in SHEETS:
        if sheet is LeavingScreen:
            continue  # `q` there ends at once; nothing can be done any more
        bound = sheet._merged_bindings
        assert bound is not None, sheet
        for name in KEYS_OF_ALL:
            for key in BY_ID[name].keys.split(","):
                ids = {one.id for one in bound.key_to_bindings.get(key, ())}
                assert name in ids or (name, key) == ("close-sheet", "q"), (sheet, name, key)


def test_there_are_details_and_sheets_to_look_at() -> None:
    assert len(SHEETS) > 15
    assert len(list(below(DetailView))) > 10


LETTERS = "abcdefghijklmn"


async def test_on_a_low_screen_all_rows_of_a_dialog_are_reached_beside_its_keys() -> None:
    actions = ActionsScreen("row", [RowAction(one, f"do {one}", print) for one in LETTERS])
    choices = ChooseScreen("which", [Choice(one, f"do {one}") for one in LETTERS], selected="a")
    async with running(world(), size=(80, 14)) as rig:
        for screen, keys in ((actions, "a letter acts"), (choices, "Enter choose")):
            rig.app.push_screen(screen)
            await rig.settle()
            for letter in LETTERS:
                assert f"do {letter} " in rig.text
                assert keys in rig.text
                await rig.press("down")
            await rig.press("escape")


LABEL = re.compile(r"\bEsc(?:ape)? (\w+)")


def test_escape_has_one_label_on_every_screen() -> None:
    """Texts on screens, as they stand in the modules; docstrings are not on a screen."""
    others = []
    for file in sorted(Path(tapui.tower.__path__[0]).rglob("*.py")):
        tree = ast.parse(file.read_text())
        bodies = [node for node in ast.walk(tree) if isinstance(node, ast.Expr)]
        docs = {id(node.value) for node in bodies if isinstance(node.value, ast.Constant)}
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_text and id(node) not in docs:
                found = LABEL.findall(str(node.value))  # type: ignore[attr-defined]
                others += [f"{file.name}: {one}" for one in found if one != "back"]
    assert others == ["streams_pane.py: goes"], "the help of Streams says what it does there"
    escapes = [one for one in BY_ID.values() if "escape" in one.keys.split(",") and one.offer]
    assert {one.offer for one in escapes} == {"back"}


async def test_help_and_commands_open_over_what_is_open_and_leave_it() -> None:
    async with running(watched(), size=(80, 24)) as rig:
        for keys in (
            ["enter"],
            ["a"],
            ["full_stop"],
            ["full_stop", "m"],
            ["5", "x"],
            ["6", "enter"],
            ["6", "m"],
            ["r"],
        ):
            await rig.press("1", *keys)
            under = rig.app.screen
            assert isinstance(under, LiveScreen), f"something is open: {keys}"
            await rig.press("f1")
            assert isinstance(rig.app.screen, HelpScreen), keys
            assert rig.text.count("What is open") == 1, keys
            await rig.press("f1", "question_mark")
            assert rig.app.screen_stack[-2] is under, "the help has no help"
            await rig.press("escape")
            assert rig.app.screen is under, keys
            await rig.press("ctrl+p")
            assert isinstance(rig.app.screen, CommandPalette), keys
            await rig.press("escape")
            assert rig.app.screen is under, keys
            assert "Esc back" in rig.text, keys
            await rig.close_all()


async def test_a_command_out_of_a_sheet_goes_to_a_pane() -> None:
    async with running(world(), size=(80, 24)) as rig:
        await rig.press("enter")
        await rig.app.run_action("app.go_to_pane('calls')")
        assert rig.app.main.current_kind.id == "calls"
        assert len(rig.app.screen_stack) == 1


async def test_the_keys_that_a_sheet_names_act_out_of_it() -> None:
    async with running(world(), size=(80, 24)) as rig:
        await rig.press("enter")
        assert "a answers it:" in rig.text
        await rig.press("a")
        assert "git push" in rig.text, "what the session asks, and not what is more urgent"
        assert "A letter, then Enter." in rig.text
        await rig.press("escape", "enter", "7")
        assert (len(rig.app.screen_stack), rig.app.main.current_kind.id) == (1, "changes")
        await rig.press("1", "enter", "right", "2")
        assert "2 Turns: Release notes for 0.4" in rig.text, "of the session that was read"
        await rig.press("1", "enter", "full_stop")
        assert isinstance(rig.app.screen, ActionsScreen)
        assert "Release notes for 0.4" in rig.text


async def test_from_one_failure_a_key_leads_to_the_next() -> None:
    state = turns_world()
    state.approvals.clear()
    async with running(state, size=(80, 24)) as rig:
        for name in ("one", "two"):
            made = replace(call(name, name), session_id="s1")
            failed = replace(made, state="failed", error="it broke")
            rig.feed.happen(ev.CallStarted("s1", made), ev.CallFinished("s1", failed))
        await rig.settle()
        for name in ("two", "one"):
            await rig.press("e")
            assert f"✗ {name}" in rig.text.splitlines()[1]
        assert len(rig.app.screen_stack) == 2


async def test_a_sheet_of_no_session_takes_no_keys_of_the_main_screen() -> None:
    async with running(world(), size=(80, 24)) as rig:
        await rig.press("4", "enter", "1")
        assert len(rig.app.screen_stack) == 2
        assert "a answers" not in rig.text


async def test_the_help_has_a_legend_of_the_signs_that_are_on_the_screen() -> None:
    async with running(world(), size=(120, 60)) as rig:
        await rig.press("question_mark")
        assert "Signs on this screen" in rig.text
        assert re.search(r"│ +→ +sent to the agent \(Streams\)", rig.text)
        assert re.search(r"│ +✗ .*failed .*Turns", rig.text)


def test_a_sign_that_says_one_thing_in_several_parts_stands_once() -> None:
    parts = [("A", [("✗", "failed"), ("○", "idle")]), ("B", [("✗", "failed"), ("○", "open")])]
    assert legend(parts) == [("✗", "failed (A, B)"), ("○", "idle (A); open (B)")]
