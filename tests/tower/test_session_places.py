"""Where sessions are: folder and branch in the row, their order, their names, their terminals."""

import pytest
from msgspec.structs import replace

from tapui.projection.requests.request_kind import session_name
from tapui.projection.state import State
from tapui.projection.turns.session import LiveTurns
from tapui.tower.app.services import FolderHead
from tapui.tower.sessions.folder_heads import EVERY
from tapui.tower.sessions.sessions_pane import SessionsPane
from tapui.wire.events import ApprovalRequested, SessionClosed, SessionOpened, SessionUpdated
from tapui.wire.subjects import ContextUse
from tapui.wire.turns import SessionTurns, Turn
from tests.rig.waiting import until_async
from tests.tower.running import Running, running
from tests.tower.scripted import approval, at, session
from tests.tower.stores import STORED, ScriptedStore
from tests.tower.told import head

_SESSIONS = (
    ("Pairing", "/code/app", 100_000),
    ("Gateway", "/code/infra", 20_000),
    ("Notes", "/w/next", 50_000),
)


def three() -> State:
    state = State()
    for number, (name, cwd, used) in enumerate(_SESSIONS):
        use = ContextUse(used, 128_000)
        made = session(f"s{number}", name, cwd=cwd, context=use, opened_at=at(100 * (number + 1)))
        state.sessions[made.id] = made
    return state


def store() -> ScriptedStore:
    found = ScriptedStore(*STORED)
    found.heads["/code/app"] = FolderHead("/code/app/.git", "pairing")
    found.heads["/w/next"] = FolderHead("/code/app/.git", "next")
    return found


async def has_read(rig: Running, folder: str, branch: str) -> None:
    await until_async(lambda: rig.app.heads.of(folder).branch == branch, what=branch)
    await rig.settle()


async def test_a_row_has_folder_and_branch_and_follows_a_checkout() -> None:
    found = store()
    async with running(three(), size=(160, 40), store=found) as rig:
        await rig.press("1")
        await has_read(rig, "/code/app", "pairing")
        for place in ("app ⎇ pairing", "infra ", "next ⎇ next"):
            assert place in rig.lists
        found.heads["/code/app"] = FolderHead("/code/app/.git", "(1a2b3c4)")
        await rig.turn(EVERY)
        await has_read(rig, "/code/app", "(1a2b3c4)")
        assert "app ⎇ (1a2b3" in rig.lists
        await rig.press("end")
        assert "branch     next" in rig.text


async def test_a_hostile_branch_is_shown_harmlessly() -> None:
    found = store()
    branch = "\x1b[31m\u202e[bold]\n" + "x" * 150
    found.heads["/code/app"] = FolderHead("/code/app/.git", branch)
    async with running(three(), size=(200, 50), store=found) as rig:
        await rig.press("1")
        await has_read(rig, "/code/app", branch)
        assert "app ⎇ " in rig.lists
        assert "\x1b" not in rig.text
        assert "\u202e" not in rig.text


async def test_sessions_are_ordered_by_need_repository_context_and_age() -> None:
    async with running(three(), size=(160, 40), store=store()) as rig:
        await rig.press("1")
        await has_read(rig, "/w/next", "next")

        async def order(*keys: str) -> list[str]:
            await rig.press(*keys)
            lines = rig.lists.splitlines()[2:6]
            return [name for line in lines for name, *_ in _SESSIONS if name in line]

        assert "by need" in rig.lists
        assert await order("s") == ["Pairing", "Notes", "Gateway"], "a work tree is with the other"
        assert "by repository▲" in rig.lists
        assert await order("s") == ["Gateway", "Notes", "Pairing"]
        assert "by context▲" in rig.lists
        assert await order("s") == ["Pairing", "Gateway", "Notes"]
        assert "by age▲" in rig.lists
        assert await order("S") == ["Notes", "Gateway", "Pairing"]
        await rig.press("s")
        assert "by need" in rig.lists


def test_a_session_without_a_title_has_its_first_prompt_as_its_name() -> None:
    state = three()
    known = state.sessions["s0"]
    assert session_name(state, "s0") == "Pairing"
    state.sessions["s0"] = replace(known, label="app")
    assert session_name(state, "s0") == "app", "the folder's name, as long as there is no prompt"
    turn = Turn(head(2, "And now?", 20, session_id="s0"))
    first = head(1, "Why does pairing flake? " * 9, 90, session_id="s0")
    state.turns["s0"] = LiveTurns.of(SessionTurns("s0", [first], turn))
    name = session_name(state, "s0")
    assert name.startswith("Why does pairing flake?")
    assert len(name) == 60
    state.sessions["s0"] = replace(known, label="Fix it")
    assert session_name(state, "s0") == "Fix it"


async def test_g_goes_to_the_terminal_or_says_where_it_is() -> None:
    found = ScriptedStore(*STORED, panes="")
    found.fault = "it runs in pts/3, pid 1234"
    async with running(three(), size=(120, 36), store=found) as rig:
        await rig.press("1", "full_stop")
        assert "go to its terminal" in rig.text
        await rig.press("g")
        await until_async(lambda: bool(rig.notices), what="a notice")
        assert (len(found.asked), rig.notices) == (1, [found.fault])


async def test_who_asks_is_on_top_wherever_the_cursor_is() -> None:
    async with running(three(), size=(160, 40)) as rig:
        await rig.press("1", "end")
        pane = rig.app.main.current
        assert isinstance(pane, SessionsPane)
        last, first = pane.selected, pane.shown_keys()[0]
        assert last not in ("", first)
        asks = next(key for key in pane.shown_keys() if key not in (first, last))
        detail = {"kind": "shell", "fullCommandText": "ls"}
        asked = approval("a1", "permission", detail, session_id=asks)
        rig.feed.happen(ApprovalRequested(asked))
        await rig.settle()
        assert (pane.shown_keys()[0], pane.selected) == (asks, last)


UNSUPERVISED: list[tuple[dict[str, str], str, str, str]] = [
    ({"permissions": "allow-all", "mode": "autopilot"}, "allow all", "Pairing", "asks about"),
    ({"permissions": "allow-all"}, "allow all", "Pairing", "Copilot asks about nothing"),
    ({"permissions": "assisted"}, "assisted", "Pairing", "may allow in your place"),
    ({"mode": "autopilot"}, "autopilot", "Pairing", ""),
    ({"permissions": "manual", "mode": "plan"}, "", "", "Copilot asks you"),
    ({"permissions": "of a\x1b[2J newer CLI"}, "", "", "of a\\x1b[2J newer CLI"),
]
"""Fields of a session, and words in its row, in the header and in its sheet."""


async def test_who_works_unsupervised_is_seen_everywhere() -> None:
    async with running(size=(120, 36)) as rig:
        for fields, row, header, sheet in UNSUPERVISED:
            state = three()
            await rig.begin_again(state)
            await rig.press("1")
            assert "unsupervised" not in rig.text, fields
            rig.feed.happen(SessionUpdated("s0", replace(state.sessions["s0"], **fields)))
            await rig.settle()
            assert row in rig.lists, fields
            assert (f"1 unsupervised: {header}" in rig.text) is bool(header), fields
            pane = rig.app.main.current
            assert isinstance(pane, SessionsPane)
            pane.select_session("s0")
            await rig.press("enter")
            assert sheet in rig.text, fields
            assert ("permission " in rig.text) is bool(sheet), fields


@pytest.mark.parametrize("size", [(80, 24), (160, 40)])
async def test_who_waits_for_a_shell_is_neither_idle_nor_busy(size: tuple[int, int]) -> None:
    state = three()
    turn = Turn(head(1, "Start it", 400, 160, session_id="s0"))
    state.turns["s0"] = LiveTurns.of(SessionTurns("s0", [], turn))
    waits = replace(state.sessions["s0"], shells=["npm run\x1b[2J dev"])
    async with running(state, size=size) as rig:
        await rig.press("1")
        assert "shell" not in rig.text
        rig.feed.happen(SessionUpdated("s0", waits))
        await rig.settle()
        assert "3 sessions, 1 waits for a shell" in rig.text
        row = next(line for line in rig.lists.splitlines() if "Pairing" in line)
        assert "shell runs" in row
        assert "4m 00s" in row
        pane = rig.app.main.current
        assert isinstance(pane, SessionsPane)
        assert pane.shown_keys()[0] == "s0"
        if size[0] < 140:  # beside a detail the row has the folder
            assert "waits for shell “npm run" in rig.lists
            await rig.press("enter")
        assert "waits for shell “npm run\\x1b[2J dev”, since 20:0" in rig.text.replace("\n", "")
        assert "shell runs, open for" in rig.text
        rig.feed.happen(SessionUpdated("s0", replace(waits, state="busy")))
        await rig.settle()
        assert "shell runs" not in rig.text


async def test_a_session_that_ended_by_itself_stays_until_that_was_seen() -> None:
    state = three()
    ends = {
        "s0": ("Copilot CLI ended; go on with it: copilot --resume s0", True),
        "s1": ("the session ended in the CLI", False),
    }
    async with running(state, size=(160, 40)) as rig:
        await rig.press("1", "end")
        for id_, (reason, by_itself) in ends.items():
            fields = {"state": "ended", "ended_at": at(), "reason": reason, "by_itself": by_itself}
            rig.feed.happen(SessionClosed(id_, replace(state.sessions[id_], **fields)))
        await rig.turn(61)
        pane = rig.app.main.current
        assert isinstance(pane, SessionsPane)
        assert (pane.shown_keys(), pane.selected) == (["s2", "s0"], "s2")
        await rig.press("down")
        assert "copilot --resume s0" in rig.text
        await rig.turn(0.5)
        assert "s0" in pane.shown_keys(), "that was too short to read it"
        await rig.turn(1)
        await rig.turn(1)
        assert pane.shown_keys() == ["s2"]
        rig.feed.happen(SessionOpened("s0", state.sessions["s0"]))  # it was resumed
        fields = {"state": "ended", "ended_at": at(-70), "reason": "again", "by_itself": True}
        again = replace(state.sessions["s0"], **fields)
        rig.feed.happen(SessionClosed("s0", again), ts=at(-70))
        await rig.turn(200)
        assert pane.shown_keys() == ["s2", "s0"]
