"""Every message is read as it was written, and written as it was read, byte for byte."""

import inspect
import pkgutil
from importlib import import_module
from typing import get_args

import msgspec
import pytest
from msgspec import Struct

from tapui import wire as package
from tapui.wire.codec import decode, encode, envelope, read, reader
from tests.corpus import wire

EXAMPLES = [(table, line) for table in wire.TABLES for line in wire.lines_of(table)]
HOW = "add it: `python -m tests.corpus.write`, then look at `git diff tests/corpus/data/wire`"
ALIKE = {kind: table for table in wire.TABLES for kind in wire.kinds(table).values()}


@pytest.mark.parametrize("table", wire.TABLES)
def test_messages_are_written_again_byte_for_byte(table: str) -> None:
    """Lines that fail show a change of the wire: peers of an earlier version send these bytes."""
    for line in wire.lines_of(table):
        kind = wire.kinds(table)[wire.tag_of(line)]
        message = msgspec.json.decode(line, type=kind)
        assert encode(message) == line
        if kind.__struct_config__.tag_field == "kind":
            assert encode(msgspec.json.decode(line, type=wire.TABLES[table])) == line
            continue
        assert encode(decode(line, envelope(line), kind)) == line
        one_pass = reader(wire.kinds(table).values())
        assert one_pass is not None
        assert read(line, one_pass) == message


@pytest.mark.parametrize("table", wire.TABLES)
def test_every_message_and_field_has_a_line(table: str) -> None:
    known: wire.Covered = set()
    for other in wire.TABLES:
        for line in wire.lines_of(other):
            known |= wire.covered(other, line)
    for tag, kind in wire.kinds(table).items():
        missing = sorted(" ".join(one) for one in wire.wanted(kind) - known)
        assert not missing, f"no line of {tag} in {wire.file_of(table)} has {missing}; {HOW}"


def test_every_message_of_the_contract_is_in_a_table() -> None:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for name, kind in inspect.getmembers(import_module(found.name), inspect.isclass):
            is_message = issubclass(kind, Struct) and kind.__struct_config__.tag is not None
            if is_message and not kind.__subclasses__():
                assert kind in ALIKE, f"{name} is in no union of tests/corpus/wire.py's TABLES"


def test_no_message_is_written_in_two_ways() -> None:
    """A direction's tags are unlike each other."""
    for table, union in wire.TABLES.items():
        assert len(wire.kinds(table)) == len(get_args(union))
