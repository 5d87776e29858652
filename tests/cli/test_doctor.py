"""`tapui doctor`: what this tapui runs on, and where its logs are."""

import os
from importlib import metadata
from pathlib import Path

from tapui.home.paths import Home as Folders
from tapui.station.log_file import log_path
from tests.cli.schemas import check
from tests.rig.gateway import Gateway, Home


def test_it_names_versions_and_folders_where_nothing_is_there(home: Home) -> None:
    done = home.run("doctor", "--json")
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
    (one,) = check("doctor", home.run("doctor", "--json").stdout)["gateways"]
    assert (one["url"], one["pid"], one["log"]) == (gateway.url, gateway.pid, None)
    log = log_path(Folders.at(home.tapui, home.copilot), gateway.pid)
    log.parent.mkdir(exist_ok=True)
    log.touch()
    found = check("doctor", home.run("doctor", "--json").stdout)
    assert found["gateways"][0]["log"] == str(log)
    assert found["logs"] == [str(log)]
    text = home.run("doctor").stdout
    assert str(log) in text
    assert gateway.url in text


def test_it_says_why_a_session_cannot_be_attached_to(home: Home) -> None:
    folder = home.copilot / "session-state" / "abc"
    folder.mkdir(parents=True)
    (folder / f"inuse.{os.getpid()}.lock").touch()
    (one,) = check("doctor", home.run("doctor", "--json").stdout)["sessions"]
    assert (one["id"], one["pid"], one["cwd"]) == ("abc", os.getpid(), str(Path.cwd()))
    assert one["state"] in ("noPort", "starting")
    assert "abc" in home.run("doctor").stdout


def test_a_folder_that_cannot_be_used_fails_it(home: Home) -> None:
    home.root.mkdir(parents=True, exist_ok=True)
    home.copilot.touch()
    done = home.run("doctor", "--json")
    assert done.returncode == 1
    states = {one["name"]: one["state"] for one in check("doctor", done.stdout)["folders"]}
    assert states["copilot"] == "notAFolder"
