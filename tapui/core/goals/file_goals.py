"""Goals of a folder's file: opened in each of its sessions, once the person allowed their text.

An entry stands for the same goal while it says the same. What the person closed, or was achieved,
is not opened again; what the file dropped is, when the entry is back.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from tapui.core.approvals.approvals import Approvals, Decided, WaitingApproval
from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.effects import KeepGoalConsent
from tapui.core.emitters.emitter import EmitterFolder, FileGoal
from tapui.core.emitters.plans import FolderEmitters, GoalEntryRead
from tapui.core.goals.goals import Goals
from tapui.core.model import Connection, OpenSession, Standing
from tapui.core.proof.watching import Proof
from tapui.settings.settings import Proving
from tapui.wire import limits
from tapui.wire.codec import encode
from tapui.wire.errors import WireError
from tapui.wire.goals import FileEntry, Goal
from tapui.wire.tower import Notice

FILE = "file"
"""How a goal is closed that its file does not have any more."""
_REMOVED = "removed from the file"
_CHANGED = "changed in the file"
_TWICE = "it is there already"


@dataclass(eq=False, repr=False)
class FileGoals(CorePart):
    """Keeps the goals of sessions like what the files say."""

    approvals: Approvals
    connections: Connections
    goals: Goals
    proof: Proof
    setting: Proving

    def __post_init__(self) -> None:
        super().__post_init__()
        self._asker = Connection(0, None, standing=Standing.BUILTIN)
        """Stands for tapui, which asks."""
        self._folders: dict[str, EmitterFolder] = {}
        """By session."""
        self.goals.on_restored = self._restored

    # Files and sessions

    def take(self, folder: EmitterFolder, found: FolderEmitters) -> None:
        """A folder's file was read, also because a session came into the folder."""
        if not self.setting.file_goals:
            return
        for session in folder.sessions:
            self._folders[session.id] = folder
        if found.is_readable:
            self._read(folder, {one.plan.name: one for one in found.goals})
        self._settle(folder)
        self._ask_all(folder)

    def left(self, folder: EmitterFolder, session: OpenSession) -> None:
        """A session is in a folder no more; another one is asked what it was asked."""
        self._folders.pop(session.id, None)
        for one in (folder.goals or {}).values():
            if one.approval is not None and one.approval.view.session_id == session.id:
                self._withdraw(one, "its session left the folder")
        self._ask_all(folder)

    def replaced(self, folder: EmitterFolder, former: OpenSession, current: OpenSession) -> None:
        """A session took another's place, and has its goals."""
        if self._folders.pop(former.id, None) is not None:
            self._folders[current.id] = folder
            self._settle(folder)
            self.left(folder, former)

    def _restored(self, session_id: str) -> None:
        if (folder := self._folders.get(session_id)) is not None:
            self._settle(folder)

    def _read(self, folder: EmitterFolder, wanted: dict[str, GoalEntryRead]) -> None:
        before, folder.goals = folder.goals or {}, {}
        for name, entry in wanted.items():
            known = before.pop(name, None) or FileGoal(entry)
            if known.entry.digest != entry.digest or entry.is_allowed:
                self._withdraw(known, "it has changed or was allowed")
            known.entry = entry
            folder.goals[name] = known
        for gone in before.values():
            self._withdraw(gone, "its folder's file does not have it any more")

    # Opening and dropping

    def _settle(self, folder: EmitterFolder) -> None:
        """Drop what a file does not have any more, and open what is allowed, in each session."""
        if folder.goals is None:
            return
        for session in folder.sessions:
            watched = self.proof.of(session.id)
            if watched is None and folder.goals:
                watched = self.proof.watched(session)
            if watched is not None and not watched.is_open:
                continue  # its goals of before are read first
            self._drop_gone(folder, folder.goals, session)
            for one in folder.goals.values():
                if one.entry.is_allowed:
                    self._open(folder, session, one.entry)

    def _of(self, folder: EmitterFolder, session: OpenSession) -> list[tuple[FileEntry, Goal]]:
        """Return the goals that a session has of a folder's file, with the entry of each."""
        return [
            (goal.entry, goal)
            for goal in self.goals.of(session.id)
            if goal.entry is not None and goal.entry.folder == folder.path
        ]

    def _drop_gone(
        self, folder: EmitterFolder, wanted: dict[str, FileGoal], session: OpenSession
    ) -> None:
        there: set[str] = set()
        for entry, goal in self._of(folder, session):
            if entry.digest in there:
                self._drop(goal, _TWICE)  # of a session that took this one's place
            elif entry.name not in wanted:
                self._drop(goal, _REMOVED)
            elif goal.closed_by != FILE:
                there.add(entry.digest)

    def _drop(self, goal: Goal, why: str) -> None:
        """Close a goal, unless the person has set it to send back: that is theirs to take back."""
        if goal.is_open and goal.unproven == "tell":
            changes = {"status": "abandoned", "note": why, "note_by": FILE}
            self.goals.change(goal, FILE, why, changes)

    def _open(self, folder: EmitterFolder, session: OpenSession, read: GoalEntryRead) -> None:
        own, plan = self._of(folder, session), read.plan
        if self._is_over(read) or any(
            entry.digest == read.digest and goal.closed_by != FILE for entry, goal in own
        ):
            return
        try:
            self.goals.open(
                session,
                plan.name,
                plan.criteria,
                "file",
                agent=plan.agent,
                deadline=plan.deadline,
                entry=FileEntry(folder.path, plan.name, read.digest),
            )
        except WireError as error:
            self._tell(f"the goal {plan.name} of {folder.path} is not opened: {error.text}")
            return
        for entry, goal in own:
            if entry.name == plan.name:
                self._drop(goal, _CHANGED)

    def _is_over(self, read: GoalEntryRead) -> bool:
        """Return whether a deadline has passed, which the problems of the file name."""
        left = None if read.plan.deadline is None else self._clock.until(read.plan.deadline)
        return left is not None and left <= 0

    # Consent

    def _ask_all(self, folder: EmitterFolder) -> None:
        """Ask about what is not allowed, in a session in which the person is asked."""
        session = next((one for one in folder.sessions if not one.view.unattended), None)
        for one in (folder.goals or {}).values():
            read = one.entry
            is_asked = one.approval is not None or one.refused == read.digest
            if session is None or is_asked or read.is_allowed or self._is_over(read):
                continue
            if not folder.may_ask(self._clock.now):
                self._tell(f"you were asked too often about the goals of {folder.path}: not now")
                return
            one.approval = self.approvals.request(
                "fileGoal",
                self._asker,
                read,
                goal_detail(folder.path, read),
                limits.HOST_APPROVAL_TIMEOUT,
                on_decided=partial(self._decided, folder, one),
                on_expired=partial(_expired, one),
                session_id=session.id,
            )

    def _withdraw(self, one: FileGoal, reason: str) -> None:
        waiting, one.approval = one.approval, None
        if waiting is not None and not waiting.is_deciding:
            self.approvals.withdraw(waiting, reason=reason)

    def _decided(self, folder: EmitterFolder, one: FileGoal, decided: Decided) -> None:
        """The person has answered: consent is kept, and then the goal is opened."""
        if one.approval is not decided.waiting:
            return
        one.approval = None
        read: GoalEntryRead = decided.waiting.subject
        if decided.verdict != "approve":
            one.refused = read.digest
            return
        ticket = self._tickets.keep(partial(self._kept, folder, one, read))
        self._out.effects.append(KeepGoalConsent(ticket, folder.path, read.plan))

    def _kept(
        self, folder: EmitterFolder, one: FileGoal, read: GoalEntryRead, fault: str | None
    ) -> None:
        """Consent is kept, or could not be: then nothing is opened."""
        if fault is not None:
            one.refused = read.digest
            self._tell(f"the consent to the goal {read.plan.name} could not be kept: {fault}")
        elif one.entry.digest == read.digest:
            one.entry = replace(one.entry, is_allowed=True)
            self._settle(folder)

    def _tell(self, text: str) -> None:
        for tower in self.connections.of_standing(Standing.TOWER):
            self._out.send(tower.id, Notice(text, "warning"))


def _expired(one: FileGoal, waiting: WaitingApproval) -> None:
    """Without an answer it is as if the person had said no."""
    if one.approval is waiting:
        one.approval, one.refused = None, one.entry.digest


def goal_detail(folder: str, read: GoalEntryRead) -> dict[str, Any]:
    """Return a goal for the approval's sheet (`tapui/wire/README.md` has the keys)."""
    plan = read.plan
    return {
        "name": plan.name,
        "changed": read.why,
        "criteria": msgspec.json.decode(encode(plan.criteria)),
        "agent": plan.agent,
        "deadline": plan.deadline,
        "folder": folder,
        "file": read.file,
        "line": read.line,
    }
