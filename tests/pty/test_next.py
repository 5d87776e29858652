"""`tapui next` in a small terminal, as in a popup."""

import asyncio

from tests.cli.running import ask_permission
from tests.rig.gateway import Gateway, Home, tapui_argv
from tests.rig.tmux import Tmux
from tests.rig.waiting import until_async


async def test_a_request_is_answered_and_the_popup_ends(
    gateway: Gateway, tmux: Tmux, home: Home
) -> None:
    host, watching, _ = await ask_permission(gateway)
    async with host, watching:
        screen = tmux.start(tapui_argv("next"), env=home.env(), cwd=home.root, size=(70, 18))
        await screen.seen("asks to run a command")
        assert screen.find(r"\bls\b")
        assert not screen.find("Sessions")

        armed = "Enter denies"
        await asyncio.to_thread(screen.press, "d", lambda: screen.find(armed) is not None)
        await asyncio.to_thread(screen.press, "Enter", lambda: screen.find(armed) is None)
        assert (await host.expect("approval.answer", id="r1"))["decision"] == "deny"
        await until_async(lambda: screen.is_dead, what="the end of the popup")
        assert screen.exit_status == 0


def test_without_a_request_there_is_no_screen(gateway: Gateway, home: Home) -> None:
    assert gateway.port
    done = home.run("next")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "nothing waits for you\n")
