"""Plays the stories: a host tells the gateway's core what happens, and a folder is looked at."""

from typing import Any

from tapui.core.proof import ledger
from tapui.core.proof.facts import AnyFact
from tapui.settings.settings import Checking, Settings
from tests.core.harness import Conversation, Json
from tests.core.proof.endings.steps import (
    Behind,
    Edit,
    Ended,
    Files,
    Outside,
    Prompt,
    Restarted,
    Shell,
    Stated,
    Step,
    TurnStory,
)

ROOT = "/code/shop"
SESSION = "s2"
_SHELLS = ["bash", "powershell"]


class PlayedSession:
    """A session of which a host tells, up to the end of the story's last turn."""

    def __init__(self, told: TurnStory) -> None:
        self._told = told
        self._files: dict[str, str] = {}
        self._behind: list[tuple[str, str]] = []
        self._calls = 0
        self._talk = self._begun({})
        self._prompt()
        for step in told.steps:
            self._play(step)
        self._idle()

    @property
    def shown(self) -> str | None:
        """What the last turn shows: its state and its text."""
        proof = self._talk.gateway.state.turns[SESSION].turns[-1].proof
        return None if proof is None else f"{proof.state}: {proof.text}"

    @property
    def facts(self) -> list[AnyFact]:
        found = ledger.read(SESSION, self.ledger)
        assert not found.fault
        return found.facts

    @property
    def ledger(self) -> bytes:
        return self._talk.proof.ledgers[SESSION]

    def _begun(self, ledgers: dict[str, bytes]) -> Conversation:
        checks = Checking(commands=self._told.named)
        talk = Conversation(Settings(checks=checks))
        talk.proof.files, talk.proof.packages = self._files, self._told.packages
        talk.proof.ledgers = ledgers
        talk.proof.begin()
        self._host = talk.host()
        self._host.open(SESSION, shellTools=_SHELLS, reservedTools=_SHELLS, cwd=ROOT)
        return talk

    def _tell(self, name: str, **data: Any) -> None:
        self._host.event(SESSION, name, **data)

    def _prompt(self) -> None:
        self._talk.wait(1)
        self._tell("user.message", content="Mend the cart.")

    def _idle(self) -> None:
        self._tell("assistant.message", content="Done: all tests pass.")
        self._talk.wait(1)
        self._tell("session.idle")

    def _play(self, step: Step) -> None:
        match step:
            case Shell():
                self._run(step)
            case Behind(text=text):
                id_ = self._start("bash", command=text)
                self._complete(id_, "bash", None, "<command started>", isBehind=True)
                self._behind.append((id_, text))
            case Ended(code=code, output=output):
                id_, _ = self._behind.pop()
                shell = {"id": "1", "cwd": ROOT, "tail": output}
                self._tell("shell.completed", toolCallId=id_, exitCode=code, shell=shell)
            case Edit(path=path, content=content):
                id_ = self._start("edit", path=path)
                self._write({path: content})
                changes = [{"path": f"{ROOT}/{path}", "added": 1, "removed": 0}]
                self._tell("tool.execution_complete", tool="edit", toolCallId=id_, changes=changes)
            case Outside(files=files):
                self._write(files)
            case Stated(tool=tool, text=text, output=output):
                self._complete(self._start(tool, command=text), tool, 0, output)
            case Prompt():
                self._idle()
                self._prompt()
            case Restarted():
                self._talk = self._begun(dict(self._talk.proof.ledgers))
                self._prompt()

    def _run(self, step: Shell) -> None:
        cwd = step.cwd if step.cwd.startswith("/") else f"{ROOT}/{step.cwd}".rstrip("/")
        if step.by_person:
            self._run_for_person(step)
            return
        id_ = self._start(step.shell, command=step.text)
        for inner in step.meanwhile:
            self._play(inner)
        self._write(step.writes)
        self._complete(id_, step.shell, step.code, step.output, cwd=cwd)

    def _run_for_person(self, step: Shell) -> None:
        proof = self._talk.gateway.proof
        session = proof.of(SESSION)
        assert session is not None
        self._talk.tell(lambda: proof.began(session, "p1", step.text, by="person"))
        self._talk.tell(lambda: proof.ended(session, "p1", step.code, step.output))
        self._talk.turn()

    def _start(self, tool: str, **args: str) -> str:
        self._calls += 1
        id_ = f"t{self._calls}"
        self._tell("tool.execution_start", tool=tool, toolCallId=id_, args=args)
        return id_

    def _complete(
        self, id_: str, tool: str, code: int | None, output: str, **shell: str | bool
    ) -> None:
        told: Json = {"result": {"type": "success", "output": output}}
        if code is not None:
            told["exitCode"] = code
        if tool in _SHELLS:
            told["shell"] = {"id": "1", "cwd": ROOT, **shell}
        self._tell("tool.execution_complete", tool=tool, toolCallId=id_, **told)

    def _write(self, files: Files) -> None:
        for path, content in files.items():
            if content is None:
                self._files.pop(path, None)
            else:
                self._files[path] = content
