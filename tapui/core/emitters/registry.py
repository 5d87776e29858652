"""The emitters that are there, and how towers, commands and agents see each."""

from msgspec.structs import replace

from tapui.core.context import CoreContext
from tapui.core.deadlines import Due
from tapui.core.emitters.emitter import EmitterFolder, LiveEmitter
from tapui.core.emitters.plans import EmitterEntryRead
from tapui.core.model import OpenSession
from tapui.wire import limits
from tapui.wire.emitters import Emitter, EmitterSource, EmitterState
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import EmitterChanged, EmitterCounted, EmitterGone
from tapui.wire.message import BUILTIN_PROVIDER


class Emitters:
    """The registry. Call `show` after each change of an emitter."""

    def __init__(self, context: CoreContext) -> None:
        self._clock, self._out = context.clock, context.out
        self._deadlines, self._ids = context.deadlines, context.ids
        self.by_id: dict[str, LiveEmitter] = {}
        self.by_run: dict[str, LiveEmitter] = {}
        """By the id of the run under way, of those that run a command."""
        self.ending: dict[str, tuple[str, str]] = {}
        """The runs of emitters that are gone and have not ended: their folder and name."""
        self._shown: dict[str, Emitter] = {}

    @property
    def room(self) -> int:
        """How many more there may be."""
        return limits.MAX_EMITTERS - len(self.by_id)

    def has_room_for_file(self, folder: EmitterFolder) -> bool:
        """Return whether a folder's file may have one more: it leaves room to other folders."""
        of_file = [one for one in self.by_id.values() if one.folder is folder]
        there = sum(one.source == "file" for one in of_file)
        return self.room > 0 and there < limits.MAX_FOLDER_EMITTERS

    def add(
        self,
        entry: EmitterEntryRead,
        folder: EmitterFolder,
        session: OpenSession,
        source: EmitterSource,
    ) -> LiveEmitter:
        """Register an emitter, which does not run yet."""
        emitter = LiveEmitter(
            id=self._ids.id("e"),
            entry=entry,
            plan=entry.plan,
            rules=entry.plan.rules,
            session=session,
            folder=folder,
            source=source,
        )
        self.by_id[emitter.id] = emitter
        self.show(emitter)
        return emitter

    def remove(self, emitter: LiveEmitter, reason: str) -> None:
        """Forget an emitter. Nothing of it is under way any more, or what is, is forgotten, too."""
        self.rest(emitter)
        self._deadlines.cancel(emitter.counts_due)
        emitter.counts_due = None
        if emitter.run is not None:
            self.by_run.pop(emitter.run.id, None)
            emitter.run = None
        self._shown.pop(emitter.id, None)
        if self.by_id.pop(emitter.id, None) is not None:
            gone = EmitterGone(
                session_id=emitter.session.id,
                emitter_id=emitter.id,
                name=emitter.name,
                reason=reason,
            )
            self._out.emit(gone)

    def find(self, emitter_id: str) -> LiveEmitter:
        """Return an emitter. Raises `WireError` (`NOT_FOUND`)."""
        emitter = self.by_id.get(emitter_id)
        if emitter is None:
            raise WireError(ErrorCode.NOT_FOUND, f"emitter {emitter_id} is not there")
        return emitter

    def of_agent(self, session: OpenSession) -> list[LiveEmitter]:
        return [
            one for one in self.by_id.values() if one.source == "tool" and one.session is session
        ]

    def set(self, emitter: LiveEmitter, state: EmitterState, why: str | None = None) -> None:
        """Put an emitter in a state, with the reason in words where there is one, and show it."""
        emitter.state, emitter.why = state, why
        self.show(emitter)

    def rest(self, emitter: LiveEmitter) -> None:
        """Let nothing of an emitter begin by itself: no next run, no answer about consent."""
        self._deadlines.cancel(emitter.deadline)
        emitter.deadline = emitter.next_run_at = emitter.check = None

    def show(self, emitter: LiveEmitter) -> None:
        """Tell what an emitter is like now, unless that was told."""
        if emitter.id not in self.by_id:
            return
        view = described(emitter)
        if view != self._shown.get(emitter.id):
            self._deadlines.cancel(emitter.counts_due)
            emitter.counts_due = None
            self._shown[emitter.id] = view
            emitter.counted_at = self._clock.now
            self._out.emit(EmitterChanged(session_id=view.session_id, emitter=view))

    def show_counts(self, emitter: LiveEmitter) -> None:
        """Tell an emitter's counts, now or before long: not too often."""
        if emitter.counts_due is not None:
            return
        when = emitter.counted_at + limits.COUNTED_INTERVAL
        if self._clock.now < when:
            emitter.counts_due = self._deadlines.add(when, Due.COUNTS, emitter)
        else:
            self._tell_counts(emitter)

    def counts_due(self, emitter: LiveEmitter) -> None:
        """Tell an emitter's counts after a while, if nothing else was told meanwhile."""
        emitter.counts_due = None
        self._tell_counts(emitter)

    def _tell_counts(self, emitter: LiveEmitter) -> None:
        view, shown = described(emitter), self._shown.get(emitter.id)
        if shown is None or view == shown:
            return
        if replace(view, counts=shown.counts) != shown:
            self.show(emitter)
            return
        emitter.counted_at = self._clock.now
        self._shown[emitter.id] = view
        counted = EmitterCounted(
            session_id=view.session_id, emitter_id=emitter.id, counts=view.counts
        )
        self._out.emit(counted)


def configured(entry: EmitterEntryRead, folder: str) -> Emitter:
    """Return what a folder's file says of an emitter: no gateway runs it, it belongs to no session
    and has no id."""
    plan = entry.plan
    return Emitter(
        id="",
        name=plan.name,
        folder=folder,
        session_id="",
        kind=plan.runs,
        state="configured",
        stream=f"{plan.stream_name}@{BUILTIN_PROVIDER}",
        cwd=plan.cwd,
        command=plan.command,
        args=list(plan.args),
        prompt=plan.prompt,
        shell=plan.shell,
        every=plan.every,
        cron=plan.cron,
        ownership=entry.ownership,
        lifespan=entry.lifespan,
        line=entry.line,
        auto_start=plan.auto_start,
        include_stderr=plan.include_stderr,
        max_runs=plan.max_runs,
        rules=list(plan.rules),
        injector=plan.injector,
        delivery=plan.delivery,
        description=entry.description,
    )


def described(emitter: LiveEmitter) -> Emitter:
    """Return an emitter of a gateway, by the plan that is in force."""
    entry, held = emitter.entry, emitter.held
    if entry.plan is not emitter.plan:
        entry = replace(entry, plan=emitter.plan)
    return replace(
        configured(entry, emitter.folder.path),
        id=emitter.id,
        session_id=emitter.session.id,
        state=emitter.state,
        source=emitter.source,
        runs=emitter.runs,
        rules=list(emitter.rules),
        next_run_at=emitter.next_run_at,
        last_run_at=emitter.last_run_at,
        last_status=emitter.last_status,
        exit_code=emitter.exit_code,
        signal=emitter.signal,
        failures=emitter.failures,
        error=emitter.error,
        why=emitter.why,
        approval_id=emitter.approval.view.id if emitter.approval is not None else None,
        waiting=len(held.lines or ()) if held is not None else 0,
        braked=emitter.is_braked,
        counts=emitter.counted(),
    )
