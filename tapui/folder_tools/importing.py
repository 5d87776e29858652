"""Tool files as modules: imported from the bytes that were hashed, each tried in a child first.

A file that loops, exits, forks, crashes or raises while it is imported costs itself alone: the
child names the file that it is at, and the parent goes on behind it with another child. Nothing is
written into the folder, and nothing of `__pycache__` is loaded.
"""

import contextlib
import importlib
import importlib.machinery
import json
import linecache
import marshal
import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType
from typing import Any, NamedTuple

from tapui.folder_tools.base import BASE, install_base
from tapui.folder_tools.files import TOOLS, FolderFiles
from tapui.folder_tools.schema import ToolFault, duplicates, schema_faults

IMPORT_SECONDS = 3.0
"""How long a file may take."""
ALL_SECONDS = 30.0
"""... and all files of a folder together; what comes later is left out."""
_MAX_TEXT = 2_000
_INIT = "__init__.py"


class ImportedTool(NamedTuple):
    """A tool as its file has it."""

    path: str
    name: str
    schema: dict[str, Any]
    execute: Callable[..., Any]


class ImportedTools(NamedTuple):
    """What was imported, and what is wrong; a tool with an error is in `faults` alone.

    `context` is the folder's own `ToolContext`, None where it has none.
    """

    tools: tuple[ImportedTool, ...]
    faults: tuple[ToolFault, ...]
    context: Callable[..., Any] | None = None


class FolderImporter(MetaPathFinder, Loader):
    """Finds `tools` and what is in it among files that were read, and nowhere else."""

    def __init__(self, files: FolderFiles) -> None:
        self._files = files

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - as Python calls it
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != TOOLS and not fullname.startswith(f"{TOOLS}."):
            return None
        place = fullname.replace(".", "/")
        for file, is_package in ((f"{place}/{_INIT}", True), (f"{place}.py", False)):
            if file in self._files.sources:
                return self._spec(fullname, file, place if is_package else None)
        return self._spec(fullname, None, place) if place in self._files.folders else None

    def _spec(
        self, fullname: str, file: str | None, package: str | None
    ) -> importlib.machinery.ModuleSpec:
        root = self._files.folder
        origin = None if file is None else f"{root}/{file}"
        spec = importlib.machinery.ModuleSpec(
            fullname, self, origin=origin, is_package=package is not None
        )
        spec.loader_state = file
        spec.has_location = file is not None
        if package is not None:
            spec.submodule_search_locations = [f"{root}/{package}"]
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Have Python make the module."""

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        file = None if spec is None else spec.loader_state
        if file is None or module.__name__ == TOOLS:
            # The folder's own `__init__.py` would import each file without a guard.
            return
        path = f"{self._files.folder}/{file}"
        linecache.checkcache(path)
        process = os.getpid()
        try:
            code = compile(self._files.sources[file], path, "exec", dont_inherit=True)
            exec(code, module.__dict__)  # noqa: S102 - the person's file, to be run
        finally:
            if os.getpid() != process:
                os._exit(0)  # a child that the file forked


def install(files: FolderFiles) -> ModuleType:
    """Make these files the package `tools` of this process, in the place of any before."""
    sys.meta_path[:] = [one for one in sys.meta_path if not isinstance(one, FolderImporter)]
    for name in [one for one in sys.modules if one == TOOLS or one.startswith(f"{TOOLS}.")]:
        del sys.modules[name]
    sys.meta_path.insert(0, FolderImporter(files))
    install_base()
    if files.folder not in sys.path:
        sys.path.append(files.folder)  # last: nothing of it hides a module of Python's
    package = importlib.import_module(TOOLS)
    package.TOOL_SCHEMAS = {}  # type: ignore[attr-defined]  # as the documents name them
    package.TOOL_EXECUTORS = {}  # type: ignore[attr-defined]
    return package


def import_tools(files: FolderFiles, seconds: float = IMPORT_SECONDS) -> ImportedTools:
    """Import the tool files, each tried in a child before. Not on a loop."""
    paths = files.tool_files()
    faults = tried(files, paths, seconds)
    package = install(files)
    found: list[tuple[str, ModuleType]] = []
    for path in paths:
        if any(fault.path == path for fault in faults):
            continue
        module, text = _imported(path, seconds)
        if module is None:
            faults.append(ToolFault(path, 1, text))
        else:
            found.append((path, module))
    tools = _tools_of(files, found, faults)
    for one in tools:
        package.TOOL_SCHEMAS[one.name] = one.schema
        package.TOOL_EXECUTORS[one.name] = one.execute
    context = None
    if f"{TOOLS}/_base.py" in files.sources and BASE in sys.modules:
        context = getattr(sys.modules[BASE], "ToolContext", None)
    return ImportedTools(tools, tuple(faults), context if callable(context) else None)


def _tools_of(
    files: FolderFiles, found: list[tuple[str, ModuleType]], faults: list[ToolFault]
) -> tuple[ImportedTool, ...]:
    made: list[ImportedTool] = []
    named: list[tuple[str, int, str]] = []
    for path, module in found:
        line = _line_of(files.sources[path])
        stem = path.rpartition("/")[2].removesuffix(".py")
        schema, execute = getattr(module, "SCHEMA", None), getattr(module, "execute", None)
        try:
            own = schema_faults(path, line, stem, schema)
        except Exception as error:  # noqa: BLE001 - types of the file run its code
            own = [ToolFault(path, line, f"SCHEMA cannot be read: {type(error).__name__}")]
        if not callable(execute):
            own.append(ToolFault(path, 1, "execute is no function"))
        faults += own
        if isinstance(schema, dict) and isinstance(schema.get("name"), str):
            named.append((path, line, schema["name"]))
        if isinstance(schema, dict) and callable(execute):
            made.append(ImportedTool(path, str(schema.get("name")), schema, execute))
    faults += duplicates(named)
    bad = {fault.path for fault in faults if fault.is_error}
    return tuple(one for one in made if one.path not in bad)


def _line_of(source: bytes) -> int:
    before, found, _ = source.partition(b"\nSCHEMA")
    return before.count(b"\n") + 2 if found else 1


def _imported(path: str, seconds: float) -> tuple[ModuleType | None, str]:
    """Import a file in a thread; one that never returns is left to itself, and left out."""
    found: list[tuple[ModuleType | None, str]] = []
    thread = threading.Thread(target=lambda: found.append(_import(path)), daemon=True)
    thread.start()
    thread.join(seconds)
    return found[0] if found else (None, f"it is still being imported after {seconds:g} s")


def _import(path: str) -> tuple[ModuleType | None, str]:
    name = path.removesuffix(".py").replace("/", ".")
    try:
        return importlib.import_module(name), ""
    except SystemExit as error:
        return None, f"it ends the program while it is imported (sys.exit({error.code!r}))"
    except BaseException as error:  # noqa: BLE001 - told to the author
        return None, _told(error, path)


def _told(error: BaseException, path: str) -> str:
    """Return an error on one line, with the line of the file at which it was raised."""
    text = "".join(traceback.format_exception_only(error)).strip().replace("\n", "; ")
    lines = [
        number
        for frame, number in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename.endswith(f"/{path}")
    ]
    at = f", at line {lines[-1]}" if lines else ""
    return f"it cannot be imported: {text[:_MAX_TEXT]}{at}"


# The trial, in a child


def tried(files: FolderFiles, paths: list[str], seconds: float) -> list[ToolFault]:
    """Import files in children; return the fault of each that a child did not come past."""
    faults: list[ToolFault] = []
    end = time.monotonic() + ALL_SECONDS
    left = list(paths)
    while left:
        if time.monotonic() >= end:
            faults += [ToolFault(one, 1, "all files took too long to import") for one in left]
            break
        trial = _Trial(files, left)
        done, fault = trial.run(seconds)
        faults += done
        if fault is None:
            break
        at = trial.at or left[0]
        faults.append(ToolFault(at, 1, fault))
        left = left[left.index(at) + 1 :]
    return faults


class _Trial:
    """One child, which imports files one after the other and tells of each."""

    def __init__(self, files: FolderFiles, paths: list[str]) -> None:
        self.at = ""
        """The file that it is at."""
        self._files = files
        self._paths = paths

    def run(self, seconds: float) -> tuple[list[ToolFault], str | None]:
        """Return the faults of files that it came past, and why it ended before all were done."""
        files = self._files
        given = marshal.dumps((files.folder, files.sources, files.folders, self._paths))
        reader, writer = os.pipe()
        try:
            child = subprocess.Popen(
                [sys.executable, "-P", "-m", "tapui.folder_tools.importing", str(writer)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(writer,),
                start_new_session=True,
            )
        except OSError as error:
            os.close(reader)
            os.close(writer)
            return [], f"it could not be tried: {error.strerror or error}"
        os.close(writer)
        try:
            assert child.stdin is not None, "it is a pipe"
            with contextlib.suppress(OSError), child.stdin as pipe:  # its end tells what happened
                pipe.write(given)
            return self._heard(child, reader, seconds)
        finally:
            os.close(reader)
            with contextlib.suppress(ProcessLookupError):  # it has ended, and all below it
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def _heard(
        self, child: "subprocess.Popen[bytes]", reader: int, seconds: float
    ) -> tuple[list[ToolFault], str | None]:
        faults: list[ToolFault] = []
        heard = b""
        due = time.monotonic() + seconds + ALL_SECONDS / 3  # Python starts first
        while True:
            ready, _, _ = select.select([reader], [], [], max(due - time.monotonic(), 0))
            if not ready:
                return faults, f"it is still being imported after {seconds:g} s"
            part = os.read(reader, 64 * 1024)
            if not part:
                return faults, _how_ended(child)
            heard += part
            *lines, heard = heard.split(b"\n")
            for line in lines:
                what, path, text = json.loads(line)
                if what == "all":
                    return faults, None
                self.at = path
                due = time.monotonic() + seconds
                if text:
                    faults.append(ToolFault(path, 1, text))


def _how_ended(child: "subprocess.Popen[bytes]") -> str:
    try:
        code = child.wait(1.0)
    except subprocess.TimeoutExpired:
        return "it closed what tells of its import"
    if code < 0:
        return f"it ends Python while it is imported ({signal.Signals(-code).name})"
    return f"it ends Python while it is imported (exit code {code})"


def main(number: str) -> int:
    """Import what is given on standard input; tell of each file on the descriptor."""
    folder, sources, folders, paths = marshal.loads(sys.stdin.buffer.read())  # noqa: S302 - ours
    process, fd = os.getpid(), int(number)
    os.set_inheritable(fd, False)
    install(FolderFiles(folder, sources=sources, folders=folders))
    for path in paths:
        _tell(fd, "begin", path, "")
        text = _import(path)[1]
        if os.getpid() != process:
            os._exit(0)  # a child that the file forked
        _tell(fd, "end", path, text)
    _tell(fd, "all", "", "")
    return 0


def _tell(fd: int, what: str, path: str, text: str) -> None:
    os.write(fd, json.dumps([what, path, text]).encode() + b"\n")


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    os._exit(code)  # threads of the files do not keep it
