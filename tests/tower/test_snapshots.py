"""Pictures of the main screen in five sizes, populated and overfull, and of the rest in two.

A sheet or a zoomed pane is laid out in the same way at each size: what a width in between shows or
leaves out is proved by words (`test_wider`, `test_columns_stay`, the tests of each sheet).
"""

from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot
from textual.screen import Screen

from tapui import docs, tower
from tapui.projection.state import State
from tapui.tower.app import registry
from tapui.tower.app.app import TowerApp
from tapui.tower.app.digest import DigestScreen
from tapui.tower.app.exit import LeavingScreen, QuitScreen
from tapui.tower.app.help import HelpScreen, PageScreen, ReadScreen
from tapui.tower.app.services import FoundRecord, SessionOnDisk
from tapui.tower.calls.call_detail import CallDetail
from tapui.tower.changes.changes_detail import ChangesDetail
from tapui.tower.changes.putting_back import PutBackScreen
from tapui.tower.emitters.emitter_detail import EmitterDetail
from tapui.tower.emitters.emitter_filter import EmitterFilterScreen
from tapui.tower.finding.find_sheet import FindScreen, RecordDetail
from tapui.tower.finding.query_sheet import AnswerRowDetail, QueryScreen
from tapui.tower.goals.goal_detail import CriterionDetail, GoalDetail
from tapui.tower.providers.inspector import InspectedDetail, InspectorScreen
from tapui.tower.providers.provider_detail import ProviderDetail
from tapui.tower.requests.answers_sheet import AnswersScreen
from tapui.tower.requests.request_detail import RequestDetail
from tapui.tower.requests.suggestions_sheet import SuggestionDetail, SuggestionsScreen
from tapui.tower.sessions.agent_choice import AgentsScreen
from tapui.tower.sessions.deliveries import DeliveriesDetail
from tapui.tower.sessions.session_detail import SessionDetail, UsageDetail
from tapui.tower.sessions.session_tools import SessionToolsDetail
from tapui.tower.sessions.start_sheet import StartScreen
from tapui.tower.sessions.stored_sheet import StoredScreen
from tapui.tower.streams.line_detail import LineDetail
from tapui.tower.textual.detail import DetailView
from tapui.tower.textual.dialogs import (
    ActionsScreen,
    AskLineScreen,
    ChooseScreen,
    FilteredListScreen,
    MomentScreen,
)
from tapui.tower.textual.sheet import ConfirmScreen, LiveScreen, Sheet
from tapui.tower.turns.check_detail import CheckDetail
from tapui.tower.turns.turn_detail import StepDetail, TurnDetail
from tapui.tower.turns.waterfall import SpanDetail, TracedDetail
from tapui.tower.workbench.tools import ToolsScreen
from tapui.tower.workbench.workbench import WorkbenchDetail
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.emitters import EmitterTried, EmitterTry
from tapui.wire.goals import GOALS_STREAM
from tapui.wire.proving import ProofPlan, ProofRun
from tapui.wire.steering import Order
from tapui.wire.tower import InspectLines, InspectStart, RevealedCode, StreamLines, StreamRead
from tests.rig.waiting import until_async
from tests.tower import mcp_world, test_query, test_suggestions_sheet, test_waterfall
from tests.tower import test_session_tools as session_tools
from tests.tower.changes import changes_world
from tests.tower.changes.test_putting_back import APP, asked_hunk
from tests.tower.emitters_world import asked_by_agent, quiet, ran, reviewed, watched
from tests.tower.emitters_world import asking as asking_emitters
from tests.tower.finders import ScriptedFinder, found
from tests.tower.goals_world import goals_world, ledger
from tests.tower.running import Running, on_top, settle
from tests.tower.scripted import HandClock, ScriptedFeed, approval, at, crowd, lines, posts, world
from tests.tower.stores import STORED, ScriptedStore
from tests.tower.test_budget import ASKED as BUDGET
from tests.tower.test_emitter_filter import LINES as LINES_TRIED
from tests.tower.test_emitter_filter import filtered_world, made_of
from tests.tower.test_find import Finds
from tests.tower.test_inspector import LINES
from tests.tower.test_proof import recorded_world
from tests.tower.test_tell_several import able as several
from tests.tower.test_tell_several import mark_all
from tests.tower.told import crowded, turns_world

PANES = {kind.id: kind.key for kind in registry.PANES}
SIZES = ((80, 24), (100, 30), (120, 36), (160, 45), (200, 50))
SHEET = ((80, 24), (160, 45))
Compare = Callable[..., bool]
Driven = Callable[[Running], Awaitable[None]]


def at_sizes(*sizes: tuple[int, int]) -> pytest.MarkDecorator:
    """Take the picture at each of these sizes."""
    return pytest.mark.parametrize("size", sizes, ids=lambda size: f"{size[0]}x{size[1]}")


in_both_themes = pytest.mark.parametrize(
    ("size", "theme"), [(SHEET[0], "tapui-dark"), (SHEET[1], "tapui-light")], ids=["dark", "light"]
)
"""Take it at each of the two sizes of a sheet, in another theme."""


def compare(
    snap_compare: Compare,
    size: tuple[int, int],
    keys: list[str],
    *,
    is_empty: bool = False,
    theme: str = "tapui-dark",
    then: Callable[[ScriptedFeed], None] | None = None,
    state: State | None = None,
    glyphs: str = "unicode",
    away: float = 0,
    more: Sequence[str] = (),
    shows: type[Screen[Any] | DetailView] | None = None,
) -> None:
    """Compare the picture after `keys`, `then`, and `more` keys."""
    feed, clock = ScriptedFeed(), HandClock()
    app = TowerApp(
        feed,
        clock=clock,
        ticks=clock,
        theme=theme,
        glyphs=glyphs,
        on_demo=lambda: None,
        can_go_on=True,
    )

    async def prepare(pilot: Pilot[str]) -> None:
        await settle(pilot, feed)
        feed.begin(None if is_empty else state or turns_world())
        if not is_empty and state is None:
            feed.happen(*posts(("s1", "ci-watch@ci-watcher"), lines(60)[48:]))
        await settle(pilot, feed)
        await pilot.press(*keys)
        if then is not None:
            then(feed)
        await settle(pilot, feed)
        await pilot.press(*more)
        await settle(pilot, feed)
        clock.turn(away or 1)
        await settle(pilot, feed)
        if away:
            await pilot.press("space")
            await settle(pilot, feed)
        assert shows is None or type(on_top(app)) is shows

    assert snap_compare(app, terminal_size=size, run_before=prepare)


def asked_for_a_command() -> State:
    state = world()
    del state.approvals["a2"]
    return state


@at_sizes(*SIZES)
def test_main(snap_compare: Compare, size: tuple[int, int]) -> None:
    compare(snap_compare, size, ["1"])


@at_sizes(*SHEET)
@pytest.mark.parametrize("pane", [one for one in PANES if one not in ("sessions", "goals")])
def test_zoomed(snap_compare: Compare, pane: str, size: tuple[int, int]) -> None:
    compare(snap_compare, size, [PANES[pane], *(["z"] if size[0] > 80 else [])])


@at_sizes(*SHEET)
def test_empty(snap_compare: Compare, size: tuple[int, int]) -> None:
    compare(snap_compare, size, ["1"], is_empty=True)


@at_sizes((20, 5), *SIZES)
def test_overfull(snap_compare: Compare, size: tuple[int, int]) -> None:
    compare(snap_compare, size, ["down"], state=crowd())


def test_ascii(snap_compare: Compare) -> None:
    compare(snap_compare, (120, 36), ["1"], glyphs="ascii")


def test_no_color(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    compare(snap_compare, (120, 36), ["1"])


@at_sizes(*SHEET)
def test_check(snap_compare: Compare, size: tuple[int, int]) -> None:
    def shown(feed: ScriptedFeed) -> None:
        files = ["conftest.py", "pyproject.toml"]
        asked = feed.sent_of(ProofRun)[0]
        feed.put(ProofPlan(asked.id, "s1", "uv run pytest -q", "/code/s1", "0" * 64, files))

    compare(snap_compare, size, ["full_stop", "v"], then=shown, shows=CheckDetail)


def test_actions(snap_compare: Compare) -> None:
    compare(snap_compare, (80, 24), ["full_stop"])


def test_permission(snap_compare: Compare) -> None:
    compare(snap_compare, (80, 24), ["a"], state=asked_for_a_command())


def test_pairing(snap_compare: Compare) -> None:
    compare(snap_compare, (80, 24), ["a"])


def test_pairing_code(snap_compare: Compare) -> None:
    def reveal(feed: ScriptedFeed) -> None:
        asked = world().approvals["a2"]
        feed.put(RevealedCode(approval_id="a2", code="847293", expires_at=at(-120)))
        revealed = replace(asked, state="revealed", expires_at=at(-120))
        feed.happen(ev.ApprovalRevealed(approval=revealed))

    compare(snap_compare, (80, 24), ["a"], then=reveal)


def test_call(snap_compare: Compare) -> None:
    compare(snap_compare, (80, 24), ["5", "enter"])


def test_quit(snap_compare: Compare) -> None:
    compare(snap_compare, (80, 24), ["q"])


def test_help(snap_compare: Compare) -> None:
    compare(snap_compare, (80, 24), ["question_mark"])


def test_page(snap_compare: Compare) -> None:
    keys = ["question_mark", "t", *["down"] * list(docs.TOPICS).index("alarms"), "enter"]
    compare(snap_compare, (80, 24), keys, shows=PageScreen)


@at_sizes(*SHEET)
@pytest.mark.parametrize(
    ("told", "keys"),
    [(turns_world, ["up", "enter", "down"]), (crowded, ["up"])],
    ids=["populated", "overfull"],
)
def test_turns(
    snap_compare: Compare, told: Callable[[], State], keys: list[str], size: tuple[int, int]
) -> None:
    compare(snap_compare, size, ["2", *keys], state=told())


@at_sizes(*SHEET)
def test_recorded(snap_compare: Compare, size: tuple[int, int]) -> None:
    compare(snap_compare, size, ["1"], state=recorded_world())


@at_sizes(*SHEET)
def test_recorded_turn(snap_compare: Compare, size: tuple[int, int]) -> None:
    keys = ["2", "home", "full_stop", "o"]
    compare(snap_compare, size, keys, state=recorded_world(), shows=TurnDetail)


def test_recorded_turns(snap_compare: Compare) -> None:
    compare(snap_compare, SIZES[0], ["2"], state=recorded_world())


def test_recorded_session(snap_compare: Compare) -> None:
    compare(snap_compare, SIZES[0], ["1", "enter"], state=recorded_world(), shows=SessionDetail)


def test_turns_empty(snap_compare: Compare) -> None:
    compare(snap_compare, SIZES[0], ["2"], state=world())


def test_digest(snap_compare: Compare) -> None:
    def come_back(feed: ScriptedFeed) -> None:
        feed.happen(ev.SessionHappened("s1", "session.idle"), ts=at(-300))

    compare(snap_compare, SIZES[0], [], state=turns_world(), then=come_back, away=1000)


def test_turns_filtered(snap_compare: Compare) -> None:
    compare(snap_compare, SIZES[2], ["2", "slash", *"failed", "enter"], state=turns_world())


@pytest.mark.parametrize("theme", ["tapui-light", "tapui-high-contrast"])
def test_turns_in_theme(snap_compare: Compare, theme: str) -> None:
    compare(snap_compare, SIZES[2], ["2"], state=turns_world(), theme=theme)


@at_sizes(*SHEET)
def test_step(snap_compare: Compare, size: tuple[int, int]) -> None:
    compare(snap_compare, size, ["2", *["up"] * 3, "enter"], state=turns_world())


@pytest.mark.parametrize("theme", ["tapui-light", "tapui-high-contrast"])
def test_step_in_theme(snap_compare: Compare, theme: str) -> None:
    compare(snap_compare, SIZES[2], ["2", *["up"] * 3, "enter"], state=turns_world(), theme=theme)


def test_failed_step(snap_compare: Compare) -> None:
    compare(snap_compare, SIZES[0], ["e", "enter"], state=turns_world())


DIFF = """\
diff --git a/tests/pty/test_pair.py b/tests/pty/test_pair.py
--- a/tests/pty/test_pair.py
+++ b/tests/pty/test_pair.py
@@ -12,5 +12,6 @@ def test_pairs():
     host = start()
-    time.sleep(2)
-    assert host.code
+    code = wait_for(host.code)
+    assert code
+    assert len(code) == 6
     host.stop()
"""
ASKED: dict[str, tuple[str, dict[str, object]]] = {
    "command": (
        "permission",
        {
            "kind": "shell",
            "fullCommandText": "rm -rf build && npm ci",
            "intention": "Clean install",
            "commandSegments": [
                {"identifier": "rm", "fullCommandText": "rm -rf build"},
                {"identifier": "npm", "fullCommandText": "npm ci"},
            ],
        },
    ),
    "write": ("permission", {"kind": "write", "fileName": "test_pair.py", "diff": DIFF}),
    "mcp": (
        "permission",
        {"kind": "mcp", "serverName": "tower", "toolName": "ping", "args": {"say": "“hi”"}},
    ),
    "mode": ("mode", {"from": "interactive", "to": "autopilot", "reason": "to finish"}),
    "bindAll": ("bindAll", {"name": "clock"}),
    "terminal": (
        "terminal",
        {
            "device": "pts/7",
            "program": "bash",
            "since": at(20),
            "holder": "tmux: server",
            "line": ["tapui 4711", "bash 4020", "tmux: server 801", "init 1"],
            "above": [
                {"name": "tmux: server", "pid": 801, "since": at(40_000)},
                {"name": "init", "pid": 1, "since": at(90_000)},
            ],
            "warning": "opened less than 60 seconds ago",
            "command": "tapui approve",
            "wanted": "approval.decide",
            "decision": "approve",
            "about": "a-3",
        },
    ),
    "background": (
        "command",
        {
            "device": "pts/7",
            "line": ["tapui 4711", "bash 4020", "tmux: server 801", "init 1"],
            "why": "process 4711 runs in the background of its terminal",
            "command": "tapui approve",
            "wanted": "approval.decide",
            "decision": "approve",
            "about": "a-3",
        },
    ),
    "question": ("userInput", {"question": "Which branch?", "choices": ["main", "next"]}),
    "budget": ("userInput", BUDGET),
    "form": (
        "elicitation",
        {
            "message": "Deploy where?",
            "requestedSchema": {
                "properties": {"count": {"type": "integer"}, "region": {"enum": ["eu", "us"]}},
                "required": ["count"],
            },
        },
    ),
}


@pytest.mark.parametrize(
    ("name", "size"),
    [*((name, SIZES[0]) for name in ASKED), ("write", SHEET[1])],
    ids=lambda one: one if isinstance(one, str) else f"{one[0]}x{one[1]}",
)
def test_request(snap_compare: Compare, name: str, size: tuple[int, int]) -> None:
    kind, detail = ASKED[name]
    state = world()
    fields: dict[str, object] = {"created_at": at(130), "expires_at": at(-90_000)}
    if kind not in ("bindAll", "terminal", "command"):
        fields["session_id"] = "s1"
    state.approvals = {
        "q1": approval("q1", kind, detail, **fields),
        "q2": state.approvals["a1"],
    }
    compare(snap_compare, size, ["a"], state=state)


def asking_agent() -> State:
    state = quiet()
    one = asked_by_agent()
    state.approvals[one.id] = one
    return state


EMITTERS: dict[str, Callable[[], State]] = {
    "emitters": lambda: asking_emitters("tests", "ci", "lint"),
    "emitter": lambda: asking_emitters("tests"),
    "agents-emitter": asking_agent,
}


@at_sizes(*SHEET)
@pytest.mark.parametrize("name", EMITTERS)
def test_request_of(snap_compare: Compare, name: str, size: tuple[int, int]) -> None:
    compare(snap_compare, size, ["a"], state=EMITTERS[name]())


MCP_SERVERS = {"start": mcp_world.START, "called": mcp_world.CALLED, "tools": mcp_world.TOOLS}


@at_sizes(*SHEET)
@pytest.mark.parametrize("name", MCP_SERVERS)
def test_request_of_mcp_server(snap_compare: Compare, name: str, size: tuple[int, int]) -> None:
    compare(snap_compare, size, ["a"], state=mcp_world.asking(MCP_SERVERS[name]))


@at_sizes(*SHEET)
def test_emitters(snap_compare: Compare, size: tuple[int, int]) -> None:
    compare(snap_compare, size, ["6"], state=watched())


@at_sizes(SHEET[1])
def test_emitters_zoomed(snap_compare: Compare, size: tuple[int, int]) -> None:
    compare(snap_compare, size, ["6", "z"], state=watched())


def goal_lines_read(feed: ScriptedFeed) -> None:
    """Answer what the sheet of a goal reads."""
    for one in feed.sent_of(StreamRead):
        if one.stream == GOALS_STREAM:
            feed.put(StreamLines(one.id, ledger()))


@at_sizes(*SHEET)
def test_goals(snap_compare: Compare, size: tuple[int, int]) -> None:
    compare(snap_compare, size, ["8"], state=goals_world())


@at_sizes(*SHEET)
def test_goals_empty(snap_compare: Compare, size: tuple[int, int]) -> None:
    state = goals_world()
    state.goals = {}
    compare(snap_compare, size, ["8"], state=state)


@at_sizes(*SHEET)
def test_goal(snap_compare: Compare, size: tuple[int, int]) -> None:
    compare(
        snap_compare,
        size,
        ["8", "enter"],
        state=goals_world(),
        then=goal_lines_read,
        shows=GoalDetail,
    )


@at_sizes(*SHEET)
def test_criterion(snap_compare: Compare, size: tuple[int, int]) -> None:
    keys = ["8", "down", "enter", "enter"]
    compare(snap_compare, size, keys, state=goals_world(), shows=CriterionDetail)


@at_sizes(*SHEET)
def test_emitter(snap_compare: Compare, size: tuple[int, int]) -> None:
    compare(
        snap_compare,
        size,
        ["6", "down", "down", "enter"],
        state=watched(),
        then=lambda feed: feed.happen(
            ran("deploy-log", 6), ran("deploy-log", 7, status="error", code="EXIT_7")
        ),
        shows=EmitterDetail,
    )


@at_sizes(*SHEET)
def test_emitter_reviews(snap_compare: Compare, size: tuple[int, int]) -> None:
    keys = ["6", "down", "down", "enter"]
    compare(snap_compare, size, keys, state=reviewed(), shows=EmitterDetail)


def test_request_judged(snap_compare: Compare) -> None:
    rule = subjects.AppliedRule("allow", "shell", "npm ci", "person", "config.toml:7")
    parts = [subjects.RequestPart("rm -rf build"), subjects.RequestPart("npm ci", rule)]
    kind, detail = ASKED["command"]
    state = world()
    times = {"created_at": at(130), "expires_at": at(-90_000)}
    judged = subjects.Judged(parts)
    state.approvals = {"q1": approval("q1", kind, detail, session_id="s1", judged=judged, **times)}
    compare(snap_compare, (80, 24), ["a"], state=state)


def test_request_with_its_lines_side_by_side(snap_compare: Compare) -> None:
    lines = [f"touch build/{number}" for number in range(1, 21)]
    detail = {"kind": "shell", "fullCommandText": "\n".join(lines)}
    judged = subjects.Judged([subjects.RequestPart(line) for line in lines])
    state = world()
    times = {"created_at": at(130), "expires_at": at(-90_000)}
    asked = approval("q1", "permission", detail, session_id="s1", judged=judged, **times)
    state.approvals = {"q1": asked}
    compare(snap_compare, (80, 24), ["a"], state=state)


@pytest.mark.parametrize("pane", ["sessions", "providers", "calls"])
def test_sheet(snap_compare: Compare, pane: str) -> None:
    compare(snap_compare, (120, 36), [PANES[pane], "enter"])


def pairing(key: str, text: str, **fields: object) -> FoundRecord:
    at = text.index("pairing")
    return found(key, text, marks=((at, at + 7),), **fields)  # type: ignore[arg-type]


FOUND = (
    pairing("9", "Why does pairing flake?", ago=190),
    pairing("8", "grep “sleep(” tests/pty/test_pairing.py", kind="call", ago=180),
    pairing("7", "…rig/tmux.py:40: in seen⏎E   Failed: pairing: no code in 10 s⏎1 failed, 6 passed",
        kind="error", title="bash pytest -x tests/pty", ago=130,
    ),
    pairing("6", "build 4711: the pairing tests failed", kind="line", title="ci-watch@ci-watcher",
        turn=None, ago=60,
    ),
    pairing("5", "approved by tower: shell git push origin pairing", kind="approval",
        session="Release notes", session_id="s9", turn=3, ago=100_000,
    ),
)  # fmt: skip


def compare_driven(
    snap_compare: Compare,
    size: tuple[int, int],
    drive: Driven,
    *,
    state: State | None = None,
    shows: type[Screen[Any] | DetailView] | None = None,
    **wiring: Any,
) -> None:
    """Compare the picture of what `drive` has opened."""
    feed, clock = ScriptedFeed(), HandClock()
    app = TowerApp(feed, clock=clock, ticks=clock, **wiring)

    async def prepare(pilot: Pilot[str]) -> None:
        rig = Running(app, feed, clock, pilot)
        feed.begin(state or world())
        await rig.settle()
        await drive(rig)
        await rig.settle()
        assert shows is None or type(on_top(app)) is shows

    assert snap_compare(app, terminal_size=size, run_before=prepare)


def compare_found(
    snap_compare: Compare, size: tuple[int, int], keys: list[str], theme: str = "tapui-dark"
) -> None:
    finder = ScriptedFinder(*FOUND)
    finder.texts = {"7": "kind: call.finished\ncall:\n  tool: bash\n  state: done\n  exitCode: 1"}

    async def find(rig: Running) -> None:
        for key in ["f", *keys]:
            await rig.press(key)
            finds = Finds(rig, finder)
            await finds.looked()
        if "enter" in keys:
            await finds.until(lambda: "exitCode" in rig.text)

    compare_driven(snap_compare, size, find, theme=theme, finder=finder)


@in_both_themes
def test_find(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    compare_found(snap_compare, size, [*"pairing", "down"], theme)


def test_find_empty(snap_compare: Compare) -> None:
    compare_found(snap_compare, SHEET[0], [])


def test_find_record(snap_compare: Compare) -> None:
    compare_found(snap_compare, SIZES[2], [*"pairing", "down", "enter"])


def compare_stored(
    snap_compare: Compare,
    size: tuple[int, int],
    *sessions: SessionOnDisk,
    theme: str = "tapui-dark",
) -> None:
    read = "what to do" if sessions else "has stored no session"

    async def open_list(rig: Running) -> None:
        await rig.press("ctrl+o")
        await until_async(lambda: read in rig.text, what=lambda: rig.text)

    compare_driven(snap_compare, size, open_list, theme=theme, store=ScriptedStore(*sessions))


@in_both_themes
def test_stored(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    compare_stored(snap_compare, size, *STORED, theme=theme)


def test_stored_empty(snap_compare: Compare) -> None:
    compare_stored(snap_compare, SHEET[0])


def inspected(feed: ScriptedFeed) -> None:
    (asked,) = (one for one in feed.sent if isinstance(one, InspectStart))
    feed.put(InspectLines(asked.id, LINES, 12))


INSPECTOR = [PANES["providers"], "full_stop", "i"]


@in_both_themes
def test_inspector(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    compare(snap_compare, size, INSPECTOR, then=inspected, theme=theme)


def test_inspector_empty(snap_compare: Compare) -> None:
    compare(snap_compare, SHEET[0], INSPECTOR)


def _able() -> State:
    """The world of the turns, whose sessions take every order; the first is being stopped."""
    state = turns_world()
    can = ["tell", "now", "stop", "compact", "model", "effort", "label"]
    for id_, one in state.sessions.items():
        state.sessions[id_] = replace(one, can=can)
    stopped = next(iter(state.sessions))
    order = Order("o1", stopped, "stop", "stopping", "tapui", at(2))
    state.orders[order.id] = order
    return state


@at_sizes(*SHEET)
def test_tell(snap_compare: Compare, size: tuple[int, int]) -> None:
    keys = ["t", "tab", *"Run the whole suite, too"]
    names = {" ": "space", ",": "comma"}
    compare(snap_compare, size, [names.get(one, one) for one in keys], state=_able())


def _without_screens() -> State:
    """The world of the turns, with a session that was started here."""
    state = turns_world()
    id_, one = next(iter(state.sessions.items()))
    state.sessions[id_] = replace(one, headless=True)
    return state


STATES: dict[type[Screen[Any] | DetailView], Callable[[], State]] = {
    AskLineScreen: _able,
    QuitScreen: _without_screens,
}
"""The worlds of screens that the others do not open."""
OPENED: dict[type[Screen[Any] | DetailView], list[str]] = {
    AnswersScreen: ["colon", *"answers", "enter"],
    TurnDetail: [PANES["turns"], "down", "down", "full_stop", "o"],
    LineDetail: [PANES["streams"], "enter"],
    ChooseScreen: [PANES["sessions"], "full_stop", "m"],
    AskLineScreen: [PANES["sessions"], "full_stop", "n"],
    MomentScreen: [PANES["streams"], "w"],
    StartScreen: ["1", "plus"],
    AgentsScreen: ["1", "plus", "tab", "tab", "space"],
    LeavingScreen: ["q"],
    QuitScreen: ["q"],
    InspectedDetail: INSPECTOR,
}
"""The keys that open a screen which has no test of its own above."""
MORE: dict[type[Screen[Any] | DetailView], list[str]] = {
    LeavingScreen: ["y"],
    InspectedDetail: ["enter"],
}
"""The keys behind those, once the first have had their effect."""


@pytest.mark.parametrize("theme", ["tapui-dark", "tapui-light"])
@pytest.mark.parametrize("kind", OPENED, ids=lambda kind: kind.__name__)
def test_opened(snap_compare: Compare, kind: type[Screen[Any] | DetailView], theme: str) -> None:
    size = (80, 24) if theme == "tapui-dark" else (120, 36)
    keys, more = OPENED[kind], MORE.get(kind, ())
    then = inspected if kind is InspectedDetail else None
    state = STATES[kind]() if kind in STATES else None
    compare(snap_compare, size, keys, theme=theme, then=then, more=more, shows=kind, state=state)


@at_sizes(*SHEET)
def test_usage(snap_compare: Compare, size: tuple[int, int]) -> None:
    compare(snap_compare, size, ["1", "full_stop", "u"], shows=UsageDetail)


async def changed_file(rig: Running) -> None:
    await changes_world.opened(rig, APP)


async def tools_of_a_session(rig: Running) -> None:
    await session_tools.opened(rig, *session_tools.TOOLS, own=["bash", "view"])


async def told_several(rig: Running) -> None:
    await mark_all(rig, 3)
    await rig.press("t", *"go", "enter")


async def traced_turn(rig: Running) -> None:
    start = await test_waterfall.open_turn(rig)
    turn, *within = test_waterfall.of_turn()
    await test_waterfall.traced(rig, replace(turn, started_at=start), *within)


async def span_of_a_turn(rig: Running) -> None:
    await traced_turn(rig)
    await rig.press("end", "enter")


async def filter_tried(rig: Running) -> None:
    """Write a rule while the lines are tried."""

    async def answer() -> None:
        for _ in range(3):  # those that were written meanwhile are tried after the first
            await rig.settle()
            asked = rig.feed.sent_of(EmitterTry)[-1]
            rig.feed.put(EmitterTried(asked.id, made_of(asked.rules)))
        await rig.settle()

    rig.feed.happen(*posts(("s1", "tests@tap"), LINES_TRIED))
    await rig.press("6", "m")
    await answer()
    await rig.press("x", "a", *"file")
    await answer()


async def asked_records(rig: Running) -> None:
    await test_query.opened(rig, "slowest-calls")


async def row_of_an_answer(rig: Running) -> None:
    await test_query.opened(rig, "SELECT 1")
    await rig.press("enter")


DRIVEN: dict[type[Screen[Any] | DetailView], tuple[Callable[[], State], Driven]] = {
    ChangesDetail: (world, changed_file),
    PutBackScreen: (world, asked_hunk),
    SessionToolsDetail: (session_tools.world, tools_of_a_session),
    DeliveriesDetail: (several, told_several),
    SpanDetail: (turns_world, span_of_a_turn),
    QueryScreen: (world, asked_records),
    AnswerRowDetail: (world, row_of_an_answer),
}
"""Screens that ask the gateway for what they show: their world, and what opens them."""


async def like_others(rig: Running) -> None:
    rig.app.on_rule = lambda _rules: None
    await rig.press("a")


SUGGESTED: dict[type[Screen[Any] | DetailView], Driven] = {
    SuggestionsScreen: test_suggestions_sheet.listed_alone,
    SuggestionDetail: test_suggestions_sheet.opened,
    RequestDetail: like_others,
}
"""What answers suggest: the list, one in full, and beside the answers of a request."""


@pytest.mark.parametrize("theme", ["tapui-dark", "tapui-light"])
@pytest.mark.parametrize("kind", DRIVEN, ids=lambda kind: kind.__name__)
def test_driven(snap_compare: Compare, kind: type[Screen[Any] | DetailView], theme: str) -> None:
    state, drive = DRIVEN[kind]
    size = (80, 24) if theme == "tapui-dark" else (120, 36)
    compare_driven(snap_compare, size, drive, state=state(), theme=theme, shows=kind)


@at_sizes(*SHEET)
def test_emitter_filter(snap_compare: Compare, size: tuple[int, int]) -> None:
    state = filtered_world()
    compare_driven(snap_compare, size, filter_tried, state=state, shows=EmitterFilterScreen)


@at_sizes(*SHEET)
def test_questions(snap_compare: Compare, size: tuple[int, int]) -> None:
    compare_driven(snap_compare, size, test_query.opened)


@at_sizes(SIZES[0], SIZES[3])
@pytest.mark.parametrize("kind", [SuggestionsScreen, SuggestionDetail, RequestDetail])
def test_suggestions(
    snap_compare: Compare, kind: type[Screen[Any] | DetailView], size: tuple[int, int]
) -> None:
    state = test_suggestions_sheet.asks(*test_suggestions_sheet.thrice())
    drive = SUGGESTED[kind]
    compare_driven(snap_compare, size, drive, state=state, shows=kind)


@at_sizes(*SHEET)
def test_spans_of_a_turn(snap_compare: Compare, size: tuple[int, int]) -> None:
    compare_driven(snap_compare, size, traced_turn, state=turns_world())


def test_every_screen_has_a_picture() -> None:
    pictured = {
        *(ActionsScreen, RequestDetail, CallDetail, ConfirmScreen, DigestScreen, FindScreen),
        *(
            HelpScreen,
            PageScreen,
            InspectorScreen,
            ProviderDetail,
            RecordDetail,
            SessionDetail,
            StepDetail,
        ),
        *(CheckDetail, EmitterFilterScreen, EmitterDetail, StoredScreen, UsageDetail),
        *(CriterionDetail, GoalDetail),
        *(ToolsScreen, WorkbenchDetail),  # in tests/tower/workbench
        *OPENED,
        *DRIVEN,
        *SUGGESTED,
    }
    modules = [import_module(one.name) for one in walk_packages(tower.__path__, "tapui.tower.")]
    found = {
        one
        for module in modules
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, LiveScreen | DetailView)
    }
    bases = {DetailView, FilteredListScreen, LiveScreen, ReadScreen, Sheet, TracedDetail}
    assert found - bases == pictured
