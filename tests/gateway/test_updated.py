"""A gateway under which the files of tapui are replaced goes on, and the person is told once."""

import json
import shutil
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

import tapui
from tapui import update
from tests.gateway.emitting import repository
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host, Provider, Tower
from tests.rig.waiting import until_async

PACKAGE = Path(tapui.__file__).parent
RULES = """
[[rules]]
allow = "npm ci"

[[rules]]
deny = "npm publish"
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, from which a gateway runs."""
    return copied(tmp_path / "site" / "tapui")


def copied(to: Path) -> Path:
    """Copy the package without what running processes write into it."""
    shutil.copytree(PACKAGE, to, ignore=shutil.ignore_patterns("__pycache__"))
    return to


def moved(package: Path) -> None:
    """Give each room another name, as a version with other rooms has them."""
    for room in [one for one in package.iterdir() if one.is_dir()]:
        room.rename(package / f"{room.name}_anew")
    for module in package.glob("[a-z]*.py"):
        module.rename(package / f"{module.stem}_anew.py")


def replaced(package: Path) -> None:
    """Put another version in its place; as pip does, the old one is moved away first."""
    new = copied(package.with_name("new"))
    package.rename(package.with_name("old"))
    new.rename(package)


@pytest.mark.parametrize("change", [moved, replaced])
async def test_what_runs_goes_on_and_the_person_is_told_once(
    home: Home,
    serve: Callable[..., Gateway],
    package: Path,
    tmp_path: Path,
    change: Callable[[Path], None],
) -> None:
    home.settle(RULES)
    gateway = serve("--no-attach", env={"PYTHONPATH": str(package.parent)})
    folder = repository(tmp_path / "repo", {"name": "watch", "command": "true"})
    async with (
        await Host.hello(gateway.url, gateway.internal_token, hooks=True) as host,
        await Tower.hello(gateway.url, gateway.internal_token) as tower,
        AsyncExitStack() as stack,
    ):
        await host.open("s1")
        provider = await Provider.bind(gateway.url, gateway.token, session="s1")
        stack.push_async_callback(provider.close)
        change(package)
        # A command that rules judge: what reads it is loaded with the first one, and the person is
        # asked instead.
        detail = {"kind": "shell", "fullCommandText": "npm ci"}
        request = {"type": "approval.request", "sessionId": "s1", "kind": "permission"}
        await host.send({**request, "id": "a1", "detail": detail})
        asked = (await tower.event("approval.requested"))["approval"]
        decision = {"approvalId": asked["id"], "decision": "approve"}
        await tower.send({"type": "approval.decide", **decision})
        assert (await host.expect("approval.answer", id="a1"))["decision"] == "approve"
        notice = await tower.expect("tower.notice", message=update.RESTART)
        assert notice["level"] == "warning"
        hook = {"type": "hook.preToolUse", "sessionId": "s1", "tool": "bash"}
        await host.send({**hook, "id": "h1", "args": {"command": "npm publish"}})
        assert (await host.expect("hook.decision", id="h1"))["decision"] == "ask"
        # The emitters of a folder, loaded or not.
        await host.open("s2", cwd=folder)
        # Calls, new connections, pushes.
        await host.invoke("s1", "greet", {"name": "Ada"}, id_="c1")
        await provider.answer(data="hello")
        assert (await host.expect("tool.outcome", id="c1"))["data"] == "hello"
        async with await Tower.hello(gateway.url, gateway.internal_token) as second:
            assert {one["id"] for one in second.snapshot["state"]["sessions"]} >= {"s1", "s2"}
        said = gateway.home.tapui / "run" / str(gateway.port) / "gateway.json"
        await until_async(
            lambda: json.loads(said.read_bytes()).get("wasUpdated"), what="gateway.json tells of it"
        )
        texts = [one["message"] for one in tower.inbox.messages if one["type"] == "tower.notice"]
        assert update.RESTART not in texts
        assert all(text.endswith(f"failed: {update.RESTART}") for text in texts), texts
        assert host.is_open
        assert provider.is_open
    assert gateway.stderr.count(f"warning: {update.RESTART}\n") == 1
    assert "Traceback" not in gateway.stderr
    done = gateway.home.run("status")
    assert update.RESTART in done.stderr
    assert done.returncode == 0
    found = json.loads(gateway.home.run("doctor", "--json").stdout)
    (about,) = [one for one in found["findings"] if update.RESTART in one["text"]]
    assert "stop --port" in about["command"]
    assert gateway.stop() == 0
