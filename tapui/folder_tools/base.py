"""`tools._base`: what `execute` of a tool file is given."""

import dataclasses
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType

BASE = "tools._base"


def _nothing(*_: str) -> None:
    """Stand in for a callback that nothing hears."""


def _never() -> bool:
    return False


@dataclasses.dataclass
class ToolContext:
    """A call of a tool.

    `workspace_root` is the absolute path of the session's folder. `sync_file_to_server(path,
    content)` tells of a file that the tool has written, `open_document(uri, language, text)` has
    one opened. The rest is tapui's own, and not in the documents: `progress(text)` tells how far
    the call is, `log(text)` shows a line to the person, `cancelled()` is True once the call was
    given up.
    """

    workspace_root: str
    sync_file_to_server: Callable[[str, str], None] = _nothing
    open_document: Callable[[str, str, str], None] = _nothing
    session_id: str = ""
    tool_call_id: str = ""
    progress: Callable[[str], None] = _nothing
    cancelled: Callable[[], bool] = _never
    log: Callable[[str], None] = _nothing


class BaseFinder(MetaPathFinder, Loader):
    """Finds `tools._base` where no folder has the file; nothing is written."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - as Python calls it
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != BASE:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin=__file__)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Have Python make the module."""

    def exec_module(self, module: ModuleType) -> None:
        module.ToolContext = ToolContext  # type: ignore[attr-defined]  # what it is for


def install_base() -> None:
    """Let `from tools._base import ToolContext` work in this process, after all other ways."""
    if not any(isinstance(one, BaseFinder) for one in sys.meta_path):
        sys.meta_path.append(BaseFinder())
