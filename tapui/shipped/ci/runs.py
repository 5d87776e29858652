"""Runs of a continuous integration, as every service has them, and how a branch stands by them."""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct

RunStatus = Literal["waiting", "running", "passed", "failed", "cancelled"]
"""`waiting`: not begun; `cancelled`: over, and decides nothing (skipped, superseded, stale)."""
_REF = re.compile(r"[\w./+-]{1,60}\Z")


class CiRun(Struct, frozen=True, rename="camel"):
    """A run. Ids are numbers that grow; `attempt` counts its repetitions from 1. Times are RFC
    3339 of the service's clock. Texts are from outside."""

    run_id: int
    workflow: str
    workflow_id: int
    number: int
    branch: str
    commit: str
    status: RunStatus
    attempt: int
    url: str
    created_at: str

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.status not in ("waiting", "running")


class CiStep(Struct, frozen=True, rename="camel"):
    """A step of a job, with when it began and ended (RFC 3339)."""

    name: str
    status: RunStatus
    started_at: str = ""
    ended_at: str = ""


class CiJob(Struct, frozen=True, rename="camel"):
    """A job of a run."""

    job_id: int
    name: str
    status: RunStatus
    steps: tuple[CiStep, ...] = ()

    @property
    def failed_step(self) -> CiStep | None:
        return next((one for one in self.steps if one.status == "failed"), None)


class CiArtifact(NamedTuple):
    """A file that a run has left, as a zip."""

    artifact_id: int
    name: str
    size: int


class CiDeploy(NamedTuple):
    """The newest deployment of an environment."""

    ref: str
    state: Literal["active", "completed", "failed"]


class CiService(Protocol):
    """One service, for one repository of its. Everything may raise `ServiceError`."""

    @property
    def place(self) -> str:
        """The repository's name there: `acme/shop`."""

    @property
    def wait(self) -> float:
        """Seconds for which polls leave it alone."""

    async def runs(
        self, branch: str | None, status: str | None = None, most: int = 20
    ) -> tuple[list[CiRun], bool]:
        """Return runs, the newest first, and whether they are as they were the last time."""

    async def run(self, run_id: int) -> CiRun:
        """Return one run, in its newest attempt."""

    async def jobs(self, run: CiRun) -> list[CiJob]:
        """Return the jobs of a run."""

    async def log(self, job: CiJob) -> str:
        """Return a job's log: lines that begin with their time, where the service has that."""

    async def artifacts(self, run: CiRun) -> list[CiArtifact]:
        """Return what a run has left."""

    async def artifact(self, one: CiArtifact) -> bytes:
        """Return an artifact's zip."""

    async def rerun(self, run_id: int, *, failed_only: bool) -> None:
        """Begin a run anew: a further attempt of it."""

    async def deploys(self) -> list[CiDeploy]:
        """Return the newest deployments, one an environment."""

    async def close(self) -> None:
        """End its connections."""


class BranchState(NamedTuple):
    """How a branch stands: by the newest run of each workflow that has passed or failed."""

    state: Literal["passing", "failing", "running", "none"]
    failed: tuple[CiRun, ...] = ()
    is_running: bool = False


def state_of(runs: Iterable[CiRun]) -> BranchState:
    """Return how a branch stands. `runs` are those of this branch, in any order."""
    decisive: dict[int, CiRun] = {}
    is_running = False
    for run in runs:
        is_running = is_running or not run.is_over
        known = decisive.get(run.workflow_id)
        if run.status in ("passed", "failed") and (known is None or known.run_id < run.run_id):
            decisive[run.workflow_id] = run
    failed = tuple(one for one in decisive.values() if one.status == "failed")
    if failed:
        return BranchState("failing", failed, is_running)
    if decisive:
        return BranchState("passing", (), is_running)
    return BranchState("running" if is_running else "none", (), is_running)


def context_of(branch: BranchState, was: str, deploys: Iterable[CiDeploy] | None) -> str:
    """Return what goes to the agent with each prompt. `was` is the state before this one; `deploys`
    are the active ones, and those that ended since; None where the service does not tell them."""
    match branch.state:
        case "passing":
            text = f"CI is {'now' if was == 'failing' else 'currently'} passing."
        case "failing":
            text = "CI is failing on this branch."
        case "running":
            text = "CI is running on this branch."
        case "none":
            text = "CI has not run on this branch."
    if branch.is_running and branch.state != "running":
        text += " A newer run is under way."
    return text if deploys is None else f"{text} {_deploys(list(deploys))}"


def _deploys(deploys: list[CiDeploy]) -> str:
    active = [one.ref for one in deploys if one.state == "active"]
    if active:
        return f"Deploy {_ref(active[0])} is active."
    if deploys and deploys[0].state == "completed":
        return f"Deploy {_ref(deploys[0].ref)} completed."
    if deploys and deploys[0].state == "failed":
        return f"Deploy {_ref(deploys[0].ref)} failed."
    return "No active deploys."


def _ref(ref: str) -> str:
    """Return a tag or branch as a word of a sentence: one that could be a sentence is left out."""
    return ref if _REF.match(ref) else "of another name"
