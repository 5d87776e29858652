"""The configuration that the documents show, run as it stands there."""

import re
from pathlib import Path

import pytest

from tapui.emitters.config.reading import read
from tests.gateway.emitting import Watcher
from tests.rig.gateway import Gateway

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "tapui/docs/emitters.md"
TEST = """
import unittest

class Sums(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(1 + 1, {sum})
"""
GH = "#!/bin/sh\necho 'failure Pair by code https://github.example/runs/1'\n"


def configurations(page: Path) -> list[str]:
    """Return the configurations of emitters in a document."""
    blocks = re.findall(r"^```jsonc\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    return [block for block in blocks if '"emitters"' in block]


def configuration(page: Path = PAGE) -> str:
    """Return the first of them."""
    return configurations(page)[0]


async def test_a_test_that_fails_and_a_failed_run_reach_the_agent(
    gateway: Gateway, tmp_path: Path
) -> None:
    home = gateway.home.root
    (home / "bin").mkdir()
    (home / "bin" / "gh").write_text(GH)
    (home / "bin" / "gh").chmod(0o755)
    (home / ".bash_profile").write_text(f'export PATH="{home}/bin:$PATH"\n')
    repo = (tmp_path / "repo").resolve()
    repo.mkdir()
    (repo / "tap.config.json").write_text(configuration())
    (repo / "test_sums.py").write_text(TEST.format(sum=2))
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=str(repo))
        await seen.allow("ci")
        sent = await seen.host.expect("session.send")
        assert "emitter=ci/stdout: failure Pair by code https://github" in sent["prompt"]
        for event in ("session.busy", "session.idle"):
            turn = {"type": "session.event", "sessionId": "s1", "event": event, "data": {}}
            await seen.host.send(turn)
        await seen.allow("tests")
        await seen.until(lambda: "watching" in seen.lines.get("tests@tap", ()), "it watches")
        (repo / "test_sums.py").write_text(TEST.format(sum=3))
        sent = await seen.host.expect("session.send")
        assert "emitter=tests/stdout: FAIL: test_sum" in sent["prompt"]
        assert "Traceback" not in sent["prompt"]
        (repo / "test_sums.py").write_text(TEST.format(sum=2))
        await seen.until(lambda: "surface: OK" in seen.lines["tests@tap"], "it is mended")
        failures = [one for one in seen.lines["ci@tap"] if one.startswith("inject: failure")]
        assert len(failures) == 1


@pytest.mark.parametrize("number", range(len(configurations(PAGE))))
def test_each_of_the_page_is_read_without_a_fault(tmp_path: Path, number: int) -> None:
    (tmp_path / "tap.config.json").write_text(configurations(PAGE)[number])
    found = read(tmp_path)
    assert found.emitters
    assert found.problems == ()


def test_the_readmes_first_emitter_is_one_of_them(tmp_path: Path) -> None:
    (tmp_path / "tap.config.json").write_text(configuration(ROOT / "README.md"))
    found = read(tmp_path)
    assert [one.name for one in found.emitters] == ["tests"]
    assert found.problems == ()
    (entry,) = re.findall(
        r"^    \{\n.*?^    \}", configuration(ROOT / "README.md"), re.DOTALL | re.MULTILINE
    )
    assert entry in configuration()
