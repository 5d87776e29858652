"""The JavaScript of the kit's guide runs, at a real gateway."""

import re
import subprocess
from pathlib import Path

import tapui.provider
from tests.javascript.conftest import Bench, Program, environment
from tests.rig.node import module_in, node

GUIDE = (Path(tapui.provider.__file__).parent / "README.md").read_text()
PROVIDER, TEST = re.findall(r"^```js\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


async def test_the_guides_provider_builds_and_stops_a_push(bench: Bench, tmp_path: Path) -> None:
    env = environment(bench.gateway, bench.session)
    with Program(tmp_path, env, PROVIDER) as program:
        program.says(f"({bench.session})")
        assert await bench.data("build", {"targets": ["a", "b"]}) == "2 built"
        await bench.logs("a build")
        ask = {"type": "hook.preToolUse", "sessionId": bench.session, "tool": "bash"}
        for command, reason in (("git push --force", "Never by force."), ("git push", None)):
            await bench.host.send({**ask, "id": command, "args": {"command": command}})
            decision = await bench.host.expect("hook.decision", id=command)
            assert decision.get("reason") == reason
        assert program.leave() == 0


def test_the_guides_test_passes(tmp_path: Path) -> None:
    module_in(tmp_path)
    (tmp_path / "ci.js").write_text(PROVIDER)
    (tmp_path / "ci.test.js").write_text(TEST)
    done = subprocess.run(
        [node(), "--test"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "# pass 1" in done.stdout
