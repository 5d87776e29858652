"""Consent: the person is asked before anything of a folder's file runs, and before it runs again
once it, or a file that its command names, has changed."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tapui.core.approvals.approvals import Approvals, Decided, WaitingApproval
from tapui.core.context import CoreContext
from tapui.core.effects import CheckEmitter, KeepConsent
from tapui.core.emitters.emitter import LiveEmitter
from tapui.core.emitters.plans import EmitterStanding, MustAsk
from tapui.core.emitters.registry import Emitters
from tapui.core.model import Connection, Standing
from tapui.wire import limits

NOT_ASKED_HERE = "it was not allowed yet, and you are not asked in this session"
_TOO_OFTEN = "you were asked too often about what its file says: start it, and you are again"
LATER_VERSIONS = "laterVersions"
"""In the answer to the approval: the files that the command names may change."""


class StartRequests:
    """Opens approvals of kind `emitter`, and has consent kept."""

    def __init__(
        self,
        context: CoreContext,
        *,
        emitters: Emitters,
        approvals: Approvals,
    ) -> None:
        self._clock, self._out, self._tickets = context.clock, context.out, context.tickets
        self._emitters = emitters
        self._approvals = approvals
        self._asker = Connection(0, None, standing=Standing.BUILTIN)
        """Stands for tapui itself, which has no connection."""
        self.on_checked: Callable[[LiveEmitter, bool, EmitterStanding], None]
        """Takes whether an emitter may start, or (with True) still may."""

    def check(self, emitter: LiveEmitter, *, is_again: bool = False) -> None:
        """Ask the shell whether an emitter may start; it is asked before each run."""
        ticket = self._ask_shell(emitter, lambda found: self.on_checked(emitter, is_again, found))
        check = CheckEmitter(ticket, emitter.folder.path, emitter.name, emitter.is_provider)
        self._out.effects.append(check)

    def _ask_shell(self, emitter: LiveEmitter, then: Callable[[Any], None]) -> int:
        """Return a ticket; its answer counts unless the emitter is stopped or changes meanwhile."""

        def answered(answer: object) -> None:
            if emitter.check == ticket:
                emitter.check = None
                then(answer)

        emitter.check = ticket = self._tickets.keep(answered)
        return ticket

    def ask_beside(self, emitter: LiveEmitter, shown: MustAsk) -> None:
        """Ask about changed files of a folder's tools, whose provider runs on with those of before.

        The same change is not asked about again once the person has said no.
        """
        if emitter.approval is not None:
            waits: MustAsk = emitter.approval.subject
            if waits.digest == shown.digest:
                return
            self.withdraw(emitter, "its files have changed once more")
        if shown.digest != emitter.refused:
            self.ask(emitter, shown)

    def ask(self, emitter: LiveEmitter, shown: MustAsk) -> None:
        """Ask the person whether it may start; in unattended sessions it does not.

        Of a folder's emitters, the person is asked in any of its sessions.
        """
        self.withdraw(emitter, "it is asked about anew")
        sessions = [emitter.session] if emitter.is_provider else emitter.folder.sessions
        if all(one.view.unattended for one in sessions):
            self._rest(emitter, NOT_ASKED_HERE)
            return
        if not emitter.folder.may_ask(self._clock.now):
            self._rest(emitter, _TOO_OFTEN)
            return
        detail = {
            "emitterId": emitter.id,
            "name": emitter.name,
            "changed": shown.why,
            **shown.detail,
        }
        emitter.approval = self._approvals.request(
            "emitter",
            self._asker,
            shown,
            detail,
            limits.HOST_APPROVAL_TIMEOUT,
            on_decided=partial(self._decided, emitter),
            on_expired=partial(self._expired, emitter),
            session_id=emitter.session.id,
        )
        state = "asking" if emitter.run is None else emitter.state
        self._emitters.set(emitter, state, shown.why or None)

    def _rest(self, emitter: LiveEmitter, why: str) -> None:
        """It may not start; what runs of it by an earlier consent runs on."""
        state = "configured" if emitter.run is None else emitter.state
        self._emitters.set(emitter, state, why)

    def withdraw(self, emitter: LiveEmitter, reason: str) -> MustAsk | None:
        """The person's answer is not wanted any more; return what they were shown.

        A decision that is being recorded is without effect.
        """
        waiting, emitter.approval = emitter.approval, None
        if waiting is None:
            return None
        if not waiting.is_deciding:
            self._approvals.withdraw(waiting, reason=reason)
        shown: MustAsk = waiting.subject
        return shown

    def _decided(self, emitter: LiveEmitter, decided: Decided) -> None:
        """The person has answered: consent is kept, and then asked for again."""
        if emitter.approval is not decided.waiting:
            return
        emitter.approval = None
        shown: MustAsk = decided.waiting.subject
        if decided.verdict != "approve":
            emitter.refused = shown.digest
            self._rest(emitter, decided.reason or "it was not allowed")
            return
        answer = decided.answer if isinstance(decided.answer, dict) else {}
        ticket = self._ask_shell(emitter, partial(self._kept, emitter))
        if emitter.run is None:
            self._emitters.set(emitter, "queued")
        keep = KeepConsent(
            ticket,
            emitter.folder.path,
            emitter.name,
            shown.digest,
            answer.get(LATER_VERSIONS) is True,
            emitter.is_provider,
        )
        self._out.effects.append(keep)

    def _expired(self, emitter: LiveEmitter, waiting: WaitingApproval) -> None:
        if emitter.approval is waiting:
            emitter.approval = None
            why = "you did not answer in time whether it may start"
            self._rest(emitter, why)

    def _kept(self, emitter: LiveEmitter, fault: str | None) -> None:
        """Consent is kept, or could not be: then nothing starts."""
        if fault is not None:
            emitter.error = f"the consent could not be kept: {fault}"
            self._rest(emitter, emitter.error)
            return
        self._check_allowed(emitter)
        for other in list(self._emitters.by_id.values()):
            # Each session has a provider of its own, and the person was asked for each.
            if other.approval is not None and other.entry_key == emitter.entry_key:
                self.withdraw(other, "it was allowed for another session")
                self._check_allowed(other)

    def _check_allowed(self, emitter: LiveEmitter) -> None:
        """It was allowed: start it, unless it runs and takes over what was allowed by itself."""
        is_running = emitter.run is not None
        if not is_running:
            self._emitters.set(emitter, "queued")
        else:
            self._emitters.set(emitter, emitter.state)
        self.check(emitter, is_again=is_running)
