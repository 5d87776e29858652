"""Prompts and lines that wait to go into one session, in order; and from whom prompts came."""

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tapui.hosts.copilot.connection import AttachError, CliSession, text_of
from tapui.hosts.copilot.uplink import SessionUplink
from tapui.hosts.port import ReportLevel
from tapui.text import safe_text
from tapui.wire.host import SessionSent

LOG_LENGTH = 4_000
"""Characters of a line in the timeline."""
_MOST = 500
"""Prompts and lines that wait for the CLI; further lines are dropped."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A prompt of a provider for the session; with a `level`, a line for its timeline."""

    text: str
    level: ReportLevel | None
    provider: str = ""
    is_ephemeral: bool = False
    """Whether the CLI keeps the line out of its files."""
    traceparent: str | None = None


class Outgoing:
    """What waits for the CLI. It is sent while the connection stands.

    `on_prompt` is called with the text of each prompt and the name of its provider, right before
    it is sent.
    """

    def __init__(
        self,
        uplink: SessionUplink,
        on_prompt: Callable[[str, str], None],
    ) -> None:
        self._uplink = uplink
        self._on_prompt = on_prompt
        self._waiting: deque[_Entry] = deque()
        self._is_sending = False

    def prompt(self, text: str, provider: str, traceparent: str | None = None) -> None:
        """Send a prompt, after what was sent before; `SessionSent` goes to the gateway."""
        self._queue(_Entry(text, None, provider, traceparent=traceparent))

    def line(self, text: str, level: ReportLevel = "info", *, is_ephemeral: bool = False) -> None:
        self._queue(_Entry(text, level, is_ephemeral=is_ephemeral))

    def _queue(self, entry: _Entry) -> None:
        if len(self._waiting) >= _MOST and entry.level is not None:
            if len(self._waiting) == _MOST:
                self._uplink.report(
                    "the CLI does not take more lines; some are left out", "warning"
                )
                self._waiting.append(_Entry("… lines left out", "warning"))
            return
        self._waiting.append(entry)
        self.send_on()

    def send_on(self) -> None:
        if self._waiting and not self._is_sending:
            self._is_sending = True
            self._uplink.spawn(self._send())

    async def _send(self) -> None:
        try:
            while self._waiting and self._uplink.session is not None:
                entry = self._waiting.popleft()
                error: str | None = None
                try:
                    await self._send_one(self._uplink.session, entry)
                except AttachError as failure:
                    error = str(failure)
                    self._uplink.report(error, "warning")
                if entry.level is None:
                    self._uplink.send(SessionSent(self._uplink.id, error is None, error))
        finally:
            self._is_sending = False

    async def _send_one(self, session: CliSession, entry: _Entry) -> None:
        if entry.level is None:
            self._on_prompt(entry.text, entry.provider)
            await send(session, "send the prompt", entry.text, traceparent=entry.traceparent)
        else:
            await session.ask(
                "write into the timeline",
                "session.log",
                message=safe_text(entry.text, limit=LOG_LENGTH, newlines=True),
                level=entry.level,
                ephemeral=entry.is_ephemeral,
            )


async def send(
    session: CliSession,
    what: str,
    prompt: str,
    *,
    mode: Literal["immediate", "enqueue"] = "enqueue",
    traceparent: str | None = None,
    **more: Any,
) -> str:
    """Send a prompt; return the id of its message. Raises `AttachError`."""
    if traceparent is not None:
        more["traceparent"] = traceparent
    sent = await session.ask(what, "session.send", prompt=prompt, mode=mode, **more)
    if (id_ := text_of(sent, "messageId")) is None:
        raise AttachError(f"{what}: the CLI does not say whether it took it; look there")
    return id_


_REMEMBERED = 100
"""So many texts are awaited as prompts; the oldest is forgotten beyond that."""


SENT_BACK = {"source": "hook", "delivery": "steering"}
"""Fields of the prompt of a hook that sent the agent back: a step of the turn under way."""
Sender = Literal["person", "provider", "hook"]


@dataclass(frozen=True, slots=True)
class Sent:
    """Who had a prompt sent: the person at a tower, a provider, or a hook that sent the agent back
    at the end of its turn."""

    sender: Sender
    by: str = ""


class SentPrompts:
    """The texts that were sent into a session and have not become its prompts yet."""

    def __init__(self) -> None:
        self._awaited: OrderedDict[str, deque[Sent]] = OrderedDict()
        """By text, in the order in which they were sent."""

    def by_provider(self, prompt: str, provider: str = "") -> None:
        self._note(prompt, Sent("provider", provider))

    def by_person(self, text: str, tower: str) -> None:
        self._note(text, Sent("person", tower))

    def by_hook(self, hook: str, output: object) -> None:
        """Take what a hook answered: of one that sent the agent back the reason becomes a prompt,
        to which the CLI names no source."""
        if hook != "agentStop" or not isinstance(output, dict) or output.get("decision") != "block":
            return
        reason = output.get("reason")
        if isinstance(reason, str):
            self._note(reason, Sent("hook"))

    def withdraw(self, text: str) -> None:
        """Forget a text of the person: it will not become a prompt."""
        sent = self._awaited.get(text)
        mine = next((one for one in sent or () if one.sender == "person"), None)
        if sent is not None and mine is not None:
            sent.remove(mine)
            if not sent:
                del self._awaited[text]

    def take(self, text: str) -> Sent | None:
        """Return who had a prompt sent that the session has now; None for one of its own."""
        sent = self._awaited.get(text)
        if sent is None:
            return None
        first = sent.popleft()
        if not sent:
            del self._awaited[text]
        return first

    def _note(self, text: str, sent: Sent) -> None:
        self._awaited.setdefault(text, deque()).append(sent)
        if len(self._awaited) > _REMEMBERED:
            self._awaited.popitem(last=False)


OWN_SOURCE = "host-Copilot"
"""The `source` of a prompt that the CLI itself began a turn with."""


def notice_words(data: Mapping[str, Any]) -> str | None:
    """Return what a `system.notification` tells the agent: `shell “npm test” completed`.

    None for one that begins no turn, and for one of a kind that is not known.
    """
    kind = data.get("kind")
    if not isinstance(kind, Mapping):
        return None
    match kind:
        case {"type": "shell_completed" | "shell_detached_completed", "shellId": shell}:
            return f"shell “{kind.get('description') or shell}” completed"
        case {"type": "agent_completed", "agentType": agent, "status": status}:
            return f"agent “{kind.get('displayName') or agent}” {status}"
        case {"type": "agent_idle", "agentType": agent}:
            return f"agent “{kind.get('displayName') or agent}” waits for a message"
        case {"type": "new_inbox_message", "senderName": sender}:
            return f"a message of “{sender}” came in"
        case {"type": "workflow_completed", "workflowName": workflow, "status": status}:
            return f"workflow “{workflow}” {status}"
        case {"type": "unclassified"}:
            return "a notification came in"
    return None
