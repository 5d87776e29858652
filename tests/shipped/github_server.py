"""A server in the place of GitHub's API for one repository, `acme/shop`.

Each answer is held against GitHub's published description (`github_openapi.json`, whose `source`
names its version). Logs and archives are at another host, as GitHub has them, which must see no
token.
"""

import hashlib
import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec

from tests.shipped.web_server import Asked, Said, WebServer

TOKEN = "Bearer t-1"
PLACE = "acme/shop"
_DESCRIBED: dict[str, Any] = msgspec.json.decode(
    (Path(__file__).parent / "github_openapi.json").read_bytes()
)


def _schema(part: Any) -> Any:
    """Return a schema of OpenAPI 3.0 as JSON Schema: `nullable` is a type there."""
    if isinstance(part, list):
        return [_schema(one) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _schema(_DESCRIBED["run"])
    made = {key: _schema(one) for key, one in part.items() if key != "nullable"}
    return {"anyOf": [made, {"type": "null"}]} if part.get("nullable") is True else made


_VALIDATORS = {
    path: jsonschema_rs.Draft4Validator(_schema(one)) for path, one in _DESCRIBED["paths"].items()
}


def least(part: Any) -> Any:
    """Return the least that a schema takes: each value that is required, and nothing else."""
    if part.get("nullable") is True:
        return None
    for several in ("allOf", "anyOf", "oneOf"):
        if several in part:
            return least(part[several][0])
    if "enum" in part:
        return part["enum"][0]
    match part.get("type"):
        case "array":
            return []
        case "string":
            forms = {"uri": "https://api.github.com/x", "date-time": "2026-11-27T00:00:00Z"}
            return forms.get(part.get("format", ""), "x")
        case "integer" | "number":
            return 1
        case "boolean":
            return False
    found = part.get("properties", {})
    return {name: least(found[name]) for name in part.get("required", ()) if name in found}


def zipped(files: dict[str, bytes]) -> bytes:
    """Return files as a zip."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


class GitHubServer:
    """The repository's runs, as tests put them there."""

    def __init__(self) -> None:
        self.runs: dict[int, dict[str, Any]] = {}
        self.jobs: dict[int, list[dict[str, Any]]] = {}
        self.logs: dict[int, bytes] = {}
        self.artifacts: dict[int, dict[str, bytes]] = {}
        self.deployments: list[dict[str, Any]] = []
        self.states: dict[int, str] = {}
        self.reruns: list[tuple[int, str]] = []
        self.trouble: Said | None = None
        """What is answered instead."""
        self.faults: list[str] = []
        self._made = 0
        self.web = WebServer(self._answer)
        self.storage = WebServer(self._store)

    @contextmanager
    def serving(self) -> Iterator["GitHubServer"]:
        with self.web.serving(), self.storage.serving():
            yield self
        assert self.faults == []

    @property
    def environ(self) -> dict[str, str]:
        return {"GITHUB_API_URL": self.web.address, "GITHUB_TOKEN": "t-1"}

    # What there is

    def run(
        self,
        conclusion: str | None = None,
        *,
        branch: str = "main",
        commit: str = "a" * 40,
        workflow: int = 7,
    ) -> int:
        """Add a run, which is over with a conclusion; return its id."""
        self._made += 1
        run_id = 1000 + self._made
        self.jobs[run_id] = []
        self.runs[run_id] = {
            **least(_DESCRIBED["run"]),
            "id": run_id,
            "name": "CI",
            "head_branch": branch,
            "head_sha": commit,
            "run_number": self._made,
            "run_attempt": 1,
            "workflow_id": workflow,
            "event": "push",
            "status": "in_progress",
            "conclusion": None,
            "html_url": f"https://github.com/{PLACE}/actions/runs/{run_id}",
            "created_at": f"2026-11-27T10:{self._made // 60:02}:{self._made % 60:02}Z",
        }
        if conclusion is not None:
            self.end(run_id, conclusion)
        return run_id

    def end(self, run_id: int, conclusion: str, *lines: str, step: str = "Run tests") -> None:
        """End a run; where it fails, `lines` are what its failing step printed."""
        if conclusion == "failure":
            self._fail(run_id, lines, step)
        self.runs[run_id] |= {"status": "completed", "conclusion": conclusion}

    def _fail(self, run_id: int, lines: tuple[str, ...], step: str) -> None:
        job_id = run_id * 10
        described = _DESCRIBED["paths"]["GET actions/runs/{run_id}/jobs"]["properties"]["jobs"]
        times = [f"2026-11-27T11:00:{second:02}Z" for second in (1, 5, 9, 12)]
        steps = [
            ("Set up job", "success", times[0], times[1]),
            (step, "failure", times[1], times[2]),
            ("Complete job", "success", times[2], times[3]),
        ]
        self.jobs[run_id] = [
            {
                **least(described["items"]),
                "id": job_id,
                "run_id": run_id,
                "name": "build",
                "status": "completed",
                "conclusion": "failure",
                "steps": [
                    {
                        "name": name,
                        "status": "completed",
                        "conclusion": ended,
                        "number": number,
                        "started_at": begin,
                        "completed_at": end,
                    }
                    for number, (name, ended, begin, end) in enumerate(steps, 1)
                ],
            }
        ]
        printed = [
            "2026-11-27T11:00:01.1000000Z ##[group]Set up",
            "2026-11-27T11:00:05.1000000Z ##[group]Run pytest",
            *(f"2026-11-27T11:00:07.1000000Z {line}" for line in lines),
            "2026-11-27T11:00:09.1000000Z ##[error]Process completed with exit code 1.",
            "2026-11-27T11:00:09.2000000Z ##[group]Clean up",
        ]
        self.logs[job_id] = ("\ufeff" + "\n".join(printed)).encode()

    def deploy(self, ref: str, state: str, environment: str = "production") -> int:
        """Add a deployment; return its id."""
        self._made += 1
        described = _DESCRIBED["paths"]["GET deployments"]["items"]
        one = {**least(described), "id": self._made, "ref": ref, "environment": environment}
        self.deployments.insert(0, one)
        self.states[self._made] = state
        return self._made

    def delete(self, run_id: int) -> None:
        del self.runs[run_id]

    # What is answered

    def _answer(self, asked: Asked) -> Said:
        if asked.token != TOKEN:
            return Said({"message": "Bad credentials"}, 401)
        if self.trouble is not None:
            return self.trouble
        path = asked.path.removeprefix(f"/repos/{PLACE}/")
        found = self._found(asked, path)
        if isinstance(found, Said):
            return found
        place, body = found
        for fault in _VALIDATORS[f"{asked.method} {place}"].iter_errors(body):
            self.faults.append(f"{asked.method} {place}: {fault.message[:300]}")
        data = msgspec.json.encode(body)
        etag = f'W/"{hashlib.sha256(data).hexdigest()}"'
        if asked.headers.get("if-none-match") == etag:
            return Said(status=304)
        headers = {"Content-Type": "application/json; charset=utf-8", "ETag": etag}
        return Said(data, 201 if asked.method == "POST" else 200, headers)

    def _found(self, asked: Asked, path: str) -> "Said | tuple[str, Any]":
        if path == "actions/runs":
            return path, self._listed(asked.query)
        if match := re.fullmatch(r"actions/runs/(\d+)(/.*)?", path):
            run_id, rest = int(match[1]), match[2] or ""
            if run_id in self.runs:
                return self._of_run(run_id, f"actions/runs/{{run_id}}{rest}")
        if match := re.fullmatch(r"actions/(jobs|artifacts)/(\d+)/(logs|zip)", path):
            return Said(status=302, headers={"Location": f"{self.storage.address}/{match[2]}"})
        if path == "deployments":
            return path, self.deployments
        if match := re.fullmatch(r"deployments/(\d+)/statuses", path):
            place = "deployments/{deployment_id}/statuses"
            one = least(_DESCRIBED["paths"][f"GET {place}"]["items"])
            return place, [{**one, "state": self.states[int(match[1])]}]
        return Said({"message": "Not Found"}, 404)

    def _listed(self, query: dict[str, str]) -> Any:
        runs = [
            one
            for one in sorted(self.runs.values(), key=lambda one: -one["id"])
            if query.get("branch") in (None, one["head_branch"])
            and query.get("status") in (None, one["status"], one["conclusion"])
        ]
        return {
            "total_count": len(runs),
            "workflow_runs": runs[: int(query.get("per_page", "30"))],
        }

    def _of_run(self, run_id: int, place: str) -> "Said | tuple[str, Any]":
        name = place.rpartition("/")[2]
        if name == "{run_id}":
            return place, self.runs[run_id]
        if name == "jobs":
            return place, {"total_count": len(self.jobs[run_id]), "jobs": self.jobs[run_id]}
        if name == "artifacts":
            described = _DESCRIBED["paths"][f"GET {place}"]["properties"]["artifacts"]["items"]
            listed = [
                {
                    **least(described),
                    "id": run_id * 100 + number,
                    "name": named,
                    "size_in_bytes": len(data),
                    "expired": False,
                }
                for number, (named, data) in enumerate(self.artifacts.get(run_id, {}).items())
            ]
            return place, {"total_count": len(listed), "artifacts": listed}
        self.reruns.append((run_id, name))
        self.runs[run_id] |= {"status": "queued", "conclusion": None}
        self.runs[run_id]["run_attempt"] += 1
        return place, {}

    def _store(self, asked: Asked) -> Said:
        if asked.token is not None:
            self.faults.append("the storage was sent the token")
        number = int(asked.path.removeprefix("/"))
        if number in self.logs:
            return Said(self.logs[number])
        archives = list(self.artifacts.get(number // 100, {}).values())
        return Said(archives[number % 100]) if archives else Said(status=404)
