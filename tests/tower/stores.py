"""Stored sessions that a test scripts."""

import shlex

from tapui.tower.app.services import SessionOnDisk, StoreFault
from tests.tower.scripted import START


def stored(id_: str, title: str, *, ago: float = 0.0, pid: int | None = None) -> SessionOnDisk:
    return SessionOnDisk(id_, title, f"/work/{id_}", "main", START - ago, 56_031, pid)


STORED = (
    stored("s1", "Fix flaky pairing test", ago=4, pid=4711),
    stored("s2", "Release notes for 1.4", ago=7_200),
    stored("s3", "Why is the nightly build red?", ago=86_400 * 2, pid=4712),
)


class ScriptedStore:
    """Keeps what was asked of it in `asked`; `fault` is what each request but reading meets."""

    def __init__(self, *sessions: SessionOnDisk, panes: str = "tmux") -> None:
        self.found = list(sessions)
        self.panes = panes
        self.fault = ""
        self.asked: list[tuple[str, str]] = []

    def sessions(self) -> list[SessionOnDisk]:
        if self.fault and not self.found:
            raise StoreFault(self.fault)
        return list(self.found)

    def resume_line(self, session: SessionOnDisk) -> str:
        return f"cd {shlex.quote(session.cwd)} && tapui copilot --resume {shlex.quote(session.id)}"

    def resume(self, session: SessionOnDisk) -> None:
        self._ask("resume", session.id)

    def go_to(self, session_id: str) -> None:
        self._ask("go_to", session_id)

    def delete(self, session: SessionOnDisk) -> None:
        self._ask("delete", session.id)
        self.found.remove(session)

    def _ask(self, what: str, session_id: str) -> None:
        self.asked.append((what, session_id))
        if self.fault:
            raise StoreFault(self.fault)
