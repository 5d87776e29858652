"""What the person is asked about a server: whether it may start, its changed tools, its forms."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Literal, NamedTuple

import msgspec
from msgspec import Raw

from tapui.consents.consents import Consented, Proposal
from tapui.consents.mcp_servers import Allowable, server_detail
from tapui.core.approvals.part_questions import PartQuestion
from tapui.files.foreign_file import reason
from tapui.mcp_servers.config.entries import ServerEntry
from tapui.mcp_servers.messages import AnsweredForm, MappedTool, ServerAsks, ToolsAllowed
from tapui.mcp_servers.pins import (
    PinnedTool,
    ToolChange,
    ToolPins,
    pinned,
    tool_changes,
    tools_detail,
)
from tapui.mcp_servers.shell.context import ServerContext
from tapui.runtime.person import Person
from tapui.runtime.tasks import BackgroundTasks
from tapui.text import safe_text
from tapui.wire import limits
from tapui.wire.codec import raw

LATER_VERSIONS = "laterVersions"
"""In the answer to a request: the files that the command names may change."""
MAX_ASKED = 20
"""Tools of one question: about further ones the person is asked once they have allowed these."""
FORM_SECONDS = 600.0
"""How long a form waits for the person."""
MAX_FORMS = 4
"""Forms of a server that wait at once; further ones are declined."""
MAX_UNANSWERED = 20
"""Forms of a server within `limits.ASKED_AGAIN_SECONDS` that the person did not fill in, or that it
took back: further ones are declined."""
MAX_MESSAGE = 4_000
"""Characters of what a form says."""
MAX_SCHEMA = 64 * 1024
"""Bytes of a form's schema."""
_MAX_DENIED = 200
_log = logging.getLogger(__name__)
_questions = count(1)


class Refusal(NamedTuple):
    """Why a server does not start now."""

    state: Literal["notAllowed", "failed"]
    why: str


class QuestionLimit:
    """Counts questions: a file that is written over and over could have one answered by mistake.

    `servers` is how many the folder's files have: each adds one to the limit.
    """

    def __init__(self) -> None:
        self.servers = 0
        self._asked: deque[float] = deque()
        self._denied: deque[str] = deque(maxlen=_MAX_DENIED)

    def may_ask(self) -> bool:
        """Count a question; return whether the person may be asked it."""
        now = asyncio.get_running_loop().time()
        while self._asked and self._asked[0] <= now - limits.ASKED_AGAIN_SECONDS:
            self._asked.popleft()
        if len(self._asked) >= limits.ASKED_AGAIN + self.servers:
            return False
        self._asked.append(now)
        return True

    def deny(self, digest: str) -> None:
        self._denied.append(digest)

    def is_denied(self, digest: str) -> bool:
        return digest in self._denied


class Permission:
    """The permission of one server. `on_asking` gets the reason for a question, `on_asked` the id
    of the approval, or None once it is settled."""

    def __init__(
        self,
        entry: ServerEntry,
        around: ServerContext,
        questions: QuestionLimit,
        on_asking: Callable[[str], None],
        on_asked: Callable[[str | None], None],
    ) -> None:
        self._entry = entry
        self._around = around
        self._on_asking = on_asking
        self._on_asked = on_asked
        self._questions = questions
        self.files: tuple[str, ...] = ()
        """Files of the folder whose contents decide."""

    async def standing(self) -> Consented[Allowable] | Proposal[Allowable] | Refusal:
        try:
            found = await asyncio.to_thread(self._around.consents.standing, self._entry)
        except OSError as error:
            return Refusal("failed", f"it cannot run in its folder: {reason(error)}")
        if isinstance(found, Consented):
            self.files = found.files
        else:
            self.files = tuple(name for name, _ in found.files)
        return found

    async def ask(self, proposal: Proposal[Allowable], session_id: str | None) -> Refusal | None:
        """Ask the person in a session (None: all are unattended), and keep what they allow; then
        the standing is asked for again. When this is cancelled the question is withdrawn."""
        if self._questions.is_denied(proposal.digest):
            return Refusal("notAllowed", "you did not allow it")
        if session_id is None:
            return Refusal("notAllowed", "it was not allowed yet, and you are not asked here")
        if not self._questions.may_ask():
            return Refusal("notAllowed", "you were asked too often about what its file says")
        question = PartQuestion(
            id=f"mcp server {next(_questions)}",
            kind="mcpServer",
            detail=server_detail(proposal, self._entry),
            session_id=session_id,
        )
        self._on_asking(proposal.why)
        try:
            ended = await self._around.turn.person.ask(
                question, self._on_asked, withdrawn="what was asked has changed, or was answered"
            )
        finally:
            self._on_asked(None)
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


class Pinning:
    """The pins of one server.

    `on_allowed` sends pins to its bridge, `on_asked` gets the id of the approval that changed tools
    wait for, None once that is settled; `session` gives the session in which the person is asked;
    `on_fault` gets a fault and a remedy, for the person.
    """

    def __init__(
        self,
        name: str,
        person: Person,
        on_allowed: Callable[[ToolsAllowed], None],
        on_asked: Callable[[str | None], None],
        session: Callable[[], str | None],
        *,
        on_fault: Callable[[str, str], None],
        background: BackgroundTasks | None = None,
    ) -> None:
        self._name = name
        self._person = person
        self._on_allowed = on_allowed
        self._on_asked = on_asked
        self._session = session
        self._on_fault = on_fault
        self._background = background or BackgroundTasks()
        self._kept: ToolPins | None = None
        self._pins: dict[str, PinnedTool] | None = None
        self._limited = QuestionLimit()
        self._asking: asyncio.Task[None] | None = None
        self._about: frozenset[tuple[str, str]] = frozenset()
        """What the person is asked about, or has denied: names and digests."""
        self._keeping: asyncio.Task[None] | None = None
        """What the person has allowed is being kept: nothing withdraws that."""
        self._work = asyncio.Lock()

    async def begin(self, kept: ToolPins) -> dict[str, str] | None:
        """A bridge is about to start: return what is pinned; None where nothing is."""
        self._kept = kept
        self._pins = await asyncio.to_thread(kept.read)
        if kept.damage:
            self._on_fault(kept.damage, "you are asked about each again")
        return self._digests()

    async def take(self, tools: Sequence[MappedTool]) -> None:
        async with self._work:
            if self._pins is None:
                await self._keep(await asyncio.to_thread(pinned, tools))
                return
            changes = await asyncio.to_thread(tool_changes, self._pins, tools)
            about = frozenset((one.name, one.digest) for one in changes)
            if about == self._about:
                return
            self.close()
            self._about = about
            if changes:
                self._asking = self._background.start(
                    self._ask(changes[:MAX_ASKED], {one.name: one for one in tools}),
                    name=f"ask about the tools of {self._name}",
                )

    async def _ask(self, changes: Sequence[ToolChange], tools: dict[str, MappedTool]) -> None:
        try:
            await self._ask_person(changes, tools)
        except Exception:
            self._about = frozenset()  # the next list asks again
            raise

    async def _ask_person(
        self, changes: Sequence[ToolChange], tools: dict[str, MappedTool]
    ) -> None:
        session_id = self._session()
        if session_id is None:
            self._about = frozenset()  # asked again once a session is attended
            return
        if not self._limited.may_ask():
            return
        question = PartQuestion(
            id=f"mcp tools {next(_questions)}",
            kind="mcpServer",
            # Long texts take their time to be compared.
            detail=await asyncio.to_thread(tools_detail, self._name, changes),
            session_id=session_id,
        )
        try:
            ended = await self._person.ask(
                question,
                self._on_asked,
                withdrawn="its tools have changed again, or it ended",
            )
        finally:
            self._on_asked(None)
        if ended.outcome == "withdrawn":
            self._about = frozenset()
            return
        if ended.outcome == "approved":
            self._keeping, self._asking = self._asking, None
            async with self._work:
                allowed = pinned([tools[one.name] for one in changes])
                await self._keep({**(self._pins or {}), **allowed})

    async def _keep(self, pins: dict[str, PinnedTool]) -> None:
        self._pins = pins
        if self._kept is not None:
            try:
                await asyncio.to_thread(self._kept.keep, pins)
            except OSError as error:
                _log.warning("the tools of %s could not be pinned: %s", self._name, reason(error))
                self._on_fault(
                    f"its tools as they are now could not be kept: {reason(error)}",
                    "mend that: when it starts next, changes of its tools may go unseen",
                )
        self._on_allowed(ToolsAllowed(self._digests() or {}))

    def _digests(self) -> dict[str, str] | None:
        if self._pins is None:
            return None
        return {name: one.digest for name, one in self._pins.items()}

    def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None
        self._about = frozenset()


class Forms:
    """The forms of one server, whose `name` they are shown with. `on_answer` takes each answer."""

    def __init__(
        self,
        name: str,
        person: Person,
        on_answer: Callable[[AnsweredForm], None],
        background: BackgroundTasks | None = None,
    ) -> None:
        self._background = background or BackgroundTasks()
        self._name = name
        self._person = person
        self._on_answer = on_answer
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._unanswered: deque[float] = deque(maxlen=MAX_UNANSWERED)
        """When forms ended that were not filled in."""

    def ask(self, asked: ServerAsks) -> None:
        """Ask the person; what cannot be shown is declined."""
        form = asked.id
        schema = _schema(asked.schema)
        is_known = form in self._waiting
        if schema is None or is_known or len(self._waiting) >= MAX_FORMS or self._is_tiresome():
            self._on_answer(AnsweredForm(form, "decline"))
            return
        question = PartQuestion(
            id=f"mcp form {next(_questions)}",
            kind="elicitation",
            detail={
                "message": safe_text(asked.message, limit=MAX_MESSAGE, newlines=True),
                "mcpServer": self._name,
                "requestedSchema": schema,
            },
            session_id=asked.session_id,
            provider=self._name,
            timeout=FORM_SECONDS,
        )
        task = self._background.start(self._wait(form, question), name=f"a form of {self._name}")
        self._waiting[form] = task
        task.add_done_callback(lambda _: self._waiting.pop(form, None))

    def _is_tiresome(self) -> bool:
        """Return whether too many of its forms were not filled in."""
        since = asyncio.get_running_loop().time() - limits.ASKED_AGAIN_SECONDS
        asked = self._unanswered
        return len(asked) + len(self._waiting) >= MAX_UNANSWERED and asked[0] > since

    async def _wait(self, form: str, question: PartQuestion) -> None:
        is_filled_in = False
        try:
            ended = await self._person.ask(
                question, withdrawn="the server needs no answer any more"
            )
            is_filled_in = ended.outcome == "approved"
        finally:
            if not is_filled_in:
                self._unanswered.append(asyncio.get_running_loop().time())
        if ended.outcome == "approved" and isinstance(ended.answer, dict):
            answer = AnsweredForm(form, "accept", raw(ended.answer))
        elif ended.outcome in ("approved", "denied"):
            answer = AnsweredForm(form, "decline")
        else:
            answer = AnsweredForm(form, "cancel")
        self._on_answer(answer)

    def withdraw(self, form: str) -> None:
        task = self._waiting.get(form)
        if task is not None:
            task.cancel()

    def close(self) -> None:
        """The server is gone: what it asked is withdrawn."""
        for task in self._waiting.values():
            task.cancel()


def _schema(given: Raw) -> object:
    """Return the schema of a form, None for one that is too large or no object."""
    if len(memoryview(given)) > MAX_SCHEMA:
        return None
    try:
        found = msgspec.json.decode(given)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
