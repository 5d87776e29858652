"""CI for one session: the state of its branch, what became red in it, and what the agent reads."""

import asyncio
import re
from collections.abc import Callable
from typing import NamedTuple

from tapui.provider import Allow, Deny, Session
from tapui.shipped.ci.failures import FailedCase, failed_cases, reports, step_log
from tapui.shipped.ci.runs import (
    BranchState,
    CiDeploy,
    CiJob,
    CiRun,
    CiService,
    context_of,
    state_of,
)
from tapui.shipped.web.github import checked_out
from tapui.shipped.web.outside import line, marked, plain
from tapui.shipped.web.service import MAX_BYTES, ServiceError
from tapui.shipped.web.told import ToldChanges
from tapui.wire.errors import CallError
from tapui.wire.message import Level

STREAM = "ci-watch"
KIND = "ci-failure"
DENIED = "CI is failing on this branch. Fix tests first."
PUSH_LINES = 100
"""Lines of the failing step that go with a failure."""
_MOST_RUNS, _MOST_MISSED = 30, 100
_FRESH_SECONDS = 30.0
"""How old the last look may be for a gate; it asks anew otherwise."""
_GATE_SECONDS = 3.0
"""Of the five that a gate has."""
_PERMIT_SECONDS = 600.0
_MOST_WAKES = 3
"""At one look: of more runs that failed together, the person reads a line each."""
_DEPLOYS_EVERY = 3
_MISSES = 2
_MOST_LOG = 12_000
"""Characters of those lines."""
_WORD = re.compile(r"[\w./@+:-]{1,120}\Z")
_NAME = re.compile(r"[\w./+@:-]+\Z")
_PUSH = re.compile(r"\bgit\s+(?:-[cC]\s+\S+\s+)*push\b([^;&|\n]*)")
_PAIRED = ("-o", "--push-option", "--repo", "--receive-pack", "--exec")


class FailureDetails(NamedTuple):
    """What is known of a failed run: its failed jobs, the cases of its reports, the end of the
    failing step's log. `why` says why the log is not there."""

    jobs: list[CiJob]
    cases: list[FailedCase]
    lines: list[str]
    why: str = ""


class SessionWatch:
    """Looks when it is asked to. `now` are seconds that only go forward."""

    def __init__(self, session: Session, service: CiService, now: Callable[[], float]) -> None:
        self.service = service
        self.session = session
        self._now = now
        self._told = ToldChanges(session, STREAM)
        self._branch = ""
        self._state: BranchState | None = None
        self._was = ""
        self._looked_at = float("-inf")
        self._looks = 0
        self._misses = 0
        self._context: str | None = None
        self._deploys: list[CiDeploy] | None = None
        self._tells_deploys = True
        self._were_active: set[str] = set()
        self._is_behind = False
        """Whether what the last answer had is not told whole."""
        self._permits: dict[str, float] = {}

    @property
    def folder(self) -> str:
        return self.session.folder or "."

    async def look(self) -> None:
        """Ask once, and tell what is new. Raises `ServiceError`, and what a query raises."""
        branch = checked_out(self.folder).branch
        if not branch:
            self._set(branch, None)
            return
        runs, is_same = await self.service.runs(branch, most=_MOST_RUNS)
        self._looked_at = self._now()
        if self._looks % _DEPLOYS_EVERY == 0:
            await self._look_at_deploys()
        self._looks += 1
        is_same = is_same and branch == self._branch
        self._set(branch, state_of(runs))
        if not is_same or self._is_behind or self._told.is_behind:
            self._is_behind = True
            await self._tell_new(branch, runs)
            self._is_behind = False

    def failed(self) -> None:
        """The last look has failed: how CI stands is not known."""
        self._looked_at = float("-inf")
        self._set(self._branch, None)

    # The context of prompts

    async def _look_at_deploys(self) -> None:
        if not self._tells_deploys:
            return
        try:
            found = await self.service.deploys()
            self._were_active |= {one.ref for one in found if one.state == "active"}
            # What had ended before is no news to the agent.
            self._deploys = [one for one in found if one.ref in self._were_active]
        except ServiceError as error:
            self._deploys = None
            # The token may not see them, or there are none: the service has said so once.
            self._tells_deploys = error.retryable is True

    def _set(self, branch: str, state: BranchState | None) -> None:
        if self._branch != branch or state is None:
            self._was = ""
        elif self._state is not None and self._state.state != state.state:
            self._was = self._state.state
        self._branch, self._state = branch, state
        text = None
        if state is not None:
            text = context_of(state, self._was, self._deploys)
        elif branch:
            text = "CI is not known: it cannot be asked now."
        if text != self._context:
            self._context = text
            self.session.set_context(text)

    # Changes

    async def _tell_new(self, branch: str, runs: list[CiRun]) -> None:
        told = self._told
        if told.since is None:
            await self._begin(branch, runs)
            return
        is_watched = told.is_watched(branch)
        over = [one for one in runs if one.is_over]
        if is_watched and over and not any(told.has(self._key(one)) for one in over):
            # More has happened than one page has, while this did not look.
            runs, _ = await self.service.runs(branch, most=_MOST_MISSED)
            over = [one for one in runs if one.is_over]
        if not is_watched:
            told.know(self._key(one) for one in over if one.created_at <= (told.since or ""))
            told.watch(branch)
        await told.confirm()
        fresh = [one for one in over if not told.has(self._key(one))]
        wakes = _MOST_WAKES
        for run in sorted(fresh, key=lambda one: one.run_id):
            wakes -= await self._tell(run, runs, may_wake=wakes > 0)
        if fresh:
            await told.confirm()

    async def _begin(self, branch: str, runs: list[CiRun]) -> None:
        newest, _ = await self.service.runs(None, most=1)
        self._told.begin(newest[0].created_at if newest else "")
        self._told.watch(branch)
        self._told.know(self._key(one) for one in runs if one.is_over)
        self._told.save()

    def _key(self, run: CiRun) -> str:
        return f"{self.service.place}/{run.run_id}/{run.attempt}"

    async def _tell(self, run: CiRun, runs: list[CiRun], *, may_wake: bool) -> bool:
        """Tell a run that is over, if it is red, or green again; return whether that wakes."""
        key = self._key(run)
        about = {"runId": run.run_id, "attempt": run.attempt, "commit": line(run.commit, 40)}
        if run.status == "failed":
            try:
                details = await self.details(run)
            except ServiceError as error:
                if error.code == CallError.NOT_FOUND:
                    event = f"run {run.run_id} was deleted"
                    self._told.push(key, event, level="keep", metadata=about)
                    return False
                self._misses += 1
                if error.retryable and self._misses <= _MISSES:
                    raise
                details = FailureDetails([], [], [], error.text)
            self._misses = 0
            # A newer run of the workflow has settled it, where there is one: no need to wake.
            is_newest = run in state_of(runs).failed
            level: Level = "keep" if not is_newest else "inject" if may_wake else "surface"
            self._told.push(
                key,
                f"CI failed on {_place(run, details)}",
                level=level,
                prompt=_prompt(self.service.place, run, details) if level == "inject" else None,
                metadata={"kind": KIND, **about},
            )
            return level == "inject"
        if run.status == "passed" and _was_red(run, runs):
            event = f"CI passed again: run {run.run_id}"
            about["kind"] = "ci-success"
            self._told.push(key, event, level="surface", metadata=about)
        else:
            self._told.know([key])
        return False

    async def details(self, run: CiRun) -> FailureDetails:
        """Return what failed in a run. Raises `ServiceError`: `NOT_FOUND` where it was deleted."""
        failed = [one for one in await self.service.jobs(run) if one.status == "failed"]
        cases: list[FailedCase] = []
        for one in reports(await self.service.artifacts(run), MAX_BYTES):
            try:
                archive = await self.service.artifact(one)
            except ServiceError as error:
                if error.retryable:
                    raise
                continue  # it is gone: the log tells the same, at length
            cases += await asyncio.to_thread(failed_cases, archive)
        if not failed:
            return FailureDetails([], cases, [], "no job of it has failed")
        try:
            log = await self.service.log(failed[0])
        except ServiceError as error:
            if error.retryable:
                raise
            return FailureDetails(failed, cases, [], error.text)
        lines = await asyncio.to_thread(step_log, log, failed[0].failed_step)
        return FailureDetails(failed, cases, lines)

    # Pushes

    async def verdict(self, command: str) -> bool | Allow | Deny:
        """Judge a command that pushes."""
        here = checked_out(self.folder)
        for branch in pushed_branches(command, here.branch):
            state, why = await self._known(branch)
            if state is None:
                if self._permits.pop(branch, float("-inf")) > self._now():
                    continue
                return Deny(
                    f"CI's state on this branch is not known: {why} Ask the person: call"
                    " allow_push with the branch."
                )
            if state.state != "failing":
                continue
            commits = {one.commit for one in state.failed}
            if branch != here.branch or not here.commit or here.commit in commits:
                return Deny(DENIED)
            names = ", ".join(sorted(one[:7] for one in commits))
            return Allow(
                f"CI is failing on this branch, at {names}. This push has another commit: wait for"
                " its run with wait_ci before you call it mended."
            )
        return True

    def permit(self, branch: str) -> None:
        """Let one push of a branch go, though its state is not known: the person agreed."""
        self._permits = {branch: self._now() + _PERMIT_SECONDS}

    async def _known(self, branch: str) -> tuple[BranchState | None, str]:
        if not branch:
            return None, "no branch is checked out."
        if branch == self._branch and self._now() - self._looked_at < _FRESH_SECONDS:
            return self._state, ""
        try:
            async with asyncio.timeout(_GATE_SECONDS):
                runs, _ = await self.service.runs(branch, most=_MOST_RUNS)
        except TimeoutError:
            return None, "it does not answer in time."
        except ServiceError as error:
            return None, f"{error.text}."
        return state_of(runs), ""


def pushed_branches(command: str, current: str) -> list[str]:
    """Return the branches that a command pushes, as far as it names them; else the current one."""
    found: list[str] = []
    for match in _PUSH.finditer(command):
        words, is_value = [], False
        for word in match[1].replace('"', " ").replace("'", " ").split():
            if not is_value and not word.startswith("-") and _NAME.match(word):
                words.append(word)
            is_value = word in _PAIRED
        targets = [word.lstrip("+").rpartition(":")[2] for word in words[1:]]
        names = [one.removeprefix("refs/heads/") for one in targets if one]
        found += [current if one in ("HEAD", "@") else one for one in names] or [current]
    return list(dict.fromkeys(found)) or [current]


def _was_red(run: CiRun, runs: list[CiRun]) -> bool:
    """Return whether the run of the same workflow before this one has failed."""
    before = [
        one
        for one in runs
        if one.workflow_id == run.workflow_id
        and one.run_id < run.run_id
        and one.status in ("passed", "failed")
    ]
    return bool(before) and max(before, key=lambda one: one.run_id).status == "failed"


def _place(run: CiRun, details: FailureDetails) -> str:
    """Say where a run failed: the files of its cases, else its job and step."""
    places = list(dict.fromkeys(one.place for one in details.cases))
    if not places and details.jobs:
        job = details.jobs[0]
        step = job.failed_step
        places = [f"{job.name}: {step.name}" if step is not None else job.name]
    if not places:
        return f"run {run.run_id}"
    more = f" and {len(places) - 1} more" if places[1:] else ""
    return f"{line(places[0], 120)}{more}"


def _prompt(place: str, run: CiRun, details: FailureDetails) -> str:
    """Return what the agent reads of a failed run: only words of tapui's outside of the fence."""
    where = _place(run, details)
    first = f"CI failed on {where if _WORD.match(where) else f'run {run.run_id}'}"
    about = [
        f"workflow: {line(run.workflow)}",
        f"branch: {line(run.branch)}",
        f"commit: {line(run.commit, 40)}",
        f"run: {line(run.url)}",
    ]
    about += [
        f"failed: {line(f'{one.suite} {one.name}')} ({line(one.place)})"
        for one in details.cases[:10]
    ]
    if details.jobs:
        step = details.jobs[0].failed_step
        about.append(f"job: {line(details.jobs[0].name)}")
        about += [f"step: {line(step.name)}"] if step is not None else []
    lines = details.lines[-PUSH_LINES:]
    about.append(f"its last {len(lines)} lines:" if lines else f"no log: {line(details.why)}")
    log = plain("\n".join(lines), _MOST_LOG, is_tail=True)
    body = marked("\n".join([*about, log]), f"a run of {place}")
    return (
        f"{first}.\n\nRun {run.run_id} of {place} is red. {body}\n\nMend what failed and push it;"
        f' get_ci_failures {{"runId": {run.run_id}}} has all of it. It is over when'
        f' wait_ci {{"runId": {run.run_id}}} succeeds.'
    )
