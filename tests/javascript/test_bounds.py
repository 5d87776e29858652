"""What the module lets a provider declare is what a real gateway takes."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tapui.wire import limits
from tests.javascript.conftest import PROGRAMS, Bench
from tests.rig.node import module_in, node
from tests.rig.peers import Peer


def printed(folder: Path, program: str, *args: str) -> str:
    """Run a program with the module beside it; return what it prints."""
    (module_in(folder) / "program.js").write_text(program)
    done = subprocess.run(
        [node(), *args, "program.js"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_what_is_declared_is_taken_and_what_is_beyond_is_refused(
    bench: Bench, tmp_path: Path
) -> None:
    lines = printed(tmp_path, (PROGRAMS / "bounds.js").read_text()).splitlines()
    said = [json.loads(line) for line in lines]
    assert len(said) > 60
    beyond = [one["name"] for one in said if one["beyond"] and "refused" not in one]
    assert beyond == []
    for one in said:
        if one["beyond"]:
            continue
        assert "hello" in one, one
        peer = await Peer.connect(bench.gateway.url, token=bench.gateway.token)
        async with peer:
            hello = {**one["hello"], "session": bench.session}
            await peer.send(json.dumps(hello))
            answer = await _answer(peer)
            assert answer["type"] == "hello.ack", (one["name"], answer)
            assert not any("pattern" in text for text in answer.get("warnings", ()))


async def _answer(peer: Peer) -> dict[str, Any]:
    while True:
        message = await peer.next()
        if message["type"] in ("hello.ack", "error"):
            return message


def test_its_numbers_are_those_of_the_interface(tmp_path: Path) -> None:
    program = 'import { limits } from "./tap-provider.js"; console.log(JSON.stringify(limits));'
    said = json.loads(printed(tmp_path, program))
    assert said == {name: getattr(limits, name) for name in said}
    assert said
