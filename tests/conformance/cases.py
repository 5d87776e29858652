"""Refusals of the whole interface: who says what, the exact answer, and the state after it."""

from dataclasses import dataclass, field
from typing import Any

from tests.rig.peers import GREET

Json = dict[str, Any]

LONG = "x" * 65_537
DENY: Json = {"action": "deny", "match": {"tool": "bash"}}


@dataclass(frozen=True)
class Case:
    """A message that is refused. `{session}` in texts stands for the test's session.

    `who` is `project`, `internal`, `all` (internal, in all sessions), `external` or `client`
    (authenticated with the project's token, not yet a provider); or `tower`, or `host`.
    """

    who: str
    message: Json
    code: str
    text: str
    after: str = "Bound"
    before: list[Json] = field(default_factory=list)
    closes: int | None = None
    tools: list[str] | None = None
    """The names that are taken, of a clash."""

    @property
    def name(self) -> str:
        """What the case is about."""
        return f"{self.who}-{self.message['type']}-{self.code}-{self.text[:32]}"

    @property
    def echoed(self) -> Json:
        """What the error carries because the message had it."""
        named = self.message.get("sessionId", self.message.get("session"))
        session = {"sessionId": named} if named not in (None, "all") else {}
        query = {"queryId": self.message["queryId"]} if "queryId" in self.message else {}
        return {**session, **query}


def hello(**fields: Any) -> Json:
    """Return a hello that is in order."""
    base = {"type": "hello", "name": "greeter", "protocolVersion": 2, "session": "{session}"}
    return {**base, "tools": [], **fields}


def rules(*rules: Json, **fields: Any) -> Json:
    """Return a `hooks.update`."""
    return {"type": "hooks.update", "onPreToolUse": list(rules), **fields}


def transforms(**sections: Json) -> Json:
    """Return a `hooks.update` of sections."""
    return {"type": "hooks.update", "transforms": sections}


def update(**fields: Any) -> Json:
    """Return a `context.update`."""
    return {"type": "context.update", **fields}


def lines(*rules: Json, **fields: Any) -> Json:
    """Return a `filter.set`."""
    return {"type": "filter.set", "stream": "log", "rules": list(rules), **fields}


def query(**fields: Any) -> Json:
    """Return a `stream.query`."""
    return {"type": "stream.query", "queryId": "q", "streams": ["log"], **fields}


def push(**fields: Any) -> Json:
    """Return a push."""
    return {"type": "push", "level": "keep", "event": "e", **fields}


INVALID, LARGE, NO_RIGHT = "INVALID_JSON", "PAYLOAD_TOO_LARGE", "UNAUTHORIZED"
NOWHERE: Json = {"text": "Session nowhere does not exist"}
DROP: Json = {"match": "x", "outcome": "drop"}

CASES: list[Case] = [
    # hooks.update
    Case("project", rules({**DENY, "match": {"args": "("}}), INVALID,
         "onPreToolUse[0].match.args: bad pattern: missing ) at position 1"),
    Case("project", rules({**DENY, "match": {"args": "x" * 1001}}), INVALID,
         "onPreToolUse[0].match.args: a pattern has at most 1000 characters"),
    Case("project", rules({"action": "gate"}), INVALID, "onPreToolUse[0].gateId: missing"),
    Case("project", rules({"action": "context"}), INVALID, "onPreToolUse[0].content: missing"),
    Case("project", rules({"action": "maybe"}), INVALID,
         "onPreToolUse[0].action: Invalid enum value 'maybe'"),
    Case("project", rules(*[DENY] * 51), LARGE,
         "51 hook rules; a provider may have at most 50"),
    Case("external", rules(DENY), NO_RIGHT,
         "external providers may not register rules before tools"),
    Case("external", transforms(tone={"action": "replace", "content": "c"}), NO_RIGHT,
         "external providers may not change sections of the system prompt other than by appending"),
    Case("internal", transforms(safety={"action": "prepend", "content": "c"}), NO_RIGHT,
         "section 'safety' can only be appended to"),
    Case("project", transforms(identity={"action": "callback"}), NO_RIGHT,
         "section 'identity' can only be appended to"),
    Case("project", transforms(tone={"action": "append"}), INVALID,
         "transforms.tone.content: missing"),
    Case("project", rules(sessionId="nowhere"), "INVALID_SESSION", **NOWHERE),
    # context.update
    Case("project", update(context=LONG), LARGE, "context: at most 65536 characters"),
    Case("external", update(context="c"), NO_RIGHT, "external providers may not set context"),
    Case("project", update(context=7), INVALID, "context: Expected `str | null`, got `int`"),
    Case("project", update(context="c", sessionId="nowhere"), "INVALID_SESSION", **NOWHERE),
    # filter.set
    Case("project", lines({"match": "[z-a]", "outcome": "drop"}), INVALID,
         "rules[0].match: bad pattern: bad character range at position 4"),
    Case("project", lines(*[DROP] * 51), LARGE, "rules: at most 50"),
    Case("project", lines(DROP, stream="log@other"), NO_RIGHT, "stream 'log@other' is another's"),
    Case("project", lines(DROP, stream=""), INVALID, "stream: 1 to 64 characters"),
    Case("project", lines(DROP, sessionId="nowhere"), "INVALID_SESSION", **NOWHERE),
    # stream.query
    Case("project", query(last=0), INVALID, "last: 1 to 100"),
    Case("project", query(last=101), INVALID, "last: 1 to 100"),
    Case("project", query(streams=["s"] * 21), LARGE, "streams: at most 20 at once"),
    Case("project", query(streams=["s@other"]), NO_RIGHT,
         "project providers may not read other providers' streams"),
    Case("external", query(streams=["s@other"]), NO_RIGHT,
         "external providers may not read other providers' streams"),
    Case("project", query(sessionId="nowhere"), "INVALID_SESSION", **NOWHERE),
    # gate.result, transform.result
    Case("project", {"type": "gate.result", "callId": "c"}, INVALID, "decision: missing"),
    Case("project", {"type": "gate.result", "callId": "c", "decision": "maybe"}, INVALID,
         "decision: Invalid enum value 'maybe'"),
    Case("project", {"type": "transform.result", "callId": "c"}, INVALID, "content: missing"),
    # push
    Case("project", push(prompt=" "), INVALID, "event: must not be empty"),
    Case("project", push(event=None), INVALID, "event: missing"),
    Case("project", push(sessionId="nowhere"), "INVALID_SESSION", **NOWHERE),
    Case("project", push(level="surface"), "RATE_LIMITED",
         "more than 10 pushes that are surfaced or injected a second",
         before=[push(level="surface")] * 10),
    Case("all", push(), "INVALID_SESSION",
         "a push of a provider of all sessions names one"),
    # hello: concurrency, instances, capabilities, subscriptions, identity
    Case("client", hello(concurrency={"max": 0}), INVALID, "concurrency.max: at least 1",
         after="AwaitHello"),
    Case("client", hello(concurrency={"max": 1, "scope": "world"}), INVALID,
         "concurrency.scope: Invalid enum value 'world'", after="AwaitHello"),
    Case("client", hello(instance=""), INVALID, "instance: 1 to 64 characters",
         after="AwaitHello"),
    Case("client", hello(instance="i", tools=[{**GREET, "name": "list_greeter_instances"}]),
         "TOOL_CONFLICT",
         "Tool 'list_greeter_instances' already registered by provider 'greeter'",
         after="AwaitHello"),
    Case("client", hello(session="all"), NO_RIGHT,
         "binding to all sessions waits for the person's approval",
         after="AwaitHello"),
    Case("client", hello(protocolVersion=3), "UNSUPPORTED_VERSION",
         "protocolVersion 3 is not supported; this gateway speaks 2",
         after="Closed", closes=1008),
    Case("external", hello(name="tab", subscribe=["user.message"]), NO_RIGHT,
         "external providers may not subscribe to events other than those of tools",
         after="Unbound"),
    Case("project", hello(protocolVersion="2"), INVALID,
         "protocolVersion: Expected `int | float`, got `str`"),
    Case("project", hello(session="nowhere"), "INVALID_SESSION", **NOWHERE, after="Unbound"),
    Case("project", hello(), "RATE_LIMITED", "more than 10 hellos a minute",
         before=[hello()] * 10),
    # tools.update, session.ready, shutdown.ready
    Case("project", {"type": "tools.update", "tools": [{**GREET, "name": "tap_post"}]},
         "TOOL_CONFLICT", "Tool 'tap_post' already registered by provider 'tap'",
         tools=["tap_post"]),
    Case("project", {"type": "tools.update", "tools": [GREET] * 101}, LARGE,
         "101 tools; a provider may have at most 100 (setting provider-tools)"),
    Case("project", {"type": "session.ready", "sessionId": "{session}"}, "INVALID_SESSION",
         "Session {session} does not exist"),
    Case("all", {"type": "shutdown.ready", "sessionId": "nowhere"}, "INVALID_SESSION", **NOWHERE),
    # towers and hosts
    Case("tower", {"type": "approval.decide", "approvalId": "a-0", "decision": "deny"},
         "UNKNOWN_APPROVAL", "approval a-0 no longer waits for a decision",
         after="Tower"),
    Case("tower", {"type": "injects.resume", "providerId": "p-0", "sessionId": "{session}"},
         "NOT_FOUND", "provider p-0 is not connected", after="Tower"),
    *(Case("tower", {"type": f"emitter.{what}", "emitterId": "e-0", **more},
           "NOT_FOUND", "emitter e-0 is not there", after="Tower")
      for what, more in (("start", {}), ("stop", {}), ("pause", {}), ("resume", {}), ("run", {}),
                         ("filter", {"rules": []}), ("try", {"id": "t", "rules": []}))),
    Case("tower", {"type": "tools.read", "sessionId": "nowhere"}, "INVALID_SESSION",
         "unknown session nowhere", after="Tower"),
    Case("tower", {"type": "inspect.start", "providerId": "p-0"}, "NOT_FOUND",
         "provider p-0 is not connected", after="Tower"),
    Case("tower", {"type": "inspect.start", "providerId": "p-0", "sessionId": "{session}"}, INVALID,
         "providerId, sessionId: one of them says what to inspect", after="Tower"),
    Case("tower", {"type": "token.mint", "sessionId": "nowhere"}, "INVALID_SESSION", **NOWHERE,
         after="Tower"),
    Case("host", {"type": "hook.preToolUse", "sessionId": "nowhere", "tool": "bash"},
         "INVALID_SESSION", "unknown session nowhere", after="Host"),
    Case("host", {"type": "prompt.submitted", "sessionId": "nowhere", "prompt": "p"},
         "INVALID_SESSION", "unknown session nowhere", after="Host"),
    Case("host", {"type": "turn.ending", "sessionId": "nowhere"},
         "INVALID_SESSION", "Session nowhere does not exist", after="Host"),
    Case("host", {"type": "hook.preToolUse", "sessionId": "{session}", "tool": "bash",
                  "args": []}, INVALID, "args: expected an object", after="Host"),
]  # fmt: skip
