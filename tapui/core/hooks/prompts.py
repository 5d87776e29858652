"""Prompts: the context that providers add, and what they may make of the system prompt's sections.

Provider Interface v2 "Transform rules", "Protected prompt sections"; `tapui/wire/README.md`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tapui.core.context import CoreContext
from tapui.core.deadlines import Deadline, Due
from tapui.core.hooks.matching import HookSet
from tapui.core.model import ConnectedProvider, Connection, OpenSession
from tapui.core.traces import Traces
from tapui.core.trust.grants import Capability, Grant, require
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.host import PromptPrepared, PromptSubmitted
from tapui.wire.provider import Transform, TransformRequest, TransformResult

PROTECTED_SECTIONS = frozenset({"safety", "identity"})


def check_transforms(transforms: dict[str, Transform | None]) -> None:
    """Check transforms by themselves.

    Raises `WireError`: `INVALID_JSON` for one without content, `UNAUTHORIZED` for a protected
    section that is not only appended to.
    """
    for section, transform in transforms.items():
        if transform is None:
            continue
        if transform.action != "callback" and transform.content is None:
            raise WireError(ErrorCode.INVALID_JSON, f"transforms.{section}.content: missing")
    for section, transform in transforms.items():
        if transform and section in PROTECTED_SECTIONS and transform.action != "append":
            raise WireError(ErrorCode.UNAUTHORIZED, f"section '{section}' can only be appended to")


def require_transforms(grant: Grant, transforms: Mapping[str, Transform | None]) -> None:
    """Check what a token allows of transforms. Raises `WireError` (`UNAUTHORIZED`)."""
    if any(one is not None and one.action != "append" for one in transforms.values()):
        require(grant, Capability.TRANSFORMS)


def check_room(hooks: HookSet, changes: Mapping[str, Transform | None]) -> None:
    """Check that a provider changes not too many sections, one update after the other, nor with
    too much text.

    Raises `WireError` (`PAYLOAD_TOO_LARGE`).
    """
    given = {section: one for section, one in changes.items() if one is not None}
    texts = [one.content or "" for one in (hooks.transforms | given).values()]
    if sum(map(len, texts)) > limits.MAX_DECLARED_BYTES:
        raise WireError(
            ErrorCode.PAYLOAD_TOO_LARGE,
            f"transforms: at most {limits.MAX_DECLARED_BYTES:,} characters together",
        )
    if len(texts) > limits.MAX_SECTIONS:
        raise WireError(
            ErrorCode.PAYLOAD_TOO_LARGE,
            f"transforms: a provider may change at most {limits.MAX_SECTIONS} sections",
        )


def section_warnings(provider: ConnectedProvider, sessions: Iterable[OpenSession]) -> list[str]:
    """Return what to tell a provider whose transforms have no effect in some of the sessions."""
    texts = []
    without = provider.sessions_without_sections()
    for session in sessions:
        if session in without:
            is_sure = session.applies_sections is False
            has, does = ("have", "apply") if is_sure else ("may have", "say that it applies")
            texts.append(
                f"transforms {has} no effect in session {session.id}: its host "
                f"'{session.view.host}' does not {does} changed sections of the system prompt"
            )
    return texts


def check_context(text: str | None, field_name: str) -> None:
    """Check the length of a context. Raises `WireError` (`PAYLOAD_TOO_LARGE`)."""
    if text is not None and len(text) > limits.MAX_CONTEXT:
        raise WireError(
            ErrorCode.PAYLOAD_TOO_LARGE,
            f"{field_name}: at most {limits.MAX_CONTEXT} characters",
        )


@dataclass(slots=True, eq=False)
class Preparation:
    """A prompt that waits for callbacks. Sections go ahead independently, steps in order."""

    session: OpenSession
    asker: Connection
    request_id: str
    context: list[str]
    sections: dict[str, str]
    steps: dict[str, list[tuple[ConnectedProvider, Transform]]] = field(default_factory=dict)
    waiting: "set[Question]" = field(default_factory=set)
    began: tuple[float, str] | None = None
    """When a prompt came: the clock's time, and the same as RFC 3339. None for sections alone."""


@dataclass(slots=True, eq=False)
class Question:
    """A section that a provider was asked to rewrite. Each has its own 2 s for an answer."""

    call_id: str
    preparation: Preparation
    section: str
    provider: ConnectedProvider
    deadline: Deadline | None = None


class Prompts:
    """Preparations under way."""

    def __init__(self, context: CoreContext, traces: Traces) -> None:
        self._clock, self._out, self._deadlines = context.clock, context.out, context.deadlines
        self._ids = context.ids
        self._traces = traces
        self._asked: dict[str, Question] = {}
        self.introduce: Callable[[OpenSession], str | None] = lambda _session: None
        """Returns what goes to a session's agent with its first prompt; None for nothing."""

    def begin(self, asker: Connection, session: OpenSession, prompt: PromptSubmitted) -> None:
        """Prepare a prompt; the answer goes out at once unless a provider must be asked."""
        is_prompt = not prompt.only_sections
        preparation = Preparation(
            session,
            asker,
            prompt.id,
            self._contexts(session) if is_prompt else [],
            dict(prompt.sections or {}),
        )
        if is_prompt:
            preparation.began = self._clock.now, self._clock.timestamp()
            self._traces.prompt_began(session)
        sections = preparation.sections
        takes_all = is_prompt and not session.asks_sections_apart
        if session.applies_sections is not False:
            for provider in session.providers.values():
                hooks = provider.hooks.get(session.id)
                for section, transform in hooks.transforms.items() if hooks else ():
                    if not takes_all and section not in sections:
                        continue
                    preparation.steps.setdefault(section, []).append((provider, transform))
        for section in list(preparation.steps):
            self._go_on(preparation, section)
        if not preparation.waiting:
            self._finish(preparation)

    def _contexts(self, session: OpenSession) -> list[str]:
        """Return what is added to this prompt; what is for the beginning only, once."""
        texts: list[str] = []
        for provider in session.providers.values():
            hooks = provider.hooks.get(session.id)
            if hooks is None:
                continue
            if not hooks.is_startup_told:
                is_builtin = provider.connection.is_builtin
                startup = self.introduce(session) if is_builtin else hooks.startup
                if startup:
                    hooks.is_startup_told = True
                    texts.append(startup)
            if hooks.context:
                texts.append(hooks.context)
        return texts

    def answered(self, provider: ConnectedProvider, result: TransformResult) -> None:
        """Take a provider's text; late answers, and those to others' questions, are ignored."""
        question = self._asked.get(result.call_id)
        if question is not None and question.provider is provider:
            self._settle(question, result.content)

    def failed(self, provider: ConnectedProvider, call_id: str) -> None:
        """Leave a section unchanged: its provider cannot answer."""
        question = self._asked.get(call_id)
        if question is not None and question.provider is provider:
            self._settle(question, None)

    def due(self, question: Question) -> None:
        """Leave a section unchanged after 2 s; the next provider has its turn."""
        self._settle(question, None)

    def drop(self, asker: Connection) -> None:
        """Forget the prompts of a connection that is gone."""
        for question in list(self._asked.values()):
            if question.preparation.asker is asker:
                self._close(question)

    def provider_gone(self, provider: ConnectedProvider, session_id: str | None = None) -> None:
        """A provider left (one session, or all): its sections stay as they are."""
        for call_id in list(provider.transforming):
            question = self._asked.get(call_id)
            if question is not None and session_id in (None, question.preparation.session.id):
                self._settle(question, None)

    def replace_session(self, former: OpenSession, current: OpenSession) -> None:
        """Continue in `current` what is asked about `former`."""
        for question in self._asked.values():
            if question.preparation.session is former:
                question.preparation.session = current

    def _settle(self, question: Question, content: str | None) -> None:
        """A question is answered, or will not be (None): go on with its section."""
        self._close(question)
        preparation = question.preparation
        if content is not None:
            preparation.sections[question.section] = content
        self._go_on(preparation, question.section)
        if not preparation.waiting:
            self._finish(preparation)

    def _close(self, question: Question) -> None:
        del self._asked[question.call_id]
        question.preparation.waiting.discard(question)
        question.provider.transforming.discard(question.call_id)
        self._deadlines.cancel(question.deadline)

    def _go_on(self, preparation: Preparation, section: str) -> None:
        """Apply steps until one must be asked for; those of providers that left are skipped."""
        steps = preparation.steps[section]
        while steps:
            provider, transform = steps.pop(0)
            if not provider.is_in(preparation.session):
                continue
            if transform.action != "callback":
                _apply(preparation, section, transform)
                continue
            question = Question(self._ids.id("tx"), preparation, section, provider)
            question.deadline = self._deadlines.add(
                self._clock.now + limits.TRANSFORM_TIMEOUT, Due.TRANSFORM, question
            )
            preparation.waiting.add(question)
            self._asked[question.call_id] = question
            provider.transforming.add(question.call_id)
            self._out.send(
                provider.connection.id,
                TransformRequest(
                    question.call_id,
                    preparation.session.id,
                    section,
                    preparation.sections.get(section, ""),
                ),
            )
            return

    def _finish(self, preparation: Preparation) -> None:
        if preparation.began is not None:
            self._traces.prompt_ended(preparation.session, preparation.began)
        if preparation.asker.is_open:
            self._out.send(
                preparation.asker.id,
                PromptPrepared(preparation.request_id, preparation.context, preparation.sections),
            )


def _apply(preparation: Preparation, section: str, transform: Transform) -> None:
    current, content = preparation.sections.get(section, ""), transform.content or ""
    if transform.action == "append":
        current = f"{current}\n\n{content}" if current else content
    elif transform.action == "prepend":
        current = f"{content}\n\n{current}" if current else content
    elif transform.action == "replace":
        current = content
    preparation.sections[section] = current
