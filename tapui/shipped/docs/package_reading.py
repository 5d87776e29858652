"""Reads a package into its index. What cannot be read or parsed is left out, and all is bounded."""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from tapui.files.private_file import private_folder
from tapui.shipped.docs.package_index import FOLDER, FORM, path_of
from tapui.shipped.docs.packages import Package, PackageFile, files_of, text_of
from tapui.shipped.docs.python_api import ApiSection, PythonApi, first_sentence
from tapui.shipped.docs.sections import split_any
from tapui.shipped.docs.type_declarations import declarations

_FILE_BYTES = {
    "metadata": 512 * 1024,
    "document": 512 * 1024,
    "stub": 1024 * 1024,
    "python": 1024 * 1024,
    "types": 512 * 1024,
}
"""How much of a file is read. A program that is longer is passed over: a part of one cannot be
parsed."""
_PACKAGE_BYTES = 24 * 1024 * 1024
_PACKAGE_SECONDS = 15.0
"""Of computing: what a loaded machine has read of a package is not kept as the whole."""
_MOST_SECTIONS = 12_000
_TEXT = 6_000
"""Characters of a section."""
_HANDED_ON = 1.4
"""What a name counts more that a package offers itself: it is meant for users."""
_NO_WORDS = 0.5
"""What a name without a description counts."""
_OLD = 0.5
"""What a name counts that is there for programs of before."""
_FRESH = "."
"""What the name of a file that is not whole yet begins with."""
_LEFT = 600.0
"""Seconds after which such a file has been left."""
_SCHEMA = """
CREATE VIRTUAL TABLE sections USING fts5(
    heading, name, brief, text, rest UNINDEXED, weight UNINDEXED,
    tokenize='porter unicode61 remove_diacritics 2');
"""


def make(state: Path, package: Package) -> int:
    """Index a package; return its number of sections. Raises `OSError` and `sqlite3.Error`."""
    path = path_of(state, package)
    private_folder(state, FOLDER, path.parent.name)
    fresh = path.with_name(f"{_FRESH}{path.name}.{os.getpid()}")
    _remove_left(path.parent)
    try:
        os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
        with contextlib.closing(sqlite3.connect(fresh)) as db:
            # A file that a crash leaves half written is never put into its place.
            db.execute("PRAGMA journal_mode=OFF")
            db.execute("PRAGMA synchronous=OFF")
            db.executescript(_SCHEMA)
            count = _fill(db, package)
            db.commit()
        fresh.rename(path)
    finally:
        fresh.unlink(missing_ok=True)
    _remove_others(path, package)
    return count


def _remove_left(folder: Path) -> None:
    """Remove what a process that was killed has left half written."""
    for left in folder.glob(f"{_FRESH}*"):
        with contextlib.suppress(FileNotFoundError):  # the process has put it into its place
            if left.name.endswith(f".{os.getpid()}") or time.time() - left.stat().st_mtime > _LEFT:
                left.unlink()


def _remove_others(path: Path, package: Package) -> None:
    """Remove indexes of the same package: of versions that are not installed there any more."""
    begin = path.name[: len(path.name) - len(f"-{package.stamp}.{FORM}.sqlite")]
    begin = begin[: len(begin) - len(package.version)]
    for other in path.parent.glob("*.sqlite"):
        rest = other.name.removeprefix(begin)
        if other != path and other.name.startswith(begin) and rest[:1].isdigit():
            other.unlink(missing_ok=True)


def _fill(db: sqlite3.Connection, package: Package) -> int:
    count = 0
    for section in sections_of(package):
        if count >= _MOST_SECTIONS:
            break
        text = section.text[:_TEXT]
        weight = _weight(section)
        name, brief = _parts(section.name), section.brief[:_TEXT]
        row = (section.name, name, brief, text, section.rest[:_TEXT], weight)
        with contextlib.suppress(UnicodeEncodeError):  # half a character: the section is left out
            db.execute("INSERT INTO sections VALUES (?, ?, ?, ?, ?, ?)", row)
            count += 1
    return count


def _weight(section: ApiSection) -> float:
    """Return what a section counts beside others that have the same words."""
    weight = _HANDED_ON if section.is_handed_on else 1.0
    weight *= 1.0 if section.brief else _NO_WORDS
    return weight * _OLD if section.is_old else weight


def _parts(name: str) -> str:
    """Return the last two parts of a name, with the words that it is made of."""
    last = ".".join(name.split(".")[-2:]) if " " not in name else name
    split = "".join(f" {one}" if one.isupper() else one for one in last)
    return f"{last} {split}" if split.strip() != last else last


def sections_of(package: Package) -> Iterator[ApiSection]:
    """Yield all that is read of a package. What cannot be read or parsed is left out."""
    deadline = time.process_time() + _PACKAGE_SECONDS
    left = _PACKAGE_BYTES
    api = PythonApi()
    for file in files_of(package):
        most = _FILE_BYTES[file.form]
        data = text_of(package, file.path, most + 1)
        if data is None:
            continue
        left -= len(data)
        if left < 0 or time.process_time() > deadline:
            break
        is_program = file.form in ("python", "stub")
        if is_program and len(data) > most:
            continue
        if is_program:
            _take(api, file, data)
        else:
            yield from _of_document(package, file, data[:most].decode("utf-8", "replace"))
    yield from api.sections()


def _take(api: PythonApi, file: PackageFile, data: bytes) -> None:
    parts = file.path.rpartition(".")[0].replace("-stubs/", "/").split("/")
    is_package = parts[-1] == "__init__"
    module = ".".join(parts[:-1] if is_package else parts)
    with contextlib.suppress(ValueError):  # it is not Python, or not this version's
        api.take(module, data, is_package=is_package, is_stub=file.form == "stub")


def _of_document(package: Package, file: PackageFile, text: str) -> Iterator[ApiSection]:
    if file.form == "types":
        yield from declarations(text)
        return
    if file.form == "metadata":
        _, _, text = text.replace("\r\n", "\n").partition("\n\n")
    for one in split_any(text, package.name):
        yield ApiSection(one.heading, first_sentence(one.text), one.text)
