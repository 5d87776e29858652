"""What a provider declares with decorators: its tools, rules and handlers."""

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, Literal, Protocol, TypeVar, overload

from msgspec.structs import replace

from tapui.provider.checks import (
    call_match,
    check_name,
    checked_part,
    checked_regex,
    json_object,
    sendable,
    short_context,
)
from tapui.provider.context import DeclaredGate
from tapui.provider.errors import DeclarationError
from tapui.provider.tool import LETTERS, NAME, ToolFunction, is_coroutine
from tapui.wire import limits
from tapui.wire.message import BUILTIN_PROVIDER, Tool
from tapui.wire.provider import Concurrency, FilterRule, Hello, HookRule, Hooks, Transform
from tapui.wire.surrogates import without_surrogates

F = TypeVar("F", bound=Callable[..., Any])

LIFECYCLE = ("session.started", "session.idle", "session.ending")
"""What `on` hears of without a subscription."""
PROTECTED_SECTIONS = frozenset({"identity", "safety"})
"""Sections of the system prompt that may be appended to, and not otherwise changed."""
Outcome = Literal["drop", "keep", "surface", "inject"]


class Follower(Protocol):
    """Hears of what is declared while the provider is at work. May be told in any thread."""

    def tools_changed(self) -> None:
        """The tools are others now."""

    def context_changed(self) -> None:
        """The context of every prompt is another text now."""


class Declared:
    """What a provider declares; see `Provider`."""

    def __init__(
        self,
        name: str,
        *,
        instance: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        session: str | None = None,
        context: str | None = None,
        startup_context: str | None = None,
        concurrency: int | Concurrency | None = None,
        subscribe: Iterable[str] = (),
        call_timeout: float | None = None,
    ) -> None:
        for what, given in (("name", name), ("instance", instance)):
            if given is not None:
                check_name(what, given, limits.MAX_NAME, without="@")
        if name == BUILTIN_PROVIDER:
            raise DeclarationError(f"name: '{name}' is tapui's own")
        self.name = name
        self.instance = instance
        self.session = session
        self.call_timeout = call_timeout
        self._metadata = None if metadata is None else json_object("metadata", metadata)
        self._context = short_context("context", context)
        self._startup_context = short_context("startup_context", startup_context)
        self._concurrency = (
            Concurrency(concurrency) if isinstance(concurrency, int) else concurrency
        )
        if self._concurrency and self._concurrency.max is not None and self._concurrency.max < 1:
            raise DeclarationError("concurrency: at least 1")
        self._subscribed: dict[str, None] = {}
        for event in subscribe:
            self._subscribe(event)
        self._prefix = ""
        self._tools: dict[str, ToolFunction] = {}
        self._rules: list[HookRule] = []
        self._gates: dict[str, DeclaredGate] = {}
        self._transforms: dict[str, Transform] = {}
        self._rewriters: dict[str, Callable[..., Any]] = {}
        self._filters: dict[str, list[FilterRule]] = {}
        self._handlers: dict[str, list[Callable[..., Any]]] = {}
        self._backgrounds: list[Callable[..., Any]] = []
        self._followers: list[Follower] = []

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    # Declarations

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        timeout: float | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Callable[[F], F]: ...
    def tool(
        self,
        function: F | None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        timeout: float | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> F | Callable[[F], F]:
        """Make a function a tool: its signature is the schema, its docstring the description.

        A plain function runs in a thread, a coroutine function in the loop. A parameter of the type
        `Context` is given the call. `timeout` is seconds. With `parameters`, a JSON Schema of your
        own, the function is given the arguments as one dict. While the provider is served, a tool
        replaces one of the same name; before, two of one name are an error.
        """

        def declare(function: F) -> F:
            made = ToolFunction(
                function,
                name=name,
                description=description,
                timeout=self.call_timeout if timeout is None else timeout,
                parameters=parameters,
            )
            before = self._tools.get(made.name)
            if before is not None and not self._followers:
                raise DeclarationError(_twice(made.name, before.place, made.place))
            if before is None and len(self._tools) >= limits.MAX_TOOLS:
                raise DeclarationError(f"a provider has at most {limits.MAX_TOOLS:,} tools")
            self._tools[made.name] = made
            for follower in self._followers:
                follower.tools_changed()
            return function

        return declare if function is None else declare(function)

    def replace_tools(self, tools: Iterable[ToolFunction]) -> None:
        """Have these tools and no others, told to sessions at once. Their names are unique."""
        made = {tool.name: tool for tool in tools}
        if len(made) > limits.MAX_TOOLS:
            raise DeclarationError(f"a provider has at most {limits.MAX_TOOLS:,} tools")
        self._tools = made
        for follower in self._followers:
            follower.tools_changed()

    def remove_tool(self, name: str) -> None:
        """Take a tool away, also from sessions that have it by now."""
        del self._tools[name]
        for follower in self._followers:
            follower.tools_changed()

    def gate(
        self,
        *,
        tool: str | None = None,
        args: str | None = None,
        file: str | None = None,
        provider: str | None = None,
        reason: str | None = None,
        fail_open: bool = False,
        name: str | None = None,
    ) -> Callable[[F], F]:
        """Ask a function before each call that matches; see `deny` for the match.

        It takes a `GateCall` and returns True, False (the agent reads `reason`), `Deny(reason)`
        or `Allow(context)`. An answer that is late, or none, is a no, unless `fail_open`.
        """

        def declare(function: F) -> F:
            id_ = name or getattr(function, "__name__", None) or "gate"
            if id_ in self._gates:
                id_ = f"{id_}-{len(self._gates) + 1}"
            self._rule(
                HookRule(
                    "gate", call_match(tool, args, file, provider), gate_id=id_, fail_open=fail_open
                )
            )
            self._gates[id_] = DeclaredGate(id_, function, reason, fail_open)
            return function

        return declare

    def deny(
        self,
        *,
        tool: str | None = None,
        args: str | None = None,
        file: str | None = None,
        provider: str | None = None,
        reason: str,
    ) -> None:
        """Refuse calls that match all that is given of: the `tool`'s name (`shell` is the session's
        shell, which has several names), a regex over the `args` as compact JSON, a pattern of
        the `file`'s name, the `provider` of the tool."""
        self._rule(HookRule("deny", call_match(tool, args, file, provider), reason=reason))

    def context_rule(
        self,
        content: str,
        *,
        tool: str | None = None,
        args: str | None = None,
        file: str | None = None,
        provider: str | None = None,
    ) -> None:
        """Tell the agent something with each call that matches; see `deny` for the match."""
        if not content:
            raise DeclarationError("context_rule: the content is empty")
        self._rule(HookRule("context", call_match(tool, args, file, provider), content=content))

    def transform(self, section: str) -> Callable[[F], F]:
        """Have a function rewrite a section of the system prompt: it takes the text, and returns
        the new one, within two seconds."""

        def declare(function: F) -> F:
            self._change(section, Transform("callback"))
            self._rewriters[section] = function
            return function

        return declare

    def append(self, section: str, text: str) -> None:
        """Add a text behind a section of the system prompt."""
        self._change(section, Transform("append", text))

    def prepend(self, section: str, text: str) -> None:
        """Add a text before a section of the system prompt."""
        self._change(section, Transform("prepend", text))

    def replace(self, section: str, text: str) -> None:
        """Put a text in the place of a section of the system prompt."""
        self._change(section, Transform("replace", text))

    def filter(self, stream: str, rules: Iterable[tuple[str, Outcome]]) -> None:
        """Filter a stream of the provider's own: the first regex that a line matches decides
        whether it is dropped, kept, surfaced or injected."""
        check_name("filter: a stream of your own", stream, limits.MAX_NAME, without="@")
        made = [FilterRule(checked_regex("filter", match), outcome) for match, outcome in rules]
        if len(made) > limits.MAX_HOOK_RULES:
            raise DeclarationError(f"filter: at most {limits.MAX_HOOK_RULES} rules")
        if stream not in self._filters and len(self._filters) >= limits.MAX_STREAMS:
            raise DeclarationError(f"filter: at most {limits.MAX_STREAMS} streams")
        self._filters[stream] = checked_part(made, list[FilterRule], "filter")

    def on(self, event: str) -> Callable[[F], F]:
        """Call a function with each `SessionNews` of this name: `session.started`, `session.idle`
        and `session.ending`, or an event of the session such as `tool.execution_complete`."""
        check_name("on: an event", event, limits.MAX_ID)

        def declare(function: F) -> F:
            if event not in LIFECYCLE:
                self._subscribe(event)
            self._handlers.setdefault(event, []).append(function)
            return function

        return declare

    def background(self, function: F) -> F:
        """Run a coroutine function beside each session, with the `Session`, while it is bound."""
        if not is_coroutine(function):
            raise DeclarationError("background: a coroutine function (async def) is needed")
        self._backgrounds.append(function)
        return function

    def set_context(self, text: str | None) -> None:
        """Change the context of every prompt, in sessions that are bound, too."""
        self._context = short_context("context", text)
        for follower in self._followers:
            follower.context_changed()

    # What was declared

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools as the gateway gets them."""
        if not self._prefix:
            return tuple(tool.definition for tool in self._tools.values())
        return tuple(
            replace(tool.definition, name=self._prefix + tool.name) for tool in self._tools.values()
        )

    def put_in_front(self, prefix: str) -> None:
        """Offer each tool with `prefix` in front of its name, where another provider has the
        names. Raises `DeclarationError` where that makes no name."""
        for tool in self._tools.values():
            if not NAME.match(prefix + tool.name):
                raise DeclarationError(f"'{prefix + tool.name}' cannot be a tool's name: {LETTERS}")
        self._prefix = prefix

    def function_of(self, tool: str) -> ToolFunction | None:
        return self._tools.get(tool[len(self._prefix) :]) if tool.startswith(self._prefix) else None

    def gate_of(self, gate_id: str) -> DeclaredGate | None:
        return self._gates.get(gate_id)

    def rewriter_of(self, section: str) -> Callable[..., Any] | None:
        return self._rewriters.get(section)

    def handlers_of(self, event: str) -> list[Callable[..., Any]]:
        return self._handlers.get(event, [])

    @property
    def backgrounds(self) -> list[Callable[..., Any]]:
        return self._backgrounds

    @property
    def filters(self) -> Mapping[str, list[FilterRule]]:
        return self._filters

    @property
    def context(self) -> str | None:
        """The text that goes to the agent with every prompt."""
        return self._context

    def hello(
        self, session: str | None, reconnect_token: str | None, without: Container[str] = ()
    ) -> Hello:
        """Return the hello that declares all of this to a session, but for some tools.

        Raises `DeclarationError` where it is larger than a message may be.
        """
        hooks = Hooks(self._rules or None, dict(self._transforms) or None)
        hello = Hello(
            name=self.name,
            protocol_version=limits.PROTOCOL_VERSION,
            session=session,
            instance=self.instance,
            reconnect_token=reconnect_token,
            metadata=self._metadata,
            tools=[tool for tool in self.tools if tool.name not in without],
            hooks=hooks if self._rules or self._transforms else None,
            subscribe=list(self._subscribed) or None,
            context=self._context,
            startup_context=self._startup_context,
            concurrency=self._concurrency,
        )
        return sendable(hello)

    def followed_by(self, follower: Follower) -> None:
        self._followers.append(follower)

    def left_by(self, follower: Follower) -> None:
        self._followers.remove(follower)

    def _subscribe(self, event: str) -> None:
        check_name("subscribe: an event", event, limits.MAX_ID)
        if event not in self._subscribed and len(self._subscribed) >= limits.MAX_SUBSCRIPTIONS:
            raise DeclarationError(f"at most {limits.MAX_SUBSCRIPTIONS} events can be subscribed")
        self._subscribed[event] = None

    def _rule(self, rule: HookRule) -> None:
        if len(self._rules) >= limits.MAX_HOOK_RULES:
            raise DeclarationError(f"a provider has at most {limits.MAX_HOOK_RULES} rules")
        self._rules.append(checked_part(rule, HookRule, rule.action))

    def _change(self, section: str, transform: Transform) -> None:
        check_name("a section", section, limits.MAX_ID)
        if section in PROTECTED_SECTIONS and transform.action != "append":
            raise DeclarationError(f"the section '{section}' can only be appended to")
        if section not in self._transforms and len(self._transforms) >= limits.MAX_SECTIONS:
            raise DeclarationError(f"at most {limits.MAX_SECTIONS} sections can be changed")
        self._rewriters.pop(section, None)
        self._transforms[section] = without_surrogates(transform)


def _twice(name: str, *places: tuple[str, int]) -> str:
    where = " and ".join(f"{file}:{line}" for file, line in places)
    return f"two tools are called {name!r}, at {where}; give one another name: tool(name=…)"
