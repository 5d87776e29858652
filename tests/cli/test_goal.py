"""`tapui goal` against a running gateway, whose host plays a session with shells."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tapui.cli.overview import goal_trouble
from tapui.wire.goals import Goal, SentBack
from tests.cli.running import HOSTILE, RAW, Command, ran, run
from tests.cli.schemas import check
from tests.gateway.test_proof import PASSED, Work, at_work, folder
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host
from tests.rig.waiting import until

__all__ = ["folder"]

CONFTEST = "collect_ignore = ['tests']"


async def opened(home: Home, *args: str) -> dict[str, Any]:
    """Open a goal in the session s1; return it."""
    code, out, err = await run(home, "goal", *args, "--session", "s1", "--json")
    assert (code, err) == (0, ""), err
    goal: dict[str, Any] = check("goal", out)
    return goal


async def shown(home: Home, id_: str) -> dict[str, Any]:
    """Return a goal as it stands."""
    code, out, err = await run(home, "goal", "show", id_, "--json")
    assert (code, err) == (0, "")
    goal: dict[str, Any] = check("goal", out)
    return goal


async def test_a_command_is_a_goal_of_the_session_in_this_folder(
    gateway: Gateway, home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "inner").mkdir()
    monkeypatch.chdir(folder / "inner")
    async with at_work(gateway, folder):
        assert await run(home, "goal") == (0, "", "no goal is open\n")
        code, out, err = await run(home, "goal", "pytest -q")
        assert (code, err) == (0, "")
        id_ = out.partition(" ")[0]
        assert out == f"{id_}  active: pytest -q\n  c1  pytest -q ends with exit 0\n"
        code, out, err = await run(home, "goal")
        titles, row = (line.split("  ") for line in out.splitlines())
        assert (code, err) == (0, "")
        assert list(map(str.strip, titles[1:])) == [
            "ID", "", "", "", "GOAL", "", "", "SESSION", "STATUS", "PROVEN", "OPENED BY",
        ]  # fmt: skip
        assert " ".join("  ".join(row).split()) == f"{id_} pytest -q s1 active 0 of 1 you"
        assert await run(home, "goal", "list") == (0, out, "")
        code, out, _ = await run(home, "goal", "--json")
        assert check("goal", out) == await shown(home, id_[:-1])
        code, out, _ = await run(home, "goal", "show", id_)
        first, *facts = out.splitlines()
        assert (code, first) == (0, f"{id_}  pytest -q")
        assert "  session    s1" in facts
        assert facts[-2:] == [
            "○ open     c1  pytest -q ends with exit 0",
            '    {"kind":"ran","command":"pytest -q"}',
        ]


async def test_verify_tells_by_its_exit_code_whether_it_is_proven(
    gateway: Gateway, home: Home, folder: Path
) -> None:
    async with at_work(gateway, folder) as work:
        goal = (await opened(home, "pytest -q", "--file", "cart.py=new"))["id"]
        await work.edit("cart.py", "new\n")
        code, out, err = await run(home, "goal", "verify", goal)
        assert (code, err) == (6, "")
        assert out.splitlines() == [
            "○ c1  pytest -q ends with exit 0: never run",
            "✓ c2  cart.py contains “new”: written in this turn",
            "1 of 2 criteria passed: pytest -q",
        ]
        await work.run("pytest -q", 1, "1 failed in 0.01s")
        code, out, _ = await run(home, "goal", "verify", goal, "--json")
        told = check("verified", out)
        assert (code, told["report"]["verdict"]) == (6, "failed")
        _, out, _ = await run(home, "goal", "show", goal)
        assert "✗ failed   c1  pytest -q ends with exit 0\n" in out
        assert "    recorded: call:" in out
        await work.run("pytest -q", 0, PASSED)
        code, out, _ = await run(home, "goal", "verify", goal)
        assert (code, out.splitlines()[-1]) == (0, "achieved: pytest -q")
        assert await run(home, "goal") == (0, "", "no goal is open\n")
        code, out, _ = await run(home, "goal", "--all")
        assert (code, "achieved at " in out, "2 of 2" in out) == (0, True, True)
        assert (await run(home, "goal", "verify", goal))[0] == 0


async def test_criteria_of_every_kind_are_one_goal(
    gateway: Gateway, home: Home, folder: Path
) -> None:
    before = datetime.now(UTC)
    async with at_work(gateway, folder):
        whole = await opened(home, "--title", "the release", "--ask-me", "it looks good")
        goal = await opened(
            home,
            *("npm test", "--and", "npm run lint", "--send-back", "--agent", "reviewer"),
            *("--file", "a.txt", "--file", "b.txt=x=1", "--tool", "deploy", "--line", "builds"),
            *("--line", "builds@ci=green", "--deadline", "2h", "--turns", "3", "--tokens", "5000"),
            *("--parent", whole["id"], "--criterion"),
            '{"id": "own", "text": "no TODO", "check": {"kind": "file", "path": "TODO", '
            '"exists": false}}',
        )
    assert (whole["title"], whole["unproven"], whole["deadline"]) == ("the release", "tell", None)
    assert [one["text"] for one in whole["criteria"]] == ["it looks good"]
    assert [one["check"] for one in whole["criteria"]] == [
        {"kind": "person", "text": "it looks good"}
    ]
    assert (goal["title"], goal["unproven"]) == ("npm test", "send back")
    assert (goal["agent"], goal["parent"]) == ("reviewer", whole["id"])
    assert goal["budget"] == {"turns": 3, "tokens": 5000}
    left = datetime.fromisoformat(goal["deadline"]) - before
    assert left >= timedelta(hours=2)
    assert [one["check"] for one in goal["criteria"]] == [
        {"kind": "ran", "command": "npm test"},
        {"kind": "ran", "command": "npm run lint"},
        {"kind": "call", "tool": "deploy"},
        {"kind": "file", "path": "a.txt"},
        {"kind": "file", "path": "b.txt", "contains": ["x=1"]},
        {"kind": "stream", "stream": "builds@tap"},
        {"kind": "stream", "stream": "builds@ci", "contains": "green"},
        {"kind": "file", "path": "TODO", "exists": False},
    ]
    assert [one["text"] for one in goal["criteria"]][3:] == [
        "a.txt is there",
        "b.txt contains “x=1”",
        "builds has a line",
        "builds@ci contains “green”",
        "no TODO",
    ]
    assert goal["criteria"][-1]["id"] == "own"


@pytest.mark.parametrize(
    ("args", "command"),
    [
        (("--", "list"), "list"),
        (("open", "list"), "list"),
        (("--send-back", "--", "npm", "run", "the tests"), "npm run 'the tests'"),
        (("--", "cd web && npm test"), "cd web && npm test"),
        (("open", "--", "--help"), "--help"),
    ],
)
async def test_a_command_may_be_named_as_an_action_or_an_option(
    gateway: Gateway, home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch,
    args: tuple[str, ...], command: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(folder)
    async with at_work(gateway, folder):
        code, _, err = await run(home, "goal", *args)
        assert (code, err) == (0, "")
        _, out, _ = await run(home, "goal", "--session", "s1", "list", "--json")
        (criterion,) = check("goal", out)["criteria"]
        assert criterion["check"] == {"kind": "ran", "command": command}


async def test_what_the_person_orders(gateway: Gateway, home: Home, folder: Path) -> None:
    async with at_work(gateway, folder):
        id_ = (await opened(home, "npm test", "--send-back", "--turns", "3"))["id"]

        async def order(verb: str, *args: str) -> str:
            code, out, err = await run(home, "goal", verb, id_, *args)
            assert (code, err) == (0, "")
            return out.removeprefix(f"{id_}  ")

        assert await order("note", "half", "done") == "noted: npm test\n"
        assert await order("pause") == "paused: npm test\n"
        assert await order("resume") == "active, sends back: npm test\n"
        assert await order("send-back", "off") == "active: npm test\n"
        assert await order("send-back", "on") == "active, sends back: npm test\n"
        more = ("npm run lint", "--without", "c1", "--title", "lint", "--tokens", "9")
        assert await order("change", *more, "--deadline", "3d") == "active, sends back: lint\n"
        assert await order("change", "--status", "blocked") == "blocked: lint\n"
        goal = await shown(home, id_)
        assert (goal["note"], goal["noteBy"]) == ("half done", "person")
        assert (goal["status"], goal["unproven"]) == ("blocked", "send back")
        assert goal["budget"] == {"turns": 3, "tokens": 9}
        assert goal["deadline"] is not None
        assert [one["check"]["command"] for one in goal["criteria"]] == ["npm run lint"]
        assert (await order("done")).startswith("achieved at ")
        assert (await shown(home, id_))["closedBy"] == "the command line, no check"
        code, _, err = await run(home, "goal", "pause", id_)
        assert (code, err) == (1, f"tapui: goal {id_} is achieved: it stays so\n")
        id_ = (await opened(home, "--title", "other"))["id"]
        assert (await order("drop", "--reason", "too early")).startswith("dropped at ")
        goal = await shown(home, id_)
        assert (goal["status"], goal["note"]) == ("abandoned", "too early")


async def test_a_changed_check_is_shown_before_it_is_allowed(
    gateway: Gateway, home: Home, folder: Path
) -> None:
    async with at_work(gateway, folder) as work:
        goal = (await opened(home, "pytest -q"))["id"]
        until(lambda: work.facts("surface"), what="what the check does")
        code, out, err = await run(home, "goal", "allow", goal, "c1", "--yes")
        assert (code, out) == (1, "")
        assert err.startswith("tapui: no change of its check is known; `tapui goal verify g-")
        await work.edit("conftest.py", f"{CONFTEST}\nx = '\x1b[2J\u202e'\n")
        await work.run("pytest -q", 0, PASSED)
        code, out, _ = await run(home, "goal", "verify", goal)
        assert code == 6
        assert "what its check does was changed: conftest.py" in out
        _, out, _ = await run(home, "goal", "show", goal)
        assert f"    +{CONFTEST}\n    +x = '\\x1b[2J\\u202e'\n" in out
        code, out, err = await run(home, "goal", "allow", goal, "c1")
        assert (code, out) == (2, "")
        assert f"+{CONFTEST}\n+x = '\\x1b[2J\\u202e'\n" in err
        assert "tapui: let it count with exactly this change? Say so with --yes\n" in err
        code, _, err = await run(home, "goal", "allow", goal, "c2", "--yes")
        assert (code, err) == (1, f"tapui: there is no criterion c2 in {goal}; there are c1\n")
        await work.edit("conftest.py", f"{CONFTEST}\n")
        code, _, err = await run(home, "goal", "allow", goal, "c1", "--yes")
        assert (code, err.splitlines()[-1]) == (
            1,
            "tapui: c1 was changed once more meanwhile: nothing was allowed",
        )
        await work.run("pytest -q", 0, PASSED)
        assert (await run(home, "goal", "verify", goal))[0] == 6
        code, out, _ = await run(home, "goal", "allow", goal, "c1", "--yes")
        assert (code, out) == (0, f"{goal}  allowed: pytest -q\n")
        assert (await shown(home, goal))["status"] == "achieved"


async def test_what_comes_from_outside_is_shown_safely(
    gateway: Gateway, home: Home, folder: Path
) -> None:
    text = HOSTILE.replace("\0", "")
    hostile = json.dumps({"text": HOSTILE, "check": {"kind": "stream", "stream": HOSTILE}})
    async with at_work(gateway, folder) as work:
        goal = await opened(home, text, "--criterion", hostile, "--ask-me", text)
        assert goal["criteria"][2]["text"] == HOSTILE
        asked = {"title": HOSTILE, "criteria": [{"text": HOSTILE}]}
        await work.host.invoke("s1", "tap_create_goal", asked)
        own = (await work.host.expect("tool.outcome"))["data"]["goalId"]
        for args in (
            *(("show", goal["id"]), ("verify", goal["id"]), ("note", goal["id"], text)),
            *(("list",), ("show", own), ("pause", own), ("verify", own)),
        ):
            _, out, err = await run(home, "goal", *args)
            assert RAW.search(out + err) is None
            assert "\\x1b]0;owned" in out
        for name in ("status", "doctor"):
            _, out, err = await run(home, name)
            assert RAW.search(out + err) is None


async def test_two_sessions_in_a_folder_are_told_apart(
    gateway: Gateway, home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    async with at_work(gateway, folder), await Host.hello(gateway.url, gateway.internal_token) as h:
        await h.open("s2", label="second", cwd=str(folder))
        code, _, err = await run(home, "goal", "npm test")
        assert (code, err) == (
            1,
            "tapui: several sessions work in this folder, name one: s1 (s1), s2 (second)\n",
        )
        assert (await run(home, "goal", "npm test", "--session", "s1"))[0] == 0
        assert (await run(home, "goal", "--session", "s2", "npm run lint"))[0] == 0
        _, out, _ = await run(home, "goal")
        assert [line.split()[1] for line in out.splitlines()[1:]] == ["npm", "npm"]
        _, out, _ = await run(home, "goal", "--session", "s2", "--json")
        goal = check("goal", out)
        assert (goal["title"], goal["sessionId"]) == ("npm run lint", "s2")
        begin = goal["id"][:3]
        code, _, err = await run(home, "goal", "show", begin)
        assert code == 1
        assert err.startswith(f"tapui: {begin} fits several goals: g-")
    code, _, err = await run(home, "goal", "show", goal["id"])
    assert (code, err) == (1, f"tapui: there is no goal {goal['id']}; open are: none\n")


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("",), "there is no command"),
        (("--", " "), "there is no command"),
        (("x" * 3_000,), "a command has at most 2,000 characters"),
        (("npm test", "--and", "x" * 3_000), "a command has at most 2,000 characters"),
        (("npm test", "--title", "x" * 3_000), "a title has at most 300 characters"),
        (("npm test", "--title", "\udc80"), "the title is not valid UTF-8"),
        (("npm", "test"), "unrecognized arguments: test"),
        (("--send-back",), "name what is to be so: a command, --file,"),
        (("npm test", "--deadline", "soon"), "argument --deadline: expected a span such as 2h"),
        (("npm test", "--deadline", "2020-01-01"), "argument --deadline: that time is over"),
        (("npm test", "--deadline", "9" * 20 + "w"), "argument --deadline: there is no such"),
        (("npm test", "--turns", "0"), "argument --turns: expected a number from 1"),
        (("--file", ""), "there is no path"),
        (("--tool", "x" * 300), "a tool has at most 256 characters"),
        (("--line", "a@b=" + "x" * 1_500), "criteria[0].check: Expected `str` of length <="),
        (("--ask-me", "x" * 3_000), "a text has at most 2,000 characters"),
        (("--criterion", "{"), "Input data was truncated"),
        (("--criterion", '{"check": {"kind": "x"}}'), "criteria[0].check.kind: one of ran, "),
        (("note", "g-0", " "), "there is no text"),
        (("note", "g-0", "x" * 3_000), "a text has at most 2,000 characters"),
        (("drop", "g-0", "--reason", "x" * 3_000), "a reason has at most 2,000 characters"),
        (("send-back", "g-0", "perhaps"), "argument switch: invalid choice: 'perhaps'"),
        (("allow", "g-0"), "the following arguments are required: CRITERION"),
    ],
)
def test_wrong_use_is_told_without_a_gateway(home: Home, args: tuple[str, ...], text: str) -> None:
    done = ran(home, "goal", *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"tapui: {text}"), done.stderr


async def test_what_cannot_be_done_is_told_and_opens_nothing(
    gateway: Gateway, home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "link").symlink_to("/etc")
    nul = '{"check": {"kind": "file", "path": "a\\u0000"}}'
    outside = f"is not in the session's folder, {folder}"
    async with await Host.hello(gateway.url, gateway.internal_token) as host:
        await host.open("s1", cwd=str(folder))
        for args, code, text in (
            (("--file", "../cart.py"), 2, f"../cart.py {outside}"),
            (("--file", "/etc/passwd"), 2, f"/etc/passwd {outside}"),
            (("--file", "link/passwd=root"), 2, f"link/passwd {outside}"),
            (("--criterion", nul), 2, f"a\\x00 {outside}"),
            (("--criterion", "{}"), 1, "criteria[0].text: must not be empty"),
            (("npm test", "--parent", "g-0"), 1, "there is no goal g-0; open are: none"),
            (("npm test", "--session", "s9"), 1, "there is no session s9; open are: "),
            (("list", "--session", "s9"), 1, "there is no session s9; open are: "),
            (("show", "g-0"), 1, "there is no goal g-0; open are: none"),
            (("drop", ""), 1, "there is no goal ; open are: none"),
        ):
            got, out, err = await run(home, "goal", *args)
            assert (got, out) == (code, ""), args
            assert err.startswith(f"tapui: {text}"), err
            assert RAW.search(err) is None
        assert await run(home, "goal", "--all") == (0, "", "there are no goals\n")
    monkeypatch.chdir("/")
    code, _, err = await run(home, "goal", "npm test")
    assert (code, err) == (1, "tapui: no session works in this folder: name one\n")


async def test_with_the_setting_off_no_goal_sends_back(home: Home, folder: Path) -> None:
    home.settle("[proof]\nsend-back = false\n")
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder):
            args = ("goal", "npm test", "--session", "s1")
            code, _, err = await run(home, *args, "--send-back")
            assert (code, "proof.send-back" in err) == (1, True)
            assert (await run(home, *args))[0] == 0


async def test_a_goal_of_which_a_snapshot_has_the_beginning_is_shown_whole(
    gateway: Gateway, home: Home, folder: Path
) -> None:
    commands = [f"make {at:02}{'x' * 1_900}" for at in range(12)]
    async with at_work(gateway, folder):
        args = (word for command in commands[1:] for word in ("--and", command))
        goal = (await opened(home, commands[0], *args))["id"]
        told = await shown(home, goal)
        assert [one["check"]["command"] for one in told["criteria"]] == commands
        _, out, _ = await run(home, "goal", "--json")
        assert check("goal", out) == told


# Everywhere else


async def status_of(home: Home, work: Work) -> dict[str, Any]:
    """Return what `status --json` has of goals, which is what the agent reads of its own."""
    _, out, _ = await run(home, "status", "--json")
    told: dict[str, Any] = check("status", out)["goals"]
    await work.host.invoke("s1", "tap_get_session_state", {})
    state = (await work.host.expect("tool.outcome"))["data"]["goals"]
    assert told == ({"s1": state} if state else {})
    return told


async def findings(home: Home) -> list[tuple[str, str]]:
    """Return what `doctor` finds of goals."""
    _, out, _ = await run(home, "doctor", "--json")
    found = [one for one in check("doctor", out)["findings"] if one["id"] == "goals"]
    assert all((one["command"] is None) == (one["state"] == "ok") for one in found)
    return [(one["state"], one["text"]) for one in found]


async def test_status_and_doctor_show_goals(gateway: Gateway, home: Home, folder: Path) -> None:
    async with at_work(gateway, folder) as work:
        assert await status_of(home, work) == {}
        assert await findings(home) == []
        _, out, _ = await run(home, "status")
        assert "Goals" not in out
        goal = await opened(home, "npm test", "--send-back", "--file", "cart.py=old")
        assert await findings(home) == [("ok", f"goals at {gateway.url}: 1 active")]
        for number in range(3):
            await work.edit("cart.py", f"old {number}\n")
            await work.host.send({"type": "turn.ending", "id": f"e{number}", "sessionId": "s1"})
            assert (await work.host.expect("turn.end"))["decision"] == "again"
        assert await status_of(home, work) == {
            "s1": [
                {
                    "goalId": goal["id"],
                    "title": "npm test",
                    "status": "active",
                    "openedBy": "person",
                    "passed": 1,
                    "criteria": 2,
                }
            ]
        }
        wrong = "sent back 3 times in a turn, 1 of 2 proven"
        _, out, _ = await run(home, "status")
        (row,) = [line for line in out.splitlines() if goal["id"] in line]
        assert "Goals (1)\n" in out
        assert " ".join(row.split()) == f"{goal['id']} npm test s1 {wrong} 1 of 2 you"
        assert await findings(home) == [
            ("warning", f"session s1: goal npm test: {wrong}"),
            ("ok", f"goals at {gateway.url}: 1 active"),
        ]
        assert await run(home, "status", "--line") == (0, "", "")
        _, out, _ = await run(home, "goal", "show", goal["id"])
        assert "  sent back  3 of 3 in the last turn (turns so far: 1, tokens: 0)\n" in out
        await run(home, "goal", "change", goal["id"], "--status", "failed")
        assert (await findings(home))[0] == ("warning", "session s1: goal npm test: failed")
        _, out, _ = await run(home, "status")
        assert "  failed  " in out
    assert await findings(home) == []
    _, out, _ = await run(home, "status", "--json")
    assert check("status", out)["goals"] == {}


NOW = datetime.now(UTC)
GOAL = Goal("g-1", "s1", "ship", "active", 1, "person", NOW.isoformat())


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, None),
        ({"status": "blocked"}, "blocked"),
        ({"status": "blocked", "note": "no\nkey"}, "blocked: no ⏎ key"),
        ({"status": "failed", "note": "x"}, "failed: x"),
        ({"status": "failed", "note": "x", "closed_by": "deadline"}, "failed: its deadline passed"),
        ({"deadline": (NOW + timedelta(days=1)).isoformat()}, None),
        ({"deadline": "2026-01-02T03:04:05+09:00"}, "past its deadline, 2026-01-0"),
        ({"deadline": "2026-01-02T03:04:05Z", "status": "achieved"}, None),
        ({"deadline": "tomorrow"}, None),
        ({"sent_back": SentBack(times=2)}, None),
        ({"sent_back": SentBack(times=3)}, "sent back 3 times in a turn, no check proven"),
        ({"sent_back": SentBack(times=3), "status": "abandoned"}, None),
        ({"sent_back": SentBack(times=3, most=5)}, None),
        ({"sent_back": SentBack(times=1, most=1)}, "sent back 1 times in a turn"),
    ],
)
def test_what_is_wrong_with_a_goal(changes: dict[str, Any], wrong: str | None) -> None:
    told = goal_trouble(replace(GOAL, **changes))
    assert told is None if wrong is None else str(told).startswith(wrong)


async def test_a_goal_is_a_line_of_what_changes_and_of_records(
    gateway: Gateway, home: Home, folder: Path
) -> None:
    async with at_work(gateway, folder):
        watching = await Command.start(home, "status", "--watch")
        await watching.line()
        goal = (await opened(home, "npm test"))["id"]
        assert (await watching.line())[10:] == "session s1: goal opened: npm test\n"
        await run(home, "goal", "note", goal, "well")
        await run(home, "goal", "drop", goal)
        assert (await watching.line())[10:] == "session s1: goal dropped: npm test\n"
        _, out, _ = await run(home, "records", "--collection", "goals", "--last", "1")
        assert f"  {goal} abandoned: npm test\n" in out
        watching.interrupt()
        assert (await asyncio.wait_for(watching.end(), 10))[0] == 130
