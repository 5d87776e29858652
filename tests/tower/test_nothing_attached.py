"""While nothing is attached: rows that act, only for what is there."""

from msgspec.structs import replace

from tapui.projection.state import State
from tapui.tower.app.services import PastChecks, StoreFault
from tapui.tower.sessions.start_sheet import StartScreen
from tapui.wire import events as ev
from tapui.wire.subjects import HostLook, LookState, Unattached
from tests.rig.waiting import until_async
from tests.tower.running import running
from tests.tower.scripted import at, session
from tests.tower.stores import ScriptedStore, stored

APART = Unattached("s1", "/work/s1", 4711, "copilot --ui-server --resume s1", "copilot")


async def test_a_row_starts_a_session_here() -> None:
    async with running() as rig:
        await rig.press("enter")
        assert isinstance(rig.app.screen, StartScreen)


async def test_a_session_that_runs_already_has_its_name_and_enter_copies_its_line() -> None:
    state = State(unattached={"copilot": [APART]})
    store = ScriptedStore(stored("s1", "Fix the flaky [red]test"))
    async with running(state, size=(160, 40), store=store) as rig:
        await until_async(lambda: "join “Fix the flaky [red]test”: Enter" in rig.text, what="it")
        rig.app.main.current_pane.table.select("act join s1")
        await rig.press("enter")
        assert rig.notices[-1].startswith("The line")
        assert rig.app.clipboard == APART.hint


async def test_a_session_whose_program_cannot_be_spoken_to_has_the_reason() -> None:
    why = "Copilot CLI 1.0.217 speaks protocol 5; tapui speaks 3 and 4"
    apart = replace(APART, hint="copilot update", why=why)
    async with running(State(unattached={"copilot": [apart]}), size=(160, 40)) as rig:
        await until_async(lambda: why in rig.text, what=lambda: rig.text)
        rig.app.main.current_pane.table.select("act join s1")
        await rig.press("enter")
        assert rig.app.clipboard == "copilot update"


async def test_a_program_without_a_session_is_named_and_enter_goes_to_its_terminal() -> None:
    starting = Unattached(
        "pid 4711", "/work/app", 4711, "", "copilot", "starting in /work/app: look"
    )
    store = ScriptedStore()
    state = State(unattached={"copilot": [starting]})
    async with running(state, size=(160, 40), store=store) as rig:
        await until_async(lambda: "“pid 4711”: starting in /work/app: look" in rig.text, what="it")
        rig.app.main.current_pane.table.select("act join pid 4711")
        await rig.press("enter")
        await until_async(lambda: ("go_to_process", "4711") in store.asked, what="it goes there")


async def test_what_the_last_thirty_days_left_unchecked_is_told_once_it_is_read() -> None:
    store = ScriptedStore()
    store.past = PastChecks(23, 9)
    async with running(size=(120, 36), store=store) as rig:
        words = "○ your last 30 days: 9 of 23 turns unchecked"
        await until_async(lambda: words in rig.text, what=words)
        assert store.past_asked == [30]
        rig.app.main.current_pane.table.select("act past")
        await rig.press("enter")
        assert rig.app.clipboard == "tapui proof --past 30d"


async def test_what_is_not_there_has_no_row() -> None:
    store = ScriptedStore()
    async with running(size=(120, 36), store=store) as rig:
        await until_async(lambda: store.past_asked, what="the past is read")
        await rig.settle()
        assert "your last 30 days" not in rig.text, "no turn changed files"
        assert "demonstration   (in another terminal: tapui demo)" in rig.text
        rig.feed.happen(ev.SessionOpened("s1", session("s1", "Fix it")))
        await rig.settle()
        assert "start Copilot here" not in rig.text, "something is attached"


class Unreadable(ScriptedStore):
    def past_checks(self, *_args: object) -> PastChecks:
        raise StoreFault("they cannot be read: Permission denied")


async def test_files_that_cannot_be_read_are_no_row_and_no_fault() -> None:
    async with running(store=Unreadable()) as rig:
        await rig.turn(3)
        assert "start Copilot here" in rig.text
        assert rig.notices == []


async def test_before_the_gateway_has_told_anything_it_says_that_it_looks() -> None:
    async with running(begins=False) as rig:
        assert "looking for sessions …" in rig.text
        assert "start Copilot" not in rig.text


def look(state: LookState, ago: float = 1, error: str | None = None) -> ev.HostLooks:
    return ev.HostLooks(HostLook("copilot", state, at(ago), error))


async def test_it_says_that_it_looks_until_each_host_has_looked() -> None:
    async with running() as rig:
        assert "Nothing is attached" in rig.text, "no host looks for sessions"
        rig.feed.happen(look("looking"))
        await rig.settle()
        assert "looking for sessions …" in rig.text
        assert "Nothing is attached" not in rig.text
        rig.feed.happen(look("looked"))
        await rig.settle()
        assert "looking for sessions …" not in rig.text
        assert "Nothing is attached" in rig.text


async def test_a_host_that_does_not_tell_is_named_with_how_long_it_takes() -> None:
    async with running(State(looks={"copilot": look("looking").look}), size=(120, 36)) as rig:
        assert "has not told" not in rig.text
        await rig.turn(19)
        said = "looking for sessions …   copilot has not told what it found for 20s"
        assert said in rig.text


async def test_a_host_that_cannot_look_says_why() -> None:
    async with running(size=(120, 36)) as rig:
        rig.feed.happen(look("failed", error="\x1b[31mno such program"))
        await rig.settle()
        assert "Nothing is attached   copilot cannot look: " in rig.text
        assert "no such program" in rig.text
        rig.feed.happen(look("gone"))
        await rig.settle()
        assert "cannot look" not in rig.text


async def test_tapuis_own_session_is_named_nowhere_while_it_is_not_listed() -> None:
    state = State(sessions={"local": session("local", "local", host="local")})
    async with running(state, size=(120, 36)) as rig:
        assert "The turns of a session are shown here." in rig.text
        assert "2 Turns: local" not in rig.text
