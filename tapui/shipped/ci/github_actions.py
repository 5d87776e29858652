"""GitHub Actions as a `CiService`."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from tapui.shipped.ci.runs import (
    CiArtifact,
    CiDeploy,
    CiJob,
    CiRun,
    CiService,
    CiStep,
    RunStatus,
)
from tapui.shipped.web.github import GitHubRepository, github_service, host_of, repository_of
from tapui.shipped.web.service import WebService

SCOPE = "repo, or for a fine-grained token: actions=read and deployments=read"
_FAILED = frozenset({"failure", "timed_out", "startup_failure", "error"})
_PASSED = frozenset({"success", "neutral"})
_ACTIVE = frozenset({"pending", "queued", "in_progress"})
_MOST_ENVIRONMENTS = 3


class _Run(Struct):
    id: int
    head_sha: str
    run_number: int
    status: str | None
    conclusion: str | None
    workflow_id: int
    html_url: str
    created_at: str
    name: str | None = None
    head_branch: str | None = None
    run_attempt: int = 1


class _Runs(Struct):
    workflow_runs: list[_Run]


class _Step(Struct):
    name: str
    status: str
    conclusion: str | None
    started_at: str | None = None
    completed_at: str | None = None


class _Job(Struct):
    id: int
    name: str
    status: str
    conclusion: str | None
    steps: list[_Step] | None = None


class _Jobs(Struct):
    jobs: list[_Job]


class _Artifact(Struct):
    id: int
    name: str
    size_in_bytes: int
    expired: bool


class _Artifacts(Struct):
    artifacts: list[_Artifact]


class _Deployment(Struct):
    id: int
    ref: str
    environment: str


class _DeploymentStatus(Struct):
    state: str


class GitHubActions(CiService):
    """The runs of one repository. Raises `ServiceError`."""

    def __init__(self, service: WebService, repository: GitHubRepository) -> None:
        self._service = service
        self._path = f"{repository.path}/actions"
        self._deployments = f"{repository.path}/deployments"
        self._place = str(repository)
        self._settled: dict[int, CiDeploy] = {}
        """Deployments that are over, which is asked once."""

    @classmethod
    def of_folder(
        cls, folder: str, environ: Mapping[str, str], tell: Callable[[str], None], **options: Any
    ) -> "GitHubActions":
        """Return the runs of a folder's repository. Raises `ServiceError` where it has none."""
        service = github_service(environ, scope=SCOPE, tell=tell, **options)
        return cls(service, repository_of(folder, host_of(service.address)))

    @property
    def place(self) -> str:
        return self._place

    @property
    def wait(self) -> float:
        return self._service.wait

    async def runs(
        self, branch: str | None, status: str | None = None, most: int = 20
    ) -> tuple[list[CiRun], bool]:
        query = {
            "branch": branch,
            "status": status,
            "per_page": most,
            "exclude_pull_requests": True,
        }
        answer = await self._service.get(f"{self._path}/runs", _Runs, query)
        return [_run(one) for one in answer.data.workflow_runs], answer.is_same

    async def run(self, run_id: int) -> CiRun:
        query = {"exclude_pull_requests": True}
        return _run((await self._service.get(f"{self._path}/runs/{run_id}", _Run, query)).data)

    async def jobs(self, run: CiRun) -> list[CiJob]:
        path = f"{self._path}/runs/{run.run_id}/jobs"
        pages = self._service.pages(path, _Jobs, {"filter": "latest", "per_page": 100}, most=5)
        return [_job(one) async for page in pages for one in page.jobs]

    async def log(self, job: CiJob) -> str:
        data = await self._service.download(f"{self._path}/jobs/{job.job_id}/logs")
        return data.decode("utf-8-sig", "replace")

    async def artifacts(self, run: CiRun) -> list[CiArtifact]:
        path = f"{self._path}/runs/{run.run_id}/artifacts"
        pages = self._service.pages(path, _Artifacts, {"per_page": 100}, most=3)
        return [
            CiArtifact(one.id, one.name, one.size_in_bytes)
            async for page in pages
            for one in page.artifacts
            if not one.expired
        ]

    async def artifact(self, one: CiArtifact) -> bytes:
        return await self._service.download(f"{self._path}/artifacts/{one.artifact_id}/zip")

    async def rerun(self, run_id: int, *, failed_only: bool) -> None:
        what = "rerun-failed-jobs" if failed_only else "rerun"
        await self._service.send("POST", f"{self._path}/runs/{run_id}/{what}", {}, dict[str, Any])

    async def deploys(self) -> list[CiDeploy]:
        answer = await self._service.get(self._deployments, list[_Deployment], {"per_page": 10})
        newest: dict[str, _Deployment] = {}
        for one in answer.data:
            newest.setdefault(one.environment, one)
        return [await self._deploy(one) for one in list(newest.values())[:_MOST_ENVIRONMENTS]]

    async def _deploy(self, one: _Deployment) -> CiDeploy:
        if one.id not in self._settled:
            path = f"{self._deployments}/{one.id}/statuses"
            answer = await self._service.get(path, list[_DeploymentStatus], {"per_page": 1})
            state = answer.data[0].state if answer.data else "pending"
            if state in _ACTIVE:
                return CiDeploy(one.ref, "active")
            if len(self._settled) >= 100:
                self._settled.clear()
            self._settled[one.id] = CiDeploy(one.ref, "failed" if state in _FAILED else "completed")
        return self._settled[one.id]

    async def close(self) -> None:
        await self._service.close()


def _run(one: _Run) -> CiRun:
    return CiRun(
        one.id,
        one.name or "",
        one.workflow_id,
        one.run_number,
        one.head_branch or "",
        one.head_sha,
        _status(one.status or "", one.conclusion),
        one.run_attempt,
        one.html_url,
        one.created_at,
    )


def _job(one: _Job) -> CiJob:
    steps = tuple(
        CiStep(
            step.name,
            _status(step.status, step.conclusion),
            step.started_at or "",
            step.completed_at or "",
        )
        for step in one.steps or ()
    )
    return CiJob(one.id, one.name, _status(one.status, one.conclusion), steps)


def _status(status: str, conclusion: str | None) -> RunStatus:
    if status != "completed":
        return "running" if status == "in_progress" else "waiting"
    if conclusion in _FAILED:
        return "failed"
    return "passed" if conclusion in _PASSED else "cancelled"
