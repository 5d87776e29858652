"""A full disk at each kind of write: one warning, calls go on, decisions are refused meanwhile."""

from pathlib import Path

import pytest

from tapui.home.paths import Home
from tapui.secret import Secret
from tapui.station.running_gateway import GatewayFiles
from tests.records.test_full_disk import Disk
from tests.rig.file_sizes import files_of_at_most
from tests.runtime.house import House, Witness, until


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


async def test_calls_go_on_and_decisions_are_refused_while_the_disk_is_full(
    house: House, witness: Witness, disk: Disk
) -> None:
    host, tower = house.host(), house.tower()
    for id_ in ("r1", "r2"):
        house.say(
            host, type="approval.request", id=id_, sessionId="s1", kind="permission", detail={}
        )
    await until(lambda: len(house.gateway.state.approvals) == 2)
    first, second = house.gateway.state.approvals
    disk.room = 0
    await witness.is_answered(witness.ask())
    # A session whose folder, files and line in the index are all new.
    new = house.host("new")
    await until(lambda: new.heard("session.opened"))
    house.say(tower, type="approval.decide", approvalId=first, decision="approve")
    await until(lambda: host.heard("approval.answer"))
    answer = host.heard("approval.answer")[0]
    assert (answer["decision"], answer["reason"]) == (
        "deny",
        "the decision could not be recorded",
    )
    assert house.gateway.state.approvals[first].state == "failed"
    assert "recorded" in tower.heard("error")[0]["message"]
    told = [text for text in house.reports if "Records cannot be written" in text]
    assert len(told) == 1
    assert "approvals are refused" in told[0]
    disk.room = 1 << 30
    house.say(tower, type="approval.decide", approvalId=second, decision="approve")
    await until(lambda: len(host.heard("approval.answer")) == 2)
    assert host.heard("approval.answer")[1]["decision"] == "approve"
    await witness.is_answered(witness.ask())
    assert house.records()[-1]["seq"] == house.gateway.seq


def test_a_start_without_room_for_its_files_leaves_none_of_them(tmp_path: Path) -> None:
    home = Home.at(tmp_path / "tapui", tmp_path / "copilot")
    tokens = Secret("ptk-" + "x" * 43), Secret("itk-" + "x" * 43)
    for room in (0, 10, 60, 120):
        with files_of_at_most(room), pytest.raises(OSError, match="File too large"):
            GatewayFiles.leave(home, 9400, *tokens)
        left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
        assert all(name.endswith(".lock") for name in left), left
    GatewayFiles.leave(home, 9400, *tokens).remove()
