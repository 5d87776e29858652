"""`tapui doctor`: what this tapui runs on, and where its logs are."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from tapui.client.gateways import restart_line
from tapui.home.paths import Home as Folders
from tapui.home.tokens import ToolsTokenFile
from tapui.hosts.copilot.install.mcp_config import McpConfig, own_entry
from tapui.hosts.copilot.install.own_files import ExtensionFile
from tapui.invocation import install_line
from tapui.shipped.docs.standing import note_asked
from tapui.station.faults import log_path
from tests.cli.hidden_package import hide_the_package
from tests.cli.running import ran, run
from tests.cli.schemas import check
from tests.hosts.conftest import Pretender, copilot_home, pretend
from tests.rig.gateway import ANYBODY, Gateway, Home
from tests.rig.peers import Host, Json, Provider, Tower
from tests.rig.stored import held
from tests.shipped.test_ci import checkout

__all__ = ["copilot_home", "pretend"]


def test_it_names_versions_and_folders_where_nothing_is_there(home: Home) -> None:
    done = ran(home, "doctor", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = check("doctor", done.stdout)
    assert found["packages"]["textual"] == metadata.version("textual")
    assert [(one["name"], one["state"]) for one in found["folders"]] == [
        ("configuration", "missing"),
        ("state", "missing"),
        ("copilot", "missing"),
    ]
    assert found["logs"] == found["gateways"] == found["sessions"] == []
    assert not home.tapui.exists()


def test_it_names_the_gateway_that_runs_and_its_log(home: Home, gateway: Gateway) -> None:
    (one,) = check("doctor", ran(home, "doctor", "--json").stdout)["gateways"]
    assert (one["url"], one["pid"], one["log"]) == (gateway.url, gateway.pid, None)
    log = log_path(Folders.at(home.tapui, home.copilot), gateway.pid)
    log.parent.mkdir(exist_ok=True)
    log.touch()
    found = check("doctor", ran(home, "doctor", "--json").stdout)
    assert found["gateways"][0]["log"] == str(log)
    assert found["logs"] == [str(log)]
    text = ran(home, "doctor").stdout
    assert str(log) in text
    assert gateway.url in text


async def test_what_is_wrong_in_the_file_of_a_session_s_folder_is_named_from_any_folder(
    home: Home, gateway: Gateway, tmp_path: Path
) -> None:
    (tmp_path / "tap.config.json").write_text('{"emitters": [{"name": "one", "comand": "x"}]}')
    async with await Host.hello(gateway.url, gateway.internal_token) as host:
        await host.open("s1", cwd=str(tmp_path))
        await host.expect("session.log", sessionId="s1")
        _, told, _ = await run(home, "doctor")
    assert f"{tmp_path}/tap.config.json:1: emitters[0]" in told
    assert "“one”" in told
    assert f"tapui emitters list --folder {tmp_path}" in told


async def test_a_mode_that_could_be_asked_nowhere_is_named(home: Home, gateway: Gateway) -> None:
    async with await Host.hello(gateway.url, gateway.internal_token) as host:
        await host.open("s1", mode="interactive")
        await host.invoke("s1", "tap_set_session_mode", {"mode": "plan"})
        refused = await host.expect("tool.outcome")
        told = check("doctor", (await run(home, "doctor", "--json"))[1])
        status = check("status", (await run(home, "status", "--json"))[1])
    why = "the person cannot be asked: no tower is open"
    assert refused["error"].startswith(why)
    (finding,) = [one for one in told["findings"] if one["id"] == "modes"]
    assert finding["state"] == "warning"
    assert (
        f"session s1: a mode was refused: plan, asked by the session's agent (ask): {why}"
        in (finding["text"])
    )
    assert (status["modes"]["agent-to-autopilot"], status["modes"]["lock"]) == ("ask", True)
    (shown,) = status["state"]["modes"]
    assert (shown["sessionId"], shown["refused"]["decidedBy"]) == ("s1", "nobody")


@pytest.mark.parametrize(
    ("account", "models", "findings", "shown"),
    [
        (
            {"signedIn": True, "kind": "user", "login": "ada", "host": "https://github.com"},
            [{"id": f"m{number}"} for number in range(10)],
            [("account", "ok"), ("models", "ok")],
            ("s1: ada at https://github.com (user)", "m7 and 2 more"),
        ),
        (
            {"signedIn": False, "note": "Not \u202ehere"},
            [],
            [("account", "warning")],
            ("s1: not signed in: Not", "it has no model"),
        ),
        (
            {"signedIn": False},
            [{"id": "scripted"}],
            [("account", "ok"), ("models", "ok")],
            ("s1: not signed in", "models of session s1: scripted"),
        ),
        (
            {"signedIn": True},
            None,
            [("account", "ok"), ("models", "warning")],
            ("s1: signed in", "its models are not known: gone"),
        ),
    ],
    ids=["account", "none", "own provider", "silent"],
)
async def test_who_is_signed_in_and_which_models_that_gives(
    home: Home,
    gateway: Gateway,
    account: Json,
    models: list[Json] | None,
    findings: list[tuple[str, str]],
    shown: tuple[str, str],
) -> None:
    async with await Host.hello(gateway.url, gateway.internal_token) as host:
        await host.open("s1", can=["model"])
        update = {"type": "session.update", "sessionId": "s1", "account": account}
        await host.send(update)
        doctor = asyncio.create_task(run(home, "doctor", "--json"))
        asked = await host.expect("models.read", sessionId="s1")
        told: Json = {"error": "gone"} if models is None else {"models": models}
        await host.send({"type": "models.list", "id": asked["id"], **told})
        done = await doctor
        status = check("status", (await run(home, "status", "--json"))[1])
    found = check("doctor", done[1])["findings"]
    ours = [one for one in found if one["id"] in ("account", "models")]
    assert [(one["id"], one["state"]) for one in ours] == findings
    text = " ".join(one["text"] for one in ours)
    assert all(part in text for part in shown)
    assert "\u202e" not in text
    assert (ours[0]["command"] == "copilot login") == (findings == [("account", "warning")])
    (session,) = [one for one in status["state"]["sessions"] if one["id"] == "s1"]
    assert session["account"] == account


async def test_what_providers_say_is_wrong_with_them_is_named(home: Home, gateway: Gateway) -> None:
    async with await Host.hello(gateway.url, gateway.internal_token) as host:
        await host.open("s1")
        bound = Provider.bind(gateway.url, gateway.token, name="ci", session="s1", tools=[])
        async with await bound as provider:
            for level, text in (("keep", "all well"), ("surface", "no token\x1b[31m")):
                push = {"type": "push", "level": level, "event": text, "stream": "status"}
                await provider.send({**push, "sessionId": "s1"})
            # The answer to a question behind them: they have been taken.
            await provider.send({"type": "stream.query", "queryId": "q", "streams": ["status"]})
            await provider.expect("stream.history")
            await host.invoke("s1", "tap_get_session_state", {})
            told = (await host.expect("tool.outcome"))["data"]
            found = check("doctor", (await run(home, "doctor", "--json"))[1])
            status = check("status", (await run(home, "status", "--json"))[1])
    (finding,) = [one for one in found["findings"] if one["id"] == "providers"]
    assert (finding["state"], finding["text"]) == (
        "warning",
        "session s1: provider ci: no token\\x1b[31m",
    )
    (shown,) = status["providers"]
    assert (shown["provider"], shown["sessionId"], shown["isWrong"]) == ("ci", "s1", True)
    (one,) = [each for each in told["providers"] if each["name"] == "ci"]
    assert (one["status"]["isWrong"], one["status"]["text"]) == (True, "no token\\x1b[31m")


def test_a_setting_in_whose_place_a_stricter_one_holds_is_told_everywhere(home: Home) -> None:
    home.tapui.mkdir(exist_ok=True)
    path = home.tapui / "config.toml"
    path.write_text('modes.agent-to-autopilot = "allow"\n')
    fault = f"{path}:1: modes.agent-to-autopilot: autopilot is not allowed to agents unasked"
    found = check("doctor", ran(home, "doctor", "--json").stdout)["findings"]
    assert [one["state"] for one in found if fault in one["text"]] == ["warning"]
    done = ran(home, "config", "--json")
    assert check("config", done.stdout)["faults"] == [f'{fault}: "ask" holds']
    assert done.returncode != 0
    assert fault in done.stderr
    with Gateway(home, "--no-attach") as gateway:
        status = check("status", ran(home, "status", "--json").stdout)
        assert status["modes"]["agent-to-autopilot"] == "ask"
        assert fault in gateway.stderr


def test_it_says_why_a_session_cannot_be_attached_to(home: Home) -> None:
    folder = home.copilot / "session-state" / "abc"
    folder.mkdir(parents=True)
    with held(folder) as pid:
        (one,) = check("doctor", ran(home, "doctor", "--json").stdout)["sessions"]
        assert (one["id"], one["pid"], one["cwd"]) == ("abc", pid, str(Path.cwd()))
        assert one["state"] in ("noPort", "starting")
        assert "abc" in ran(home, "doctor").stdout
        (folder / "workspace.yaml").write_text("id: abc\ncwd: /its/own\n")
        assert "/its/own" in ran(home, "doctor").stdout


async def test_it_says_why_a_program_cannot_be_spoken_to(home: Home, gateway: Gateway) -> None:
    why = "Copilot CLI 1.0.217 speaks protocol 5; tapui speaks 3 and 4"
    apart = {"id": "s1", "cwd": "/code", "pid": 1, "hint": "copilot update", "why": f"{why}\u202e"}
    async with (
        await Host.hello(gateway.url, gateway.internal_token) as host,
        await Tower.hello(gateway.url, gateway.internal_token) as tower,
    ):
        await host.open("s2", label="two", program="Copilot CLI 1.0.102, protocol 3")
        await host.send({"type": "sessions.unattached", "unattached": [apart]})
        await tower.event("sessions.unattached")
        _, diagnosis, _ = await run(home, "doctor", "--json")
        _, status, _ = await run(home, "status")
        check("status", (await run(home, "status", "--json"))[1])
    told = [one for one in check("doctor", diagnosis)["findings"] if one["id"] == "session"]
    found, attached = told
    assert attached["text"] == "session two: attached to Copilot CLI 1.0.102, protocol 3"
    assert found["text"].startswith(f"session s1 (pid 1) is not attached: {why}")
    assert "\u202e" not in found["text"]
    assert found["command"] == "copilot update"
    assert why in status


def test_a_session_of_a_server_has_its_own_folder_and_no_advice(home: Home) -> None:
    folder = home.copilot / "session-state" / "abc"
    folder.mkdir(parents=True)
    (folder / "workspace.yaml").write_text('id: abc\ncwd: "/work/\\e[2Jhere"\n')
    program = [sys.executable, "-c", "import sys; sys.stdin.read()", "--headless"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, cwd="/") as server:
        (folder / f"inuse.{server.pid}.lock").touch()
        (one,) = check("doctor", ran(home, "doctor", "--json").stdout)["sessions"]
        shown = ran(home, "doctor").stdout
        assert server.stdin is not None
        server.stdin.close()
    assert (one["pid"], one["state"]) == (server.pid, "headless")
    assert one["cwd"] == "/work/\x1b[2Jhere"
    assert "/work/" in shown
    assert "\x1b" not in shown
    assert "tapui copilot" not in shown


def test_a_folder_that_cannot_be_used_fails_it(home: Home) -> None:
    home.root.mkdir(parents=True, exist_ok=True)
    home.copilot.touch()
    done = ran(home, "doctor", "--json")
    assert done.returncode == 1
    states = {one["name"]: one["state"] for one in check("doctor", done.stdout)["folders"]}
    assert states["copilot"] == "notAFolder"


def findings(home: Home, **env: str) -> dict[str, tuple[str, str | None]]:
    """Return the state and the command of each finding, the last of each kind."""
    said = check("doctor", ran(home, "doctor", "--json", env=home.env(**env)).stdout)
    return {one["id"]: (one["state"], one["command"]) for one in said["findings"]}


def test_it_says_what_of_copilot_is_there(home: Home) -> None:
    bin_ = home.root / "bin"
    bin_.mkdir(parents=True)
    path = f"{bin_}:{Path(sys.executable).parent}:/usr/bin:/bin"
    assert findings(home, PATH=path)["cli"] == ("warning", "npm install -g @github/copilot")
    (bin_ / "copilot").write_text("#!/bin/sh\necho GitHub Copilot CLI 1.0.102.\n")
    (bin_ / "copilot").chmod(0o755)
    assert findings(home, PATH=path)["cli"] == ("ok", None)
    assert "Copilot CLI 1.0.102" in ran(home, "doctor", env=home.env(PATH=path)).stdout
    (bin_ / "copilot").write_text("#!/bin/sh\nexit 1\n")
    assert findings(home, PATH=path)["cli"] == ("warning", "copilot update")
    (bin_ / "package.json").write_text('{"name": "@github/copilot", "version": "1.2.3"}')
    assert "Copilot CLI 1.2.3" in ran(home, "doctor", env=home.env(PATH=path)).stdout


def test_it_says_what_of_the_extension_is_to_be_mended(home: Home) -> None:
    extension = ExtensionFile(home.copilot)
    assert findings(home)["extension"] == ("ok", "tapui install extension")
    assert "experimental" not in findings(home)
    extension.install()
    assert findings(home)["extension"] == ("ok", None)
    assert findings(home)["experimental"] == ("warning", "tapui copilot --experimental")
    (home.copilot / "settings.json").write_text('{"experimental": true}')
    assert findings(home)["experimental"] == ("ok", None)
    extension.path.write_text("// mine\n")
    state, command = findings(home)["extension"]
    assert state == "warning"
    assert command == f"mv {extension.path} {extension.path}.mine && tapui install extension"


def test_it_names_ports_and_sessions_without_a_way_in(
    home: Home, copilot_home: Path, pretend: Callable[..., Pretender]
) -> None:
    pretend("127.0.0.1").hold("open")
    env = {"COPILOT_HOME": str(copilot_home)}
    assert findings(home, **env)["port"][0] == "ok"
    never = findings(home, **env, TAPUI_COPILOT_PORT="never")
    assert never["port"] == ("warning", "tapui install extension")


def test_a_gateway_of_another_version_is_named_everywhere(home: Home, gateway: Gateway) -> None:
    said = home.tapui / "run" / str(gateway.port) / "gateway.json"
    assert findings(home)["gateway"] == ("ok", None)
    assert ran(home, "status").stderr == ""
    told = json.loads(said.read_text())
    for version, word in (("0.0.9", "an older"), ("99.0.0", "a newer")):
        said.write_text(json.dumps({**told, "version": version}))
        restart = f"tapui stop --port {gateway.port} && tapui serve --detach --port {gateway.port}"
        assert findings(home)["gateway"] == ("warning", restart)
        status = ran(home, "status")
        assert status.returncode == 0
        assert f"is of {word} tapui ({version}" in status.stderr
        assert restart in status.stderr
    assert ran(home, "stop").stderr == ""


def test_a_configuration_that_cannot_be_used_is_an_error(home: Home) -> None:
    home.tapui.mkdir(parents=True)
    (home.tapui / "config.toml").write_text("nonsense = 1\n")
    done = ran(home, "doctor", "--json")
    assert done.returncode == 1
    (error,) = [one for one in check("doctor", done.stdout)["findings"] if one["id"] == "config"]
    assert (error["state"], error["command"]) == ("error", "tapui config")
    assert "config.toml:1: nonsense: unknown key" in error["text"]


def test_notes_that_cannot_be_saved_are_named(home: Home) -> None:
    home.tapui.mkdir(parents=True)
    place = home.root / "notes"
    (home.tapui / "config.toml").write_text(f"memory.folder = {str(place)!r}\n")
    assert "memory" not in findings(home)
    place.mkdir()
    assert "memory" not in findings(home)
    place.rmdir()
    place.touch()
    assert findings(home)["memory"] == ("warning", "tapui memory list")
    assert f"can be saved: {place} is no folder" in ran(home, "doctor").stdout
    place.unlink()
    place.symlink_to(home.tapui)
    assert f"can be saved: {place} is a link" in ran(home, "doctor").stdout


def test_what_keeps_the_documents_of_libraries_from_being_found_is_named(home: Home) -> None:
    assert "docs" not in findings(home)
    note_asked(home.tapui)
    assert findings(home)["docs"] == ("warning", "tapui config")
    assert "https://context7.com is asked for such once you write" in ran(home, "doctor").stdout
    for word in ("always", "never"):
        (home.tapui / "config.toml").write_text(f'library-docs.context7 = "{word}"\n')
        assert "docs" not in findings(home)
    shutil.rmtree(home.tapui / "docs")
    (home.tapui / "docs").touch()
    assert findings(home)["docs"] == ("warning", "tapui help providers")


def test_it_says_what_of_the_mcp_door_is_to_be_mended(home: Home) -> None:
    config, token = McpConfig(home.copilot, own_entry(home.env())), ToolsTokenFile(home.tapui)
    install = "tapui install mcp"
    assert findings(home)["mcp"] == ("ok", install)
    assert "mcp-token" not in findings(home)
    assert ran(home, "install", "mcp").returncode == 0
    found = findings(home)
    assert (found["mcp"], found["mcp-token"]) == (("ok", None), ("ok", None))
    assert found["mcp-package"] == ("ok", None)
    token.path.chmod(0o644)
    state, command = findings(home)["mcp-token"]
    assert (state, command) == ("warning", f"mv {token.path} {token.path}.mine && {install}")
    token.remove()
    assert findings(home)["mcp-token"] == ("warning", install)
    text = config.path.read_text()
    config.path.write_text(text.replace(sys.executable, "/gone/bin/python"))
    assert findings(home)["mcp"] == ("warning", install)
    assert "/gone/bin/python, which is not there" in ran(home, "doctor").stdout
    config.path.write_text(text.replace(sys.executable, "/bin/sh"))
    assert "starts another Python (/bin/sh)" in ran(home, "doctor").stdout
    config.path.write_text(text.replace(str(home.tapui), "/elsewhere"))
    assert "is for other folders" in ran(home, "doctor").stdout
    config.path.write_text(text.replace('"-m"', '"-I", "-m"'))
    assert findings(home)["mcp"] == ("warning", f"copilot mcp remove tapui && {install}")
    config.path.write_text("{")
    state, command = findings(home)["mcp"]
    assert (state, command) == ("warning", f"mv {config.path} {config.path}.mine && {install}")


def test_it_says_that_the_package_of_the_mcp_door_is_missing(home: Home) -> None:
    ran(home, "install", "mcp")
    said = check("doctor", home.run("doctor", "--json", env=hide_the_package(home)).stdout)
    (found,) = [one for one in said["findings"] if one["id"] == "mcp-package"]
    assert (found["state"], found["command"]) == ("warning", install_line("tapui[mcp]"))


def test_a_gateway_that_began_with_other_settings_is_named(home: Home) -> None:
    changed = {"TAPUI_RECORDS_TRACES": "false", "TAPUI_TIMEOUTS_CALL": "7"}
    with Gateway(home, "--no-attach") as gateway:
        assert "settings" not in findings(home)
        state, command = findings(home, **changed)["settings"]
        assert (state, command) == ("warning", restart_line(gateway.port))
        told = ran(home, "config", env=home.env(**changed)).stderr
    assert "began with other settings: timeouts.call is 120.0 there, " in told
    assert "records.traces is true there; apply these with " in told


def test_what_keeps_a_provider_from_its_service_is_named(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "repo"
    folder.mkdir()
    home.settle(ANYBODY)
    added = ran(home, "provider", "add", "ci", "--yes", "--folder", str(folder))
    assert added.returncode == 0, added.stderr

    def found(**environ: str) -> str:
        env = {**home.env(), "PATH": str(Path(sys.executable).parent), **environ}
        done = ran(home, "doctor", "--json", env=env, cwd=folder)
        (one,) = [
            one for one in check("doctor", done.stdout)["findings"] if one["id"] == "services"
        ]
        return f"{one['state']}: {one['text']}"

    assert found() == "warning: provider ci: the folder is not a git repository"
    checkout(folder)
    assert found() == "warning: provider ci: the folder has no remote at github.com"
    here = {"GITHUB_API_URL": "http://127.0.0.1:1"}
    assert found(**here) == (
        "warning: provider ci: there is no token for 127.0.0.1:"
        " set GITHUB_TOKEN, or run gh auth login"
    )
    assert found(**here, GITHUB_TOKEN="t-1") == "ok: provider ci has a repository and a token"
    assert "is no https address" in found(GITHUB_API_URL="http://evil.example")
