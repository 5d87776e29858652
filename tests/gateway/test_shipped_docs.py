"""`tapui provider add docs`, and its tools in a session of a real gateway."""

import json
import sys
from pathlib import Path

from tests.cli.running import ran
from tests.gateway.emitting import Watcher
from tests.rig.gateway import Gateway
from tests.shipped.docs_places import install


async def test_what_is_installed_is_answered_in_each_session_of_the_folder(
    gateway: Gateway, tmp_path: Path
) -> None:
    repo = tmp_path / "repo"
    install(repo, "boats", {"boats.py": '"""Boats."""\n\ndef sail():\n    "Sail into the bay."\n'})
    added = ran(gateway.home, "provider", "add", "docs", "--yes", "--folder", str(repo))
    assert added.returncode == 0, added.stderr
    assert "each session of the folder has it from now on" in added.stdout
    written = json.loads((repo / "tap.config.json").read_text())
    args = ["-P", "-m", "tapui.shipped", "docs"]
    assert written == {"providers": [{"name": "docs", "command": sys.executable, "args": args}]}
    again = ran(gateway.home, "provider", "add", "docs", "--yes", "--folder", str(repo))
    assert again.returncode == 1
    assert "has a provider docs already" in again.stderr

    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=str(repo.resolve()))
        await seen.host.offered("s1", "get_library_docs")
        await seen.host.invoke("s1", "resolve_library_id", {"libraryName": "boats"}, id_="a")
        found = await seen.host.expect("tool.outcome", id="a")
        assert found["data"][0]["id"] == "pypi/boats"
        asked = {"libraryId": "pypi/boats", "query": "sail into the bay"}
        await seen.host.invoke("s1", "get_library_docs", asked, id_="b")
        docs = await seen.host.expect("tool.outcome", id="b")
        assert "## boats.sail" in docs["data"]
        assert [*gateway.home.tapui.glob("docs/*/pypi-boats-1.0-*.sqlite")]
        await seen.close("s1")
