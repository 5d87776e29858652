"""`tapui findings` as a process, without a gateway."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.running import ran
from tests.rig.gateway import Home, tapui_argv
from tests.shipped.scanned import log, result, shop


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shop(tmp_path / "p", "bandit", "eslint")


def ids(home: Home, folder: Path, *more: str) -> list[str]:
    done = ran(home, "findings", "list", "--json", "--folder", str(folder), *more)
    assert done.returncode == 0
    return [json.loads(line)["id"] for line in done.stdout.splitlines()]


def test_findings_are_listed_and_shown(home: Home, folder: Path) -> None:
    shown = ran(home, "findings", "list", "--folder", str(folder)).stdout
    assert [word in shown for word in ("B602", "app/shop.py:6", "no-eval", "suppressed")] == [
        True, True, True, False
    ]  # fmt: skip
    (suppressed,) = ids(home, folder, "--status", "suppressed")
    assert suppressed not in ids(home, folder, "--level", "error")
    full = ran(home, "findings", "show", suppressed[:10], "--folder", str(folder)).stdout
    assert "inSource accepted: fixed in the next release" in full
    assert "6    return eval(text); // eslint-disable-line" in full
    assert ran(home, "findings", "show", "s-none", "--folder", str(folder)).returncode == 1


def test_a_log_of_standard_input_is_kept(home: Home, folder: Path) -> None:
    def added(name: str, data: bytes) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            tapui_argv("findings", "add", name, "--folder", str(folder)),
            input=data,
            env=home.env(),
            capture_output=True,
            timeout=60,
            check=False,
        )

    before = ids(home, folder)
    assert added("ci", log(result("A"))).returncode == 0
    assert len(ids(home, folder)) == len(before) + 1
    assert added("ci", b"<html>").returncode == 1
    assert added("../ci", log()).returncode == 2
    assert len(ids(home, folder)) == len(before) + 1
    assert sorted(one.name for one in folder.iterdir()) == [
        "app", "bandit.sarif", "eslint.sarif", "src"
    ]  # fmt: skip


def test_only_the_person_decides(home: Home, folder: Path) -> None:
    first = ids(home, folder)[0]
    args = ("findings", "triage", first, "rejected", "--reason", "no", "--folder", str(folder))
    refused = ran(home, *args)
    assert refused.returncode == 1
    assert "has no terminal: decide in a terminal" in refused.stderr
    assert first in ids(home, folder)
    home.settle('[approvals]\ncommand-line = "always"\n')
    assert ran(home, *args).returncode == 0
    assert first not in ids(home, folder)
    assert ran(home, *args, "--until", "soon").returncode == 1
    exported = ran(home, "findings", "export", "--folder", str(folder)).stdout
    (run,) = json.loads(exported)["runs"]
    (one,) = [each for each in run["results"] if each["properties"]["status"] == "rejected"]
    assert one["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "no"}
    ]
    assert (
        "## rejected (1)"
        in ran(home, "findings", "export", "--format", "md", "--folder", str(folder)).stdout
    )


def test_the_files_of_the_providers_entry_are_read(home: Home, folder: Path) -> None:
    (folder / "one.json").write_bytes(log(result("A")))
    entry = {"name": "sast", "command": "python3", "env": {"SAST_FILES": "*.json"}}
    (folder / "tap.config.json").write_text(json.dumps({"providers": [entry]}))
    shown = ran(home, "findings", "list", "--folder", os.fspath(folder)).stdout
    assert "A " in shown
    assert "B602" not in shown
