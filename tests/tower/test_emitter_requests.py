"""Requests to start emitters: all of each is shown, and exactly what is shown is answered."""

from typing import Any

from msgspec.structs import replace

from tapui.projection.requests.emitter_start import EACH_CHANGE, PROMPTS, PROVIDES, RIGHTS
from tapui.tower.requests.request_detail import DEAF_SECONDS, RequestDetail
from tapui.tower.textual.reader import Reader
from tapui.wire import events as ev
from tapui.wire.message import Error
from tapui.wire.tower import ApprovalDecide
from tests.tower.emitters_world import asked, asked_by_agent, asking, emitter, quiet
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import approval

ALL = {
    "command": "npm test -- --watch",
    "cwd": "/elsewhere",
    "isOutside": True,
    "shell": "zsh",
    "env": {"CI": "1", "NODE_ENV": "test"},
    "schedule": "runs every 5m, without asking again",
    "maxRuns": 9,
    "autoStart": False,
    "includeStderr": False,
    "stream": "build",
    "rules": [["fail|error", "inject"], ["^debug", "drop"]],
    "injector": "enabled",
    "delivery": "important",
    "description": "Tests on save",
    "file": "/code/pairing/tap.config.json",
    "line": 7,
    "files": ["package.json", "scripts/test.sh"],
    "uncovered": ["~/.npmrc"],
    "doubts": ["it expands a variable"],
    "unknownKey": "something new",
}


def text_of(rig: Running) -> str:
    screen = on_top(rig.app)
    assert isinstance(screen, RequestDetail)
    return screen.query_one(Reader).text


async def opened(rig: Running) -> None:
    await rig.press("a")
    assert isinstance(on_top(rig.app), RequestDetail)
    await rig.turn(DEAF_SECONDS)


def decisions(rig: Running) -> list[tuple[str, str, Any]]:
    return [
        (one.approval_id, one.decision, one.answer)
        for one in rig.feed.sent
        if isinstance(one, ApprovalDecide)
    ]


async def test_everything_that_would_run_is_shown() -> None:
    state = asking("tests")
    one = asked("a-tests", "tests", **ALL)
    state.approvals[one.id] = one
    async with running(state, size=(120, 50)) as rig:
        await opened(rig)
        text = text_of(rig)
        for part in (
            "│ npm test -- --watch",
            "runs every 5m, without asking again",
            "/elsewhere, outside of the session's folder",
            "zsh",
            "│ CI=1",
            "│ NODE_ENV=test",
            "at most 9",
            "not by itself",
            "are left out",
            "build",
            "│ sent to the agent  fail|error",
            "│ dropped            ^debug",
            "and that it failed",
            "Tests on save",
            "/code/pairing/tap.config.json:7",
            "│ package.json",
            "│ scripts/test.sh",
            "│ ~/.npmrc",
            "│ it expands a variable",
            "something new",
        ):
            assert part in text, part
        assert RIGHTS in " ".join(text.split())
        assert "Changed since" not in text


async def test_what_has_changed_since_it_was_allowed_is_said() -> None:
    state = asking("tests")
    state.approvals["a-tests"] = asked("a-tests", "tests", changed="files that it names: test.sh")
    async with running(state) as rig:
        await opened(rig)
        assert "Changed since you allowed it:" in text_of(rig)
        assert "│ files that it names: test.sh" in text_of(rig)


async def test_a_provider_of_the_project_is_shown_with_its_arguments() -> None:
    state = asking("search")
    given = {"kind": "provider", "command": "node", "args": ["tools.mjs", "a b"], "rules": []}
    state.approvals["a-search"] = asked("a-search", "search", **given)
    async with running(state, size=(120, 36)) as rig:
        assert "node tools.mjs 'a b'" in rig.text
        await opened(rig)
        assert "has a provider that is to start: search" in rig.text
        for part in ("│ node tools.mjs 'a b'", PROVIDES, "none: it is a program"):
            assert part in text_of(rig)
        assert RIGHTS in " ".join(text_of(rig).split())


async def test_a_prompt_says_what_becomes_of_it() -> None:
    state = asking("upkeep")
    prompt = {"command": None, "prompt": "Anything new?", "rules": [], "files": []}
    state.approvals["a-upkeep"] = asked("a-upkeep", "upkeep", **prompt)
    async with running(state) as rig:
        await opened(rig)
        assert "│ Anything new?" in text_of(rig)
        assert PROMPTS in text_of(rig)
        assert RIGHTS not in " ".join(text_of(rig).split())


async def test_it_is_allowed_as_it_is_or_with_later_versions_of_its_files() -> None:
    async with running(asking("tests")) as rig:
        await opened(rig)
        await rig.press("end", "y", "enter")
        assert decisions(rig) == [("a-tests", "approve", None)]
    async with running(asking("tests")) as rig:
        await opened(rig)
        assert "later versions of the file it names" in rig.text
        await rig.press("end", "s", "enter")
        assert decisions(rig) == [("a-tests", "approve", {"laterVersions": True})]


async def test_later_versions_are_not_offered_where_no_file_is_covered() -> None:
    state = asking("tests")
    state.approvals["a-tests"] = asked("a-tests", "tests", files=[])
    async with running(state) as rig:
        await opened(rig)
        assert "later versions" not in rig.text
        await rig.press("s", "enter")
        assert not decisions(rig)


async def test_of_tool_files_each_change_is_asked_about_and_no_later_version_is_offered() -> None:
    state = asking("tools")
    given = {
        "kind": "provider",
        "files": ["tools/one.py", "tools/_help.py"],
        "uncovered": ["requests: tools/one.py imports it from elsewhere"],
        "asksEachChange": True,
    }
    state.approvals["a-tools"] = asked("a-tools", "tools", **given)
    async with running(state, size=(120, 50)) as rig:
        await opened(rig)
        for part in ("│ tools/one.py", "imports it from elsewhere", EACH_CHANGE):
            assert part in text_of(rig)
        assert "asksEachChange" not in text_of(rig)
        assert "later versions" not in rig.text


async def test_those_of_one_file_are_shown_in_full_and_answered_together() -> None:
    names = ["tests", "ci", "lint"]
    async with running(asking(*names), size=(120, 36)) as rig:
        await opened(rig)
        for number, name in enumerate(names, 1):
            assert f"{number} of 3: {name}" in text_of(rig)
            assert f"│ ./{name}.sh --watch" in text_of(rig)
        await rig.press("end")
        assert "allow these 3, and later versions of the 3 files named" in rig.text
        await rig.press("y")
        assert "Enter allows these 3: they start" in rig.text
        await rig.press("enter")
        assert decisions(rig) == [(f"a-{name}", "approve", None) for name in names]
        for name in names:
            settled = replace(rig.app.view.state.approvals[f"a-{name}"], state="approved")
            rig.feed.happen(ev.ApprovalDecided(settled))
            await rig.settle()
        assert not isinstance(on_top(rig.app), RequestDetail)
        assert len(decisions(rig)) == 3, "nothing was answered twice"


async def test_they_can_be_denied_together() -> None:
    async with running(asking("tests", "ci"), size=(120, 36)) as rig:
        await opened(rig)
        await rig.press("d", "enter")
        assert decisions(rig) == [("a-tests", "deny", None), ("a-ci", "deny", None)]


async def test_they_can_be_answered_one_by_one() -> None:
    async with running(asking("tests", "ci"), size=(120, 36)) as rig:
        await opened(rig)
        await rig.press("o")
        assert "./ci.sh" not in text_of(rig)
        assert "answer all 2 of this file together" in rig.text
        await rig.turn(DEAF_SECONDS)
        await rig.press("y", "enter")
        assert decisions(rig) == [("a-tests", "approve", None)]
        settled = replace(rig.app.view.state.approvals["a-tests"], state="approved")
        rig.feed.happen(ev.ApprovalDecided(settled))
        await rig.settle()
        await rig.turn(DEAF_SECONDS)
        assert "./ci.sh" in text_of(rig)
        await rig.press("d", "enter")
        assert decisions(rig)[1:] == [("a-ci", "deny", None)]


async def test_one_more_that_comes_while_they_are_read_takes_the_choice_back() -> None:
    async with running(asking("tests", "ci"), size=(120, 36)) as rig:
        await opened(rig)
        await rig.press("end", "y")
        late = emitter("e-late", "late", state="asking", approval_id="a-late")
        rig.feed.happen(
            ev.EmitterChanged("s1", late), ev.ApprovalRequested(asked("a-late", "late"))
        )
        await rig.settle()
        assert "Other emitters are asked about now" in rig.text
        assert "│ ./late.sh --watch" in text_of(rig)
        await rig.press("enter", "y")
        assert not decisions(rig), "it has only just come up"
        await rig.turn(DEAF_SECONDS)
        await rig.press("y", "enter")
        assert not decisions(rig), "its end was not on screen"
        await rig.press("end", "y", "enter")
        assert [id_ for id_, *_ in decisions(rig)] == ["a-tests", "a-ci", "a-late"]


async def test_what_is_not_here_whole_is_answered_by_itself() -> None:
    state = asking("tests", "ci", "lint")
    state.approvals["a-ci"] = replace(state.approvals["a-ci"], is_cut=True)
    async with running(state, size=(120, 36)) as rig:
        await opened(rig)
        assert "./ci.sh" not in text_of(rig)
        await rig.press("end", "y", "enter")
        assert [id_ for id_, *_ in decisions(rig)] == ["a-tests", "a-lint"]


async def test_what_an_agent_asks_for_is_never_answered_with_others() -> None:
    state = asking("tests")
    one = asked_by_agent()
    state.approvals[one.id] = one
    async with running(state, size=(120, 36)) as rig:
        await opened(rig)
        assert "build-state" not in text_of(rig)
        await rig.press("right")
        text = text_of(rig)
        assert "while sleep 60; do ./build-state; done" in text
        assert "runs all the time, without asking again" in text
        assert RIGHTS in " ".join(text.split())
        assert "later versions" not in rig.text
        assert "until the session or tapui ends" not in rig.text
        await rig.turn(DEAF_SECONDS)
        await rig.press("m", *"no", "enter")
        (sent,) = [one for one in rig.feed.sent if isinstance(one, ApprovalDecide)]
        assert (sent.approval_id, sent.decision, sent.reason) == ("a-agent", "deny", "no")


async def test_a_refusal_of_one_of_them_is_said() -> None:
    async with running(asking("tests", "ci"), size=(120, 36)) as rig:
        await opened(rig)
        await rig.press("y", "enter")
        rig.feed.put(
            Error(code="UNKNOWN_APPROVAL", message="it waits no longer", reply_to="approval.decide")
        )
        await rig.settle()
        assert "it waits no longer" in rig.text


async def test_the_band_says_what_it_is_in_one_line() -> None:
    state = asking("tests")
    async with running(state, size=(120, 36)) as rig:
        assert "emitter tests every 5m: ./tests.sh --watch" in " ".join(rig.text.split())


async def test_a_detail_that_is_none_is_shown_as_it_is() -> None:
    state = quiet()
    odd = approval("a1", "emitter", ["not", "an", "object"], session_id="s1")
    state.approvals[odd.id] = odd
    async with running(state) as rig:
        await opened(rig)
        assert "not" in text_of(rig)
        await rig.press("d", "enter")
        assert decisions(rig) == [("a1", "deny", None)]
