"""An emitter as towers, commands and agents see it."""

from msgspec.structs import replace

from tapui.core.emitters.given import EmitterEntryRead
from tapui.core.emitters.live import LiveEmitter
from tapui.wire.emitters import Emitter
from tapui.wire.message import BUILTIN_PROVIDER


def configured(entry: EmitterEntryRead, folder: str) -> Emitter:
    """Return what a folder's file says of an emitter: no gateway runs it, it belongs to no session
    and has no id."""
    plan = entry.plan
    return Emitter(
        id="",
        name=plan.name,
        folder=folder,
        session_id="",
        kind=plan.kind,
        state="configured",
        stream=f"{plan.stream}@{BUILTIN_PROVIDER}",
        cwd=plan.cwd,
        command=plan.command,
        args=list(plan.args),
        prompt=plan.prompt,
        shell=plan.shell,
        every=plan.every,
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
