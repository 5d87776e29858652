"""`tapui emitters`, with a running gateway and without one."""

import json
from pathlib import Path

import pytest

from tests.cli.running import HOSTILE, RAW, ran, run
from tests.cli.schemas import check
from tests.gateway.emitting import Watcher, configuration, repository, until_dead
from tests.rig.gateway import ANYBODY, Gateway, Home
from tests.rig.tmux import Tmux

SAYS = "echo pid $$; echo it fails; exec sleep 1000"
RIGHTS = (
    "  Runs with your rights, without Copilot's questions; the files it runs may change, by the "
    "agent too.\n"
)


async def test_what_waits_is_shown_in_full_allowed_and_ordered(
    gateway: Gateway, home: Home, tmp_path: Path
) -> None:
    hostile = HOSTILE.replace("\0", "")
    loud = {"name": "loud", "command": f"{SAYS}\n# {hostile}", "env": {"A": "b"}}
    repo = repository(tmp_path / "repo", loud, {"name": "quiet", "command": "sleep 1000"})
    where = ("--folder", repo)
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        await seen.until(lambda: len(seen.waiting) == 2, "both ask")
        code, out, err = await run(home, "emitters", "allow", "loud", *where)
        assert (code, out) == (2, "")
        assert f"  │ {SAYS}\n" in err
        assert "  with A=b\n" in err
        assert RIGHTS in err
        assert err.endswith("tapui: allow loud? Say so with --yes\n")
        assert RAW.search(err) is None

        code, out, _ = await run(home, "emitters", "allow", "loud", *where, "--yes")
        assert (code, out) == (0, f"allowed loud in {repo}\n")
        pid = await seen.line("pid", "loud@tap")
        await seen.until(lambda: "it fails" in seen.lines["loud@tap"], "its second line")
        assert "quiet" in seen.waiting, "one was named"

        code, out, err = await run(home, "emitters", "list", "--json")
        assert (code, err) == (0, "")
        listed = {
            one["name"]: one for one in (check("emitters", line) for line in out.splitlines())
        }
        assert {name: one["state"] for name, one in listed.items()} == {
            "loud": "running",
            "quiet": "asking",
        }
        code, out, err = await run(home, "emitters", "list", *where)
        assert (code, err) == (0, "")
        assert out.startswith(f"{repo}\n  NAME   STATE")
        assert RAW.search(out) is None

        code, out, err = await run(home, "emitters", "logs", "loud", "--last", "1")
        assert (code, err) == (0, "")
        assert out.endswith("  kept               stdout  it fails\n")

        assert await run(home, "emitters", "stop", "loud") == (0, "loud: stopped\n", "")
        await until_dead(pid)
        assert await run(home, "emitters", "stop", "loud") == (0, "loud: stopped\n", "")
        code, out, _ = await run(home, "emitters", "start", "loud", "--json")
        assert (code, check("emitters", out)["state"]) == (0, "running")
        code, out, err = await run(home, "emitters", "start", "loud")
        assert (code, out, err) == (1, "", "tapui: emitter 'loud' is active already\n")
        assert await run(home, "emitters", "pause", "loud") == (0, "loud: paused\n", "")
        assert await run(home, "emitters", "resume", "loud") == (0, "loud: running\n", "")
        code, out, err = await run(home, "emitters", "start", "nothing")
        assert (code, out) == (1, "")
        assert err == "tapui: there is no emitter nothing; there are: loud, quiet\n"


async def test_one_that_was_refused_is_started_and_then_waits(
    gateway: Gateway, home: Home, tmp_path: Path
) -> None:
    repo = repository(tmp_path / "repo", {"name": "one", "command": "exec sleep 1000"})
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        await seen.allow("one", "deny")
        await seen.state("one", "configured")
        code, out, err = await run(home, "emitters", "start", "one")
        assert (code, out) == (0, "one: asking\n")
        assert err.startswith("it waits for you: ")
        allow = ("emitters", "allow", "--session", "s1", "--yes", "--later-versions", "--json")
        code, out, _ = await run(home, *allow)
        assert (code, json.loads(out)) == (0, {"name": "one", "folder": repo, "allowed": True})
        await seen.state("one", "running")
        code, out, err = await run(home, *allow)
        assert (code, out, err) == (0, "", "nothing waits to be allowed\n")


async def test_a_filter_is_kept_in_the_file(gateway: Gateway, home: Home, tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"name": "one", "command": "exec sleep 1000"})
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        await seen.allow("one")
        await seen.state("one", "running")
        rules = [{"match": "x", "outcome": "drop"}]
        await seen.order("filter", "one", rules=rules)
        code, out, err = await run(home, "emitters", "keep", "one")
        assert (code, out, err) == (0, f"one is in {repo}/tap.config.json\n", "")
        assert configuration(repo)["emitters"][0]["eventFilter"] == rules
        await seen.state("one", "running")


def test_without_a_gateway_the_file_is_listed_and_nobody_but_a_person_allows_it(
    home: Home, tmp_path: Path
) -> None:
    good = {"name": "good", "command": "echo hi", "runInterval": "5m"}
    repo = repository(tmp_path / "repo", good, {"name": "bad"})
    where = ("--folder", repo)
    listed = ran(home, "emitters", "list", *where, "--json")
    assert listed.returncode == 0
    told = check("emitters", listed.stdout)
    assert (told["name"], told["state"], told["every"]) == ("good", "configured", 300)
    assert told["why"] == "not allowed yet"
    assert f"{repo}/tap.config.json:1:" in listed.stderr
    assert "emitters[1] “bad”: an emitter must define either a command or a prompt" in listed.stderr
    refused = ran(home, "emitters", "allow", *where, "--yes")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "has no terminal: allow it in the tower or in a terminal" in refused.stderr
    loosened = home.env(TAPUI_APPROVALS_COMMAND_LINE="always")
    refused = ran(home, "emitters", "allow", *where, "--yes", env=loosened)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "a variable cannot loosen it" in refused.stderr
    home.settle(ANYBODY)
    allowed = ran(home, "emitters", "allow", *where, "--yes")
    assert (allowed.returncode, allowed.stdout) == (0, f"allowed good in {repo}\n")
    assert check("emitters", ran(home, "emitters", *where_json(repo)).stdout)["why"] == "allowed"
    again = ran(home, "emitters", "allow", "good", *where, "--yes")
    assert (again.returncode, again.stderr.splitlines()[-1]) == (
        1,
        "good does not wait to be allowed",
    )


def test_the_name_of_a_folder_reaches_no_terminal_raw(home: Home, tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo\x1b]0;x\x07\u202e", {"name": "all", "command": "true"})
    assert r"repo\x1b]0;x\x07\u202e" in home.run("emitters", "list", "--folder", repo).stdout


def test_what_consent_does_not_cover_is_listed_and_shown(home: Home, tmp_path: Path) -> None:
    repo = repository(
        tmp_path / "repo", {"name": "all", "command": "cat *.sh", "runInterval": "5m"}
    )
    line = "not covered: *.sh: a pattern, the files that it stands for are not followed"
    assert f"  all: {line}" in ran(home, "emitters", "list", "--folder", repo).stdout
    assert check("emitters", ran(home, "emitters", *where_json(repo)).stdout)["uncovered"] == [
        line.removeprefix("not covered: ")
    ]
    home.settle(ANYBODY)
    allowed = ran(home, "emitters", "allow", "--folder", repo, "--yes")
    assert f"  {line}" in allowed.stderr.splitlines()


def where_json(repo: str) -> tuple[str, ...]:
    return ("list", "--folder", repo, "--json")


@pytest.mark.pty
async def test_a_person_in_a_terminal_is_asked_and_an_emitter_is_not(
    home: Home, tmux: Tmux, tmp_path: Path
) -> None:
    repo = repository(
        tmp_path / "repo",
        {"name": "one", "command": "echo one"},
        {"name": "two", "command": "echo two"},
    )
    screen = tmux.start(["sh"], env=home.env(PS1="ready "), cwd=Path(repo), size=(140, 40))
    screen.wait_for("ready")
    screen.type("TAPUI_INSIDE=1 tapui emitters allow; echo left with $?\n")
    await screen.seen("left with 1")
    await screen.seen("was started for an agent")
    screen.type("clear; tapui emitters allow; echo ended with $?\n")
    await screen.seen(r"allow one\?")
    screen.type("y\n")
    await screen.seen(r"allow two\?")
    screen.type("\n")
    await screen.seen("ended with 1")
    await screen.seen(f"allowed one in {repo}")
    listed = ran(home, "emitters", *where_json(repo))
    assert [check("emitters", line)["why"] for line in listed.stdout.splitlines()] == [
        "allowed",
        "not allowed yet",
    ]


async def test_lines_are_in_the_records_when_nothing_runs_any_more(
    gateway: Gateway, home: Home, tmp_path: Path
) -> None:
    repo = repository(tmp_path / "repo", {"name": "one", "command": "echo first; echo second"})
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        await seen.allow("one")
        await seen.state("one", "exited")
        await seen.close("s1")
        await seen.until(lambda: seen.gone == ["one"], "it is gone")
        for _ in ("with a gateway", "without one"):
            code, out, err = await run(home, "emitters", "logs", "one", "--json")
            assert (code, err) == (0, "")
            lines = [json.loads(line) for line in out.splitlines()]
            said = [line["event"] for line in lines if line["source"] == "stdout"]
            assert said == ["first", "second"]
            gateway.stop()
    code, out, err = await run(home, "emitters", "logs", "other")
    assert (code, out) == (1, "")
    assert err == "tapui: there is no emitter other, and no record of one\n"
