"""The interface's document has every message, field, state, limit and code of the code."""

import re

import pytest

from tests.documents.interface import README, tables, written


@pytest.mark.parametrize("name", tables())
def test_the_table_is_the_codes(name: str) -> None:
    assert written(README.read_text(), name) == tables()[name], "run python -m tests.documents"


def test_limits_that_the_text_names_exist() -> None:
    text = README.read_text()
    limits = {line.split("`")[1] for line in tables()["limits"].splitlines()[2:]}
    named = set(re.findall(r"`((?:[A-Z]+_)+[A-Z]+)`", text))
    codes = set(re.findall(r"`([A-Z_]+)`", tables()["errors"] + tables()["call-errors"]))
    variables = {"TAP_PROVIDER_TOKEN", "COPILOT_HOME", "TAPUI_HOME"}
    assert named - limits - codes - variables == set()
