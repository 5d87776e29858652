"""The provider `docs`: a library's id by its name, and what its documents say about a question.

A call answers from what is here: tapui's own documents, the person's folders, the packages that are
installed. The remote service is asked only where the person's settings allow it, and no call waits
for their consent.
"""

import os
import re
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tapui.files.foreign_file import open_within, read_up_to
from tapui.files.private_file import unwritable
from tapui.home.paths import Home, typed_path
from tapui.provider import Context, Provider, Session, ToolError
from tapui.provider.errors import INVALID_ARGS
from tapui.secret import Secret
from tapui.settings.settings import LibraryDocs
from tapui.shipped.docs.indexer import Indexer
from tapui.shipped.docs.library_docs import LIBRARIES, normal, resolve, sections_of
from tapui.shipped.docs.package_index import FOLDER, FoundSections, path_of, search
from tapui.shipped.docs.packages import (
    InstalledPackages,
    Package,
    direct_dependencies,
    provides,
)
from tapui.shipped.docs.sections import (
    MOST_CHARS,
    MOST_SECTIONS,
    DocSection,
    allotted,
    joined,
    overview,
    ranked,
    shortened,
    split,
)
from tapui.shipped.docs.standing import ADDRESS, note_asked
from tapui.text import cut, few, safe_text
from tapui.wire.errors import CallError

_ID = re.compile(r"/?[\w.-]+(?:/[\w.-]+){0,3}\Z")
_MOST_NAME = 200
_MOST_QUERY = 2_000
_MOST_FOUND = 10
_MOST_PYTHON = 300
_MOST_NODE = 100
"""Packages that are indexed ahead of any question; further ones are once they are asked for."""
_AHEAD_AFTER = 2.0
"""Seconds after a session's start: it has work of its own then."""
_OWN_FILES = 400
_OWN_BYTES = 4 * 1024 * 1024
_OWN_FILE_BYTES = 1024 * 1024
"""Of the person's own folders: how much is read for a question."""
_CALL_SECONDS = 60.0
_NAMED = {
    "type": "object",
    "properties": {
        "libraryName": {
            "type": "string",
            "description": "The library's name, such as 'playwright' or 'rich'.",
        }
    },
    "required": ["libraryName"],
    "additionalProperties": False,
}
_ASKED = {
    "type": "object",
    "properties": {
        "libraryId": {
            "type": "string",
            "description": "An id that resolve_library_id returned, such as 'pypi/rich'.",
        },
        "query": {
            "type": "string",
            "description": "What you want to know, in words: 'wait until an element is visible'.",
        },
    },
    "required": ["libraryId", "query"],
    "additionalProperties": False,
}


def provider(
    environ: Mapping[str, str] | None = None, *, ahead_after: float = _AHEAD_AFTER
) -> Provider:
    """Return the provider; its folder is the session's, or the working folder.

    `ahead_after` is how many seconds after a session's start its packages begin to be indexed.
    """
    given = dict(os.environ if environ is None else environ)
    return DocsAnswers(given, ahead_after).provider


class DocsAnswers:
    """Answers the calls of the provider's sessions. Its methods block: the kit has threads."""

    def __init__(self, environ: Mapping[str, str], ahead_after: float) -> None:
        self._environ = environ
        self._ahead_after = ahead_after
        self._home = Home.of(environ)
        self._places: dict[str, InstalledPackages] = {}
        self._told: set[str] = set()
        """Sessions whose person was shown how to allow the remote service."""
        self._indexer = Indexer(self._home.state)
        about = {"folder": str(self._home.state / FOLDER)}
        self.provider = docs = Provider("docs", metadata=about, call_timeout=_CALL_SECONDS)
        docs.tool(
            name="resolve_library_id",
            description="Find a library's id by its name, for get_library_docs: one that tapui has"
            " documents of, a package that is installed for this folder, or one of Context7.",
            parameters=_NAMED,
        )(self.resolve)
        docs.tool(
            name="get_library_docs",
            description="Read what a library's documents say about a question: at most 4,000"
            " characters of the version that is installed here. Take the id from"
            " resolve_library_id.",
            parameters=_ASKED,
        )(self.get)
        docs.background(self._index_ahead)

    # The two steps

    def resolve(self, arguments: dict[str, Any], context: Context) -> list[dict[str, str]]:
        """Return the libraries with a name: those that are here, else those of the service."""
        name = _text(arguments, "libraryName", _MOST_NAME)
        found = [*_bundled(name), *self._own_named(name), *self._installed_named(name, context)]
        if found:
            return found[:_MOST_FOUND]
        known, rest = few(sorted(LIBRARIES))
        here = f"Bundled libraries: {', '.join([*known, *rest])}."
        remote, why = self._remote(name, context)
        if remote is not None:
            from tapui.shipped.docs.remote import RemoteError

            try:
                listed = remote.libraries(name)
            except RemoteError as error:
                why = f"{remote.address}: {error}."
            else:
                if listed:
                    source = f"from {remote.address}"
                    return [_entry(one.id, one.title, one.description, source) for one in listed]
                why = f"{remote.address} knows none either."
        raise ToolError(
            CallError.NOT_FOUND, f"no library is called '{safe_text(name)}' here. {here} {why}"
        )

    def get(self, arguments: dict[str, Any], context: Context) -> str:
        """Return what the documents of a library say about a question."""
        library = _text(arguments, "libraryId", _MOST_NAME)
        query = _text(arguments, "query", _MOST_QUERY)
        if not _ID.match(library) or ".." in library:
            raise ToolError(INVALID_ARGS, "libraryId: take one that resolve_library_id returned")
        if (bundled := resolve(library.removeprefix("/"))) is not None:
            about = f"{LIBRARIES[bundled].title} (bundled with tapui)"
            return self._of_own(about, sections_of(bundled), (bundled, query), context)
        if (folder := self._own_folder(library)) is not None:
            about = f"{folder.name} (your own documents)"
            return self._of_own(about, _own_sections(folder), (library, query), context)
        if (package := self._package(library, context)) is not None:
            return self._of_package(package, query, context)
        answer, why = self._asked((library, query), context)
        if answer:
            return answer
        raise ToolError(
            CallError.NOT_FOUND,
            f"no docs available for '{safe_text(library)}': it is neither bundled nor installed"
            f" here. {why}",
        )

    def _of_own(
        self, about: str, sections: list[DocSection], asked: tuple[str, str], context: Context
    ) -> str:
        """Answer from documents that are split at `## `: where no word is in them, ask the service,
        and show an overview without it."""
        if found := ranked(sections, asked[1]):
            return _headed(about, joined(found, MOST_CHARS - len(about) - 4))
        answer, why = self._asked(asked, context)
        if answer:
            return answer
        about = f"{about}: an overview, as nothing in it has a word of the question. {why}"
        return _headed(about, joined(overview(sections), MOST_CHARS - len(about) - 4))

    def _of_package(self, package: Package, query: str, context: Context) -> str:
        found = self._found(package, query, context)
        name = f"{package.name} {package.version}, as installed here (text of the package)"
        if found.is_overview:
            name += ": an overview, as nothing in it has a word of the question"
        about = safe_text(name)
        text = joined(allotted(found.sections), MOST_CHARS - len(about) - 4)
        return _headed(about, text or "The package says nothing about itself.")

    # What is here

    def _own_named(self, name: str) -> list[dict[str, str]]:
        folder = self._own_folder(name)
        if folder is None:
            return []
        return [_entry(folder.name, folder.name, str(folder), "your own documents")]

    def _own_folder(self, name: str) -> Path | None:
        """Return the person's folder of documents that has a name."""
        for one in self._settings().paths:
            folder = typed_path(one)
            if normal(folder.name) == normal(name) and folder.is_dir():
                return folder
        return None

    def _installed(self, folder: str | None) -> list[Package]:
        where = folder or os.path.realpath(".")
        place = self._places.setdefault(where, InstalledPackages(where, self._environ))
        return place.all()

    def _installed_named(self, name: str, context: Context) -> list[dict[str, str]]:
        packages = self._installed(context.session.folder)
        wanted = normal(name.removeprefix("@"))
        exact = [one for one in packages if wanted in (normal(one.name), *_short_names(one))]
        exact = exact or [one for one in packages if provides(one, name)]
        near = [one for one in packages if len(wanted) > 2 and wanted in normal(one.name)]
        found = list(dict.fromkeys((*exact, *near)))[:_MOST_FOUND]
        source = "installed here"
        return [_entry(one.id, f"{one.name} {one.version}", one.summary, source) for one in found]

    def _package(self, library: str, context: Context) -> Package | None:
        packages = self._installed(context.session.folder)
        wanted = normal(library.strip("/"))
        for one in packages:
            if wanted == normal(one.id):
                return one
        return next((one for one in packages if wanted in _short_names(one)), None)

    def _found(self, package: Package, query: str, context: Context) -> FoundSections:
        """Search the index of a package, which is made first where there is none. Raises
        `ToolError`."""
        path = path_of(self._home.state, package)
        for _ in range(2):
            if not path.exists():
                context.progress(text=f"reading {package.name} {package.version}")
                fault = self._indexer.make(package, context.wait)
                if fault is not None:
                    raise ToolError(CallError.INTERNAL, f"{package.name} cannot be read: {fault}")
            try:
                return search(path, query, MOST_SECTIONS)
            except sqlite3.Error:
                path.unlink(missing_ok=True)  # it is damaged: the package is read again
        raise ToolError(CallError.INTERNAL, f"the index of {package.name} cannot be read")

    async def _index_ahead(self, session: Session) -> None:
        """Index what is installed for a session's folder before it is asked for."""
        import asyncio

        await asyncio.sleep(self._ahead_after)
        state = self._home.state
        if (fault := await asyncio.to_thread(unwritable, state / FOLDER)) is not None:
            session.log(f"docs: no package can be indexed: {fault}")
            return
        wanted = await asyncio.to_thread(self._ahead, session.folder)
        run = self._indexer.run([one for one in wanted if not path_of(state, one).exists()])
        try:
            await asyncio.to_thread(run.work)
        finally:
            run.end()
        done = sum(path_of(state, one).exists() for one in wanted)
        if wanted:
            session.push(f"{done} of {len(wanted)} packages are indexed", stream="index")

    def _ahead(self, folder: str | None) -> list[Package]:
        """Return what is indexed before it is asked for."""
        packages = self._installed(folder)
        direct = direct_dependencies(folder or os.path.realpath("."))
        python = [one for one in packages if one.kind == "pypi"][:_MOST_PYTHON]
        node = [one for one in packages if one.kind == "npm" and one.name in direct][:_MOST_NODE]
        return [*python, *node]

    # What is elsewhere

    def _settings(self) -> LibraryDocs:
        """Read the settings anew: what the person has allowed or forbidden holds at once."""
        from tapui.settings.loading import Checks, ConfigError, config_path, load

        # What else is in the file is checked by those who use it.
        checks = Checks(_nothing, _nothing, _nothing, lambda _: {})
        try:
            return load(
                config_path(self._environ), self._environ, checks=checks
            ).settings.library_docs
        except ConfigError:
            return LibraryDocs(context7="never")

    def _remote(self, about: str, context: Context) -> "tuple[Any, str]":
        """Return the service where it may be asked, else None and what to say about it."""
        from tapui.settings.loading import config_path

        settings = self._settings()
        address = settings.address or ADDRESS
        if settings.context7 == "never":
            return None, "No service is asked: the person's settings forbid it."
        if settings.context7 == "always":
            from tapui.shipped.docs.remote import Context7

            key = self._environ.get("CONTEXT7_API_KEY")
            return Context7(address, self._home.state, Secret(key) if key else None), ""
        where = safe_text(str(config_path(self._environ)))
        how = f'[library-docs] context7 = "always" in {where}'
        session = context.session
        if session.id not in self._told:
            self._told.add(session.id)
            note_asked(self._home.state)
            session.log(
                f"docs: the agent asked for '{cut(safe_text(about), 60)}', which is not here."
                f" {address} is asked for such once you write {how}"
            )
        return None, f"{address} may know it, and is asked once the person writes {how}."

    def _asked(self, asked: tuple[str, str], context: Context) -> tuple[str, str]:
        """Return what the service says, "" where it says nothing or is not asked, and why."""
        from tapui.shipped.docs.remote import RemoteError

        remote, why = self._remote(asked[0], context)
        if remote is None:
            return "", why
        try:
            text = remote.context(*asked)
        except RemoteError as error:
            return "", f"{remote.address}: {error}."
        if not text:
            return "", f"{remote.address} has nothing about it."
        about = safe_text(f"{asked[0]}, from {remote.address} (text of that service)")
        return _headed(about, shortened(text, MOST_CHARS - len(about) - 4)), ""


def _nothing(_text: str) -> None:
    return None


def _text(arguments: Mapping[str, Any], name: str, most: int) -> str:
    """Return an argument, not blank and not too long. Raises `ToolError`."""
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ToolError(INVALID_ARGS, f"{name}: takes a text that is not blank")
    if len(value) > most:
        raise ToolError(INVALID_ARGS, f"{name}: takes at most {most:,} characters")
    return value.strip()


def _headed(about: str, text: str) -> str:
    return f"# {about}\n\n{text}"


def _entry(library_id: str, title: str, description: str, source: str) -> dict[str, str]:
    shown = cut(safe_text(description), 200)
    return {
        "id": cut(safe_text(library_id), _MOST_NAME),
        "title": cut(safe_text(title), 100),
        "description": f"{shown} ({source})" if shown else f"({source})",
    }


def _bundled(name: str) -> list[dict[str, str]]:
    found = resolve(name)
    if found is None:
        return []
    library = LIBRARIES[found]
    return [_entry(found, library.title, library.description, "bundled, always available")]


def _short_names(package: Package) -> tuple[str, ...]:
    """Return what a package may be called besides its id."""
    return normal(package.name), normal(package.name.removeprefix("@"))


def _own_sections(folder: Path) -> list[DocSection]:
    """Read a folder of the person's own documents, bounded."""
    found: list[DocSection] = []
    left = _OWN_BYTES
    base = os.path.realpath(folder)
    for file in sorted(folder.rglob("*.md"))[:_OWN_FILES]:
        try:
            fd, _ = open_within(base, str(file.relative_to(folder)))
        except OSError:
            continue  # a link that leads out, or no file any more
        try:
            data = read_up_to(fd, min(left, _OWN_FILE_BYTES))
        finally:
            os.close(fd)
        left -= len(data)
        found += split(data.decode("utf-8", "replace"))
        if left <= 0:
            break
    return found
