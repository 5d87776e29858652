"""What the tables know of programs and their options. They are read as this module is imported,
which a gateway does once it has started: an update of tapui's files fails a later import
(`tapui/update.py`), so that rules are never judged by the tables of another version."""

from collections.abc import Iterator
from typing import Any

from tapui.policies.tables import OptionSet, ProgramTable, TableFile

VerbPath = tuple[str, ...]
"""A program and its verbs."""
_FILES = ("git", "files", "building", "node", "network")
_PLAIN, _ASKED = ProgramTable(), ProgramTable(asked=True)


def _below(
    file: TableFile, path: VerbPath, table: object
) -> Iterator[tuple[VerbPath, ProgramTable]]:
    """Yield the programs or verbs of a table, by their path from it on."""
    keys = file.as_type(table, dict[str, Any], *path)
    verbs = {key: keys.pop(key) for key in [*keys] if isinstance(keys[key], dict)}
    one = file.as_type(keys, ProgramTable, *path)
    found: list[tuple[VerbPath, ProgramTable]] = [((), one)] if keys or not verbs else []
    found += [(phrase, _PLAIN) for phrase in one.verbs]
    found += [(phrase, _ASKED) for phrase in one.asked_verbs]
    for verb, inner in verbs.items():
        found += _below(file, (*path, verb), inner)
    for name in (path[-1], *one.also):
        yield from (((name, *rest), known) for rest, known in found)


def read(file: TableFile) -> dict[VerbPath, tuple[ProgramTable, list[OptionSet]]]:
    """Return what a file knows of each program and verb, with the sets that it has.

    Raises `TableError`.
    """
    given = file.as_type(file.tables.pop("sets", {}), dict[str, Any], "sets")
    sets = {name: file.as_type(table, OptionSet, "sets", name) for name, table in given.items()}
    found: dict[VerbPath, ProgramTable] = {}
    for program, table in file.tables.items():
        for path, known in _below(file, (program,), table):
            if path in found:
                raise file.error("it is there twice", *path)
            found[path] = known
    for path, known in list(found.items()):
        for verb in known.shared_verbs:
            of = (*known.verbs_of, *verb)
            if of not in found:
                raise file.error(f"{' '.join(of)} is not there: `shared-verbs`", *path)
            same = [other for other in found if other[: len(of)] == of]
            found |= {(*path, *verb, *other[len(of) :]): found[other] for other in same}
        if unknown := [name for name in known.sets if name not in sets]:
            raise file.error(f"there is no set {unknown[0]}: `sets`", *path)
    return {path: (one, [sets[name] for name in one.sets]) for path, one in found.items()}


KNOWN: dict[str, dict[VerbPath, tuple[ProgramTable, list[OptionSet]]]] = {}
"""What is known of each program and its verbs."""
for _name in _FILES:
    for _path, _known in read(TableFile(_name)).items():
        KNOWN.setdefault(_path[0], {})[_path] = _known
