"""`tapui rules`: what rules answered, and those that are suggested."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from tapui.policies.leads import Leads
from tapui.wire import events as ev
from tapui.wire import subjects
from tests.cli.running import HOSTILE, RAW, on_terminal, ran
from tests.records.turns import Writer, opened, stamp
from tests.rig.gateway import Home, tapui_argv

SINCE = ("--since", "2000-01-01T00:00:00Z")
ALWAYS = '[approvals]\ncommand-line = "always"\n'
CONFIG = f"""\
{ALWAYS}
[[rules]]
allow = "npm ci"

[[rules]]
allow = "pip install"

[[rules]]
deny = "git push"
"""


def answer(id_: str, command: str, folder: str, **settled: Any) -> list[ev.Event]:
    """Return a permission that is asked for and settled, by the person without more."""
    leads = Leads(folders=(folder,)).as_detail()
    detail = {"kind": "shell", "fullCommandText": command, "leads": leads}
    asked = subjects.Approval(id_, "permission", "waiting", detail, stamp(0), stamp(9), "s1")
    ended = replace(asked, **{"state": "approved", "decided_by": "you", **settled})
    return [ev.ApprovalRequested(asked, "s1"), ev.ApprovalDecided(ended, "s1")]


@pytest.fixture
def folder(home: Home) -> str:
    """The folder of a session with answers of the person, of a rule and of others."""
    place = home.root / "app"
    place.mkdir()
    home.tapui.mkdir(parents=True, exist_ok=True)
    (home.tapui / "config.toml").write_text(CONFIG)
    rule = subjects.AppliedRule("allow", "shell", "npm ci", "person", "config.toml:1")
    began = opened("s1", place)
    folder = began.session.cwd
    with Writer(home.tapui) as writer:
        writer.turn(began)
        for at in range(4):
            writer.turn(*answer(f"y{at}", "npm test", folder))
            writer.turn(*answer(f"h{at}", f"npm run build # {HOSTILE}", folder))
            by_host = {"state": "withdrawn", "answered": "approved", "decided_by": "cli"}
            writer.turn(*answer(f"c{at}", "cargo test", folder, **by_host))
            other = {"decided_by": "process 4711 (sh)"}
            writer.turn(*answer(f"o{at}", "make test", folder, **other))
        writer.turn(*answer("r1", "npm ci", folder, decided_by="rule", rule=rule))
        writer.turn(*answer("d1", "git status", folder, state="denied"))
    return folder


def test_what_the_person_allowed_is_suggested_and_nothing_is_written(
    home: Home, folder: str
) -> None:
    done = ran(home, "rules", "suggest", *SINCE, "--json")
    assert done.returncode == 0, done.stderr
    (found,) = map(json.loads, done.stdout.splitlines())
    assert found["rules"] == ["shell “npm test”"]
    assert (found["folders"], found["allowed"], found["answers"]) == ([folder], 4, 4)
    assert found["lookedAt"] == 9
    assert found["requests"] == [{"text": "npm test", "times": 4}]
    shown = ran(home, "rules", "suggest", *SINCE)
    assert not RAW.search(shown.stdout.replace("\n", ""))
    assert "would have answered 4 of your last 9 requests" in shown.stdout
    assert found["toml"] in shown.stdout
    assert (home.tapui / "config.toml").read_text() == CONFIG
    assert "nothing" in ran(home, "rules", "suggest").stderr, "60 days ago nothing was recorded"


def test_a_key_takes_one_or_has_it_not_shown_again(home: Home, folder: str) -> None:
    argv = tapui_argv("rules", "suggest", *SINCE)
    assert "npm test" in on_terminal(home.env(), *argv, typed="n\n")
    assert json.loads((home.tapui / "refused-suggestions.json").read_text())
    assert "npm test" not in on_terminal(home.env(), *argv)
    (home.tapui / "refused-suggestions.json").write_bytes(b"\xff{")
    assert "written to" in on_terminal(home.env(), *argv, typed="y\n")
    assert (home.tapui / "config.toml").read_text() == (
        f'{CONFIG}\n[[rules]]\nallow = "npm test"\nfolder = "{folder}"\n'
    )
    assert "npm test" not in on_terminal(home.env(), *argv)


@pytest.mark.usefixtures("folder")
def test_a_file_that_cannot_be_written_is_told_and_stays(home: Home) -> None:
    text = f"rules = [{{allow = 'npm ci'}}]\n{ALWAYS}"
    (home.tapui / "config.toml").write_text(text)
    argv = tapui_argv("rules", "suggest", *SINCE)
    told = on_terminal(home.env(), *argv, typed="y\n", code=1)
    assert "the rule cannot be written" in told
    assert (home.tapui / "config.toml").read_text() == text
    (home.tapui / "config.toml").write_text(CONFIG.replace("always", "person"))
    told = on_terminal(home.env(), *argv, typed="y\n", code=1)
    assert "take it in the tower or in a terminal of yours" in told


@pytest.mark.usefixtures("folder")
def test_each_rule_with_what_it_did(home: Home) -> None:
    done = ran(home, "rules", "list", "--json")
    assert done.returncode == 0, done.stderr
    first, second, third = map(json.loads, done.stdout.splitlines())
    assert (first["pattern"], first["answered"]) == ("npm ci", 1)
    assert first["note"] == "nothing in 60 days"
    assert (second["answered"], second["last"]) == (0, None)
    assert "would write it exactly" in second["note"]
    assert (third["effect"], third["pattern"]) == ("deny", "git push")
    table = ran(home, "rules").stdout
    assert "npm ci" in table
    assert "2026-01-01" in table
