"""The documents' tables are made from the code: messages, limits, keys, commands, settings."""

import re

import pytest

from tapui.cli.commands.completion import SHELLS, script_file
from tests.documents import completion, interface, pages
from tests.documents.interface import README
from tests.documents.tables import written

TABLES = {**interface.tables(), **pages.tables()}


@pytest.mark.parametrize("name", TABLES)
def test_the_table_is_the_codes(name: str) -> None:
    path, table = TABLES[name]
    assert written(path.read_text(), name) == table(), "run python -m tests.documents"


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shells_script_is_the_parsers(shell: str) -> None:
    made = completion.script(shell)
    assert script_file(shell).read_text() == made, "run python -m tests.documents"


def test_limits_that_the_text_names_exist() -> None:
    text = README.read_text()
    limits = {line.split("`")[1] for line in TABLES["limits"][1]().splitlines()[2:]}
    named = set(re.findall(r"`((?:[A-Z]+_)+[A-Z]+)`", text))
    codes = set(re.findall(r"`([A-Z_]+)`", TABLES["errors"][1]() + TABLES["call-errors"][1]()))
    variables = {"TAP_PROVIDER_TOKEN", "COPILOT_HOME", "TAPUI_HOME"}
    assert named - limits - codes - variables == set()
