"""The house stands: imports run down, in no circle, one name is one thing, the core does no I/O."""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = [
    {
        "docs",
        "jsonrpc",
        "text",
        "secret",
        "times",
        "cron",
        "match_time",
        "schemas",
        "invocation",
        "update",
    },
    {"files"},
    {"folder_tools"},
    {"home"},
    {"wire"},
    {"projection"},
    {"client"},
    {"provider"},
    {"policies"},
    {"settings"},
    {"core"},
    {"telemetry"},
    {"records"},
    {"index"},
    {"replay"},
    {"runtime"},
    {"testing"},
    {"hosts", "tools", "emitters", "mcp_servers", "consents", "shipped"},
    {"tower"},
    {"authoring"},
    {"station"},
    {"cli", "__main__"},
]
PURE = ("text", "secret", "wire", "projection", "policies", "core")
IO_MODULES = frozenset(
    {
        "asyncio",
        "concurrent",
        "ctypes",
        "datetime",
        "fcntl",
        "glob",
        "http",
        "io",
        "logging",
        "mmap",
        "multiprocessing",
        "os",
        "pathlib",
        "psutil",
        "queue",
        "random",
        "secrets",
        "select",
        "selectors",
        "shutil",
        "signal",
        "socket",
        "ssl",
        "subprocess",
        "sys",
        "tempfile",
        "textual",
        "threading",
        "time",
        "urllib",
        "uuid",
        "uvloop",
        "websockets",
    }
)
IO_CALLS = frozenset({"open", "print", "input", "breakpoint", "exec", "eval"})
BEHIND_THE_FEED = (
    "client",
    "consents",
    "core",
    "hosts",
    "index",
    "records",
    "replay",
    "runtime",
    "tools",
    "emitters",
    "mcp_servers",
)
OF_AUTHORS = frozenset({"Link", "Provider", "Session"})
"""Words of the provider kit, whose readers do not know the rooms where others have them, too."""
MOST_IN_ROOM = 24
MOST_OF_ONE_NAME = 4
VAGUE = frozenset({"utils", "util", "helpers", "helper", "manager", "common", "misc"})


def _room(module: str) -> str:
    """Return the floor's own name in a dotted module name, "" for the package itself."""
    return [*module.split("."), ""][1]


def _running(tree: ast.Module) -> Iterator[ast.AST]:
    """Walk what runs, which leaves out blocks for type checkers."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting.extend(node.orelse)
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def _public_classes(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def _swallows(node: ast.AST) -> TypeGuard[ast.ExceptHandler | ast.Call]:
    match node:
        case ast.ExceptHandler(body=[ast.Pass() | ast.Continue()]):
            return True
        case ast.Call(func=ast.Name(id="suppress") | ast.Attribute(attr="suppress")):
            return True
        case ast.Call(keywords=keywords):
            return any(keyword.arg == "return_exceptions" for keyword in keywords)
    return False


class House:
    """A package's modules and what each imports, read from the source without running it."""

    def __init__(self, package: Path) -> None:
        self.name = package.name
        self.trees: dict[str, ast.Module] = {}
        self.lines: dict[str, list[str]] = {}
        self.packages: set[str] = set()
        for file in sorted(package.rglob("*.py")):
            parts = (package.name, *file.relative_to(package).with_suffix("").parts)
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            source = file.read_text()
            self.trees[name] = ast.parse(source, filename=str(file))
            self.lines[name] = source.split("\n")
            if parts[-1] == "__init__":
                self.packages.add(name)
        self.imports = {name: set(self._imports(name, _running)) for name in self.trees}
        self.named = {name: set(self._imports(name, ast.walk)) for name in self.trees}
        """What each module imports, for type checkers too."""

    def _imports(self, name: str, walk: Callable[[ast.Module], Iterable[ast.AST]]) -> Iterator[str]:
        tree = self.trees[name]
        package = name if name in self.packages else name.rpartition(".")[0]
        for node in walk(tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                above = package.split(".")[: len(package.split(".")) + 1 - node.level]
                base = ".".join([*above, *([node.module] if node.module else [])])
                base = base if node.level else (node.module or "")
                for alias in node.names:
                    full = f"{base}.{alias.name}"
                    yield full if full in self.trees else base

    def floor(self, module: str) -> int | None:
        """Return the floor of one of the package's modules, -1 if it is on none, None for
        the package itself."""
        if not _room(module):
            return None
        return next((i for i, floor in enumerate(FLOORS) if _room(module) in floor), -1)

    def faults(self) -> list[str]:
        """Return every breach, in words."""
        return [
            *self._upward(),
            *self._impure(),
            *self._circles(),
            *self._vague(),
            *self._crowded(),
            *self._doubles(),
            *self._swallowed(),
        ]

    def _upward(self) -> Iterator[str]:
        for module, imports in self.imports.items():
            here = self.floor(module)
            if here == -1:
                yield f"{module} is on no floor"
            for other in imports & self.trees.keys():
                there = self.floor(other)
                if here is not None and there is not None and there > here:
                    yield f"{module} imports {other}, which is above it"
                if _room(module) == "tower" and _room(other) in BEHIND_THE_FEED:
                    yield f"{module} reaches behind the feed: {other}"

    def _impure(self) -> Iterator[str]:
        for module, imports in self.imports.items():
            if _room(module) not in PURE:
                continue
            for other in imports:
                if other.split(".")[0] in IO_MODULES:
                    yield f"{module} imports {other}"
            for node in ast.walk(self.trees[module]):
                match node:
                    case ast.Call(func=ast.Name(id=called)) if called in IO_CALLS:
                        yield f"{module} calls {called}()"

    def _circles(self) -> Iterator[str]:
        done: set[str] = set()
        path: list[str] = []

        def visit(module: str) -> Iterator[str]:
            if module in path:
                yield "circle: " + " > ".join([*path[path.index(module) :], module])
                return
            if module in done:
                return
            path.append(module)
            for other in sorted(self.named[module] & self.trees.keys() - {module}):
                yield from visit(other)
            path.pop()
            done.add(module)

        for module in self.trees:
            yield from visit(module)

    def _vague(self) -> Iterator[str]:
        for module in self.trees:
            if module.rpartition(".")[2] in VAGUE:
                yield f"{module} has a name that says nothing"

    def _crowded(self) -> Iterator[str]:
        modules = [name.rpartition(".") for name in self.trees.keys() - self.packages]
        for room, count in Counter(room for room, _, _ in modules).items():
            if count > MOST_IN_ROOM:
                yield f"{room} holds {count} modules"
        for name, count in Counter(name for _, _, name in modules).items():
            if count > MOST_OF_ONE_NAME and name != "__main__":
                yield f"{count} modules are called {name}"

    def _doubles(self) -> Iterator[str]:
        homes: dict[str, str] = {}
        for module, tree in self.trees.items():
            for name in _public_classes(tree):
                if _room(module) == "provider" and name in OF_AUTHORS:
                    continue
                if name in homes:
                    yield f"{name} is a class of {homes[name]} and of {module}"
                homes.setdefault(name, module)

    def _swallowed(self) -> Iterator[str]:
        """An error that goes nowhere has its reason beside it, in a comment."""
        for module, tree in self.trees.items():
            for node in ast.walk(tree):
                if not _swallows(node):
                    continue
                last = node.body[0].lineno if isinstance(node, ast.ExceptHandler) else node.lineno
                beside = self.lines[module][node.lineno - 2 : last]
                if not any("#" in line for line in beside):
                    yield f"{module}:{node.lineno} swallows errors and does not say why"


def test_the_house_stands() -> None:
    house = House(ROOT / "tapui")
    assert "tapui.wire.codec" in house.trees
    assert house.faults() == []


@pytest.mark.parametrize(
    ("file", "source", "fault"),
    [
        ("core/a.py", "import asyncio", "tapui.core.a imports asyncio"),
        ("core/a.py", "def f():\n    from os import path", "tapui.core.a imports os"),
        ("wire/a.py", "print('x')", "tapui.wire.a calls print()"),
        ("core/a.py", "from tapui.cli import main", "tapui.core.a imports tapui.cli.main, which"),
        ("core/a.py", "from ..cli import main", "tapui.core.a imports tapui.cli.main, which"),
        ("tower/a.py", "import tapui.core.b", "tapui.tower.a reaches behind the feed"),
        ("core/a.py", "from tapui.core import b", "circle: tapui.core.a > tapui.core.b"),
        (
            "core/a.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tapui.core import b",
            "circle: tapui.core.a > tapui.core.b",
        ),
        (
            "records/c.py",
            "class Word: ...",
            "Word is a class of tapui.core.c and of tapui.records.c",
        ),
        (
            "records/c.py",
            "try:\n    f()\nexcept OSError:\n    pass",
            "tapui.records.c:3 swallows errors and does not say why",
        ),
        (
            "records/c.py",
            "import contextlib\nwith contextlib.suppress(OSError):\n    f()",
            "tapui.records.c:2 swallows errors and does not say why",
        ),
        (
            "records/c.py",
            "await gather(a, b, return_exceptions=True)",
            "tapui.records.c:1 swallows errors and does not say why",
        ),
        ("records/utils.py", "", "tapui.records.utils has a name that says nothing"),
        ("attic/a.py", "", "tapui.attic.a is on no floor"),
    ],
)
def test_a_breach_is_found(tmp_path: Path, file: str, source: str, fault: str) -> None:
    package = tmp_path / "tapui"
    sound = {
        "cli/main.py": "",
        "core/c.py": "class Word: ...",
        "core/b.py": "from tapui.core import a",
        "core/a.py": "",
    }
    for name, text in {**sound, file: source}.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    assert any(found.startswith(fault) for found in House(package).faults())


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ([f"core/a{i}.py" for i in range(25)], "tapui.core holds 25 modules"),
        ([f"core/a{i}/line.py" for i in range(5)], "5 modules are called line"),
    ],
)
def test_a_crowd_is_found(tmp_path: Path, files: list[str], fault: str) -> None:
    package = tmp_path / "tapui"
    for file in files:
        (package / file).parent.mkdir(parents=True, exist_ok=True)
        (package / file).touch()
    assert House(package).faults() == [fault]
    (package / files[0]).unlink()
    assert House(package).faults() == []


def test_a_sound_house_has_no_faults(tmp_path: Path) -> None:
    package = tmp_path / "tapui"
    for name, text in {
        "__init__.py": "",
        "wire/a.py": "import msgspec",
        "core/a.py": "from tapui.wire import a\nclass Word: ...\nclass _Own: ...",
        "records/a.py": "class Record: ...\nclass _Own: ...",
        "runtime/a.py": "class Line: ...",
        "runtime/b.py": "try:\n    f()\nexcept OSError:\n    pass  # nobody waits for it",
        "runtime/c.py": "# Each is logged.\nfound = gather(a, return_exceptions=True)",
        "cli/main.py": "import asyncio\nfrom tapui.core.a import a",
    }.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    assert House(package).faults() == []


def test_the_repository_stands_alone() -> None:
    """No module cites a text that the repository does not have."""
    elsewhere = re.compile(r"design section|design\.md|\.\./shared", re.IGNORECASE)
    files = [*(ROOT / "tapui").rglob("*.py"), *(ROOT / "tapui").rglob("*.md"), ROOT / "README.md"]
    assert [str(file) for file in files if elsewhere.search(file.read_text())] == []


@pytest.mark.machine
def test_the_top_level_holds_what_is_agreed() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    found = {path.partition("/")[0] for path in listed}
    assert {one for one in found if not one.startswith(".")} == {
        *("LICENSE", "README.md", "pyproject.toml"),
        *("tapui", "tests", "themes"),
    }
