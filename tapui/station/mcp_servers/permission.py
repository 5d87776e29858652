"""Whether a server may start: what the person has allowed, and the question where they have not."""

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Literal, NamedTuple

from tapui.core.approvals.part_questions import PartQuestion
from tapui.files.folder_file import reason
from tapui.mcp_servers.config.entries import ServerEntry
from tapui.mcp_servers.consent.consents import MayRun, ServerProposal
from tapui.station.mcp_servers.surroundings import Surroundings
from tapui.wire import limits

LATER_VERSIONS = "laterVersions"
"""In the answer to a request: the files that the command names may change."""
_MAX_DENIED = 200
_questions = count(1)


class Refusal(NamedTuple):
    """Why a server does not start now."""

    state: Literal["notAllowed", "failed"]
    why: str


class Limited:
    """Counts questions: somebody who writes a file over and over could have one answered by
    mistake."""

    def __init__(self) -> None:
        self._asked: deque[float] = deque()

    def may_ask(self, more: int = 0) -> bool:
        """Count a question; return whether the person may be asked it: so many more than of one
        server."""
        now = asyncio.get_running_loop().time()
        while self._asked and self._asked[0] <= now - limits.ASKED_AGAIN_SECONDS:
            self._asked.popleft()
        if len(self._asked) >= limits.ASKED_AGAIN + more:
            return False
        self._asked.append(now)
        return True


class FolderQuestions:
    """What the person was asked about a folder's files, whatever these say by now.

    `servers` is how many the files have: each may be asked about once more than the others.
    """

    def __init__(self) -> None:
        self.servers = 0
        self._limited = Limited()
        self._denied: deque[str] = deque(maxlen=_MAX_DENIED)

    def may_ask(self) -> bool:
        """Count a question; return whether the person may be asked it."""
        return self._limited.may_ask(self.servers)

    def deny(self, digest: str) -> None:
        """The person has denied this."""
        self._denied.append(digest)

    def is_denied(self, digest: str) -> bool:
        """Return whether the person has denied exactly this."""
        return digest in self._denied


class Permission:
    """The permission of one server. `asking` is told why it is asked about, and `asked` the id of
    the approval, or None once it is settled."""

    def __init__(
        self,
        entry: ServerEntry,
        around: Surroundings,
        questions: FolderQuestions,
        asking: Callable[[str], None],
        asked: Callable[[str | None], None],
    ) -> None:
        self._entry = entry
        self._around = around
        self._asking = asking
        self._asked = asked
        self._questions = questions
        self.files: tuple[str, ...] = ()
        """Files of the folder whose contents decide."""

    async def standing(self) -> MayRun | ServerProposal | Refusal:
        """Return what the person has allowed."""
        try:
            found = await asyncio.to_thread(self._around.consents.standing, self._entry)
        except OSError as error:
            return Refusal("failed", f"it cannot run in its folder: {reason(error)}")
        if isinstance(found, MayRun):
            self.files = found.files
        else:
            self.files = tuple(name for name, _ in found.files)
        return found

    async def ask(self, proposal: ServerProposal, session_id: str | None) -> Refusal | None:
        """Ask the person in a session (None: nobody can be asked), and keep what they allow; then
        the standing is asked for again. When this is cancelled the question is withdrawn."""
        if self._questions.is_denied(proposal.digest):
            return Refusal("notAllowed", "you did not allow it")
        if session_id is None:
            return Refusal("notAllowed", "it was not allowed yet, and nobody is asked here")
        if not self._questions.may_ask():
            return Refusal("notAllowed", "you were asked too often about what its file says")
        question = PartQuestion(
            id=f"mcp server {next(_questions)}",
            kind="mcpServer",
            detail=proposal.detail,
            session_id=session_id,
        )
        self._asking(proposal.why)
        try:
            ended = await self._around.person.ask(
                question, self._asked, withdrawn="what was asked has changed, or was answered"
            )
        finally:
            self._asked(None)
        if ended.outcome == "withdrawn":
            return None
        if ended.outcome != "approved":
            self._questions.deny(proposal.digest)
            return Refusal("notAllowed", ended.reason or "you did not allow it")
        given = ended.answer if isinstance(ended.answer, dict) else {}
        later = given.get(LATER_VERSIONS) is True
        try:
            await asyncio.to_thread(self._around.consents.allow, proposal, later_versions=later)
        except OSError as error:
            return Refusal("failed", f"the consent could not be kept: {reason(error)}")
        return None
