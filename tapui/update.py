"""An update of tapui's files under a running process: what it has not imported yet is missing, or
is of another version.

Each late import of a module of ours passes here, and no other import: what needed the module
fails with one text, and the process goes on with what it has.
"""

import os
import re
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

import tapui

RESTART = "restart tapui: it was updated"
_OURS = f"{tapui.__name__}."
_LOST = re.compile(
    r"No module named '?tapui\b|from 'tapui[.']|module 'tapui[.\w]*' has no attribute"
)
"""How Python says that a program of ours lacks a module, or a name in one."""

OnUpdate = Callable[[], None]


class UpdatedError(ImportError):
    """A module of ours cannot be loaded. `is_told`: the person has just been told."""

    def __init__(self, name: str) -> None:
        super().__init__(RESTART, name=name)
        self.is_told = _watch.noticed()


class _Watch:
    """The finder of our modules, and those who want to hear of an update."""

    def __init__(self) -> None:
        self._mark = _mark()
        self._was_updated = False
        self._listeners: list[OnUpdate] = []

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of ours. Raises `UpdatedError`."""
        if not name.startswith(_OURS):
            return None
        # Modules of two versions in one process would fail anywhere, or judge a command wrongly.
        spec = PathFinder.find_spec(name, path, target) if self._mark == _mark() else None
        if spec is None:
            raise UpdatedError(name)
        if isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec

    def noticed(self) -> bool:
        """Tell the listeners, once; return whether one was told now."""
        if self._was_updated:
            return False
        self._was_updated = True
        for one in self._listeners:
            one()
        return bool(self._listeners)

    def listen(self, on_update: OnUpdate) -> Callable[[], None]:
        """Call `on_update` at the first sign of an update; return what ends that."""
        self._listeners.append(on_update)
        if self._was_updated:
            on_update()
        return lambda: self._listeners.remove(on_update)


class _Loader(SourceFileLoader):
    """Loads a module of ours. In a checkout, it may be newer than what it imports."""

    def exec_module(self, module: ModuleType) -> None:
        try:
            super().exec_module(module)
        except UpdatedError:
            raise
        except FileNotFoundError as error:  # Python has listed the folder before it was moved
            if error.filename == self.path:
                raise UpdatedError(module.__name__) from error
            raise
        except ImportError as error:
            if f"{error.name}.".startswith(_OURS):
                raise UpdatedError(module.__name__) from error
            raise
        except AttributeError as error:
            if isinstance(error.obj, ModuleType) and error.obj.__name__.startswith(_OURS):
                raise UpdatedError(module.__name__) from error
            raise


def _mark() -> tuple[int, int, int] | None:
    """Return what changes when the package is replaced; None where it cannot be looked at."""
    try:
        info = os.stat(tapui.__file__)  # noqa: PTH116 - at each import
    except OSError:
        return None
    return info.st_ino, info.st_mtime_ns, info.st_size


_watch = _Watch()
listen = _watch.listen


def watch() -> None:
    """Look after the modules that this process imports from now on."""
    if _watch not in sys.meta_path:
        sys.meta_path.insert(0, _watch)


def look_at(line: str) -> None:
    """Look at a line that a program of ours wrote: one that cannot start tells of an update."""
    if _LOST.search(line):
        _watch.noticed()
