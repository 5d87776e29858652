"""Any provider of the kit, with any declarations: the gateway never refuses what it sends.

Declarations and steps are drawn at random and played against the real core, in memory. What the
kit refuses itself, with a `DeclarationError`, is the author's to mend and counts as said.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tapui.provider import (
    Allow,
    Context,
    DeclarationError,
    Deny,
    GateCall,
    Provider,
    Session,
    ToolError,
)
from tapui.testing.faults import ProviderFault
from tapui.testing.results import StartedCall
from tapui.testing.session import ProviderSession

EVERYTHING = 600.0
"""Seconds after which no call is left."""

texts = st.one_of(
    st.sampled_from(
        ["", " ", "x", "\ud800", "\x00", "a" * 300, "é" * 70, "{}", "\u2028", "^", "@"]
    ),
    st.text(max_size=8),
)
names = st.one_of(st.sampled_from(["greet", "a-b_C", "x" * 64, "tap", "list_p_instances"]), texts)
patterns = st.one_of(
    st.sampled_from(
        [
            "push", "(?P<a>x)(?P=a)", "(?i:x)", "(?i)x", r"\Z", r"\A", r"\d{2,}?", "x*+", "(?>x)",
            "(?<=a|bc)d", "(?<!a)b", "[[]", "[a-z&&[b]]", r"\N{DASH}", r"\x41", r"\u0041", "a{,3}",
            "(?#note)", "(?(1)a|b)", "(a)(?(1)b|c)", "(?a)x", "(?L)x", "(?s-i:x)", "a++", "(a+)+$",
            "[^]]", "[]a]", "$^", r"\01", r"\1", r"(a)\1", r"\p{L}", "x" * 1001, r"\_", r"\-",
            "]", "}",
        ]
    ),
    texts,
)  # fmt: skip
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts, st.binary(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(texts, st.integers()), inner, max_size=3),
        st.tuples(inner),
        st.sets(st.integers(), max_size=2),
    ),
    max_leaves=5,
)
outcomes = st.sampled_from(["drop", "keep", "surface", "inject"])
sections = st.one_of(st.sampled_from(["identity", "safety", "tone", "rules", "x" * 257]), texts)
levels = st.sampled_from(["keep", "surface", "inject", "shout"])
pushed = st.fixed_dictionaries(
    {"event": texts, "level": levels},
    optional={
        "stream": names,
        "prompt": texts,
        "metadata": st.dictionaries(texts, values, max_size=2),
    },
)
declared = st.one_of(
    st.tuples(st.just("tool"), names, texts, st.sampled_from([None, 0.001, 5.0, 90_000.0, -1.0])),
    st.tuples(st.just("schema"), names, st.dictionaries(texts, values, max_size=3)),
    st.tuples(st.just("remove"), names),
    st.tuples(st.just("gate"), names, patterns, values, st.booleans()),
    st.tuples(st.just("deny"), names, patterns, texts),
    st.tuples(st.just("context_rule"), texts, patterns),
    st.tuples(
        st.just("change"), st.sampled_from(["append", "prepend", "replace"]), sections, texts
    ),
    st.tuples(st.just("transform"), sections, values),
    st.tuples(st.just("filter"), names, st.lists(st.tuples(patterns, outcomes), max_size=3)),
    st.tuples(st.just("on"), names, pushed),
    st.tuples(st.just("set_context"), texts),
)
steps = st.one_of(
    st.tuples(st.just("call"), st.sampled_from(["act", "greet"]), values, st.booleans()),
    st.tuples(st.just("cancel")),
    st.tuples(st.just("native"), st.sampled_from(["bash", "edit"]), texts),
    st.tuples(st.just("push"), pushed),
    st.tuples(st.just("declare"), declared),
    st.tuples(st.just("turn"), texts),
    st.tuples(st.just("happens"), st.sampled_from(["session.idle", "session.busy", "x", "greet"])),
    st.tuples(st.just("advance"), st.sampled_from([0.0, 0.1, 1.0, 6.0, 130.0])),
    st.tuples(st.just("disconnect")),
    st.tuples(st.just("restart")),
    st.tuples(st.just("another")),
    st.tuples(st.just("yield")),
)
beginnings = st.fixed_dictionaries(
    {},
    optional={
        "instance": names,
        "metadata": st.dictionaries(texts, values, max_size=2),
        "session": st.just("all"),
        "context": texts,
        "startup_context": texts,
        "concurrency": st.integers(-1, 3),
        "subscribe": st.lists(names, max_size=3),
        "call_timeout": st.sampled_from([0.5, 20.0]),
    },
)


class Author:
    """Writes a provider, and plays with it."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.pushed: list[Session] = []
        self.calls: list[StartedCall] = []
        self.sessions: list[ProviderSession] = []

        @provider.background
        async def hold(session: Session) -> None:
            self.pushed.append(session)

        @provider.tool
        async def act(context: Context, value: Any = None) -> Any:
            """Do something, which takes a while."""
            context.progress(1, 2, str(value)[:20])
            for _ in range(len(str(value)) % 4):
                await asyncio.sleep(0)
            if value == "hang":
                await asyncio.Event().wait()
            if value is False:
                raise ToolError(str(value), str(value))
            return value

    def declare(self, kind: str, *given: Any) -> None:
        """Declare something; raises `DeclarationError`."""
        provider = self.provider
        match kind, given:
            case "tool", (name, description, timeout):
                made = provider.tool(name=name, description=description, timeout=timeout)
                made(_answering(description))
            case "schema", (name, parameters):
                provider.tool(name=name, parameters=parameters)(_answering(None))
            case "remove", (name,):
                with suppress(KeyError):  # there is no such tool
                    provider.remove_tool(name)
            case "gate", (name, args, verdict, is_open):
                made = provider.gate(tool="bash", args=args, fail_open=is_open, name=name or None)
                made(_judging(verdict))
            case "deny", (name, args, reason):
                provider.deny(tool=name, args=args, reason=reason)
            case "context_rule", (content, file):
                provider.context_rule(content, file=file)
            case "change", (how, section, text):
                getattr(provider, how)(section, text)
            case "transform", (section, made):
                provider.transform(section)(_answering(made))
            case "filter", (stream, rules):
                provider.filter(stream, rules)
            case "on", (event, line):
                provider.on(event)(lambda news: self.push(news.session, line))
            case "set_context", (text,):
                provider.set_context(text)
            case _:
                raise NotImplementedError(kind)

    def push(self, session: Session, line: dict[str, Any]) -> None:
        """Push a line several times, more than the gateway takes at a moment."""
        for _ in range(4):
            with suppress(DeclarationError):  # said to the author
                session.push(line["event"], **{k: v for k, v in line.items() if k != "event"})

    async def step(self, kind: str, *given: Any) -> None:
        """Do one thing."""
        session = self.sessions[-1]
        match kind, given:
            case "call", (tool, value, is_hanging):
                args = {"value": "hang" if is_hanging else _as_json(value)}
                self.calls.append(session.start(tool, args))
            case "cancel", ():
                if self.calls:
                    self.calls[-1].cancel()
            case "native", (tool, command):
                await session.native(tool, command=_as_json(command))
            case "push", (line,):
                for member in self.pushed:
                    self.push(member, line)
            case "declare", (what,):
                with suppress(DeclarationError):  # said to the author
                    self.declare(*what)
            case "turn", (prompt,):
                await session.turn(_as_json(prompt) or "go on", tone="text", rules="text")
            case "happens", (event,):
                await session.happens(event)
            case "advance", (seconds,):
                await session.advance(seconds)
            case "disconnect", ():
                await session.disconnect()
                await session.reconnected()
            case "restart", ():
                await session.restart_gateway()
                await session.reconnected()
            case "another", ():
                if self.provider.session == "all" and len(self.sessions) < 3:
                    self.sessions.append(await session.another(f"s{len(self.sessions)}"))
            case "yield", ():
                await asyncio.sleep(0)


def _answering(made: Any) -> Callable[..., Any]:
    def answer(arguments: dict[str, Any]) -> Any:
        return arguments if made is None else made

    return answer


def _judging(verdict: Any) -> Callable[[GateCall], Any]:
    async def judge(call: GateCall) -> Any:
        if isinstance(verdict, str):
            return Deny(verdict)
        return Allow(str(verdict)) if isinstance(verdict, list) else verdict

    return judge


def _as_json(value: Any) -> Any:
    """Return what a caller can say, who has JSON."""
    return value if isinstance(value, bool | None) else str(value).encode(errors="ignore").decode()


async def played(begun: dict[str, Any], program: list[Any], steps: list[Any]) -> None:
    try:
        author = Author(Provider("author", **begun))
        for one in program:
            with suppress(DeclarationError):  # said to the author
                author.declare(*one)
    except DeclarationError:
        return
    opened = author.provider.test()
    session = await opened.__aenter__()  # its end is awaited as every step is
    try:
        author.sessions.append(session)
        for one in steps:
            await _unless_its_own(author.step(*one))
        for call in author.calls:
            call.cancel()
        await _unless_its_own(session.advance(EVERYTHING))
        assert all(call.is_done for call in author.calls)
        assert session.cancelling == 0
    finally:
        await _unless_its_own(opened.__aexit__(None, None, None))


async def _unless_its_own(work: Any) -> None:
    """Await; that a function of the author's fails is no refusal."""
    try:
        await work
    except ProviderFault as fault:
        if "the gateway refused" in "\n".join([str(fault), *getattr(fault, "__notes__", [])]):
            raise


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> Iterator[None]:
    """Functions that fail are drawn on purpose: what the log has of them is no fault here."""
    log = logging.getLogger("tapui.provider")
    log.propagate = False
    yield
    log.propagate = True


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(beginnings, st.lists(declared, max_size=6), st.lists(steps, max_size=10))
def test_the_gateway_never_refuses_a_provider_and_every_call_ends_once(
    begun: dict[str, Any], program: list[Any], steps: list[Any]
) -> None:
    asyncio.run(played(begun, program, steps))
