"""Ways in which the person answers: from terminals that are older than the first session as in the
tower, from later ones once the tower has let them in, and from anywhere with a setting."""

import shlex
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator

import psutil
import pytest

from tests.rig.gateway import ANYBODY, Home
from tests.rig.machine import cron, need, sshd
from tests.rig.peers import Json
from tests.rig.scene import Scene, Terminal, escape
from tests.rig.tmux import Tmux

pytestmark = pytest.mark.pty

TAKES = '[approvals]\nnew-terminals = "take"\n'
Opens = Callable[[Scene], Terminal]


@pytest.fixture
async def scene(home: Home, tmux: Tmux, request: pytest.FixtureRequest) -> AsyncIterator[Scene]:
    async with Scene(home, tmux, getattr(request, "param", "")) as there:
        yield there


# What a person opens


def window(scene: Scene) -> Terminal:
    """A window of the person's tmux."""
    return scene.open_terminal()


def split(scene: Scene) -> Terminal:
    """A part of the person's first window."""
    return scene.split_terminal(scene.person)


def su(scene: Scene) -> Terminal:
    """A shell of `su -`."""
    need("root", "su")
    terminal = scene.open_terminal()
    scene.enter_inside(terminal, "su - -s /bin/sh", "^#")
    return terminal


def screen(scene: Scene) -> Terminal:
    """A window of screen."""
    need("screen")
    (scene.home.root / ".screenrc").write_text("startup_message off\n")
    (scene.home.root / "screens").mkdir(0o700)
    terminal = scene.open_terminal()
    own = scene.home.env(SCREENDIR=str(scene.home.root / "screens"))
    scene.enter_inside(terminal, f"SCREENDIR={own['SCREENDIR']} screen -S own sh")
    quits = ["screen", "-S", "own", "-X", "quit"]
    scene.at_end(lambda: subprocess.run(quits, env=own, check=True))
    return terminal


def editor(scene: Scene) -> Terminal:
    """The terminal of an editor."""
    terminal = scene.open_terminal()
    scene.enter_inside(terminal, f"{escape('shown')} sh")
    return terminal


@pytest.fixture
def ssh(home: Home) -> Iterator[Opens]:
    """A login from another machine."""
    with sshd(home.root / "ssh") as server, Tmux() as laptop:

        def login(scene: Scene) -> Terminal:
            terminal = scene.open_terminal(tmux=laptop)
            scene.enter_inside(terminal, shlex.join(server.argv("env", "PS1=inside ", "sh")))
            return terminal

        yield login


KINDS = {"window": window, "split": split, "su": su, "screen": screen, "editor": editor}


@pytest.fixture(params=[*KINDS, "ssh"])
def opens(request: pytest.FixtureRequest) -> Opens:
    """What opens a terminal of a kind."""
    found: Opens = KINDS.get(request.param) or request.getfixturevalue("ssh")
    return found


async def answer(scene: Scene, terminal: Terminal) -> Json:
    """Answer a request from a terminal; return `command.asked`, by which it was taken."""
    attempt = scene.expected(await scene.request())
    assert await terminal.run(f"tapui deny {attempt.approval}") == 0, terminal.screen.text()
    verdict = await scene.verdict(attempt)
    assert verdict.fate == "taken", verdict
    assert (await scene.host.expect("approval.answer"))["decision"] == "deny"
    return verdict.seen


# Before the first session


async def test_the_first_and_the_third_terminal_are_the_persons(scene: Scene) -> None:
    await scene.host.open("s1")
    await answer(scene, scene.person)
    second = scene.open_terminal()
    await answer(scene, second)
    third = scene.open_terminal()
    await scene.start_agent("s2")
    for terminal in (third, scene.person, second):
        await answer(scene, terminal)


async def test_a_terminal_from_before_the_first_session_is_the_persons(
    scene: Scene, opens: Opens
) -> None:
    terminal = opens(scene)
    await scene.start_agent()
    asked = await answer(scene, terminal)
    assert asked["asker"]["terminal"].startswith("/dev/pts/")
    await scene.attach_tower()
    await answer(scene, terminal)
    assert scene.requests("terminal", "command") == []


async def test_su_in_a_terminal_from_before_the_first_session_is_the_persons(scene: Scene) -> None:
    need("root", "su")
    await scene.start_agent()
    scene.enter_inside(scene.person, "su - -s /bin/sh", "^#")
    await answer(scene, scene.person)


# After it


async def test_a_later_terminal_is_refused_without_a_tower_and_asked_about_once_with_one(
    scene: Scene, opens: Opens
) -> None:
    await scene.start_agent()
    terminal = opens(scene)
    attempt = scene.expected(await scene.request())
    assert await terminal.run(f"tapui deny {attempt.approval}") == 1
    assert (await scene.verdict(attempt)).fate == "refused"
    shown = "".join(terminal.screen.text().split())
    assert "approvals.new-terminals" in shown

    await scene.attach_tower()
    attempt = scene.expected(attempt.approval)
    number = terminal.enter(f"tapui deny {attempt.approval}")
    verdict = await scene.verdict(attempt)
    assert (verdict.fate, verdict.kind) == ("asked", "terminal")
    assert {"device", "program", "since"} <= verdict.seen["detail"].keys()
    assert await scene.standing(attempt.approval) == "waiting"
    await terminal.screen.seen(f"tower.*{verdict.seen['id'][:3]}")
    await scene.person_answers(verdict.seen["id"], "approve")
    assert await terminal.ended(number) == 0
    assert (await scene.host.expect("approval.answer"))["decision"] == "deny"
    await answer(scene, terminal)
    await scene.detach_tower()
    await answer(scene, terminal)
    assert scene.requests("terminal", "command") == [verdict.seen["id"]]


async def test_a_later_terminal_that_the_person_does_not_let_in_is_refused(scene: Scene) -> None:
    await scene.start_agent()
    await scene.attach_tower()
    terminal = scene.open_terminal()
    attempt = scene.expected(await scene.request())
    number = terminal.enter(f"tapui deny {attempt.approval}")
    verdict = await scene.verdict(attempt)
    await scene.person_answers(verdict.seen["id"], "deny")
    assert await terminal.ended(number) == 1
    assert await scene.standing(attempt.approval) == "waiting"


async def test_a_terminal_is_let_in_until_it_closes(scene: Scene) -> None:
    await scene.start_agent()
    await scene.attach_tower()
    for _ in range(2):
        terminal = scene.open_terminal()
        attempt = scene.expected(await scene.request())
        number = terminal.enter(f"tapui deny {attempt.approval}")
        verdict = await scene.verdict(attempt)
        assert (verdict.fate, verdict.kind) == ("asked", "terminal")
        await scene.person_answers(verdict.seen["id"], "approve")
        assert await terminal.ended(number) == 0
        terminal.screen.close()


async def test_a_command_in_the_background_is_asked_about_by_itself(scene: Scene) -> None:
    await scene.start_agent()
    await scene.attach_tower()
    for _ in range(2):
        attempt = scene.attempt(await scene.request())
        await scene.person.run(f"{attempt.command} & true")
        verdict = await scene.verdict(attempt)
        assert (verdict.fate, verdict.kind) == ("asked", "command")
        await scene.person_answers(verdict.seen["id"], "approve")
        assert (await scene.host.expect("approval.answer"))["decision"] == "approve"
    await scene.detach_tower()
    attempt = scene.attempt(await scene.request())
    await scene.person.run(f"{attempt.command} & true")
    assert (await scene.verdict(attempt)).fate == "refused"


# While others name what is the person's as an agent


@pytest.mark.parametrize("what", ["shell", "tower", "gateway", "first process"])
async def test_none_can_lock_the_person_out_by_naming_their_processes(
    scene: Scene, what: str
) -> None:
    await scene.start_agent()
    await scene.attach_tower()
    pid = {
        "shell": scene.person.screen.pid,
        "tower": scene.tower_pid,
        "gateway": scene.gateway["pid"],
        "first process": 1,
    }[what]
    unreached = {"id": "s9", "cwd": "/", "pid": pid, "hint": "x"}
    await scene.host.send({"type": "sessions.unattached", "unattached": [unreached]})
    await scene.host.open("forged", pid=pid)
    await answer(scene, scene.person)
    later = scene.open_terminal()
    attempt = scene.expected(await scene.request())
    later.enter(f"tapui deny {attempt.approval}")
    verdict = await scene.verdict(attempt)
    assert (verdict.fate, verdict.kind) == ("asked", "terminal"), "the tower is still the person's"


async def test_where_the_terminal_program_is_named_the_person_is_asked_in_the_tower(
    scene: Scene,
) -> None:
    await scene.attach_tower()
    server = psutil.Process(scene.person.screen.pid).ppid()
    await scene.host.open("forged", pid=server)
    attempt = scene.expected(await scene.request("forged"))
    scene.person.enter(f"tapui deny {attempt.approval}")
    verdict = await scene.verdict(attempt)
    assert (verdict.fate, verdict.kind) == ("asked", "terminal")


# With settings


@pytest.mark.parametrize("scene", [TAKES], indirect=True, ids=["take"])
async def test_later_terminals_can_be_taken_by_a_setting(scene: Scene) -> None:
    await scene.start_agent()
    terminal = scene.open_terminal()
    device = terminal.screen.ask("pane_tty").removeprefix("/dev/")
    attempt = scene.expected(await scene.request())
    assert await terminal.run(f"tapui deny {attempt.approval}") == 0
    assert (await scene.verdict(attempt)).fate == "taken"
    recorded = str((await scene.settled(attempt.approval))["decidedBy"])
    assert device in recorded
    assert "opened after" in recorded


@pytest.mark.parametrize("scene", [ANYBODY], indirect=True, ids=["always"])
async def test_cron_answers_with_a_setting(scene: Scene) -> None:
    await scene.start_agent()
    attempt = scene.attempt(await scene.request())
    with cron(attempt.command):
        settled = await scene.settled(attempt.approval)
    assert (settled["state"], settled["decidedBy"]) == ("approved", "the command line, no check")
