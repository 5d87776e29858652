"""What was promised to whom: kept beside the gateway, from nothing but what goes in and out."""

from collections import Counter
from math import inf
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from tapui.core.model import Standing
from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.wire import events as ev
from tapui.wire import host as h
from tapui.wire import limits
from tapui.wire import message as m
from tapui.wire import provider as p
from tapui.wire import tower as t
from tapui.wire.subjects import Approval
from tests.core.harness import INTERNAL_TOKEN, PROVIDER_TOKEN, TOOLS_TOKEN

if TYPE_CHECKING:
    from tests.simulator.world import Link, World

SLACK = 1e-6
_SCOPED = (
    p.ToolCall,
    p.GateCheck,
    p.TransformRequest,
    m.SessionEvent,
)
"""Messages that only a provider in the session may get."""
_EITHER = (p.ToolCancel, p.SessionLifecycle, p.Ack)
"""Messages that one who has just left a session may get, but nobody who may not see it."""


class Ledger:
    """Checks each output against what was asked and allowed before."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.folded = State()
        self.seq = 0
        self.invokes: dict[tuple[int, str], float] = {}
        """Calls without an outcome, by connection and the caller's id: when they were asked."""
        self.hooks: dict[tuple[int, str], float] = {}
        self.prompts: dict[tuple[int, str], int] = {}
        self.outcomes = 0
        self._grants: dict[str, set[str] | None] = {
            PROVIDER_TOKEN: None,
            INTERNAL_TOKEN: None,
            TOOLS_TOKEN: set(),
        }
        self._widened: dict[int, set[str]] = {}
        """Sessions into which the person moved one connection, beyond its token."""
        self._everywhere: set[int] = set()
        """Connections that the person allowed to bind to all sessions."""
        self._guard: dict[str, int] = {}
        """Who asked for an approval, by its id."""
        self._seen: dict[int, set[str]] = {}
        """Sessions that a connection was led into, by connection."""
        self._link_of: dict[str, int] = {}
        """The connection behind a provider, by provider id."""
        self._revisions: dict[tuple[str, str], int] = {}
        self._tools: dict[str, int] = {}
        self._awaiting: dict[str, float] = {}
        """Until when a session that was sent a prompt, and has not been idle since, gets no other:
        10 s, or without end once its turn has begun."""
        self._posted: dict[str, list[str]] = {}
        """Injects in the order of their posting, by session."""
        self._owner: dict[str, str] = {}
        self._busy: dict[str, bool] = {}
        self._injected: Counter[str] = Counter()
        """Lines of emitters that are to be sent into a session, and were not yet."""
        self._minting: dict[tuple[int, str], str] = {}
        self.durable: set[int] = set()
        """The numbers of the events that are known to be durable."""
        self._deciding: dict[str, int] = {}
        """The number of the event that records an approval's last decision."""
        self._outcomes: dict[str, str] = {}
        """How each approval was settled, for whoever looks."""
        self._requests: dict[tuple[int, object], str] = {}
        """The approval behind a request, by connection and the host's id."""
        self._pairs: dict[str, int] = {}
        """Who asked to pair, by the approval's id."""
        self._ordered: dict[tuple[str, m.Mode], list[int]] = {}
        """The numbers of the events that order a mode."""

    # In

    def entering(self, link: "Link", message: m.Message) -> None:
        """A message is about to reach the gateway."""
        standing = self._world.gateway.standing(link.number)
        if isinstance(message, p.Auth) and standing is Standing.AWAIT_AUTH:
            link.token = message.token or link.token
        elif isinstance(message, m.ToolInvoke) and standing in (
            Standing.HOST,
            Standing.TOOL_HOST,
            Standing.TOWER,
        ):
            self.invokes.setdefault((link.number, message.id), self._world.now)
        elif isinstance(message, h.HookPreToolUse) and standing is Standing.HOST:
            self.hooks.setdefault((link.number, message.id), self._world.now)
        elif isinstance(message, h.PromptSubmitted) and standing is Standing.HOST:
            self.prompts[link.number, message.id] = 1
        elif isinstance(message, t.TokenMint):
            minting = self._world.gateway.parts.sessions.get(message.session_id)
            self._minting[link.number, message.id] = minting.id if minting else ""
        elif isinstance(message, m.SessionEvent) and standing is Standing.HOST:
            session = self._world.gateway.parts.sessions.get(message.session_id)
            if session is not None and session.host == link.number:
                if message.event == "session.idle":
                    self._awaiting.pop(session.id, None)
                    self._busy[session.id] = False
                elif message.event in ("session.busy", "assistant.turn_start"):
                    self._busy[session.id] = True
                    if session.id in self._awaiting:
                        self._awaiting[session.id] = inf

    # Events

    def happened(self, entry: ev.Entry) -> None:
        """An event was told."""
        assert entry.seq == self.seq + 1, "events have no gaps"
        self.seq = entry.seq
        event = entry.event
        fold(self.folded, event, entry.ts)
        self._decided(entry)
        if isinstance(event, ev.SessionReplaced):
            self._replaced(event.replaces, event.session_id)
        elif isinstance(event, ev.ProviderMoved):
            number = self._link_of[event.provider.id]
            self._seen[number].add(event.session_id)
            if event.reason.startswith("moved by"):
                self._widened.setdefault(number, set()).add(event.session_id)
        elif isinstance(event, ev.ApprovalRequested):
            waiting = self._world.gateway.parts.approvals.waiting.get(event.approval.id)
            if waiting is not None:
                self._guard[event.approval.id] = waiting.asker.id
                if isinstance(waiting.subject, str):
                    self._requests[waiting.asker.id, waiting.subject] = event.approval.id
            if event.approval.kind == "pairing":
                self._pairs[event.approval.id] = self._guard[event.approval.id]
        elif isinstance(event, ev.ApprovalDecided):
            number = self._guard.pop(event.approval.id, 0)
            self._allowed(event.approval)
            if event.approval.kind == "bindAll" and event.approval.state == "approved":
                self._everywhere.add(number)
        elif isinstance(event, ev.ModeChanged) and event.state == "ordered":
            self._ordered.setdefault((event.session_id, event.mode), []).append(entry.seq)
        elif isinstance(event, ev.ProviderBound) and not self._is_shown(event.provider.id):
            provider = self._world.gateway.parts.providers.connected.get(event.provider.id)
            if provider is not None:
                self._came_back(self._link_of.get(event.provider.id), provider.connection.id)
                self._link_of[event.provider.id] = provider.connection.id
                self._seen.setdefault(provider.connection.id, set())
        elif isinstance(event, ev.StreamPosted) and event.line.level == "inject":
            if event.line.metadata is not UNSET and b'"emitter"' in bytes(
                event.line.metadata or b""
            ):
                self._injected[event.line.event] += 1
                return
            self._posted.setdefault(event.session_id, []).append(event.line.event)
            if event.provider_id is not None:
                self._owner[event.line.event] = event.provider_id

    def _allowed(self, approval: Approval) -> None:
        """A command of an agent may run once the person has approved it."""
        if approval.kind == "emitter" and approval.state == "approved":
            detail: dict[str, Any] = approval.detail
            if "asker" in detail:
                self._world.emitters.commands.add(detail["command"])

    def _came_back(self, former: int | None, current: int) -> None:
        """What the person allowed to a provider holds on its next connection."""
        if former in self._everywhere:
            self._everywhere.add(current)
        if former is not None and former in self._widened:
            self._widened.setdefault(current, set()).update(self._widened[former])

    def _decided(self, entry: ev.Entry) -> None:
        """An approval has one outcome, and none before its decision is durable."""
        event = entry.event
        if isinstance(event, ev.ApprovalDeciding):
            assert event.approval.id not in self._outcomes, "a decision on what is settled"
            self._deciding[event.approval.id] = entry.seq
        elif isinstance(event, (ev.ApprovalDecided, ev.ApprovalRevealed)):
            is_durable = self._deciding[event.approval.id] in self.durable
            assert is_durable == (event.approval.state != "failed"), (
                f"{event.approval.state}, and its decision is {'' if is_durable else 'not '}durable"
            )
        if isinstance(event, ev.ApprovalDecided | ev.ApprovalExpired | ev.ApprovalWithdrawn):
            assert event.approval.id not in self._outcomes, "an approval has two outcomes"
            self._outcomes[event.approval.id] = event.approval.state

    def _is_shown(self, provider_id: str) -> bool:
        known = self._world.gateway.parts.providers.connected.get(provider_id)
        return known is not None and self._link_of.get(provider_id) == known.connection.id

    def _replaced(self, former: str, current: str) -> None:
        for grant in self._grants.values():
            if grant is not None and former in grant:
                grant.add(current)
        for seen in (*self._seen.values(), *self._widened.values()):
            if former in seen:
                seen.add(current)
        self._posted[current] = [*self._posted.pop(former, []), *self._posted.get(current, [])]
        for (provider, session), revision in list(self._revisions.items()):
            if session == former:
                known = self._revisions.get((provider, current), 0)
                self._revisions[provider, current] = max(revision, known)

    # Out

    def leaving(self, link: "Link", message: m.Message) -> None:
        """The gateway says something."""
        now, number = self._world.now, link.number
        if isinstance(message, m.ToolOutcome):
            self._outcome(link, message)
        elif isinstance(message, h.HookDecision):
            asked = self.hooks.pop((number, message.id), None)
            assert asked is not None, "a decision that nobody waits for"
            assert now - asked <= limits.GATE_TIMEOUT + SLACK, "a gate hung longer than 5 s"
        elif isinstance(message, h.PromptPrepared):
            assert self.prompts.pop((number, message.id), 0), "a prompt prepared twice"
        elif isinstance(message, m.Error):
            self._refused(number, message)
        elif isinstance(message, h.HostSessionOpened):
            self._tools[message.session_id] = message.revision  # a tool host's opens again
        elif isinstance(message, h.ToolsChanged):
            assert message.revision > self._tools.get(message.session_id, 0), "revisions rise"
            self._tools[message.session_id] = message.revision
        elif isinstance(message, h.SessionSend):
            self._sent(message)
        elif isinstance(message, h.ApprovalAnswer):
            approval = self._requests.pop((number, message.id), "")
            told = {"approved": "approve", "expired": "expired"}
            outcome = self._outcomes.get(approval, "none")
            assert told.get(outcome, "deny") == message.decision, f"{approval} is {outcome}"
        elif isinstance(message, h.ModeSet):
            ordered = self._ordered.get((message.session_id, message.mode), [])
            assert self.durable.intersection(ordered), "a mode is set whose order is not durable"
        elif isinstance(message, t.RevealedCode):
            assert self._deciding[message.approval_id] in self.durable, "a code without a record"
        else:
            self._to_provider(link, message)

    def _outcome(self, link: "Link", message: m.ToolOutcome) -> None:
        asked = self.invokes.pop((link.number, message.id), None)
        assert asked is not None, "an outcome that nobody waits for, or a second one"
        given = (
            message.data is not UNSET,
            message.error is not None,
            message.file is not None,
        )
        assert sum(given) == 1, "an outcome is exactly one of data, file and error"
        assert (message.error is None) == (message.error_code is None)
        self.outcomes += 1

    def _refused(self, number: int, message: m.Error) -> None:
        if message.reply_to == "tool.invoke" and message.id is not None:
            connection = self._world.gateway.parts.connections.by_number.get(number)
            in_flight = connection is not None and (
                message.id in connection.invokes or message.id in connection.inquiries
            )
            if not in_flight:
                self.invokes.pop((number, message.id), None)
        elif message.reply_to == "hook.preToolUse" and message.id is not None:
            connection = self._world.gateway.parts.connections.by_number.get(number)
            if connection is None or message.id not in connection.inquiries:
                self.hooks.pop((number, message.id), None)
        elif message.reply_to == "prompt.submitted" and message.id is not None:
            self.prompts.pop((number, message.id), None)

    def _sent(self, message: h.SessionSend) -> None:
        id_ = message.session_id
        assert not self._busy.get(id_), "a prompt is sent to a busy session"
        now = self._world.now
        assert now >= self._awaiting.get(id_, now) - SLACK, "one prompt per idle"
        self._awaiting[id_] = now + limits.TURN_TIMEOUT
        if message.prompt.startswith(m.UPDATE_MARK):
            self._updated(message.prompt)
            return
        if message.prompt in self._world.emitters.prompts:
            return
        waiting = self._posted[id_]
        assert message.prompt in waiting, "a prompt that nobody posted here, or a second time"
        owner = self._owner.get(message.prompt)
        if owner is not None:
            before = waiting[: waiting.index(message.prompt)]
            earlier = [text for text in before if self._owner.get(text) == owner]
            held = self._held(id_)
            assert not [text for text in earlier if text in held], "prompts keep their order"
        waiting.remove(message.prompt)

    def _updated(self, prompt: str) -> None:
        """Lines of emitters are sent: each was injected, and is sent once."""
        for item in prompt.splitlines()[1:-1]:
            if not item.startswith("- stream="):
                continue  # how many were left out
            line = item.partition(": ")[2]
            assert self._injected[line] > 0, f"{line!r} is sent, and was not injected"
            self._injected[line] -= 1

    def _held(self, session_id: str) -> set[str]:
        session = self._world.gateway.parts.sessions.open.get(session_id)
        return {inject.prompt for inject in session.injects} if session else set()

    def _to_provider(self, link: "Link", message: m.Message) -> None:
        number = link.number
        if isinstance(message, p.Sessions) and message.token is not None:
            link.token = message.token
            self._grants[message.token] = {one.id for one in message.active}
            mine = [self._outcomes.get(id_) for id_, one in self._pairs.items() if one == number]
            assert mine == ["approved"], "a token without an approval"
        elif isinstance(message, t.TokenMinted):
            self._grants[message.token] = {self._minting.pop((number, message.id))}
            self._world.tokens.append(message.token)
        elif isinstance(message, p.HelloAck):
            self._seen.setdefault(number, set()).add(message.session_id)
            self._link_of = {id_: one for id_, one in self._link_of.items() if one != number}
            self._link_of[message.provider_id] = number
        if isinstance(message, (p.Sessions, p.SessionsUpdated)):
            for one in message.active:
                self._may_see(link, one.id)
        elif isinstance(message, p.SessionLifecycle):
            self._may_see(link, message.session_id)
            if message.state == "started":
                self._seen[number].add(message.session_id)
            assert message.session_id in self._seen[number], "news of a session it is not in"
        elif isinstance(message, p.Ack):
            self._may_see(link, message.session_id)
            self._rises(number, message)
        elif isinstance(message, _SCOPED + _EITHER):
            self._may_see(link, message.session_id)
            assert message.session_id in self._seen[number], "a session that it was not led into"
            if isinstance(message, m.SessionEvent) and link.token.startswith("ext-"):
                assert message.event.startswith("tool."), "external providers see tools only"

    def _may_see(self, link: "Link", session_id: str) -> None:
        grant = self._grants[link.token]
        is_wider = link.number in self._everywhere
        is_wider = is_wider or session_id in self._widened.get(link.number, ())
        assert grant is None or session_id in grant or is_wider, (
            f"{link.number} is told of session {session_id}, which its token does not cover"
        )

    def _rises(self, number: int, message: p.Ack) -> None:
        provider = next(id_ for id_, one in self._link_of.items() if one == number)
        key = (provider, message.session_id)
        assert message.revision > self._revisions.get(key, 0), "revisions rise"
        self._revisions[key] = message.revision
