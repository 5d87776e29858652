"""The other people with accounts on this machine; the consent to Copilot's port beside them."""

import contextlib
import os
import pwd
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from tapui.files import private_file
from tapui.files.foreign_file import text_of

_HOMES, _FIRST_PERSON = ("/Users", 501) if sys.platform == "darwin" else ("/home", 1000)
"""Below that number are the accounts of services, unless the system was set otherwise."""
_NOBODY = frozenset({65_534, 2**32 - 2})
_CONTAINER = ("/.dockerenv", "/run/.containerenv")
"""Files that Docker and Podman put into each container."""
_NO_SHELLS = frozenset({"", "nologin", "false", "true", "sync", "git-shell"})
FILE = "copilot-port.json"


def other_people(
    uid: int | None = None,
    accounts: Iterable[pwd.struct_passwd] | None = None,
    homes: Path | None = None,
    *,
    first: int = _FIRST_PERSON,
    container: Sequence[str] = _CONTAINER,
) -> list[str]:
    """Return the names of the people besides `uid` (this process's user) who can log in here.

    They are those of the accounts that the system lists, and the owners of folders beside one's own
    home, as a directory service does not list its users. An account with an empty home, or none,
    was made for a program. Root is not counted: it can do anything. In a container those count that
    run processes now: images bring accounts along, and some of them are machines that people share.
    `first` is the lowest uid of a person, `container` are files that mark a container.
    """
    uid = os.getuid() if uid is None else uid
    people = {
        account.pw_uid: account.pw_name
        for account in (pwd.getpwall() if accounts is None else accounts)
        if _is_person(account.pw_uid, first)
        and Path(account.pw_shell).name not in _NO_SHELLS
        and _is_lived_in(Path(account.pw_dir))
    }
    for owner, name in _owners(Path(_HOMES) if homes is None else homes, first):
        people.setdefault(owner, name)
    people.pop(uid, None)
    if people and any(Path(mark).exists() for mark in container):
        running = _running()
        people = {owner: name for owner, name in people.items() if owner in running}
    return sorted(people.values())


def _running() -> set[int]:
    """Return the users of all processes, as far as the system shows them."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            found.add(entry.stat().st_uid)
    return found


def _is_person(uid: int, first: int) -> bool:
    return uid >= first and uid not in _NOBODY


def _is_lived_in(home: Path) -> bool:
    """Return whether there is something in a home; one that is closed to us counts."""
    try:
        return any(home.iterdir())
    except PermissionError:
        return True
    except OSError:
        return False


def _owners(homes: Path, first: int) -> Iterator[tuple[int, str]]:
    """Yield the people who own folders among the homes, and the folders' names."""
    try:
        folders = list(homes.iterdir())
    except OSError:
        return
    for folder in folders:
        try:
            info = folder.lstat()
        except OSError:
            continue  # it was removed, or is not for us to see
        is_folder = stat.S_ISDIR(info.st_mode)
        if is_folder and _is_person(info.st_uid, first) and _is_lived_in(folder):
            yield info.st_uid, folder.name


class _Kept(Struct):
    people: list[str]


@dataclass(frozen=True, slots=True)
class PortConsent:
    """That the person opens the port although `people` could reach it."""

    state: Path

    def covers(self, people: Iterable[str]) -> bool:
        """Return whether the person has agreed, with at least these people in mind."""
        try:
            kept = msgspec.json.decode(text_of(self.state / FILE), type=_Kept)
        except (OSError, UnicodeDecodeError, msgspec.MsgspecError):
            return False  # never asked, or nothing that can be read: asked again
        return set(people) <= set(kept.people)

    def keep(self, people: Iterable[str]) -> None:
        """Remember it; raises `OSError`."""
        data = msgspec.json.encode(_Kept(list(people)))
        private_file.write_in(private_file.private_folder(self.state), FILE, data)
