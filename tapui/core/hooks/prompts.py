"""Prompts: the context that providers add, and what they make of the system prompt's sections.

Provider Interface v2 "Transform rules"; `tapui/wire/README.md`.
"""

from dataclasses import dataclass, field

from tapui.core.clock import Clock
from tapui.core.deadlines import Deadline, Deadlines, Due
from tapui.core.mint import Mint
from tapui.core.model import ConnectedProvider, Connection, OpenSession
from tapui.core.output import Output
from tapui.wire import limits
from tapui.wire.host import PromptPrepared, PromptSubmitted
from tapui.wire.provider import Transform, TransformRequest, TransformResult


@dataclass(slots=True, eq=False)
class Preparation:
    """A prompt that waits for callbacks. Sections go ahead independently, steps in order."""

    session: OpenSession
    asker: Connection
    request_id: str
    context: list[str]
    sections: dict[str, str]
    steps: dict[str, list[tuple[ConnectedProvider, Transform]]] = field(default_factory=dict)
    waiting: dict[str, tuple[str, ConnectedProvider]] = field(default_factory=dict)
    """Open questions: the section that each is about, and who was asked."""
    deadline: Deadline | None = None


class Prompts:
    """Preparations under way."""

    def __init__(self, clock: Clock, out: Output, deadlines: Deadlines, mint: Mint) -> None:
        self._clock = clock
        self._out = out
        self._deadlines = deadlines
        self._mint = mint
        self._asked: dict[str, Preparation] = {}

    def begin(self, asker: Connection, session: OpenSession, prompt: PromptSubmitted) -> None:
        """Prepare a prompt; the answer goes out at once unless a provider must be asked."""
        preparation = Preparation(
            session, asker, prompt.id, _contexts(session), dict(prompt.sections or {})
        )
        for provider in session.providers.values():
            hooks = provider.hooks.get(session.id)
            for section, transform in hooks.transforms.items() if hooks else ():
                preparation.steps.setdefault(section, []).append((provider, transform))
        for section in list(preparation.steps):
            self._go_on(preparation, section)
        if preparation.waiting:
            preparation.deadline = self._deadlines.add(
                self._clock.now + limits.TRANSFORM_TIMEOUT, Due.TRANSFORM, preparation
            )
        else:
            self._finish(preparation)

    def answered(self, provider: ConnectedProvider, result: TransformResult) -> None:
        """Take a provider's text; late answers, and those to others' questions, are ignored."""
        preparation = self._asked.get(result.call_id)
        if preparation is None or result.call_id not in provider.transforming:
            return
        section = self._close(preparation, result.call_id)
        preparation.sections[section] = result.content
        self._go_on(preparation, section)
        if not preparation.waiting:
            self._finish(preparation)

    def failed(self, provider: ConnectedProvider, call_id: str) -> None:
        """A provider cannot answer: the section stays as it is."""
        preparation = self._asked.get(call_id)
        if preparation is None or call_id not in provider.transforming:
            return
        section = self._close(preparation, call_id)
        self._go_on(preparation, section)
        if not preparation.waiting:
            self._finish(preparation)

    def due(self, preparation: Preparation) -> None:
        """2 s have passed: what is not answered leaves its section as it is."""
        for call_id in list(preparation.waiting):
            section = self._close(preparation, call_id)
            for _, transform in preparation.steps.get(section, ()):
                _apply(preparation, section, transform)
        self._finish(preparation)

    def drop(self, asker: Connection) -> None:
        """Whoever asked is gone."""
        for preparation in set(self._asked.values()):
            if preparation.asker is asker:
                for call_id in list(preparation.waiting):
                    self._close(preparation, call_id)
                self._deadlines.cancel(preparation.deadline)

    def provider_gone(self, provider: ConnectedProvider, session_id: str | None = None) -> None:
        """A provider left (one session, or all): its sections stay as they are."""
        for call_id in list(provider.transforming):
            preparation = self._asked.get(call_id)
            if preparation is not None and session_id in (None, preparation.session.id):
                self.failed(provider, call_id)

    def replace_session(self, former: OpenSession, current: OpenSession) -> None:
        """Let what is asked about `former` go on in `current`."""
        for preparation in self._asked.values():
            if preparation.session is former:
                preparation.session = current

    def _close(self, preparation: Preparation, call_id: str) -> str:
        del self._asked[call_id]
        section, provider = preparation.waiting.pop(call_id)
        provider.transforming.discard(call_id)
        return section

    def _go_on(self, preparation: Preparation, section: str) -> None:
        """Apply steps until one must be asked for."""
        steps = preparation.steps[section]
        while steps:
            provider, transform = steps.pop(0)
            if transform.action != "callback":
                _apply(preparation, section, transform)
                continue
            call_id = self._mint.id("tx")
            preparation.waiting[call_id] = (section, provider)
            self._asked[call_id] = preparation
            provider.transforming.add(call_id)
            self._out.send(
                provider.connection.id,
                TransformRequest(
                    call_id,
                    preparation.session.id,
                    section,
                    preparation.sections.get(section, ""),
                ),
            )
            return

    def _finish(self, preparation: Preparation) -> None:
        self._deadlines.cancel(preparation.deadline)
        if preparation.asker.is_open:
            self._out.send(
                preparation.asker.id,
                PromptPrepared(preparation.request_id, preparation.context, preparation.sections),
            )


def _contexts(session: OpenSession) -> list[str]:
    """Return what providers add to this prompt; what is for the beginning only, once."""
    texts: list[str] = []
    for provider in session.providers.values():
        hooks = provider.hooks.get(session.id)
        if hooks is None:
            continue
        if hooks.startup and not hooks.is_startup_told:
            hooks.is_startup_told = True
            texts.append(hooks.startup)
        if hooks.context:
            texts.append(hooks.context)
    return texts


def _apply(preparation: Preparation, section: str, transform: Transform) -> None:
    current, content = preparation.sections.get(section, ""), transform.content or ""
    if transform.action == "append":
        current = f"{current}\n\n{content}" if current else content
    elif transform.action == "prepend":
        current = f"{content}\n\n{current}" if current else content
    elif transform.action == "replace":
        current = content
    preparation.sections[section] = current
