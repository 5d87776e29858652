"""A full disk at each kind of write: one warning, calls go on, decisions are refused meanwhile."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.records.test_full_disk import Disk
from tests.runtime.house import House, Witness, until

ROOT = Path(__file__).parents[2]


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
    told = [text for text in house.reports if "Records cannot be written" in text]
    assert len(told) == 1
    assert "approvals are refused" in told[0]
    disk.room = 1 << 30
    house.say(tower, type="approval.decide", approvalId=second, decision="approve")
    await until(lambda: len(host.heard("approval.answer")) == 2)
    assert host.heard("approval.answer")[1]["decision"] == "approve"
    await witness.is_answered(witness.ask())
    assert house.records()[-1]["seq"] == house.gateway.seq


async def test_a_result_in_a_file_fails_its_call_with_one_warning_while_the_disk_is_full(
    house: House, witness: Witness, disk: Disk
) -> None:
    host, provider, tower = house.host(), house.provider(), house.tower()
    await until(lambda: provider.heard("hello.ack") and tower.heard("tower.snapshot"))
    (house.state / "p").mkdir(exist_ok=True)
    (house.state / "p" / "shot.png").write_bytes(b"x" * 50_000)
    house.say(host, type="tool.invoke", id="i1", sessionId="s1", tool="greet", args={})
    await until(lambda: provider.heard("tool.call"))
    disk.room = 20_000
    call = provider.heard("tool.call")[0]["id"]
    file = {"path": str(house.state / "p" / "shot.png"), "mimeType": "image/png", "size": 1}
    house.say(provider, type="tool.result", id=call, file=file)
    await until(lambda: host.heard("tool.outcome"))
    outcome = host.heard("tool.outcome")[0]
    assert outcome["errorCode"] == "INTERNAL"
    assert "No space left on device" in outcome["error"]
    await until(lambda: tower.heard("tower.notice"))
    assert list((house.state / "sessions/s1/results").iterdir()) == []
    await witness.is_answered(witness.ask())


LIMITED = """
import os, resource, signal, sys
from pathlib import Path
from tapui.home.paths import Home
from tapui.secret import Secret
from tapui.station.running_gateway import GatewayFiles
home = Home.at(Path(sys.argv[1]) / "tapui", Path(sys.argv[1]) / "copilot")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for room in (0, 10, 60, 120):
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    try:
        GatewayFiles.leave(home, 9400, Secret("ptk-" + "x" * 43), Secret("itk-" + "x" * 43))
    except OSError as error:
        print(error.strerror)
    else:
        raise AssertionError("it was announced")
    left = [str(path) for path in Path(sys.argv[1]).rglob("*") if path.is_file()]
    assert all(path.endswith(".lock") for path in left), left
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
GatewayFiles.leave(home, 9400, Secret("ptk-1"), Secret("itk-1")).remove()
"""


def test_a_start_without_room_for_its_files_leaves_none_of_them(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)],
        capture_output=True, text=True, timeout=30, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["File too large"] * 4
