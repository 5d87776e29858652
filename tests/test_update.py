"""Signs of an update under a process that runs."""

import subprocess
import sys

import pytest

_HEARS = """
import sys
from tapui import update
heard = []
update.listen(lambda: heard.append(1))
for _ in range(2):
    update.look_at(sys.argv[1])
print(len(heard))
"""
_LOADS = """
import sys
from tapui import update
update.watch()
try:
    import tapui.no_such_room.module
except update.UpdatedError as error:
    print(error)
import json, tapui.text
"""


def _python(script: str, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *args], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.machine
@pytest.mark.parametrize(
    ("line", "heard"),
    [
        ("/usr/bin/python3: No module named tapui.index", "1"),
        ("(ModuleNotFoundError: No module named 'tapui')", "1"),
        ("ModuleNotFoundError: No module named 'tapui.files.rotation'", "1"),
        ("ImportError: cannot import name 'x' from 'tapui.text' (/site/tapui/text.py)", "1"),
        ("AttributeError: module 'tapui.text' has no attribute 'x'", "1"),
        ("ModuleNotFoundError: No module named 'mcp'", "0"),
        ("INFO tapui.index: 3 files", "0"),
    ],
)
def test_a_program_that_cannot_start_is_heard_of_once(line: str, heard: str) -> None:
    assert _python(_HEARS, line) == heard


@pytest.mark.machine
def test_a_module_that_is_gone_names_the_way_out_and_others_load() -> None:
    assert _python(_LOADS) == "restart tapui: it was updated"
