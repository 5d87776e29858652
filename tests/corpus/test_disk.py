"""What lies on people's disks is read, and written again, byte for byte."""

import hashlib
import sys
from pathlib import Path

import msgspec
import pytest

from tapui.consents.consents import Consented
from tapui.consents.emitters import EmitterConsents
from tapui.consents.file_goals import GoalConsents
from tapui.consents.mcp_servers import Allowable, ServerConsents
from tapui.emitters.config.reading import read as read_emitters
from tapui.emitters.config.saving import save_emitter
from tapui.emitters.shell.plans import goals_read
from tapui.home.accounts import PortConsent
from tapui.home.paths import Home
from tapui.home.run_folder import GatewayFile
from tapui.hosts.copilot.install.mcp_config import McpConfig, own_entry
from tapui.hosts.copilot.install.own_files import ExtensionFile, skill_files
from tapui.mcp_servers.config.reading import add_server, read_folder, read_own, remove_server
from tapui.mcp_servers.pins import ToolPins, pinned
from tapui.records import register
from tapui.records.journal import Journal
from tapui.records.reader import parse
from tapui.settings.rule_files import RuleFiles
from tapui.settings.settings import Records
from tapui.settings.toml_file import remember_theme
from tapui.wire.codec import encode
from tapui.wire.events import Entry, ErrorSent
from tests.corpus import disk

FILES = sorted(
    str(path.relative_to(disk.DATA))
    for path in disk.DATA.rglob("*")
    if path.is_file() and "wire" not in path.relative_to(disk.DATA).parts
)
RECORDS = [name for name in FILES if name.startswith("records/")]
DAYS = 2 * 24 * 3600


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return disk.made(tmp_path_factory.mktemp("made").resolve())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.mark.parametrize("name", FILES)
def test_the_same_is_written_today(made: dict[str, bytes], name: str) -> None:
    """A difference is a change of what tapui answers, or leaves on the disk.

    Where it is meant, `python -m tests.corpus.write` writes it: look at `git diff` before.
    """
    assert made.get(name) == (disk.DATA / name).read_bytes(), name


def test_all_that_is_written_is_in_the_corpus(made: dict[str, bytes]) -> None:
    assert sorted(made) == FILES, "run `python -m tests.corpus.write`"


# Records


@pytest.mark.parametrize("name", [name for name in RECORDS if name != "records/sessions.jsonl"])
def test_records_are_read_as_the_events_that_they_were(name: str) -> None:
    for line in (disk.DATA / name).read_bytes().splitlines():
        record = parse(line)
        assert record is not None, line
        assert record.event is not None, f"{record.kind} is not known any more"
        assert line.endswith(encode(record.event)[1:]), line


def test_a_session_is_found_and_its_records_go_on(root: Path) -> None:
    disk.laid_out("records", root)
    before = {path: path.read_bytes() for path in root.rglob("*.jsonl")}
    assert set(register.sessions(root)) == {"s1", "s2", "s3"}
    journal = Journal(root, "run-2", Records(), lambda _line, _level: None)
    event = ErrorSent("INVALID_JSON", "no")
    entry = Entry("run-2", 1, "2026-01-02T00:00:00.000000Z", event)
    assert not journal.write([(entry, encode(event))])
    assert journal.close(10)
    for path, data in before.items():
        assert path.read_bytes().startswith(data)


# What the person has allowed


def test_what_was_allowed_is_allowed(root: Path) -> None:
    disk.laid_out("consents", root)
    state, code = root / "state", root / "code"
    kept = [state / name / "consents.json" for name in ("emitters", "mcp", "goals")]
    before = [path.read_bytes() for path in kept]
    emitters = EmitterConsents(state, lambda: disk.NOW + DAYS)
    found = read_emitters(code)
    for one in (*found.emitters, *found.providers):
        assert isinstance(emitters.standing(found, one), Consented), one.name
    goals = read_emitters(root / "goals")
    read = goals_read(goals, GoalConsents(state, lambda: disk.NOW + DAYS))
    assert [one.is_allowed for one in read] == [True, True]
    servers = ServerConsents(state, lambda: disk.NOW + DAYS)
    for server in (one for file in read_folder(str(code)) for one in file.entries):
        assert isinstance(servers.standing(server), Consented), server.name
    old, new = (f'"used_at":{at}'.encode() for at in (disk.NOW, disk.NOW + DAYS))
    assert [path.read_bytes() for path in kept] == [data.replace(old, new) for data in before]


def test_pins_and_the_consent_to_the_port_are_read_and_written(root: Path) -> None:
    disk.laid_out("consents", root)
    state = root / "state"
    entry = Allowable(kind="own", name="files", command="files-server", args=("--all",))
    (pins,) = (state / "mcp" / "pins").iterdir()
    port = state / "copilot-port.json"
    before = pins.read_bytes(), port.read_bytes()
    found = ToolPins(state, entry, None).read()
    assert found == pinned(disk.PINNED)
    assert found is not None
    ToolPins(state, entry, None).keep(found)
    assert PortConsent(state).covers(["ann", "bob"])
    assert not PortConsent(state).covers(["ann", "eve"])
    PortConsent(state).keep(["ann", "bob"])
    assert (pins.read_bytes(), port.read_bytes()) == before


# Files that people edit, too


@pytest.mark.parametrize("folder", ["new", "by-hand"])
def test_emitters_are_read_and_saving_them_again_changes_nothing(root: Path, folder: str) -> None:
    disk.laid_out("emitters", root)
    path = root / folder / "tap.config.json"
    before = path.read_bytes()
    found = read_emitters(root / folder)
    assert not [one for one in found.problems if one.is_error]
    assert {"new", "later"} <= {one.name for one in found.emitters}
    for one in found.emitters:
        save_emitter(root / folder, one)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["new.toml", "by-hand.toml", "crlf.toml"])
def test_settings_are_read_and_the_same_theme_changes_nothing(root: Path, name: str) -> None:
    disk.laid_out("settings", root)
    before = (root / name).read_bytes()
    assert before == (disk.DATA / "settings" / name).read_bytes()
    remember_theme(root / name, "tapui-light")
    assert (root / name).read_bytes() == before
    found = RuleFiles(root / name, root / "managed.toml").read()
    assert not found.faults
    assert [(rule.effect, rule.kind) for rule in found.rules][-2:] == [
        ("allow", "shell"),
        ("allow", "write"),
    ]


@pytest.mark.parametrize("folder", ["new", "by-hand"])
def test_own_servers_are_read_and_a_server_comes_and_goes(root: Path, folder: str) -> None:
    disk.laid_out("mcp", root)
    home = Home.at(root / folder)
    before = (root / folder / "mcp.json").read_bytes()
    found = read_own(home)
    assert not found.problems
    assert {"files", "web"} <= {one.name for one in found.entries}
    add_server(home, "more", {"command": "x"})
    remove_server(home, "more")
    assert (root / folder / "mcp.json").read_bytes() == before


@pytest.mark.parametrize("folder", ["copilot-new", "copilot-by-hand"])
def test_the_entry_for_copilot_is_known_as_ours(root: Path, folder: str) -> None:
    disk.laid_out("mcp", root)
    path = root / folder / "mcp-config.json"
    path.write_text(path.read_text().replace("<python>", sys.executable))
    before = path.read_bytes()
    environ = {"TAPUI_HOME": "/elsewhere", "TAPUI_PORT": "7346"} if "new" in folder else {}
    config = McpConfig(root / folder, own_entry(environ))
    assert config.state() == "installed"
    config.install()
    assert path.read_bytes() == before
    config.uninstall()
    assert config.state() == "missing"


def test_a_gateway_is_found_by_its_file() -> None:
    (path,) = (disk.DATA / "run").rglob("gateway.json")
    said = msgspec.json.decode(path.read_bytes(), type=GatewayFile)
    assert (said.port, said.pid, said.settings) == (7345, 4242, {"port": 7345})
    assert msgspec.json.encode(said) == path.read_bytes()


def test_files_that_were_installed_are_known_as_ours(root: Path) -> None:
    """They have the text of an earlier tapui: they are replaced, and not left as a person's."""
    for file in (ExtensionFile(root), *skill_files(root)):
        kept = disk.DATA / "installed" / file.path.relative_to(root)
        text, seal = kept.read_bytes().splitlines(keepends=True)
        digest = hashlib.sha256(text).hexdigest().encode()
        seal = seal.replace(b"<version>", b"0.0.9").replace(b"<sha256>", digest)
        file.path.parent.mkdir(parents=True)
        file.path.write_bytes(text + seal)
        assert file.state() == "outdated"
        file.install()
        assert file.state() == "installed"
        file.uninstall()
        assert not file.path.exists()
