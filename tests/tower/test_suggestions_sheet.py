"""Rules that answers suggest, in the tower: listed, shown in full, taken, refused; and said in a
request that is like others of its session."""

import threading
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from tapui.policies.leads import Leads
from tapui.policies.proposals import ProposedRule
from tapui.policies.suggestions import SuggestedRules, answered, suggested
from tapui.projection.state import State
from tapui.tower.app.services import EarlierFault
from tapui.tower.requests.suggestions_sheet import SuggestionDetail, SuggestionsScreen
from tapui.tower.table.table import Table
from tapui.wire import subjects
from tests.rig.waiting import until_async
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import approval, at, session, world
from tests.tower.test_hostile_text import CORPUS, HOSTILE, check
from tests.tower.test_query import command as run_command

APP, WEB = "/home/me/src/app", "/home/me/src/web"
COMMANDS = [("npm test", APP, 9), ("npm test -- --silent", WEB, 4), ("git status --short", APP, 7)]


def shell(command: str, folder: str) -> dict[str, object]:
    leads = Leads(folders=(folder,)).as_detail()
    return {"kind": "shell", "fullCommandText": command, "leads": leads}


def from_answers() -> list[SuggestedRules]:
    """Return what a person's answers suggest: `npm test` in two folders, and `git status`."""
    each = [
        (shell(command, folder), folder, True)
        for command, folder, times in COMMANDS
        for _ in range(times)
    ]
    return suggested(answered(each), [])


class ScriptedSuggestions:
    """Suggestions that are gone once taken or refused; `fault` is what both meet."""

    def __init__(self, suggestions: Sequence[SuggestedRules]) -> None:
        self.left = list(suggestions)
        self.fault: str | None = None
        self.unreadable = ""
        self.written: list[str] = []
        self.refused: list[str] = []
        self.looked = 0
        self.goes_on = threading.Event()
        self.goes_on.set()

    def found(self) -> Sequence[SuggestedRules]:
        self.looked += 1
        assert self.goes_on.wait(30)
        if self.unreadable:
            raise EarlierFault(self.unreadable)
        return list(self.left)

    def take(self, suggestion: SuggestedRules) -> str | None:
        if self.fault is None:
            self.left.remove(suggestion)
            self.written.append(suggestion.as_toml())
        return self.fault

    def refuse(self, suggestion: SuggestedRules) -> str | None:
        if self.fault is None:
            self.left.remove(suggestion)
            self.refused.append(suggestion.key)
        return self.fault


async def listed(rig: Running, service: ScriptedSuggestions) -> SuggestionsScreen:
    """Open the list, and wait for what is found."""
    rig.app.suggestions = service
    await rig.app.run_action("suggest")
    await looked(rig)
    (screen,) = (one for one in rig.app.screen_stack if isinstance(one, SuggestionsScreen))
    return screen


async def looked(rig: Running) -> None:
    def has_looked() -> bool:
        groups = (worker.group for worker in rig.app.workers if not worker.is_finished)
        return "suggestions" not in groups

    await until_async(has_looked, what="what is found")
    await rig.settle()


async def opened(rig: Running) -> None:
    """Open the first suggestion in full: for pictures, too."""
    await listed(rig, ScriptedSuggestions(from_answers()))
    await rig.press("enter")


async def listed_alone(rig: Running) -> None:
    await listed(rig, ScriptedSuggestions(from_answers()))


async def test_the_palette_lists_what_is_suggested_and_looks_meanwhile() -> None:
    service = ScriptedSuggestions(from_answers())
    service.goes_on.clear()
    async with running(world(), size=(120, 36), suggestions=service) as rig:
        await run_command(rig, "sugg")
        assert "In the records: looking …" in rig.text
        service.goes_on.set()
        await looked(rig)
        assert "shell “npm test”" in rig.text
        assert "2 folders" in rig.text
        assert "13×" in rig.text
        assert "13 of 20" in rig.text
        assert "2    Enter shows one in full" in rig.text
        await rig.press(*"status")
        assert "npm test" not in rig.text
        assert "git status" in rig.text


async def test_one_in_full_has_its_folders_what_is_written_and_what_it_would_have_answered() -> (
    None
):
    service = ScriptedSuggestions(from_answers())
    async with running(world(), size=(120, 36)) as rig:
        await listed(rig, service)
        await rig.press("enter")
        detail = on_top(rig.app)
        assert isinstance(detail, SuggestionDetail)
        shown = detail.reader.text
        first = service.left[0]
        for words in (*first.lines(), *first.folders, *first.as_toml().split("\n")):
            assert words in shown
        assert "   9×  npm test\n" in shown
        assert "   4×  npm test -- --silent" in shown
        await rig.press("right")
        assert "git status" in detail.reader.text
        assert "2 of 2" in rig.text


async def test_a_letter_and_enter_take_one_and_the_list_is_made_anew() -> None:
    service = ScriptedSuggestions(from_answers())
    toml = service.left[0].as_toml()
    async with running(world(), size=(120, 36)) as rig:
        screen = await listed(rig, service)
        await rig.press("enter", "enter")
        assert "Choose by a letter first." in rig.text
        await rig.press("r")
        assert "Enter writes the rule" in rig.text
        await rig.press("escape", "enter")
        await rig.type("r", "enter")
        assert "Pressed with other keys" in rig.text
        assert service.written == []
        await rig.press("r", "enter")
        assert service.written == [toml]
        await looked(rig)
        assert rig.app.screen is screen
        assert service.looked == 2
        assert [row.key for row in screen.query_one(Table).rows] == ["shell “git status”"]
        assert "The rule is written." in rig.notices


async def test_one_that_is_refused_is_gone_and_without_any_it_says_so() -> None:
    service = ScriptedSuggestions(from_answers()[:1])
    key = service.left[0].key
    async with running(world(), size=(120, 36)) as rig:
        await listed(rig, service)
        await rig.press("enter", "n")
        assert "Enter has it never suggested again" in rig.text
        await rig.press("enter")
        await looked(rig)
        assert service.refused == [key]
        assert service.written == []
        assert "None: no request was allowed three times" in rig.text


@pytest.mark.parametrize("letter", ["r", "n"])
async def test_what_cannot_be_written_is_told_where_it_was_asked(letter: str) -> None:
    service = ScriptedSuggestions(from_answers())
    service.fault = f"config.toml: no space {HOSTILE}"
    async with running(world(), size=(120, 36)) as rig:
        await listed(rig, service)
        await rig.press("enter", letter, "enter")
        assert isinstance(on_top(rig.app), SuggestionDetail)
        assert "config.toml: no space" in rig.text
        check(rig.app, "the fault")
        assert (service.looked, service.written, service.refused) == (1, [], [])
        service.fault = None
        await rig.press(letter, "enter")
        assert [*service.written, *service.refused]


async def test_records_that_cannot_be_read_are_told() -> None:
    service = ScriptedSuggestions([])
    service.unreadable = f"Nothing is indexed of the records yet. {HOSTILE}"
    async with running(world(), size=(120, 36)) as rig:
        await listed(rig, service)
        assert "Nothing is indexed of the records yet." in rig.text
        check(rig.app, "no index")


async def test_the_demonstration_says_that_it_suggests_none() -> None:
    async with running(world(), is_demo=True) as rig:
        assert rig.app.check_action("suggest", ())
        await rig.app.run_action("suggest")
        await rig.settle()
        assert "does not suggest rules" in rig.notices[-1]
    async with running(world()) as rig:
        assert not rig.app.check_action("suggest", ())


@pytest.mark.parametrize("text", CORPUS, ids=range(len(CORPUS)))
async def test_hostile_text_of_a_suggestion_is_harmless(text: str) -> None:
    rule = ProposedRule("shell", text, f"/{text}", is_exact=True)
    one = SuggestedRules((rule,), 3, 3, 3, ((f"a{text}\n# Folders", 3),))
    several = SuggestedRules((rule, ProposedRule("url", text, "/x")), 3, 3, 3, ((text, 3),) * 300)
    async with running(world(), size=(120, 36)) as rig:
        await listed(rig, ScriptedSuggestions([one, several]))
        check(rig.app, "the list")
        await rig.press("enter")
        check(rig.app, "one in full")
        await rig.press("right", "end")
        check(rig.app, "the end of the other")
        assert "and 100 more" in rig.text


# Beside the answers of a request

SAYS = "You allowed this 3 times in this session: r makes a rule of it."


def told(id_: str, command: str, **settled: object) -> subjects.Approval:
    given: dict[str, object] = {"state": "approved", "decided_by": "you"}
    detail = shell(command, "/code/s1")
    return approval(id_, "permission", detail, session_id="s1", **(given | settled))


def asks(
    *earlier: subjects.Approval, command: str = "npm test --silent", **fields: object
) -> State:
    """Return a session that asks for a command after some answers."""
    now = told("now", command, state="waiting", decided_by=None, created_at=at(5), **fields)
    found = {one.id: one for one in (*earlier, now)}
    return State(sessions={"s1": session("s1", "Fix pairing")}, approvals=found)


def thrice() -> list[subjects.Approval]:
    return [told(f"a{n}", "npm test") for n in range(3)]


async def shown(rig: Running, state: State) -> str:
    await rig.begin_again(state)
    await rig.press("a")
    return rig.text


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=str)
async def test_the_third_like_answer_of_a_session_has_the_next_request_say_so(
    size: tuple[int, int],
) -> None:
    async with running(asks(), size=size, on_rule=lambda _: None) as rig:
        first, second, third = thrice()
        assert SAYS not in await shown(rig, asks(first, second))
        assert SAYS in await shown(rig, asks(first, second, third))
        assert SAYS.replace("3", "4") in await shown(
            rig, asks(first, second, third, told("b", "npm test -- --silent"))
        )


async def test_only_ones_own_like_answers_count_and_no_denial() -> None:
    first, second, third = thrice()
    rule = subjects.AppliedRule("allow", "shell", "npm test", "person", "config.toml:1")
    ask = subjects.AppliedRule("ask", "shell", "npm", "person", "config.toml:1")
    others = [
        replace(third, decided_by="rule", rule=rule),
        replace(third, decided_by="process 4711 (sh)"),
        replace(third, state="withdrawn", decided_by="cli", answered="approved"),
        replace(third, state="expired", decided_by=None),
        replace(third, session_id="s2"),
        told("b", "npm ci"),
    ]
    async with running(asks(), size=(120, 36), on_rule=lambda _: None) as rig:
        for other in others:
            assert "makes a rule of it" not in await shown(rig, asks(first, second, other)), other
        denied = told("d", "npm test", state="denied")
        assert "makes a rule of it" not in await shown(rig, asks(first, second, third, denied))
        newer = [told(f"c{n}", "npm ci") for n in range(50)]
        assert "makes a rule of it" not in await shown(rig, asks(first, second, third, *newer))
        assert "makes a rule of it" not in await shown(rig, asks(first, second, third, rule=ask))
        assert SAYS in await shown(rig, asks(first, second, third))


@pytest.mark.parametrize("command", ["git push origin main", "rm -rf build", "npx x", "echo $X"])
async def test_what_no_rule_is_suggested_for_is_never_said(command: str) -> None:
    state = asks(*(told(f"a{n}", command) for n in range(9)), command=command)
    async with running(state, size=(120, 36), on_rule=lambda _: None) as rig:
        assert "makes a rule of it" not in await shown(rig, state)


async def test_where_no_rule_can_be_written_it_is_not_said() -> None:
    async with running(asks(), size=(120, 36), is_demo=True) as rig:
        assert "makes a rule of it" not in await shown(rig, asks(*thrice()))
