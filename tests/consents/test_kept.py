"""What is kept of consents to emitters and to MCP servers: one file each, and the same faults."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tapui.consents.consents import Consented
from tapui.consents.emitters import EmitterConsents
from tapui.consents.mcp_servers import ServerConsents
from tapui.mcp_servers.config.reading import read_folder
from tests.emitters.config.folder import configured
from tests.rig.machine import fill

DAY = 24 * 3600
ONE = {"name": "one", "command": "true", "runInterval": "5m"}


class Store(NamedTuple):
    """Consents, and one entry of them."""

    consents: EmitterConsents | ServerConsents
    standing: Callable[[], Any]
    allow: Callable[[], None]
    file: Path

    @property
    def is_allowed(self) -> bool:
        return isinstance(self.standing(), Consented)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def of_emitters(state: Path, folder: Path, clock: Clock) -> Store:
    consents = EmitterConsents(state, clock)

    def standing() -> Any:
        found = configured(folder, {"emitters": [ONE]})
        return consents.standing(found, found.emitters[0])

    def allow() -> None:
        consents.allow(standing(), later_versions=False)

    return Store(consents, standing, allow, state / "emitters" / "consents.json")


def of_servers(state: Path, folder: Path, clock: Clock) -> Store:
    consents = ServerConsents(state, clock)
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"one": {"command": "true"}}}))

    def standing() -> Any:
        (file,) = read_folder(str(folder))
        return consents.standing(file.entries[0])

    def allow() -> None:
        consents.allow(standing())

    return Store(consents, standing, allow, state / "mcp" / "consents.json")


STORES = pytest.mark.parametrize("of", [of_emitters, of_servers])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "folder"
    path.mkdir()
    return path


@STORES
def test_on_a_full_disk_what_was_allowed_holds_and_nothing_else_is(
    small_disk: Path,
    folder: Path,
    caplog: pytest.LogCaptureFixture,
    of: Callable[[Path, Path, Clock], Store],
) -> None:
    clock = Clock()
    store = of(small_disk / "state", folder, clock)
    store.allow()
    fill(small_disk)
    clock.now += 2 * DAY
    assert store.is_allowed
    assert "could not be kept" in caplog.text
    other = folder.with_name("other")
    other.mkdir()
    refused = of(small_disk / "state", other, clock)
    with pytest.raises(OSError, match="space"):
        refused.allow()
    assert not refused.is_allowed
    assert store.is_allowed
    (small_disk / "full").unlink()
    refused.allow()
    assert refused.is_allowed
    assert store.is_allowed


@STORES
@pytest.mark.parametrize("kind", ["torn", "newer", "linked"])
def test_what_cannot_be_read_is_not_allowed_and_says_what_to_do(
    tmp_path: Path, folder: Path, kind: str, of: Callable[[Path, Path, Clock], Store]
) -> None:
    store = of(tmp_path / "state", folder, Clock())
    store.allow()
    data = store.file.read_bytes()
    if kind == "torn":
        store.file.write_bytes(data[: len(data) // 2])
    elif kind == "newer":
        store.file.write_bytes(data.replace(b'"version":1', b'"version":2'))
    else:
        (tmp_path / "link").hardlink_to(store.file)
    fresh = of(tmp_path / "state", folder, Clock())
    assert not fresh.is_allowed
    assert str(store.file) in fresh.consents.damage
    assert "allow anew what you need" in fresh.consents.damage
    fresh.allow()
    assert fresh.is_allowed
    assert fresh.consents.damage == ""
    assert store.file.with_name("consents.json.damaged").exists()
