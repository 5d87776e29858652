"""The arguments of a tool become an entry in the same way as a file's."""

from typing import Any

import pytest

from tapui.emitters.config.entries import EmitterEntry
from tapui.emitters.config.entry_keys import PatternCheck, emitter_of
from tapui.emitters.config.fields import EntryRefusedError, Fields, Problems


def asked(**arguments: Any) -> EmitterEntry:
    fields = Fields(arguments, (), Problems("arguments", lambda _path: (1, 1)))
    return emitter_of(fields, PatternCheck(), ownership="modelOwned", is_file=False)


def test_what_a_tool_asks_for_is_temporary_and_the_models() -> None:
    found = asked(name="Watch CI", command="gh run watch", channel="ops", every="1m", force=True)
    assert (found.name, found.stream, found.ownership) == ("watch-ci", "ops", "modelOwned")
    assert (found.lifespan, found.line, found.index) == ("temporary", None, None)


@pytest.mark.parametrize(
    ("keys", "lifespan"),
    [
        ({"lifespan": "Persistent"}, "persistent"),
        ({"scope": "persistent"}, "persistent"),
        ({"scope": "for ever"}, "temporary"),
        ({"lifespan": 5}, "temporary"),
    ],
)
def test_only_one_word_is_persistent(keys: dict[str, Any], lifespan: str) -> None:
    assert asked(name="e", prompt="look", **keys).lifespan == lifespan


def test_what_is_refused_names_the_argument() -> None:
    with pytest.raises(EntryRefusedError, match="both a command and a prompt") as refused:
        asked(name="e", command="x", prompt="y")
    assert refused.value.path == ("prompt",)
