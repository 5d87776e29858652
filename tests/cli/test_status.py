"""What `tapui status` and `tapui provider list` show of a running gateway."""

import asyncio
import re

import pytest
from rich.cells import cell_len

from tests.cli.running import (
    HOSTILE,
    RAW,
    ask_permission,
    next_event,
    on_terminal,
    provider,
    push,
    run,
)
from tests.cli.sharing import gateway, home, running
from tests.rig.gateway import Gateway, Home, tapui_argv

__all__ = ["gateway", "home", "running"]


@pytest.mark.usefixtures("gateway")
def test_a_terminal_gets_bold_headings_unless_no_color_is_set(home: Home) -> None:
    assert "\x1b[1mSessions: none\x1b[0m" in on_terminal(home.env(), *tapui_argv("status"))
    assert "\x1b" not in on_terminal(home.env(NO_COLOR="1"), *tapui_argv("status"))
    assert "\x1b" not in on_terminal(home.env(TERM="dumb"), *tapui_argv("status"))


async def test_rows_end_with_the_terminals_width_but_requests_are_whole(
    gateway: Gateway, home: Home
) -> None:
    long = "x" * 200
    host, watching, _ = await ask_permission(gateway, f"echo {long}; rm it")
    async with host, watching, provider(gateway) as builds:
        await host.open("s2", label=f"日本{long}", cwd="/")
        await push(builds, f"{long} end")
        argv = tapui_argv("status")
        shown = await asyncio.to_thread(on_terminal, home.env(NO_COLOR="1"), *argv, width=100)
        sections = shown.replace("\r\n", "\n").split("\n\n")
        lines = {section.partition(" ")[0]: section.splitlines()[1:] for section in sections}
        rows = [*lines["Sessions"], *lines["Streams"]]
        assert max(cell_len(row) for row in rows) == 100
        assert ["xxx…" in row for row in rows if "xxx" in row] == [True] * 2
        assert f"echo {long}; rm it" in shown
        for whole in (
            (await run(home, "status"))[1],
            await asyncio.to_thread(on_terminal, home.env(), *argv),
        ):
            assert f"日本{long}" in whole


async def test_providers_that_are_connected_are_listed(gateway: Gateway, home: Home) -> None:
    assert await run(home, "provider", "list") == (0, "", "no provider is connected\n")
    async with provider(gateway, name=HOSTILE) as shown:
        code, out, err = await run(home, "provider", "list")
        assert (code, err) == (0, "")
        assert RAW.search(out) is None
        titles, row = out.splitlines()
        assert titles.split() == ["ID", "NAME", "TRUST", "STATE", "SESSION", "TOOLS"]
        assert row.startswith(shown.id)
        assert row.endswith(" 1")


async def test_status_says_what_a_session_waits_for(gateway: Gateway, home: Home) -> None:
    host, watching, _ = await ask_permission(gateway)
    async with host, watching:
        asks = {"type": "session.update", "sessionId": "s1", "asksThere": "trust this folder?"}
        await host.send(asks)
        await host.open("s2")
        failed = {"statusCode": 429, "errorMessage": HOSTILE}
        told = {"sessionId": "s2", "event": "model.call_failure", "data": failed}
        await host.send({"type": "session.event", **told})
        while (await next_event(watching, "session.updated")).get("sessionId") != "s2":
            pass
        code, out, err = await run(home, "status")
    assert (code, err) == (0, "")
    assert "asks in its terminal: trust this folder?" in out
    assert "idle, waits for the model: 429" in out


async def test_status_says_for_which_command_in_the_background_a_session_waits(
    gateway: Gateway, home: Home
) -> None:
    host, watching, approval_id = await ask_permission(gateway)
    async with host, watching:
        assert (await run(home, "deny", approval_id))[0] == 0
        for event in ("assistant.turn_start", "session.idle"):
            told = {"sessionId": "s1", "event": event, "data": {}}
            await host.send({"type": "session.event", **told})
        shells = {"type": "session.update", "sessionId": "s1", "shells": ["npm run dev"]}
        await host.send(shells)
        while "shells" not in (await next_event(watching, "session.updated"))["session"]:
            pass
        code, out, err = await run(home, "status")
    assert (code, err) == (0, "")
    assert re.search(r" waits for shell “npm run dev”, \d+s ", out)
