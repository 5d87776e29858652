"""Providers that ship, added by a command: each session of the folder has them, unasked."""

import asyncio
import json
import os
from pathlib import Path

from tests.cli.running import ran
from tests.gateway.emitting import Watcher
from tests.rig.gateway import Gateway, Home


async def test_what_was_added_is_there_and_notes_name_their_writer(
    home: Home, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    home.settle(f'[memory]\nfolder = "{notes}"\n')
    folder = os.path.realpath(tmp_path / "repo")  # noqa: ASYNC240
    os.mkdir(folder)  # noqa: PTH102
    with Gateway(home, "--no-attach") as gateway:
        for name in ("memory", "changed-files"):
            words = ("provider", "add", name, "--folder", folder, "--yes")
            done = await asyncio.to_thread(ran, home, *words)
            assert done.returncode == 0, done.stderr
        async with Watcher(gateway) as seen:
            await seen.host.open("s1", cwd=folder)
            await seen.host.offered("s1", "memory", "get_changed_files")
            given = {"command": "save", "path": "n.md", "content": "a note"}
            await seen.host.invoke("s1", "memory", given, id_="c1")
            outcome = await seen.host.expect("tool.outcome", id="c1")
            assert outcome["data"] == "Saved memory 'n.md'."
            await seen.host.invoke("s1", "get_changed_files", {}, id_="c2")
            outcome = await seen.host.expect("tool.outcome", id="c2")
            assert "not a git repository" in outcome["error"]
            assert seen.waiting == {}
        listed = await asyncio.to_thread(ran, home, "memory", "list", "--json")
    (note,) = map(json.loads, listed.stdout.splitlines())
    assert (note["name"], note["writer"]["by"], note["writer"]["session"]) == (
        "n.md",
        "agent",
        "s1",
    )
    assert (notes / "n.md").read_text() == "a note"
