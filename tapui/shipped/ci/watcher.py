"""The provider `ci-watcher`: it wakes the agent when CI turns red, and holds red branches' pushes.

Another service than GitHub Actions is a `CiService` of yours: `CiWatcher(open_mine).provider`.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from tapui.provider import (
    Allow,
    Context,
    Deny,
    GateCall,
    GatewayRefusal,
    Provider,
    Session,
    ToolError,
)
from tapui.provider.errors import INVALID_ARGS
from tapui.provider.link import LinkLost
from tapui.shipped.ci.failures import around_error
from tapui.shipped.ci.github_actions import GitHubActions
from tapui.shipped.ci.runs import CiRun, CiService, state_of
from tapui.shipped.ci.session_watch import DENIED, SessionWatch
from tapui.shipped.web import tokens
from tapui.shipped.web.github import address_of, checked_out, host_of
from tapui.shipped.web.outside import NOTE, line, marked
from tapui.shipped.web.service import ServiceError
from tapui.wire.errors import CallError

NAME = "ci-watcher"
LOOK_SECONDS = 20.0
"""Between two looks; longer while the service asks to wait or fails."""
WAIT_SECONDS = 10.0
"""Between two looks of `wait_ci`."""
_APPEAR_SECONDS = 90.0
"""How long a run may take to appear after a push."""
_CALL_SECONDS = 90.0
_WAIT_CALL_SECONDS = 3600.0
_MOST_LOG = 30_000
"""Characters of the log that `get_ci_failures` returns."""
OpenService = Callable[[str, Callable[[str], None]], CiService]
"""Returns the runs of a folder; the second argument is given lines for the person. May raise
`ServiceError`."""
RunId = Annotated[int, Meta(ge=1, le=2**53, description="A run's id, as list_ci_runs has it.")]
Place = Annotated[
    str,
    Meta(description="The repository that this goes to, such as acme/shop: the person sees it."),
]
Status = Literal["queued", "in_progress", "completed", "success", "failure", "cancelled"]


def provider(environ: Mapping[str, str] | None = None) -> Provider:
    """Return the provider, for GitHub Actions."""
    given = dict(os.environ if environ is None else environ)
    return CiWatcher(lambda folder, tell: GitHubActions.of_folder(folder, given, tell)).provider


def trouble(folder: str, environ: Mapping[str, str]) -> str | None:
    """Say why the provider cannot work in a folder; None where nothing is known against it. It may
    start `gh`, and asks no service."""
    try:
        GitHubActions.of_folder(folder, environ, lambda _: None)
    except ServiceError as error:
        return error.text
    host = host_of(address_of(environ))
    if tokens.github(host, environ)() is None:
        return f"there is no token for {host}: set GITHUB_TOKEN, or run gh auth login"
    return None


class CiWatcher:
    """Watches the sessions of its provider."""

    def __init__(
        self,
        open_service: OpenService,
        *,
        name: str = NAME,
        look_seconds: float = LOOK_SECONDS,
        wait_seconds: float = WAIT_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open = open_service
        self._look_seconds, self._wait_seconds = look_seconds, wait_seconds
        self._sleep = sleep
        self._now = now
        self._watches: dict[str, SessionWatch] = {}
        self._said: dict[str, str] = {}
        self.provider = ci = Provider(name, call_timeout=_CALL_SECONDS)
        ci.gate(tool="shell", args="git push", reason=DENIED, name="check-before-push")(
            self.check_before_push
        )
        ci.background(self.watch)
        for tool in (
            self.list_ci_runs,
            self.get_ci_run,
            self.get_ci_failures,
            self.rerun_ci,
            self.allow_push,
        ):
            ci.tool(tool)
        ci.tool(timeout=_WAIT_CALL_SECONDS)(self.wait_ci)

    # Beside each session

    async def watch(self, session: Session) -> None:
        """Look again and again, and tell what is new."""
        try:
            while True:
                await self._sleep(await self._looked(session))
        finally:
            # A session that was moved to another id has a watch for each.
            ended = [id_ for id_, one in self._watches.items() if one.session is session]
            for id_ in ended:
                await self._watches.pop(id_).service.close()

    async def _looked(self, session: Session) -> float:
        """Look once; return the seconds to the next look."""
        watch = self._watches.get(session.id)
        try:
            watch = self._watch_of(session)
            await watch.look()
        except ServiceError as error:
            if watch is None:
                self._say(session, error.text)  # a service that is open says it itself
            else:
                watch.failed()
        except OSError as error:
            self._say(session, f"what was told cannot be kept: {error.strerror}")
        except (LinkLost, GatewayRefusal):
            return self._look_seconds  # the gateway has gone; the change is pushed once it is back
        return max(self._look_seconds, watch.service.wait if watch is not None else 0.0)

    def _watch_of(self, session: Session) -> SessionWatch:
        """Return the watch of a session. Raises `ServiceError`."""
        found = self._watches.get(session.id)
        if found is None:
            service = self._open(session.folder or ".", lambda text: self._say(session, text))
            found = self._watches[session.id] = SessionWatch(session, service, self._now)
        return found

    def _say(self, session: Session, text: str) -> None:
        if self._said.get(session.id) != text:
            self._said[session.id] = text
            session.log(f"ci: {text}")

    async def check_before_push(self, call: GateCall) -> bool | Allow | Deny:
        """Hold a push of a branch that is red."""
        try:
            watch = self._watch_of(call.session)
        except ServiceError as error:
            # A folder of no repository there has no CI; with a wrong address it is not known.
            is_none = error.code == CallError.NOT_FOUND
            return is_none or Deny(f"CI's state is not known: {error.text}. The person mends that.")
        return await watch.verdict(str(call.args.get("command", "")))

    # Tools

    async def list_ci_runs(
        self, context: Context, branch: str | None = None, status: Status | None = None
    ) -> dict[str, Any]:
        """List the newest CI runs of a branch, and whether it passes.

        Args:
            branch: another branch than the one that is checked out here
            status: only runs of this state
        """
        watch = self._watch_of(context.session)
        branch = branch or checked_out(watch.folder).branch
        if not branch:
            raise ToolError(INVALID_ARGS, "branch: name one; none is checked out here")
        runs, _ = await watch.service.runs(branch, status)
        found: dict[str, Any] = {"repository": watch.service.place, "branch": line(branch)}
        if status is None:
            found["state"] = state_of(runs).state
        return {**found, "runs": [_shown(one) for one in runs], "note": NOTE}

    async def get_ci_run(self, runId: RunId, context: Context) -> dict[str, Any]:  # noqa: N803
        """Show a CI run: its state, its jobs, and the step at which each failed."""
        watch, run = await self._run(runId, context)
        jobs = [
            {
                "jobId": one.job_id,
                "name": line(one.name),
                "status": one.status,
                **({"failedStep": line(step.name)} if (step := one.failed_step) else {}),
            }
            for one in await watch.service.jobs(run)
        ]
        about = {"repository": watch.service.place, **_shown(run)}
        return {**about, "jobs": jobs[:100], "note": NOTE}

    async def get_ci_failures(self, runId: RunId, context: Context) -> dict[str, Any]:  # noqa: N803
        """Read what failed in a CI run: the failed cases of its JUnit reports, and the failing
        step's log around its first error."""
        watch, run = await self._run(runId, context)
        details = await watch.details(run)
        found: dict[str, Any] = {"repository": watch.service.place, **_shown(run)}
        found["cases"] = msgspec.to_builtins(details.cases)
        if details.jobs:
            step = details.jobs[0].failed_step
            found["job"] = line(details.jobs[0].name)
            found["step"] = line(step.name) if step is not None else None
        if details.lines:
            text = "\n".join(around_error(details.lines))
            found["log"] = marked(text, f"the log of a run of {watch.service.place}", _MOST_LOG)
        elif details.why:
            found["why"] = f"there is no log: {details.why}"
        return {**found, "note": NOTE}

    async def wait_ci(self, runId: RunId, context: Context) -> dict[str, Any]:  # noqa: N803
        """Wait until a CI run is green, or the newest run of its workflow and branch that came
        after it. Fails when that is red."""
        watch, first = await self._run(runId, context)
        begin, told = self._now(), ""
        while True:
            run = await self._newest(watch.service, first)
            if run.status == "passed":
                return {"repository": watch.service.place, **_shown(run), "green": True}
            if run.is_over and not self._may_come(watch, run, begin):
                more = "" if run.run_id == first.run_id else f", which came after {first.run_id},"
                raise ToolError(
                    "CI_FAILED",
                    f"run {run.run_id}{more} is {run.status}: see get_ci_failures, mend it, push,"
                    " and wait again",
                )
            if (status := f"run {run.run_id}: {run.status}") != told:
                told = status
                context.progress(text=status)
            await self._sleep(self._wait_seconds)

    def _may_come(self, watch: SessionWatch, run: CiRun, begin: float) -> bool:
        """Return whether a newer run is still to be waited for: the folder has another commit."""
        here = checked_out(watch.folder)
        is_pushed = here.branch == run.branch and here.commit not in ("", run.commit)
        return is_pushed and self._now() - begin < _APPEAR_SECONDS

    async def _newest(self, service: CiService, first: CiRun) -> CiRun:
        """Return the newest run of the same workflow and branch. Raises `ServiceError`."""
        runs, _ = await service.runs(first.branch or None)
        later = [
            one
            for one in runs
            if one.workflow_id == first.workflow_id and one.run_id >= first.run_id
        ]
        return max(later, key=lambda one: one.run_id) if later else await service.run(first.run_id)

    async def rerun_ci(
        self,
        runId: RunId,  # noqa: N803
        repository: Place,
        context: Context,
        failedOnly: bool = True,  # noqa: N803
    ) -> dict[str, Any]:
        """Start a CI run again. Only for a failure that is not the code's.

        Args:
            failedOnly: its failed jobs alone
        """
        service = self._of_place(repository, context).service
        await service.rerun(runId, failed_only=failedOnly)
        what = "failed jobs" if failedOnly else "all jobs"
        return {"repository": service.place, "runId": runId, "started": what}

    async def allow_push(self, branch: str, repository: Place, context: Context) -> str:
        """Ask the person to let one push of a branch go, though it is not known how CI stands on
        it. Not for a branch that is failing.

        Args:
            branch: the branch that is pushed
        """
        self._of_place(repository, context).permit(branch)
        return "The next push of this branch may go where CI is not known, within ten minutes."

    async def _run(self, run_id: int, context: Context) -> tuple[SessionWatch, CiRun]:
        watch = self._watch_of(context.session)
        try:
            return watch, await watch.service.run(run_id)
        except ServiceError as error:
            if error.code != CallError.NOT_FOUND:
                raise
            text = f"{watch.service.place} has no run {run_id}, or it was deleted"
            raise ToolError(CallError.NOT_FOUND, text) from None

    def _of_place(self, repository: str, context: Context) -> SessionWatch:
        """Return the watch for a write, which names where it goes. Raises `ToolError`."""
        watch = self._watch_of(context.session)
        if repository != watch.service.place:
            text = f"repository: this folder's is {watch.service.place}; nothing was done"
            raise ToolError(INVALID_ARGS, text)
        return watch


def _shown(run: CiRun) -> dict[str, Any]:
    """Return a run for the agent, its texts bounded."""
    found: dict[str, Any] = msgspec.to_builtins(run)
    return {name: line(one) if isinstance(one, str) else one for name, one in found.items()}
