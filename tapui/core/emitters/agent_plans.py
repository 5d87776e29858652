"""What a session's agent may have run: plans of what it asks for, within bounds."""

import posixpath
import re

from msgspec.structs import replace

from tapui.core.emitters.folders import EmitterFolders
from tapui.core.emitters.given import EmitterPlan
from tapui.core.emitters.live import LiveEmitter
from tapui.core.emitters.registry import Emitters
from tapui.core.emitters.running import Running
from tapui.core.hooks.matching import Matcher
from tapui.core.model import OpenSession
from tapui.core.streams.streams import Streams, compile_filter
from tapui.wire import limits
from tapui.wire.builtin import EmitterWanted
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.message import BUILTIN_PROVIDER

_NAME = re.compile(rf"[a-z0-9._-]{{1,{limits.MAX_NAME}}}")


class AgentPlans:
    """Makes plans of what agents want. Methods raise `WireError`."""

    def __init__(
        self,
        *,
        emitters: Emitters,
        folders: EmitterFolders,
        running: Running,
        streams: Streams,
        matcher: Matcher,
    ) -> None:
        self._emitters = emitters
        self._folders = folders
        self._running = running
        self._streams = streams
        self._matcher = matcher

    def of(self, session: OpenSession, wanted: EmitterWanted) -> EmitterPlan:
        """Return what would run; nothing of it is there yet."""
        compile_filter(wanted.rules, self._matcher)
        if (fault := _fault(wanted)) is not None:
            raise refused(session, fault)
        plan = EmitterPlan(
            name=wanted.name,
            stream=wanted.stream,
            kind=wanted.kind,
            cwd=posixpath.normpath(posixpath.join(folder_of_work(session), wanted.cwd or "")),
            command=wanted.command,
            prompt=wanted.prompt,
            shell=wanted.shell,
            every=wanted.every,
            max_runs=wanted.max_runs,
            auto_start=False,
            include_stderr=wanted.include_stderr,
            rules=tuple(wanted.rules),
            injector=wanted.injector,
            delivery=wanted.delivery,
        )
        return plan if plan.command is not None else self._bounded(session, plan)

    def _bounded(self, session: OpenSession, plan: EmitterPlan) -> EmitterPlan:
        """Bound the runs of a prompt: an agent that prompts itself is a loop."""
        own = [one for one in self._emitters.of_agent(session) if one.is_prompt]
        if any(one.is_active for one in own):
            raise refused(session, "another prompt of yours waits or runs already: stop it first")
        left = limits.MODEL_PROMPT_RUNS - session.prompt_runs - sum(one.runs for one in own)
        if left <= 0:
            text = f"{limits.MODEL_PROMPT_RUNS} runs of your prompts are all that a session has"
            raise refused(session, text)
        return replace(plan, max_runs=min(plan.max_runs or left, left))

    def check_free(self, session: OpenSession, plan: EmitterPlan) -> None:
        """Check that it can be started now: its name is free, and there is room."""
        if not self._folders.is_on:
            raise refused(session, "emitters are not run here")
        known = self.find(session, plan.name)
        if known is not None and known.source == "file":
            raise refused(session, f"emitter '{plan.name}' is there already, in the folder's file")
        if known is not None and known.is_active:
            raise refused(session, f"emitter '{plan.name}' is active already")
        self._streams.require_room(session.id, plan.stream, BUILTIN_PROVIDER)
        if known is None and not self._has_room(session):
            raise refused(session, f"a gateway has at most {limits.MAX_EMITTERS} emitters")

    def _has_room(self, session: OpenSession) -> bool:
        """Return whether there may be one more; the oldest of a session that is over makes room."""
        if self._emitters.room > 0:
            return True
        over = next((one for one in self._emitters.of_agent(session) if not one.is_active), None)
        if over is None:
            return False
        session.prompt_runs += over.runs if over.is_prompt else 0
        self._running.drop(over, "another one took its place")
        return True

    def seen(self, session: OpenSession) -> list[LiveEmitter]:
        """Return the emitters of a session's folder, and those that its agent started."""
        folder = self._folders.folder_of(session)
        return [*folder.emitters.values(), *self._emitters.of_agent(session)]

    def find(self, session: OpenSession, name: str) -> LiveEmitter | None:
        """Return an emitter that the session sees, by its name."""
        return next((one for one in self.seen(session) if one.name == name), None)


def folder_of_work(session: OpenSession) -> str:
    """Return the folder that a session's names of files are relative to."""
    return session.folder or session.view.cwd


def _fault(wanted: EmitterWanted) -> str | None:
    """Return why an emitter cannot be as it is wanted; None where it can."""
    text = wanted.command if wanted.prompt is None else wanted.prompt
    is_prompt, kind = wanted.prompt is not None, wanted.kind
    if text is None or (is_prompt and wanted.command is not None) or not text.strip():
        return "an emitter has either a command or a prompt"
    if len(text) > limits.MAX_PROPOSED:
        return f"a command or a prompt has at most {limits.MAX_PROPOSED:,} characters"
    for name in (wanted.name, wanted.stream):
        if not _NAME.fullmatch(name):
            return f"a name has 1 to {limits.MAX_NAME} characters of a-z, 0-9 and ._-"
    if (kind == "continuous") if is_prompt else (kind == "idle"):
        return f"a {'prompt' if is_prompt else 'command'} cannot be {kind}"
    if wanted.every is not None and not 1 <= wanted.every <= limits.MAX_INTERVAL:
        return f"every: 1 to {limits.MAX_INTERVAL:,} seconds"
    if kind == "timed" and wanted.every is None:
        return "every: a timed emitter has an interval"
    if wanted.max_runs is not None and wanted.max_runs < 1:
        return "maxRuns: 1 or more"
    return None


def refused(session: OpenSession, text: str) -> WireError:
    """Return the error that refuses what an agent asks for."""
    return WireError(ErrorCode.INVALID_JSON, text, session_id=session.id)
