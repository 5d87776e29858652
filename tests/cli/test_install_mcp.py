"""`tapui install mcp`, `tapui uninstall mcp`, and the door without what it needs."""

import json
import stat
import sys
from collections.abc import Callable

from tapui.home.tokens import ToolsTokenFile
from tapui.hosts.copilot.install.mcp_config import McpConfig, own_entry
from tapui.invocation import install_line
from tests.cli.hidden_package import hide_the_package
from tests.cli.running import ran
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Peer


def config_of(home: Home) -> McpConfig:
    return McpConfig(home.copilot, own_entry(home.env()))


def test_the_entry_and_the_token_are_made_once_and_removed(home: Home) -> None:
    config, token = config_of(home), ToolsTokenFile(home.tapui)
    first = ran(home, "install", "mcp")
    assert (first.returncode, first.stderr) == (0, "")
    wrote, made, *others = first.stdout.splitlines()
    assert wrote == f"wrote the entry tapui into {config.path}"
    assert made.startswith(f"made the token for tools in {token.path} (mode 0600")
    assert others[0] == "Other MCP clients:"
    assert others[1].startswith("  Claude Code: claude mcp add tapui --env TAPUI_HOME=")
    server = json.loads(others[3])["servers"]["tapui"]
    assert server == {
        "type": "stdio",
        "command": sys.executable,
        "args": ["-P", "-m", "tapui", "mcp-door"],
        "env": {"TAPUI_HOME": str(home.tapui)},
    }
    assert stat.S_IMODE(token.path.stat().st_mode) == 0o600
    assert token.path.read_text() not in first.stdout
    before = token.path.read_text()
    again = ran(home, "install", "mcp")
    assert again.stdout.startswith(f"{config.path} has the entry tapui already\nOther")
    assert token.path.read_text() == before
    removed = ran(home, "uninstall", "mcp")
    assert (removed.returncode, removed.stdout.splitlines()) == (
        0,
        ["revoked the token for tools", f"removed the entry tapui from {config.path}"],
    )
    assert not token.path.exists()
    assert ran(home, "uninstall", "mcp").stdout.splitlines() == [
        "there is no token for tools",
        f"{config.path} has no entry tapui",
    ]


def test_a_dry_run_says_what_it_would_do_and_does_nothing(home: Home) -> None:
    config, token = config_of(home), ToolsTokenFile(home.tapui)
    said = ran(home, "install", "mcp", "--dry-run").stdout
    assert f"would write the entry tapui into {config.path}:" in said
    assert f"would make the token for tools in {token.path}" in said
    assert not home.copilot.exists()
    assert not home.tapui.exists()
    ran(home, "install", "mcp")
    assert ran(home, "uninstall", "mcp", "--dry-run").stdout.splitlines() == [
        f"would revoke the token in {token.path}",
        f"would remove the entry tapui from {config.path}",
    ]
    assert (config.state(), token.path.exists()) == ("installed", True)


def test_what_a_person_has_changed_stays_and_the_token_is_revoked_all_the_same(
    home: Home,
) -> None:
    config, token = config_of(home), ToolsTokenFile(home.tapui)
    ran(home, "install", "mcp")
    config.path.write_text(config.path.read_text().replace('"*"', '"greet"'))
    before = config.path.read_text()
    install = ran(home, "install", "mcp")
    assert install.returncode == 1
    assert "was changed since" in install.stderr
    uninstall = ran(home, "uninstall", "mcp")
    assert uninstall.returncode == 1
    assert uninstall.stdout == "revoked the token for tools\n"
    assert config.path.read_text() == before
    assert not token.path.exists()


def test_without_the_package_one_line_says_what_to_install(home: Home) -> None:
    env = hide_the_package(home)
    door = home.run("mcp-door", env=env)
    assert (door.returncode, door.stdout) == (1, "")
    assert door.stderr == (
        "tapui: the package mcp is not installed, which the MCP door needs: "
        f"{install_line('tapui[mcp]')}\n"
    )
    assert install_line("tapui[mcp]") in home.run("install", "mcp", env=env).stderr


async def test_a_gateway_that_runs_takes_the_token_until_it_is_revoked(
    home: Home, serve: Callable[..., Gateway]
) -> None:
    gateway = serve("--no-attach")
    token = ToolsTokenFile(home.tapui)
    ran(home, "install", "mcp")
    text = token.path.read_text()
    while True:  # the gateway looks at the file twice a second
        peer = await Peer.connect(gateway.url)
        await peer.send({"type": "auth", "token": text})
        if (await peer.next())["type"] == "sessions":
            break
        await peer.closed()
        await peer.close()
    ran(home, "uninstall", "mcp")
    assert (await peer.expect("error"))["message"] == "the token was revoked"
    assert await peer.closed() == 1008
    late = await Peer.connect(gateway.url)
    await late.send({"type": "auth", "token": text})
    assert (await late.expect("error"))["code"] == "AUTH_FAILED"
    await late.closed()
    await peer.close()
    await late.close()
