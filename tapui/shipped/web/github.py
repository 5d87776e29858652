"""GitHub: its address, and which of its repositories a folder is of.

The address is the person's (`GITHUB_API_URL`). A repository names itself only, by its remote: where
that is of another host, there is no repository to ask about.
"""

import os
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from tapui.runtime.folders.git_folders import (
    GitFolders,
    RepositoryError,
    find_git_folders,
    read_file,
)
from tapui.shipped.web import tokens
from tapui.shipped.web.service import LOOPBACK, ServiceError, WebService
from tapui.wire.errors import CallError

VARIABLE = "GITHUB_API_URL"
_ADDRESS = "https://api.github.com"
_VERSION = "2022-11-28"
"""Of the API (`X-GitHub-Api-Version`)."""
_MOST_CONFIG = 256 * 1024
_MOST_REF = 4096
_MOST_PACKED = 16 * 1024 * 1024
_SECTION = re.compile(r'\[\s*(\w+)\s+"((?:[^"\\]|\\.)*)"\s*\]\s*\Z')
_VALUE = re.compile(r"(\w+)\s*=\s*\"?([^\"#;]*?)\"?\s*(?:[#;].*)?\Z")
_REMOTE = re.compile(
    r"(?:(?:https|ssh|git)://(?:[^@/]*@)?(?P<host>[^/:@]+)(?::\d+)?/|(?:[\w.-]+@)?(?P<scp>[\w.-]+):)"
    r"/?(?P<owner>[\w.-]{1,100})/(?P<name>[\w.-]{1,100}?)(?:\.git)?/?\Z"
)
_COMMIT = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")


class GitHubRepository(NamedTuple):
    """A repository of a host: `acme/shop` of github.com."""

    host: str
    owner: str
    name: str

    def __str__(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def path(self) -> str:
        """Its place in the API."""
        return f"/repos/{self.owner}/{self.name}"


class CheckedOut(NamedTuple):
    """What a folder has checked out: its branch ("" without one) and the commit of HEAD, "" where
    there is none yet or it cannot be read."""

    branch: str
    commit: str


def address_of(environ: Mapping[str, str]) -> str:
    """Return the address of the API that the person asks."""
    return environ.get(VARIABLE, "").strip() or _ADDRESS


def host_of(address: str) -> str:
    """Return the host of GitHub whose API is at an address: where its repositories are."""
    host = urlsplit(address).hostname or ""
    return host if host in LOOPBACK else host.removeprefix("api.")


def github_service(
    environ: Mapping[str, str],
    *,
    scope: str = "",
    tell: Callable[[str], None] = lambda _: None,
    **options: object,
) -> WebService:
    """Return GitHub, with the person's token. Raises `ServiceError` for an address that is none.

    `options` are those of `WebService`.
    """
    address = address_of(environ)
    host = host_of(address)
    return WebService(
        "GitHub" if host == "github.com" else host,
        address,
        tokens.github(host, environ),
        variable=VARIABLE,
        headers={
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": _VERSION,
        },
        scope=scope,
        tell=tell,
        **options,  # type: ignore[arg-type]
    )


def repository_of(folder: str, host: str) -> GitHubRepository:
    """Return the repository that a folder's branch is pushed to, as its remote names it.

    Raises `ServiceError` where there is none, or it is of another host. Reads files; starts no git.
    """
    found = find_git_folders(os.fsencode(folder))
    if found is None:
        raise ServiceError(CallError.NOT_FOUND, "the folder is not a git repository")
    try:
        text = read_file(found.shared + b"/config", _MOST_CONFIG).decode("utf-8", "replace")
    except (OSError, RepositoryError):
        text = ""
    sections = _sections(text)
    branch = sections.get(("branch", found.branch()), {})
    remotes = [name for kind, name in sections if kind == "remote"]
    for name in dict.fromkeys((branch.get("remote", ""), "origin", *remotes)):
        match = _REMOTE.match(sections.get(("remote", name), {}).get("url", ""))
        if match is None or ".." in match["owner"] + match["name"]:
            continue
        there = (match["host"] or match["scp"]).lower().removeprefix("ssh.")
        if there == host:
            return GitHubRepository(host, match["owner"], match["name"])
    raise ServiceError(CallError.NOT_FOUND, f"the folder has no remote at {host}")


def checked_out(folder: str) -> CheckedOut:
    """Return the branch and the commit of a folder. Reads files; starts no git."""
    found = find_git_folders(os.fsencode(folder))
    if found is None:
        return CheckedOut("", "")
    branch = found.branch()
    if not branch or branch.startswith("("):
        return CheckedOut("", _commit(found, b"HEAD"))
    return CheckedOut(branch, _commit(found, b"refs/heads/" + os.fsencode(branch)))


def _commit(found: GitFolders, ref: bytes) -> str:
    if b".." in ref:
        return ""
    for folder in (found.folder, found.shared):
        try:
            text = read_file(folder + b"/" + ref, _MOST_REF).strip()
        except (OSError, ValueError, RepositoryError):
            continue  # it is among the packed ones, or not there
        if _COMMIT.match(text):
            return text.decode()
    try:
        packed = read_file(found.shared + b"/packed-refs", _MOST_PACKED)
    except (OSError, ValueError, RepositoryError):
        return ""
    match = re.search(rb"^([0-9a-f]{40,64}) " + re.escape(ref) + rb"$", packed, re.MULTILINE)
    return match[1].decode() if match else ""


def _sections(text: str) -> dict[tuple[str, str], dict[str, str]]:
    """Read the sections of git's configuration that have a name. The last value of a key counts."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    keys: dict[str, str] = {}
    for row in text.splitlines():
        row = row.strip()  # noqa: PLW2901 - the same line
        if row.startswith("["):
            match = _SECTION.match(row)
            keys = {} if match is None else found.setdefault((match[1].lower(), match[2]), {})
        elif match := _VALUE.match(row):
            keys[match[1].lower()] = match[2].strip()
    return found
