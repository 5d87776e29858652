"""What is changed in a folder, as data: states of it, and how two of them differ.

A state names each file whose content is not that of one tree of the repository, by content. Two
states against the same tree are equal exactly where all contents are: a commit, a touch or an
amend changes none, a checkout, a pull or a stash does. `runtime.folders` reads them.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from msgspec import Struct

DELETED = ""
"""The content of a file of the tree that is not there."""
UNREAD = "?"
"""What the content of a file begins with that was not read: size and time stand for it."""
ADDED = " new"
"""What the content of a file ends with that the tree does not have."""
_STATE_ID = 32
"""Hexadecimal digits: 128 bits, as an agent could make two files of the same shorter one."""
NO_REPOSITORY = "no git repository, so not all changes are seen"
REPLACED = "it is compared with another tree"
TOO_LARGE = "the folder is too large to look at in time"


class FolderState(Struct, frozen=True, rename="camel"):
    """The content of a work tree at one moment, against the tree `head`.

    `files` has each path that differs: the sha256 of its bytes, with ` +x` for a program, ` link`
    for a link's target and ` new` where the tree has no such file; `DELETED`; or what begins with
    `UNREAD`. Without `is_whole` some were not looked at, and `why` says it: what `files` does not
    have is unknown then.
    """

    root: str
    head: str
    files: dict[str, str]
    is_whole: bool
    why: str = ""
    packages: tuple[str, ...] = ()
    """Folders with a manifest of their own, relative to the root."""


def state_id(content: str) -> str:
    """Return what names a file's content and mode, which a state has as `content`."""
    if content == DELETED:
        return "gone"
    text = content.removesuffix(ADDED)
    return hashlib.sha256(text.encode()).hexdigest()[:_STATE_ID]


class StateChange(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A state by what it differs in from the one before of the same root, `None` and all files that
    are not named being as there; one that `is_anew` has nothing before it.

    `files` are those with another content, `gone` those that `files` of the state had before.
    """

    root: str
    files: dict[str, str] = {}
    gone: tuple[str, ...] = ()
    head: str | None = None
    is_whole: bool | None = None
    why: str | None = None
    packages: tuple[str, ...] | None = None
    is_anew: bool = False


class StatePair(Struct, frozen=True, rename="camel"):
    """Two states of a root that are to be compared, by what differs in them from their trees.

    An empty `head` is HEAD's tree: then `before` has nothing. Where both trees are the same, files
    with the same content in both may be left out.
    """

    root: str
    head: str
    before: dict[str, str]
    now_head: str
    now: dict[str, str]


class CheckPlace(NamedTuple):
    """Where a check counts: a repository's root, and a package in it ("" is the root's own)."""

    root: str
    package: str


class Difference(NamedTuple):
    """What two looks differ in. `changed` has the paths that count, by place."""

    changed: dict[CheckPlace, tuple[str, ...]]
    beside: dict[CheckPlace, tuple[str, ...]]
    """Paths that do not count: documents, pictures, ignored ones."""
    unknown: dict[str, tuple[str, ...]]
    """Why more may have changed, in sentences, by root; empty where all is known."""

    def at(self, place: CheckPlace) -> "Difference":
        """Return what of it is about one place."""
        return Difference(
            {one: paths for one, paths in self.changed.items() if one == place},
            {one: paths for one, paths in self.beside.items() if one == place},
            {root: why for root, why in self.unknown.items() if root == place.root},
        )

    @property
    def verdict(self) -> Literal["same", "changed", "unknown"]:
        if self.changed:
            return "changed"
        return "unknown" if self.unknown else "same"


# Which paths count

_DOCUMENTS = (".md", ".rst", ".txt")
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".bmp", ".tif", ".tiff", ".avif")
# An SVG is text that programs compile and tests compare: it counts.
_BUILD_TEXTS = ("cmakelists.txt", "meson_options.txt", "requirements*.txt", "constraints*.txt")
# Programs that end in .txt: what they say decides over a build or over what is imported.
_LICENSE = re.compile(r"(?:licen[cs]e|copying)(?:[-_][\w-]+)?(?:\.(?:html|adoc|tex|pdf))?")
# license.py is code.
_CACHES = frozenset(
    """__pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis .nyc_output .coverage
    .eslintcache .phpunit.cache .phpunit.result.cache""".split()  # noqa: SIM905 - readable
)
"""Names of folders and files that checks keep for themselves, where a repository does not ignore
them: each run changes them."""
_REPORTS = re.compile(
    r"(?:.*/)?(?:coverage|htmlcov|test-results|test-reports|playwright-report|allure-results)/.*"
    r"|(?:.*/)?(?:coverage[^/]*|lcov\.info|cover\.out|[^/]*\.(?:lcov|tsbuildinfo|trx|gcda|profraw))"
    r"|(?:.*/)?(?:junit|report|results?|TEST-)[^/]*\.(?:xml|json|html)",
    re.DOTALL,
)
_OUTPUTS = re.compile(
    r"(?:.*/)?(?:__snapshots__|snapshots|__recordings__|cassettes|dist|build|out|target|generated)/.*"
    r"|(?:.*/)?(?:[^/]*\.(?:snap|snapshot|lock|lockb)|package-lock\.json|pnpm-lock\.yaml|go\.sum"
    r"|npm-shrinkwrap\.json|gradle\.lockfile)",
    re.DOTALL,
)
MANIFESTS = frozenset(
    {
        "Cargo.toml",
        "Gemfile",
        "build.gradle",
        "build.gradle.kts",
        "composer.json",
        "go.mod",
        "mix.exs",
        "package.json",
        "pom.xml",
        "pubspec.yaml",
        "pyproject.toml",
        "setup.py",
    }
)
"""Files that make their folder a package."""


def is_counted(path: str, ignored: Sequence[str] = ()) -> bool:
    """Return whether a change of `path` makes a check stale. `ignored` is the person's setting.

    A pattern without `/` is about a name at any depth; `*` matches `/`, too.
    """
    *folders, name = path.split("/")
    if not _CACHES.isdisjoint((*folders, name)):
        return False
    lower = name.lower()
    if lower.endswith(_DOCUMENTS):
        if not any(fnmatchcase(lower, pattern) for pattern in _BUILD_TEXTS):
            return False
    elif lower.endswith(_PICTURES) or _LICENSE.fullmatch(lower):
        return False
    if folders and folders[0] == "docs":
        return False
    return not any(_is_named(path, folders, name, pattern) for pattern in ignored)


def _is_named(path: str, folders: Sequence[str], name: str, pattern: str) -> bool:
    pattern = pattern.removeprefix("**/")
    is_folder = pattern.endswith(("/", "/*", "/**"))
    wanted = pattern.rstrip("/*") if is_folder else pattern
    if "/" not in wanted:
        return any(
            fnmatchcase(part, wanted) for part in (folders if is_folder else (*folders, name))
        )
    ends = [at for at, letter in enumerate(path) if letter == "/"]
    parents = [path[:at] for at in ends]
    around = parents if is_folder else [*parents, path]
    return any(fnmatchcase(one, wanted.removeprefix("/")) for one in around)


def is_report(path: str) -> bool:
    """Return whether a file tells of a check, and decides over none: each run writes it anew."""
    return _REPORTS.fullmatch(path) is not None


def is_output(path: str) -> bool:
    """Return whether a check may be what made or changed a file: a snapshot, a lock, a build."""
    return is_report(path) or _OUTPUTS.fullmatch(path) is not None


def package_of(path: str, packages: Iterable[str]) -> str:
    """Return the innermost package that a path, relative to the root, lies in; "" for the root."""
    inside = (one for one in packages if path == one or path.startswith(f"{one}/"))
    return max(inside, key=len, default="")


def place_of(folder: str, states: Iterable[FolderState]) -> CheckPlace | None:
    """Return the place of a check that ran in `folder`, an absolute path; None outside of all."""
    around = [one for one in states if f"{folder}/".startswith(_with_slash(one.root))]
    if not around:
        return None
    state = max(around, key=lambda one: len(one.root))
    inner = folder[len(_with_slash(state.root)) :]
    return CheckPlace(state.root, package_of(inner, state.packages))


def _with_slash(root: str) -> str:
    return f"{root.rstrip('/')}/"


# Two looks


def difference(
    before: Iterable[FolderState], after: Iterable[FolderState], ignored: Sequence[str] = ()
) -> Difference:
    """Compare two looks at the same folder: its root, and the roots within.

    A root that only one of them has is wholly unknown: its files were not looked at then.
    """
    old = {state.root: state for state in before}
    new = {state.root: state for state in after}
    changed: dict[CheckPlace, list[str]] = {}
    beside: dict[CheckPlace, list[str]] = {}
    unknown: dict[str, tuple[str, ...]] = {}
    for root in sorted(old.keys() | new.keys()):
        if root not in old or root not in new:
            unknown[root] = (f"it was looked at only {'after' if root in new else 'before'}",)
            continue
        packages = {*old[root].packages, *new[root].packages}
        doubts = _doubts(old[root], new[root])
        for path, is_read in _changes(old[root], new[root]):
            if not is_counted(path, ignored):
                kind = beside
            elif is_read:
                kind = changed
            else:
                doubts.append(f"{path} was not read")
                continue
            kind.setdefault(CheckPlace(root, package_of(path, packages)), []).append(path)
        if doubts:
            unknown[root] = tuple(doubts)
    return Difference(_frozen(changed), _frozen(beside), unknown)


def _doubts(before: FolderState, after: FolderState) -> list[str]:
    doubts = [state.why for state in (before, after) if not state.is_whole]
    if before.head != after.head:
        doubts.append(REPLACED)
    return [TOO_LARGE] if TOO_LARGE in doubts else list(dict.fromkeys(doubts))


def _changes(before: FolderState, after: FolderState) -> Iterator[tuple[str, bool]]:
    """Yield the paths with other contents, and whether both were read."""
    if before.head != after.head:
        return
    for path in sorted(before.files.keys() | after.files.keys()):
        old, new = before.files.get(path), after.files.get(path)
        if old == new:
            continue
        if (old is None and not before.is_whole) or (new is None and not after.is_whole):
            continue  # not looked at: the state's own reason says it
        yield path, not any(one and one.startswith(UNREAD) for one in (old, new))


def pair_of(before: FolderState | None, now: FolderState) -> StatePair:
    """Return two states of a root with what differs between them; without one before, HEAD's."""
    if before is None:
        return StatePair(now.root, "", {}, now.head, now.files)
    old, new = before.files, now.files
    if before.head == now.head:
        differing = [path for path in {*old, *new} if old.get(path) != new.get(path)]
        old = {path: old[path] for path in differing if path in old}
        new = {path: new[path] for path in differing if path in new}
    return StatePair(now.root, before.head, old, now.head, new)


def state_changes(before: Iterable[FolderState], after: Iterable[FolderState]) -> list[StateChange]:
    """Return states by what they differ in from others, one for each of `after`, in their order."""
    known = {state.root: state for state in before}
    return [_state_change(known.get(state.root), state) for state in after]


def _state_change(before: FolderState | None, after: FolderState) -> StateChange:
    if before is None or before.head != after.head:
        return StateChange(after.root, after.files, (), after.head, after.is_whole, after.why,
                           after.packages, is_anew=True)  # fmt: skip
    old, new = before.files, after.files
    return StateChange(
        after.root,
        {path: content for path, content in new.items() if old.get(path) != content},
        tuple(path for path in old if path not in new),
        is_whole=None if before.is_whole == after.is_whole else after.is_whole,
        why=None if before.why == after.why else after.why,
        packages=None if before.packages == after.packages else after.packages,
    )


def changed_states(
    before: Iterable[FolderState], changes: Iterable[StateChange]
) -> tuple[FolderState, ...]:
    """Return the states that differ so from those before."""
    known = {state.root: state for state in before}
    return tuple(_changed_state(known.get(one.root), one) for one in changes)


def _changed_state(before: FolderState | None, one: StateChange) -> FolderState:
    if before is None or one.is_anew:
        before = FolderState(one.root, "", {}, is_whole=False)
    gone = frozenset(one.gone)
    files = {path: content for path, content in before.files.items() if path not in gone}
    return FolderState(
        one.root,
        before.head if one.head is None else one.head,
        {**files, **one.files},
        before.is_whole if one.is_whole is None else one.is_whole,
        before.why if one.why is None else one.why,
        before.packages if one.packages is None else one.packages,
    )


def _frozen(paths: Mapping[CheckPlace, list[str]]) -> dict[CheckPlace, tuple[str, ...]]:
    return {place: tuple(found) for place, found in paths.items()}
