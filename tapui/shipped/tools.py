"""The tool files of a folder's `tools/` as the provider `tools`.

It loads what the person has allowed, and nothing else: the bytes that are imported are those whose
digests their consent has. A changed file waits until it is allowed; the tools of before go on.
"""

import asyncio
import contextlib
import dataclasses
import inspect
import os
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tapui.consents.consents import ConsentFile, KeptConsents
from tapui.core.emitters.plans import FOLDER_TOOLS
from tapui.folder_tools.base import ToolContext
from tapui.folder_tools.files import (
    TOOLS,
    FolderFiles,
    FolderRefusedError,
    mark_of,
    read_files,
)
from tapui.folder_tools.importing import ImportedTool, import_tools
from tapui.folder_tools.schema import ToolFault
from tapui.home.paths import Home
from tapui.provider import Context, Provider, ToolError
from tapui.provider.errors import DeclarationError
from tapui.provider.tool import ToolFunction
from tapui.shipped.tool_results import result_of
from tapui.wire.errors import CallError

LOOK_SECONDS = 0.5
"""Between two looks at the files and the consent."""
CALL_SECONDS = 120.0
"""How long a call may take where its `SCHEMA` has no `timeout`."""
STREAM = "files"
"""The stream that names the files which tools have written and opened."""
_MAX_TOLD = 5
_PLACE = "emitters"


class _AllowedEntry(Struct):
    """Of a consent's entry what is read here."""

    kind: str
    name: str
    cwd: str | None = None


class ConsentedFiles:
    """Whether the person has allowed exactly these files."""

    def __init__(self, state: Path) -> None:
        decoder = msgspec.json.Decoder(ConsentFile[_AllowedEntry])
        self._kept = KeptConsents(state, _PLACE, decoder)

    @property
    def mark(self) -> object:
        """What changes with each consent."""
        return self._kept.mark

    def has(self, files: FolderFiles) -> bool:
        kept = self._kept.one(files.folder, "provider", FOLDER_TOOLS)
        return kept is not None and dict(kept.files) == files.digests


class FolderTools:
    """The tools of a folder. With `consents` they are kept like the files that the person has
    allowed; without, `look` loads what there is, and nothing is loaded by itself."""

    def __init__(self, folder: str, consents: ConsentedFiles | None) -> None:
        self.folder = folder
        self.provider = Provider(TOOLS)
        self.faults: tuple[ToolFault, ...] = ()
        self.is_held = False
        """Whether files wait to be allowed."""
        self._consents = consents
        self._context: Callable[..., Any] | None = None
        self._mark: object = None
        self._digests: dict[str, str] | None = None
        self._untold: list[str] = []
        self._lock = threading.Lock()
        if consents is not None:
            self.provider.background(self._watch)

    def look(self) -> None:
        """Load what has changed, once it is allowed. Not on a loop."""
        with self._lock:
            mark = mark_of(self.folder), self._consents and self._consents.mark
            if mark == self._mark:
                return
            self._mark = mark
            self._load()

    def _load(self) -> None:
        try:
            files = read_files(self.folder)
        except FolderRefusedError as error:
            self._tell_held(str(error))
            return
        if files is None:
            self.is_held, self._digests, self.faults = False, None, ()
            self.provider.replace_tools(())
            return
        if files.digests == self._digests:
            self.is_held = False
            return
        if self._consents is not None and not self._consents.has(files):
            self._tell_held("files changed, and wait until you allow them")
            return
        self.is_held, self._digests = False, files.digests
        found = import_tools(files)
        self._context = found.context
        made, faults = [], list(found.faults)
        for tool in found.tools:
            try:
                made.append(self._declared(tool))
            except DeclarationError as error:
                faults.append(ToolFault(tool.path, 1, str(error)))
        self.provider.replace_tools(made)
        self.faults = tuple(faults)
        self._untold = [str(one) for one in faults if one.is_error]
        for text in self._untold:
            print(text, file=sys.stderr, flush=True)

    def _tell_held(self, why: str) -> None:
        if not self.is_held:
            self.is_held = True
            self._untold.append(f"{TOOLS}/: {why}; the tools of before go on")

    def _declared(self, tool: ImportedTool) -> ToolFunction:
        """Raises `DeclarationError`."""
        execute = tool.execute
        if inspect.iscoroutinefunction(execute):

            async def run_async(arguments: dict[str, Any], context: Context) -> Any:
                with _errors(tool.name):
                    returned = await execute(arguments, self._given(context))
                return result_of(returned, self.folder)

            function: Callable[..., Any] = run_async
        else:

            def run_plain(arguments: dict[str, Any], context: Context) -> Any:
                with _errors(tool.name):
                    returned = execute(arguments, self._given(context))
                return result_of(returned, self.folder)

            function = run_plain
        timeout = tool.schema.get("timeout")
        return ToolFunction(
            function,
            name=tool.name,
            description=tool.schema["description"],
            timeout=CALL_SECONDS if timeout is None else timeout / 1000,
            parameters=tool.schema["inputSchema"],
        )

    def _given(self, context: Context) -> Any:
        """Return a call's `ToolContext`: of the folder's own class where it takes the three
        documented fields."""

        def synced(path: str, content: str) -> None:  # noqa: ARG001 - as the documents have it
            context.push(f"wrote {path}", stream=STREAM)

        def opened(uri: str, language: str, text: str) -> None:  # noqa: ARG001
            context.push(f"open {uri}", stream=STREAM, level="surface")

        ours = ToolContext(
            self.folder,
            synced,
            opened,
            session_id=context.session.id,
            tool_call_id=context.call_id,
            progress=lambda text: context.progress(text=text),
            cancelled=lambda: context.cancelled,
            log=context.log,
        )
        if self._context is None:
            return ours
        try:
            given = self._context(
                workspace_root=self.folder, sync_file_to_server=synced, open_document=opened
            )
        except TypeError:
            return ours
        for one in dataclasses.fields(ours)[3:]:
            if not hasattr(given, one.name):
                with contextlib.suppress(AttributeError, TypeError):  # frozen, or with slots
                    setattr(given, one.name, getattr(ours, one.name))
        return given

    async def _watch(self, session: Any) -> None:
        """Look again and again, and tell the person what is wrong."""
        while True:
            told, self._untold = self._untold, []
            for text in told[:_MAX_TOLD]:
                session.log(text)
            if (more := len(told) - _MAX_TOLD) > 0:
                session.log(f"{TOOLS}/: {more} more faults: tapui tools check")
            await asyncio.sleep(LOOK_SECONDS)
            await asyncio.to_thread(self.look)


@contextlib.contextmanager
def _errors(name: str) -> Any:
    """Turn what a tool raises into an error with its text; the traceback is printed."""
    try:
        yield
    except ToolError:
        raise
    except Exception as error:  # noqa: BLE001 - told to the agent
        print(f"{name} failed:", file=sys.stderr)
        traceback.print_exc(file=sys.stderr)
        text = f"{type(error).__name__}: {error}".rstrip(": ")
        raise ToolError(CallError.INTERNAL, text) from None


def load(folder: str, consents: ConsentedFiles | None = None) -> FolderTools:
    """Return the tools of a folder whose path has no links. Without consents all is loaded."""
    tools = FolderTools(folder, consents)
    tools.look()
    return tools


def run(argv: list[str]) -> int:
    """Serve the tools of the working folder that the person has allowed."""
    from tapui.provider import program

    sys.dont_write_bytecode = True
    environ = dict(os.environ)
    # Tools, and what they start, do without the provider's own token.
    os.environ.pop("TAP_PROVIDER_TOKEN", None)
    folder = os.path.realpath(os.getcwd())  # noqa: PTH109 - text in, text out
    tools = load(folder, ConsentedFiles(Home.of(environ).state))
    program.run(tools.provider, argv, environ)
    return 0
