"""`tapui replay` of what a gateway recorded, in a terminal."""

from tests.cli.running import ask_permission
from tests.rig.gateway import Gateway, Home, tapui_argv
from tests.rig.tmux import Tmux


async def test_a_recorded_session_is_gone_through(gateway: Gateway, tmux: Tmux, home: Home) -> None:
    host, watching, _ = await ask_permission(gateway)
    async with host, watching:
        pass
    assert gateway.stop() == 0
    argv = tapui_argv("replay", "s1")
    screen = tmux.start(argv, env=home.env(), cwd=home.root, size=(120, 36))
    found = await screen.seen(r"REPLAY.*event (\d+) of (\d+)")
    total = int(found[1])
    assert (found[1], total > 2) == (found[2], True)
    screen.keys("<")
    await screen.seen(rf"event {total - 1} of {total}")
    screen.keys(">")
    await screen.seen(rf"event {total} of {total}")
    while not screen.find(r"1 waiting|1 approval"):
        screen.keys("<")
        total -= 1
        await screen.seen(rf"event {total} of")
        assert total > 0
    screen.keys("q")
    assert screen.wait_dead() == 0


async def test_the_records_are_asked_in_a_replay(gateway: Gateway, tmux: Tmux, home: Home) -> None:
    host, watching, _ = await ask_permission(gateway)
    async with host, watching:
        pass
    assert gateway.stop() == 0
    assert home.run("query", "denied").returncode == 0, "the records are indexed"
    argv = tapui_argv("replay", "s1")
    screen = tmux.start(argv, env=home.env(), cwd=home.root, size=(120, 36))
    found = await screen.seen(r"REPLAY.*event (\d+) of (\d+)")
    screen.type(":query SELECT ts, kind, state, ref FROM approvals")
    await screen.seen("ask the records")
    screen.keys("Enter", "Enter")
    await screen.seen("permission.*approvals/")
    screen.keys("Enter")  # the replay goes to the record
    await screen.gone("permission.*approvals/")
    await screen.seen(rf"event (?!{found[2]} )\d+ of {found[2]}")
    screen.keys("q")
    assert screen.wait_dead() == 0


def test_without_records_there_is_no_screen(home: Home) -> None:
    done = home.run("replay")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "tapui: there are no records of any session yet\n"
    done = home.run("replay", "zzz")
    assert done.returncode == 1
    assert done.stderr.startswith("tapui: there are no records of session zzz")
    done = home.run("replay", str(home.root))
    assert (done.returncode, done.stderr) == (1, f"tapui: there are no records of {home.root}\n")


def test_it_needs_a_terminal(gateway: Gateway, home: Home) -> None:
    assert home.run("call", "tap_list_streams").returncode == 0
    assert gateway.stop() == 0
    done = home.run("replay")
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs a terminal" in done.stderr
