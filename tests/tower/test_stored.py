"""The stored sessions in the tower: found, resumed, gone to, deleted after a question."""

import pytest

from tapui.tower.sessions.stored_sheet import StoredScreen
from tapui.tower.table.table import Table
from tests.rig.waiting import until_async
from tests.tower.running import Running, running
from tests.tower.scripted import world
from tests.tower.stores import STORED, ScriptedStore


async def listed(rig: Running, *keys: str) -> Table:
    """Open the list, wait until it was read, and press these keys."""
    await rig.press("ctrl+o")
    await until_async(lambda: "Enter what to do" in rig.text, what=lambda: rig.text)
    table = rig.app.screen.query_one(Table)
    await rig.press(*keys)
    return table


async def asked(rig: Running, store: ScriptedStore, *wanted: tuple[str, str]) -> None:
    await until_async(lambda: store.asked == list(wanted), what=lambda: str(store.asked))
    await rig.settle()


async def test_they_are_listed_with_who_has_them_open() -> None:
    async with running(world(), size=(120, 36), store=ScriptedStore(*STORED)) as rig:
        await listed(rig)
        text = rig.text
        assert text.index("Fix flaky pairing test", text.index("Stored sessions")) < text.index(
            "Release notes for 1.4"
        )
        assert "open here" in text
        assert "/work/s2" in text
        assert "56 kB" in text
        assert "2h" in text


async def test_what_is_typed_filters_and_also_finds_the_id() -> None:
    async with running(world(), store=ScriptedStore(*STORED)) as rig:
        table = await listed(rig, *"nightly")
        assert [row.key for row in table.rows] == ["s3"]
        assert "1 of 3" in rig.text
        await rig.press(*["backspace"] * 7, "s", "2")
        assert [row.key for row in table.rows] == ["s2"]


async def test_one_that_nobody_has_is_resumed_in_a_pane_or_its_line_copied() -> None:
    store = ScriptedStore(*STORED)
    async with running(world(), store=store) as rig:
        await listed(rig, "down", "enter")
        assert "resume it in a pane (tmux)" in rig.text
        assert "go to its pane" not in rig.text
        await rig.press("r")
        await asked(rig, store, ("resume", "s2"))
        await until_async(lambda: bool(rig.notices), what="a notice")
        assert rig.notices == ["It is opened in a pane beside this one."]


async def test_one_that_is_open_is_gone_to_and_not_deleted() -> None:
    store = ScriptedStore(*STORED)
    async with running(world(), store=store) as rig:
        await listed(rig, "enter")
        assert "delete" not in rig.text
        assert "it is open in process 4711" in rig.text
        await rig.press("g")
        await asked(rig, store, ("go_to", "s1"))


async def test_without_panes_the_line_is_copied() -> None:
    store = ScriptedStore(*STORED, panes="")
    async with running(world(), size=(120, 36), store=store) as rig:
        await listed(rig, "down", "enter")
        assert "in a pane" not in rig.text
        await rig.press("c")
        assert rig.app.clipboard == "cd /work/s2 && tapui copilot --resume s2"


@pytest.mark.parametrize(("answer", "left"), [("n", 3), ("y", 2)])
async def test_deleting_asks_first(answer: str, left: int) -> None:
    store = ScriptedStore(*STORED)
    async with running(world(), store=store) as rig:
        table = await listed(rig, "down", "enter", "d")
        assert "Delete session s2?" in rig.text
        assert "Release notes for 1.4" in rig.text
        assert store.asked == []
        await rig.press(answer)
        await until_async(lambda: len(table.rows) == left, what=lambda: rig.text)
        await rig.settle()
        assert store.asked == ([("delete", "s2")] if answer == "y" else [])
        assert isinstance(rig.app.screen, StoredScreen)


async def test_what_cannot_be_done_is_told() -> None:
    store = ScriptedStore(*STORED)
    store.fault = "tmux: no space for new pane"
    async with running(world(), store=store) as rig:
        await listed(rig, "down", "enter", "r")
        await until_async(lambda: bool(rig.notices), what="a notice")
        assert rig.notices == ["tmux: no space for new pane"]
    unread = ScriptedStore()
    unread.fault = "they cannot be read: Permission denied"
    async with running(world(), store=unread) as rig:
        await rig.press("ctrl+o")
        await until_async(lambda: "Permission denied" in rig.text, what=lambda: rig.text)


async def test_an_attached_session_is_gone_to_from_its_row() -> None:
    store = ScriptedStore(*STORED)
    async with running(world(), store=store) as rig:
        await rig.press("1", "full_stop", "g")
        (first,) = rig.app.view.open_sessions[:1]
        await asked(rig, store, ("go_to", first.id))


async def test_without_a_store_nothing_is_offered() -> None:
    async with running(world()) as rig:
        await rig.press("ctrl+o")
        assert "Stored sessions" not in rig.text
