"""Consent to a folder's servers: exactly what was shown is what may start."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from tapui.consents.consents import Consented, Proposal
from tapui.consents.mcp_servers import Allowable, ServerConsents, server_detail
from tapui.mcp_servers.config.entries import ServerEntry
from tapui.mcp_servers.config.reading import read_folder
from tapui.mcp_servers.server_start import CannotStartError, server_start

LITERAL = "hunter2hunter2"
ENTRY: dict[str, Any] = {
    "command": "node",
    "args": ["server.js", "${workspaceFolder}"],
    "env": {"API_TOKEN": LITERAL, "OTHER": "${env:GITHUB_TOKEN}"},
}


def entry_of(folder: Path, entry: dict[str, Any]) -> ServerEntry:
    folder.mkdir(exist_ok=True)
    (folder / "server.js").touch()
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"files": entry}}))
    (file,) = read_folder(str(folder))
    (found,) = file.entries
    return found


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return tmp_path / "repo"


@pytest.fixture
def consents(tmp_path: Path) -> ServerConsents:
    return ServerConsents(tmp_path / "state")


def asked(consents: ServerConsents, entry: ServerEntry) -> Proposal[Allowable]:
    found = consents.standing(entry)
    assert isinstance(found, Proposal)
    return found


def detail_of(consents: ServerConsents, entry: ServerEntry) -> dict[str, object]:
    return server_detail(asked(consents, entry), entry)


def test_nothing_may_run_before_it_was_allowed(consents: ServerConsents, repo: Path) -> None:
    entry = entry_of(repo, ENTRY)
    shown = asked(consents, entry)
    consents.allow(shown)
    standing = consents.standing(entry)
    assert isinstance(standing, Consented)
    assert standing.files == ("server.js",)
    assert consents.revoke(str(repo), "files")
    assert asked(consents, entry).digest == shown.digest


def test_values_are_shown_as_the_file_has_them_and_not_kept(
    consents: ServerConsents, repo: Path, tmp_path: Path
) -> None:
    entry = entry_of(repo, ENTRY)
    shown = asked(consents, entry)
    detail = server_detail(shown, entry)
    assert detail["variables"] == [["API_TOKEN", ""], ["OTHER", "$GITHUB_TOKEN"]]
    assert detail["args"] == ["server.js", str(repo)]
    assert detail["files"] == ["server.js"]
    assert detail["file"] == str(repo / ".mcp.json")
    consents.allow(shown)
    kept = (tmp_path / "state" / "mcp" / "consents.json").read_text()
    assert detail["variableTexts"] == {"API_TOKEN": LITERAL, "OTHER": "${env:GITHUB_TOKEN}"}
    assert LITERAL not in kept
    called = {
        "url": "https://me:pass@mcp.example.com:8443/mcp?key=abc",
        "headers": {"X-Key": "${K}"},
    }
    detail = detail_of(consents, entry_of(repo, called))
    assert detail["host"] == "mcp.example.com:8443"
    assert detail["url"] == called["url"]
    assert detail["headerTexts"] == {"X-Key": "${K}"}
    assert detail["headers"] == [["X-Key", "$K"]]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"command": "deno"}, "another command"),
        ({"args": ["server.js", "--all"]}, "other arguments"),
        ({"env": {"API_TOKEN": "another"}}, "other variables: API_TOKEN, OTHER"),
        ({"env": {**ENTRY["env"], "API_TOKEN": "x"}}, "other variables: API_TOKEN"),
        ({"env": {**ENTRY["env"], "LD_PRELOAD": "x.so"}}, "other variables: LD_PRELOAD"),
        ({"args": ["server.js", "${env:HOME}"]}, "other values are filled in"),
        ({"cwd": "/"}, "runs in /"),
    ],
)
def test_whatever_decides_what_runs_is_asked_again(
    consents: ServerConsents, repo: Path, changed: dict[str, Any], why: str
) -> None:
    consents.allow(asked(consents, entry_of(repo, ENTRY)))
    assert why in asked(consents, entry_of(repo, {**ENTRY, **changed})).why
    assert isinstance(consents.standing(entry_of(repo, ENTRY)), Consented)


def test_a_variable_that_loads_things_is_a_doubt(consents: ServerConsents, repo: Path) -> None:
    entry = entry_of(repo, {"command": "node", "env": {"NODE_OPTIONS": "--require ./x.js"}})
    assert any("NODE_OPTIONS" in one for one in asked(consents, entry).doubts)


def test_a_registry_that_the_repository_wrote_is_shown_and_named(
    consents: ServerConsents, repo: Path
) -> None:
    entry = {
        "command": "npx",
        "args": ["-y", "server-files@1.2.3"],
        "env": {"npm_config_registry": "https://evil.example", "X": "${env:Y:-https://evil.test}"},
    }
    detail = detail_of(consents, entry_of(repo, entry))
    assert detail["variableTexts"] == entry["env"]
    doubt = "its variable npm_config_registry decides what runs, or where it comes from"
    assert doubt in cast("list[str]", detail["doubts"])


def test_a_file_that_it_names_is_asked_again_unless_later_versions_are_allowed(
    consents: ServerConsents, repo: Path
) -> None:
    entry = entry_of(repo, ENTRY)
    consents.allow(asked(consents, entry))
    (repo / "server.js").write_text("evil()")
    assert asked(consents, entry).why == "files that it names: server.js"
    consents.allow(asked(consents, entry), later_versions=True)
    (repo / "server.js").write_text("other()")
    assert isinstance(consents.standing(entry), Consented)


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "${file:value}"},
        {"command": "bash", "args": ["-c", "${file:./sub/../value}"]},
        {"url": "https://${file:value}/mcp"},
        {"url": "https://x", "headers": {"A": "${file:value}"}},
        {"command": "x", "env": {"NODE_OPTIONS": "${file:value}"}},
        {"command": "x", "env": {"NODE_OPTIONS": "--trace --require ./value"}},
        {"command": "x", "env": {"BASH_ENV": "${workspaceFolder}/value"}},
    ],
)
def test_a_file_of_the_folder_that_a_value_comes_from_is_covered(
    consents: ServerConsents, repo: Path, entry: dict[str, Any]
) -> None:
    found = entry_of(repo, entry)
    (repo / "value").write_text("good")
    shown = asked(consents, found)
    assert "value" in server_detail(shown, found)["files"]  # type: ignore[operator]
    consents.allow(shown)
    assert isinstance(consents.standing(found), Consented)
    (repo / "value").write_text("evil")
    assert asked(consents, found).why == "files that it names: value"


@pytest.mark.parametrize("command", ["npx -y", "npm exec --", "bunx"])
def test_settings_of_the_folder_that_say_where_a_package_is_from_are_covered(
    consents: ServerConsents, repo: Path, command: str
) -> None:
    program, *args = command.split()
    found = entry_of(repo, {"command": program, "args": [*args, "foo@1.2.3"]})
    shown = asked(consents, found)
    assert f"what {program} reads in this folder by itself" in shown.uncovered
    consents.allow(shown)
    assert isinstance(consents.standing(found), Consented)
    (repo / ".npmrc").write_text("registry=https://evil.example")
    assert asked(consents, found).why == "files that it names: .npmrc"


@pytest.mark.parametrize("key", ["args", "env", "headers"])
def test_where_a_link_to_a_value_leads_is_shown_and_covered(
    consents: ServerConsents, repo: Path, tmp_path: Path, key: str
) -> None:
    """A repository cannot have `token` be the person's key to something else."""
    secret, other = tmp_path / "id_rsa", tmp_path / "other"
    secret.write_text("key")
    other.write_text("other")
    value = "${file:token}"
    entries: dict[str, dict[str, Any]] = {
        "args": {"command": "x", "args": [value]},
        "env": {"command": "x", "env": {"A": value}},
        "headers": {"url": "https://x", "headers": {"A": value}},
    }
    found = entry_of(repo, entries[key])
    (repo / "token").symlink_to(secret)
    shown = asked(consents, found)
    assert f"the file token, which is {secret}" in json.dumps(server_detail(shown, found))
    consents.allow(shown)
    standing = consents.standing(found)
    assert isinstance(standing, Consented)
    (repo / "token").unlink()
    (repo / "token").symlink_to(other)
    assert asked(consents, found).why
    with pytest.raises(CannotStartError, match="leads elsewhere"):
        server_start(found, standing.entry, {}, "")


def test_what_is_shown_of_an_address_is_where_it_leads(
    consents: ServerConsents, repo: Path
) -> None:
    for url, shown in (
        ("https://evil.example#@good.example/", "https://evil.example"),
        ("https://evil.example?@good.example/", "https://evil.example?@good.example/"),
        ("https://good.example@evil.example/", "https://good.example@evil.example/"),
    ):
        detail = detail_of(consents, entry_of(repo, {"url": url}))
        assert detail["host"] == "evil.example"
        assert detail["url"] == shown


def test_consent_is_of_one_folder_and_one_name(
    consents: ServerConsents, repo: Path, tmp_path: Path
) -> None:
    entry = entry_of(repo, ENTRY)
    consents.allow(asked(consents, entry))
    other = entry_of(tmp_path / "other", ENTRY)
    assert not asked(consents, other).why
    assert not asked(consents, replace(entry, name="another")).why


def test_the_persons_own_servers_need_none(consents: ServerConsents, repo: Path) -> None:
    own = replace(entry_of(repo, ENTRY), source="own", folder=None)
    assert isinstance(consents.standing(own), Consented)


def test_what_starts_has_only_the_values_that_were_named(
    consents: ServerConsents, repo: Path
) -> None:
    entry = entry_of(repo, ENTRY)
    consents.allow(asked(consents, entry))
    standing = consents.standing(entry)
    assert isinstance(standing, Consented)
    environ = {"GITHUB_TOKEN": "t0ken", "AWS_SECRET": "no"}
    start = server_start(entry, standing.entry, environ, "ws://localhost:9400")
    assert start.args == ["server.js", str(repo)]
    values = {name: one.reveal() for name, one in start.env.items()}
    assert values == {"API_TOKEN": LITERAL, "OTHER": "t0ken", "TAP_RUN": "mcp:files"}
    assert start.cwd == str(repo)
    assert LITERAL not in repr(start)
    with pytest.raises(CannotStartError, match=r"env\.OTHER: the variable GITHUB_TOKEN is not set"):
        server_start(entry, standing.entry, {}, "")


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"command": "x", "env": {"TAP_PROVIDER_TOKEN": "y"}}, "not given to programs"),
        ({"url": "${env:URL}"}, "http://"),
        ({"url": "https://x", "headers": {"A": "${env:LINES}"}}, "headers.A"),
        ({"url": "https://x", "headers": {"A": "${env:NAME}"}}, "letters beyond ASCII"),
    ],
)
def test_what_may_not_be_given_is_refused(
    consents: ServerConsents, repo: Path, entry: dict[str, Any], why: str
) -> None:
    found = entry_of(repo, entry)
    environ = {"URL": "gopher://x", "LINES": "a\r\nHost: b", "NAME": "Jürgen"}
    with pytest.raises(CannotStartError, match=why):
        server_start(found, asked(consents, found).entry, environ, "")
