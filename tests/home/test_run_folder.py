"""Where things are, and which gateways run."""

import fcntl
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tapui.home import run_folder
from tapui.home.paths import Home, persist_dir, typed_path
from tapui.home.run_folder import (
    PortClaimedError,
    RunFolder,
    find_gateway,
    gateways,
    is_alive,
    remove_stale,
)
from tapui.secret import Secret

DYING_GATEWAY = """
import os, sys
from pathlib import Path
from tapui.secret import Secret
from tapui.home.paths import Home
from tapui.home.run_folder import RunFolder
home = Home.at(Path(sys.argv[1]), Path(sys.argv[2]))
run = RunFolder.claim(home, int(sys.argv[3]))
run.write_internal_token(Secret("itk-dead"))
run.announce("ws://localhost:" + sys.argv[3], "0.0", Path("/nowhere"))
if sys.argv[4:]:
    print("ready", flush=True)
    sys.stdin.read()
os._exit(9)
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.at(tmp_path / "tapui", tmp_path / "copilot")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def argv(home: Home, port: int, *more: str) -> list[str]:
    return [
        sys.executable,
        "-c",
        DYING_GATEWAY,
        str(home.state),
        str(home.copilot),
        str(port),
        *more,
    ]


def announced(home: Home, port: int) -> RunFolder:
    run = RunFolder.claim(home, port)
    run.write_internal_token(Secret("itk-secret"))
    run.announce(f"ws://localhost:{port}", "1.2.3", Path("/x/.provider-token"))
    return run


def test_one_variable_moves_everything(tmp_path: Path) -> None:
    environ = {"TAPUI_HOME": str(tmp_path / "t"), "COPILOT_HOME": str(tmp_path / "c")}
    home = Home.of(environ)
    assert home == Home(tmp_path / "t", tmp_path / "t", tmp_path / "c")
    assert home.run_folder(9400) == tmp_path / "t" / "run" / "9400"


def test_without_variables_the_platform_decides() -> None:
    home = Home.of({"TAPUI_HOME": "", "COPILOT_HOME": ""})
    assert home.copilot == Path.home() / ".copilot"
    assert home.config.name == home.state.name == "tapui"
    assert home.config.is_absolute()


def test_a_gateway_is_found_by_its_file_and_gone_after_release(home: Home) -> None:
    run = announced(home, 9400)
    found = find_gateway(home, 9400)
    assert found is not None
    assert (found.url, found.port, found.pid) == ("ws://localhost:9400", 9400, os.getpid())
    assert Path(found.internal_token_file).read_text() == "itk-secret"
    raw = json.loads((run.path / "gateway.json").read_text())
    assert {"url", "pid", "version", "startedAt"} <= raw.keys()
    assert raw["version"] == "1.2.3"
    assert mode(run.path) == 0o700
    assert {mode(path) for path in run.path.iterdir()} == {0o600}
    run.release()
    assert find_gateway(home, 9400) is None
    assert not run.path.exists()
    run.release()


def test_without_a_port_the_only_gateway_is_meant(home: Home) -> None:
    assert find_gateway(home) is None
    first = announced(home, 9400)
    assert find_gateway(home) == find_gateway(home, 9400) is not None
    second = announced(home, 9500)
    assert find_gateway(home) is None
    assert [found.port for found in gateways(home)] == [9400, 9500]
    first.release()
    second.release()


def test_what_a_killed_gateway_left_is_not_believed_and_removed(home: Home) -> None:
    subprocess.run(argv(home, 9400), check=False, timeout=30)
    left = home.run_folder(9400)
    assert (left / "gateway.json").exists()
    assert find_gateway(home, 9400) is None
    # Not even if its process id is that of a living process by now.
    said = json.loads((left / "gateway.json").read_text())
    said["pid"] = os.getpid()
    (left / "gateway.json").write_text(json.dumps(said))
    assert find_gateway(home, 9400) is None
    run = announced(home, 9500)
    assert not left.exists()
    assert find_gateway(home, 9500) is not None
    run.release()


def test_the_folder_of_a_killed_gateway_is_taken_over_empty(home: Home) -> None:
    subprocess.run(argv(home, 9400), check=False, timeout=30)
    run = RunFolder.claim(home, 9400)
    assert not (run.path / "gateway.json").exists()
    assert not (run.path / "internal-token").exists()
    run.release()


def test_a_live_gateway_of_another_process_is_found_and_left_alone(home: Home) -> None:
    with subprocess.Popen(
        argv(home, 9400, "stay"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        found = find_gateway(home, 9400)
        assert found is not None
        assert found.pid == other.pid
        with pytest.raises(PortClaimedError, match="choose another port"):
            RunFolder.claim(home, 9400)
        run = announced(home, 9500)
        assert find_gateway(home, 9400) is not None
        run.release()
        other.communicate("", timeout=30)
    assert find_gateway(home, 9400) is None
    assert remove_stale(home) == [9400]


def test_a_client_that_looks_does_not_keep_a_gateway_from_starting(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.run_folder(9400).mkdir(parents=True)
    lock = os.open(home.run_folder(9400) / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_SH)
    # The claim tries again; at its first pause the client has looked enough.
    monkeypatch.setattr(run_folder.time, "sleep", lambda seconds: fcntl.flock(lock, fcntl.LOCK_UN))
    run = RunFolder.claim(home, 9400)
    os.close(lock)
    assert is_alive(run.path)
    run.release()


def test_where_locks_are_unknown_the_process_decides(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(fd: int, operation: int) -> None:
        raise OSError(95, "Operation not supported")

    run = announced(home, 9400)
    monkeypatch.setattr(run_folder.fcntl, "flock", unknown)
    assert is_alive(run.path)
    said = json.loads((run.path / "gateway.json").read_text())
    # A process that is younger than the gateway is another one with the same id.
    said["startedAt"] = "2001-01-01T00:00:00Z"
    (run.path / "gateway.json").write_text(json.dumps(said))
    assert not is_alive(run.path)
    said["pid"] = 2**22 + 1
    (run.path / "gateway.json").write_text(json.dumps(said))
    assert not is_alive(run.path)
    run.release()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"url": 1}', '{"url": "x"}'])
def test_a_damaged_gateway_file_is_no_gateway(home: Home, text: str) -> None:
    run = announced(home, 9400)
    (run.path / "gateway.json").write_text(text)
    assert find_gateway(home, 9400) is None
    assert gateways(home) == []
    run.release()


def test_links_are_not_followed(home: Home, tmp_path: Path) -> None:
    run = announced(home, 9400)
    (tmp_path / "elsewhere.json").write_bytes((run.path / "gateway.json").read_bytes())
    (run.path / "gateway.json").unlink()
    (run.path / "gateway.json").symlink_to(tmp_path / "elsewhere.json")
    assert find_gateway(home, 9400) is None
    run.release()
    assert (tmp_path / "elsewhere.json").exists()
    (home.state / "run" / "9401").symlink_to(tmp_path)
    with pytest.raises(OSError, match="is a link"):
        RunFolder.claim(home, 9401)


def test_other_things_in_the_run_folder_stay(home: Home) -> None:
    stray = home.state / "run" / "9400" / "notes.txt"
    stray.parent.mkdir(parents=True)
    stray.write_text("mine")
    (home.state / "run" / "not-a-port").mkdir()
    run = announced(home, 9500)
    assert stray.read_text() == "mine"
    assert [found.port for found in gateways(home)] == [9500]
    run.release()


@pytest.mark.parametrize("name", ["ci-watcher", "a/b", "..", "Ünï cödé", "x" * 300])
def test_a_provider_has_a_private_folder_of_its_own(home: Home, name: str) -> None:
    made = persist_dir(home, name)
    assert made.parent == home.copilot / "providers"
    assert mode(made) == 0o700
    assert persist_dir(home, name) == made
    assert made != persist_dir(home, name + "!")


def test_a_planted_link_for_a_persist_dir_is_refused(home: Home, tmp_path: Path) -> None:
    (home.copilot / "providers").mkdir(parents=True)
    target = tmp_path / "target"
    target.mkdir(mode=0o755)
    (home.copilot / "providers" / "evil").symlink_to(target)
    with pytest.raises(OSError, match=r"directory|symbolic"):
        persist_dir(home, "evil")
    assert mode(target) == 0o755


@pytest.mark.parametrize("text", ["~nobody-here/x", "~nobody-here"])
def test_a_home_of_nobody_is_a_folder_of_that_name(text: str) -> None:
    assert typed_path(text) == Path(text)
    assert typed_path("~/x") == Path.home() / "x"
