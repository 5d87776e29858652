"""The packages that are installed for a folder, and the files of one that are read.

Only files are read, all of them bounded. No interpreter and no package manager is started, and no
`.pth` file is followed. What a link leads to outside of the place where packages are installed is
not read.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from tapui.files.foreign_file import decoded, inner_parts, open_within, read_up_to, real_path

Kind = Literal["pypi", "npm"]

_ENVIRONMENTS = (".venv", "venv", "env", ".env")
_FOLDERS_UP = 5
"""Folders above a session's in which installed packages are looked for, up to its repository's."""
_MOST_PACKAGES = 2_000
_METADATA_BYTES = 256 * 1024
_LIST_BYTES = 4 * 1024 * 1024
_PYPI_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?\Z")
_NPM_NAME = re.compile(r"(?:@[a-z0-9~-][\w.~-]{0,99}/)?[A-Za-z0-9~-][\w.~-]{0,99}\Z")
_VERSION = re.compile(r"[0-9A-Za-z][\w.+!-]{0,63}\Z")
_SUMMARY = 200
_MOST_FILES = 3_000
"""Files of a package that are listed."""
_SKIPPED = frozenset(
    {"tests", "test", "testing", "_vendor", "_vendored", "vendor", "node_modules", "__pycache__"}
)
"""Folders of a package with nothing for its users, or with other packages."""


class Package(NamedTuple):
    """A package in one of the places where packages are installed."""

    kind: Kind
    name: str
    version: str
    summary: str
    root: str
    """The folder that packages are installed in, without links: nothing outside of it is read."""
    place: str
    """Within it: the `.dist-info` folder, or the package's own."""
    stamp: str
    """Changes when another build of the version is installed."""

    @property
    def id(self) -> str:
        name = _flat(self.name) if self.kind == "pypi" else self.name.removeprefix("@")
        return f"{self.kind}/{name}".replace("~", "-")


class _PackageJson(msgspec.Struct):
    name: str = ""
    version: str = ""
    description: str = ""
    types: str = ""
    typings: str = ""


class _Wanted(msgspec.Struct, rename="camel"):
    dependencies: dict[str, msgspec.Raw] = {}
    dev_dependencies: dict[str, msgspec.Raw] = {}


_PACKAGE_JSON = msgspec.json.Decoder(_PackageJson)


class InstalledPackages:
    """The packages of one folder, looked for anew every few seconds."""

    def __init__(
        self,
        folder: str,
        environ: Mapping[str, str],
        clock: Callable[[], float] = time.monotonic,
        keeps: float = 5.0,
    ) -> None:
        self._folder = folder
        self._environ = environ
        self._clock = clock
        self._keeps = keeps
        self._found: tuple[float, list[Package]] | None = None

    def all(self) -> list[Package]:
        """Return them, those of Python first. Of a name, the nearest counts. Blocks."""
        now = self._clock()
        if self._found is None or now - self._found[0] > self._keeps:
            known: dict[str, Package] = {}
            for one in installed(self._folder, self._environ):
                known.setdefault(one.id, one)
            self._found = (now, list(known.values()))
        return self._found[1]


def installed(folder: str, environ: Mapping[str, str]) -> Iterator[Package]:
    try:
        folders = list(_upwards(folder))
    except OSError:
        return  # the folder was removed: nothing is installed there
    environments = [root for one in folders for root in _site_packages(one)]
    if not environments and (active := environ.get("VIRTUAL_ENV")):
        # The person's own choice, which no file of the folder makes.
        environments = list(_of_environment(active, active))
    for root in environments:
        yield from _python_packages(root)
    for one in folders:
        modules = _inside(one, f"{one}/node_modules")
        if modules is not None:
            yield from _node_packages(modules)


def direct_dependencies(folder: str) -> set[str]:
    """Return the names that the nearest `package.json` asks for."""
    try:
        for one in _upwards(folder):
            if (data := _read(one, "package.json", _METADATA_BYTES)) is not None:
                found = msgspec.json.decode(decoded(data), type=_Wanted)
                return {*found.dependencies, *found.dev_dependencies}
    except (OSError, msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return set()  # without it, packages are read once they are asked for
    return set()


def _upwards(folder: str) -> Iterator[str]:
    """Yield the folder and those above it, up to its repository's. Raises `OSError`.

    Without a repository it stands alone: what lies above it is not its own.
    """
    here = Path(real_path(Path(folder)))
    above = [here, *here.parents][: _FOLDERS_UP + 1]
    top = next((at for at, one in enumerate(above) if (one / ".git").exists()), 0)
    yield from map(str, above[: top + 1])


def _site_packages(folder: str) -> Iterator[str]:
    for name in _ENVIRONMENTS:
        if Path(folder, name, "pyvenv.cfg").is_file():
            yield from _of_environment(f"{folder}/{name}", folder)


def _of_environment(environment: str, within: str) -> Iterator[str]:
    try:
        with os.scandir(f"{environment}/lib") as entries:
            libraries = sorted(one.name for one in entries)
    except OSError:
        return  # it is no environment
    for one in libraries:
        path = f"{environment}/lib/{one}/site-packages"
        if one.startswith(("python3", "pypy3")) and (root := _inside(within, path)):
            yield root


def _inside(folder: str, path: str) -> str | None:
    """Return a folder without links, None where it is not there or lies outside of `folder`."""
    try:
        real, base = real_path(Path(path)), real_path(Path(folder))
    except OSError:
        return None
    return real if inner_parts(base, real) and Path(real).is_dir() else None


def _read(root: str, path: str, most: int) -> bytes | None:
    """Return the beginning of a file below `root`; None where it cannot be read or leads out."""
    try:
        fd, _ = open_within(root, path)
    except OSError:
        return None
    try:
        return read_up_to(fd, most)
    except OSError:
        return None
    finally:
        os.close(fd)


def _names(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(one.name for one in entries)[: 2 * _MOST_PACKAGES]
    except OSError:
        return []


# Python


def _python_packages(root: str) -> Iterator[Package]:
    count = 0
    for name in _names(root):
        if name.endswith(".dist-info") and count < _MOST_PACKAGES:
            found = _python_package(root, name)
            count += found is not None
            if found is not None:
                yield found


def _python_package(root: str, place: str) -> Package | None:
    data = _read(root, f"{place}/METADATA", _METADATA_BYTES)
    if data is None:
        return None
    fields = _fields(data.decode("utf-8", "replace"))
    name, version = fields.get("name", ""), fields.get("version", "")
    # The folder's name is the installer's, its metadata the package's: they have to agree.
    if not _PYPI_NAME.match(name) or not _VERSION.match(version):
        return None
    if _flat(place.removesuffix(".dist-info").rpartition("-")[0]) != _flat(name):
        return None
    summary = " ".join(fields.get("summary", "").split())[:_SUMMARY]
    return Package("pypi", name, version, summary, root, place, _stamp(root, place, "RECORD"))


def _fields(text: str) -> dict[str, str]:
    """Return the fields of a package's metadata by their names in lower case, the first of each."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        if not line.strip():
            break
        name, colon, value = line.partition(":")
        if colon and not line.startswith((" ", "\t")):
            found.setdefault(name.lower(), value.strip())
    return found


def _flat(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _stamp(root: str, place: str, name: str) -> str:
    try:
        info = Path(root, place, name).stat()
    except (OSError, ValueError):
        return "0"
    return f"{info.st_mtime_ns:x}.{info.st_size:x}"


def _recorded_files(package: Package) -> list[str]:
    """Return the files that a package's installer has listed; those of a folder without a list."""
    data = _read(package.root, f"{package.place}/RECORD", _LIST_BYTES)
    if data is None:
        return list(_walked(package.root, package.name.replace("-", "_")))
    rows = data.decode("utf-8", "replace").splitlines()
    # A name with a comma is in quotes; it is no name of a module.
    paths = (row.split(",")[0] for row in rows if not row.startswith('"'))
    return [one for one in paths if one and not one.startswith("/") and ".." not in one.split("/")]


def provides(package: Package, name: str) -> bool:
    """Return whether a package of Python is imported by a name that is not its own."""
    if package.kind != "pypi" or not name.isidentifier():
        return False
    data = _read(package.root, f"{package.place}/RECORD", _LIST_BYTES) or b""
    begins = (f"{name}/__init__.py", f"{name}.py")
    return any(data.startswith(one.encode()) or f"\n{one}".encode() in data for one in begins)


def _walked(root: str, place: str) -> Iterator[str]:
    """Yield the files below a folder, of it and of links to nothing outside."""
    waiting, count = [place], 0
    while waiting and count < _MOST_FILES:
        folder = waiting.pop(0)
        if _inside(root, f"{root}/{folder}") is None:
            continue
        for name in _names(f"{root}/{folder}"):
            path = f"{folder}/{name}"
            here = Path(root, path)
            if not here.is_dir():
                count += 1
                yield path
            elif name not in _SKIPPED and not here.is_symlink():
                waiting.append(path)


# Node


def _node_packages(root: str) -> Iterator[Package]:
    count = 0
    for name in _names(root):
        names = [f"{name}/{one}" for one in _names(f"{root}/{name}")] if name[0] == "@" else [name]
        for one in names:
            if count >= _MOST_PACKAGES or not _NPM_NAME.match(one):
                continue
            if (found := _node_package(root, one)) is not None:
                count += 1
                yield found


def _node_package(root: str, place: str) -> Package | None:
    about = _package_json(root, place)
    if about is None or about.name != place or not _VERSION.match(about.version):
        return None
    summary = " ".join(about.description.split())[:_SUMMARY]
    stamp = _stamp(root, place, "package.json")
    return Package("npm", place, about.version, summary, root, place, stamp)


def _package_json(root: str, place: str) -> _PackageJson | None:
    data = _read(root, f"{place}/package.json", _METADATA_BYTES)
    try:
        return _PACKAGE_JSON.decode(decoded(data or b""))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


# What is read of a package


class PackageFile(NamedTuple):
    """A file that is read."""

    form: Literal["metadata", "document", "python", "stub", "types"]
    path: str
    """Below the package's root."""


def files_of(package: Package) -> list[PackageFile]:
    """Return the files of a package that tell its users something: documents first, and of programs
    those that are not deep within."""
    found = _python_files(package) if package.kind == "pypi" else _node_files(package)
    order = ("metadata", "document", "stub", "python", "types")
    return sorted(
        found[:_MOST_FILES], key=lambda one: (order.index(one.form), one.path.count("/"), one.path)
    )


def _python_files(package: Package) -> list[PackageFile]:
    found = [PackageFile("metadata", f"{package.place}/METADATA")]
    for path in _recorded_files(package):
        *folders, name = path.split("/")
        if _SKIPPED.intersection(folders) or path.startswith(package.place):
            continue
        if name.endswith(".pyi"):
            found.append(PackageFile("stub", path))
        elif name.endswith(".py"):
            found.append(PackageFile("python", path))
        elif _is_document(name):
            found.append(PackageFile("document", path))
    return found


def _node_files(package: Package) -> list[PackageFile]:
    about = _package_json(package.root, package.place) or _PackageJson()
    main = about.types or about.typings
    found = []
    for path in _walked(package.root, package.place):
        if path.endswith((".d.ts", ".d.mts", ".d.cts")):
            found.append(PackageFile("types", path))
        elif _is_document(path.rpartition("/")[2]):
            found.append(PackageFile("document", path))
    # The file that the package names goes before those that it is made of.
    first = os.path.normpath(f"{package.place}/{main}") if main else ""
    return sorted(found, key=lambda one: one.path != first)


def _is_document(name: str) -> bool:
    lower = name.lower()
    if lower.startswith(("license", "licence", "changelog", "changes", "history", "contributing")):
        return False
    return lower in ("llms.txt", "llms-full.txt", "readme") or lower.endswith((".md", ".rst"))


def text_of(package: Package, path: str, most: int) -> bytes | None:
    """Return the beginning of a file of a package; None where it cannot be read or leads out."""
    return _read(package.root, path, most)
