"""What hosts, providers and towers might say next, right or wrong, by the dice."""

import json
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from tests.core.harness import INTERNAL_TOKEN, ORIGIN, PROVIDER_TOKEN, Conversation, Json, Peer

SESSIONS = ["s1", "s2", "s3", "local"]
CHILDREN = ["c1", "c2"]
NAMES = ["ann", "bob", "list"]
TOOLS = ["greet", "save", "bash", "tap_post", "list_ann_x"]
TAP = ["tap_post", "tap_list_streams", "tap_stream_history", "tap_get_session_state"]
LEVELS = ["keep", "surface", "inject"]
MODES = ["interactive", "plan", "autopilot"]


def one(dice: Random, known: Iterable[Any], *others: Any) -> Any:
    """Return one of the known, mostly, or of the others."""
    known = list(known)
    if known and (not others or dice.random() < 0.9):
        return dice.choice(known)
    return dice.choice(others) if others else "nothing"


def tools(dice: Random) -> list[Json]:
    names = dice.sample(TOOLS, dice.randrange(3))
    if dice.random() < 0.05:
        names += names
    return [
        {
            "name": name,
            "description": "d",
            "parameters": {},
            "timeout": dice.choice([None, 50, 5000, 1e6, 0]) if dice.random() < 0.3 else None,
        }
        for name in names
    ]


def session(dice: Random) -> Json:
    return {
        "id": one(dice, SESSIONS),
        "label": "label",
        "cwd": "/",
        "foreground": dice.random() < 0.3,
        "mode": dice.choice([None, *MODES]),
        "agents": [{"name": "a", "tools": ["save"]}, {"name": "b", "tools": None}],
        "reservedTools": dice.choice([[], [], ["bash"]]),
        "replaces": one(dice, [None, None, *SESSIONS]),
    }


def of_host(talk: Conversation, dice: Random, peer: Peer) -> Json:
    r = talk.gateway.parts
    mine = [id_ for id_, one in r.sessions.open.items() if one.host == peer.number]
    id_, kind = one(dice, mine or SESSIONS, *SESSIONS, *CHILDREN), dice.randrange(20)
    if kind == 2 and len(mine) > 1:
        kind = 5
    if kind <= 2:
        return {"type": "session.open", "session": session(dice)}
    if kind == 3 and dice.random() < 0.3:
        return {"type": "session.close", "sessionId": id_}
    if kind == 4:
        fields: Json = {"mode": one(dice, MODES, "party"), "label": dice.choice(["x", "y"])}
        return {"type": "session.update", "sessionId": id_, "foreground": True, **fields}
    if kind <= 7:
        events: list[tuple[str, Json]] = [
            ("session.idle", {}),
            ("session.busy", {}),
            ("user.message", {"content": "x"}),
            (
                "subagent.started",
                {"remoteSessionId": one(dice, CHILDREN), "agentName": one(dice, ["a", "b"])},
            ),
            ("subagent.completed", {}),
            ("tool.execution_start", {"tool": "bash", "toolCallId": one(dice, ["t1", "t2"])}),
            (
                "tool.execution_complete",
                {"tool": "bash", "toolCallId": one(dice, ["t1", "t2"]), "result": one(
                    dice, [None, {"type": "success", "output": 1}, {"type": "failure"}], "oops"
                )},
            ),
            ("session.context", {"tokens": 1, "limit": 2}),
            ("subagent.started", {}),
        ]  # fmt: skip
        event, data = dice.choice(events)
        return {"type": "session.event", "sessionId": id_, "event": event, "data": data}
    if kind == 8:
        kind_ = one(dice, ["permission", "userInput"], "mode")
        timeout = dice.choice([None, 100, 1e9, -1])
        return {
            "type": "approval.request", "id": one(dice, ["r1", "r2"]), "sessionId": id_,
            "kind": kind_, "timeout": timeout,
        }  # fmt: skip
    if kind == 9:
        return {"type": "approval.withdraw", "id": one(dice, ["r1", "r2"])}
    if kind == 10:
        order = f"m-{talk.ids.numbers.get('m', 0)}"
        return {"type": "mode.result", "id": order, "ok": dice.random() < 0.7}
    if kind == 11:
        kind_ = dice.choice(["hook.preToolUse", "prompt.submitted"])
        return {"type": kind_, "id": "k", "sessionId": id_, "tool": "t", "prompt": "p"}
    return calling(talk, dice)


def calling(talk: Conversation, dice: Random) -> Json:
    open_ = talk.gateway.parts.sessions.open
    session_id = one(dice, open_, "s9", *CHILDREN)
    offered = list(open_[session_id].tools) if session_id in open_ else []
    own = [name for name in offered if not name.startswith("tap_")]
    invoke = one(dice, ["i1", "i2", "i3"])
    if dice.random() < 0.2:
        return {"type": "tool.abort", "id": invoke}
    tool = one(dice, own * 5 + [*TAP, "tap_set_session_mode"], "unknown")
    args: Json = {"stream": "n", "message": "m", "level": one(dice, LEVELS)}
    if tool != "tap_post":
        args = {"stream": "n"} if "history" in tool else {"mode": one(dice, MODES, "party")}
    more = {"timeout": dice.choice([None, 1, 3000, 1e7, -1]), "agentId": one(dice, [None], "a")}
    return {
        "type": "tool.invoke", "id": invoke, "sessionId": session_id, "tool": tool, "args": args,
        **more,
    }  # fmt: skip


def of_provider(talk: Conversation, dice: Random, peer: Peer) -> Json:
    connection = talk.gateway.parts.connections.by_number.get(peer.number)
    provider = connection.provider if connection else None
    mine = list(provider.sessions) if provider else []
    id_, kind = one(dice, mine or [None], *SESSIONS, None, "s9"), dice.randrange(16)
    calls = list(provider.calls) if provider else []
    call = one(dice, calls, *talk.gateway.state.calls, "call-0")
    if kind <= 3 or (calls and dice.random() < 0.4):
        answers: list[Json] = [
            {"data": {"x": 1}},
            {"data": None},
            {"error": "no"},
            {"errorCode": "CANCELLED"},
            {"data": 1, "error": "both"},
            {},
        ]
        return {"type": "tool.result", "id": call, **one(dice, answers)}
    if kind == 4:
        return {"type": "tool.progress", "id": call, "message": "60 %"}
    if kind <= 8:
        stream = one(dice, [None, "a", "b"], "a@b", f"s{dice.randrange(30)}")
        level = one(dice, LEVELS, "loud")
        return {"type": "push", "level": level, "event": "e", "stream": stream, "sessionId": id_}
    if kind <= 10:
        update: Json = {"type": "tools.update", "tools": tools(dice), "sessionId": id_}
        if dice.random() < 0.5:
            update["remove"] = dice.sample(TOOLS, dice.randrange(3))
        if dice.random() < 0.5:
            update["requestId"] = "q"
        return update
    if kind <= 12:
        return {"type": one(dice, ["session.ready", "shutdown.ready"]), "sessionId": id_ or "s1"}
    if kind == 13:
        return (
            {"type": "goodbye"}
            if dice.random() < 0.3
            else {"type": "push", "level": "inject", "event": "e", "sessionId": id_}
        )
    if kind == 14 and mine:
        return {"type": "tool.progress", "id": call, "message": "60 %"}
    return hello(talk, dice)


def hello(talk: Conversation, dice: Random) -> Json:
    open_ = talk.gateway.parts.sessions.open
    tokens = [f"tok-{n}" for n in range(max(1, talk.ids.numbers.get("tok-", 0) - 5), 99)][:6]
    message: Json = {
        "type": "hello",
        "name": one(dice, NAMES, "tap", ""),
        "protocolVersion": 3 if dice.random() < 0.01 else 2,
        "session": one(dice, [*open_, *open_, "all"], "s9", None),
        "instance": one(dice, [None], "i"),
        "reconnectToken": one(dice, [None, None, *tokens]),
    }
    if dice.random() < 0.8:
        message["tools"] = tools(dice)
    return message


def of_tower(talk: Conversation, dice: Random, peer: Peer) -> Json:
    state = talk.gateway.state
    id_, kind = one(dice, SESSIONS, "s9"), dice.randrange(12)
    provider = one(dice, state.providers, "p-0")
    if kind <= 1:
        waiting = [x for x, approval in state.approvals.items() if approval.state == "waiting"]
        decision = one(dice, ["approve", "deny"])
        return {
            "type": "approval.decide", "approvalId": one(dice, waiting, "a-0"),
            "decision": decision,
        }  # fmt: skip
    if kind == 2:
        approval = one(dice, state.approvals, "a-0")
        sessions = dice.choice([None, [], [one(dice, SESSIONS, "s9")]])
        return {"type": "approval.reveal", "approvalId": approval, "sessions": sessions}
    if kind == 3:
        return {"type": "call.cancel", "id": one(dice, state.calls, "call-0")}
    if kind == 4 and dice.random() < 0.1:
        return {"type": "provider.disconnect", "providerId": provider}
    if kind == 5:
        return {"type": "provider.move", "providerId": provider, "sessionId": id_}
    if kind == 6:
        return {"type": "injects.resume", "providerId": provider, "sessionId": id_}
    if kind == 7:
        return {"type": "session.mode", "sessionId": id_, "mode": one(dice, MODES)}
    if kind == 8:
        return {"type": "stream.read", "id": "x", "stream": "a@ann", "sessionId": id_}
    if kind == 10:
        return {"type": "turns.read", "id": "x", "sessionId": id_, "last": dice.randrange(9)}
    if kind == 11:
        what = one(dice, ["start", "stop", "pause", "resume", "run"])
        return {"type": f"emitter.{what}", "emitterId": one(dice, list(state.emitters), "e-0")}
    if kind == 9:
        of = one(dice, ["call", "approval", "provider"])
        known = {"call": [*state.calls, *state.recent_calls], "approval": list(state.approvals)}
        subject = one(dice, known.get(of, list(state.providers)), "x-0")
        return {"type": "detail.read", "id": "d", "of": of, "subject": subject}
    return calling(talk, dice)


def of_stranger(talk: Conversation, dice: Random, peer: Peer) -> Json:
    code = f"{talk.ids.numbers.get('code', 0):06d}"
    messages: list[Json] = [
        {"type": "auth", "mode": "pair"},
        {"type": "auth.confirm", "code": one(dice, [code], "x")},
        {"type": "auth", "token": one(dice, [PROVIDER_TOKEN, INTERNAL_TOKEN, "ext-1"], "x")},
        {"type": "host.hello", "name": "other", "kind": "k", "protocolVersion": 2},
        {"type": "tower.hello", "protocolVersion": 2},
        hello(talk, dice),
    ]
    return dice.choice(messages)


SPEAKERS: dict[str, Callable[[Conversation, Random, Peer], Json]] = {
    "Host": of_host,
    "Tower": of_tower,
    "Bound": of_provider,
    "Unbound": of_provider,
    "AwaitHello": of_stranger,
    "AwaitAuth": of_stranger,
    "AwaitPairing": of_stranger,
}


def garbled(dice: Random, message: Json) -> bytes:
    """Return a frame that is nearly this message, or nothing like one."""
    data = bytearray(json.dumps(message).encode())
    kind = dice.randrange(4)
    if kind == 0:
        return dice.randbytes(dice.randrange(20))
    if kind == 1:
        return bytes(data[: dice.randrange(len(data))])
    if kind == 2:
        for _ in range(3):
            data[dice.randrange(len(data))] = dice.randrange(256)
        return bytes(data)
    key = dice.choice(list(message))
    wrong = dice.choice([None, 7, [], {}, "", "x", True, -1.5, {"x": [None]}])
    return json.dumps({**message, key: wrong}).encode()


def arrive(talk: Conversation, dice: Random) -> Peer:
    """Let somebody connect, most often somebody who knows what to say."""
    kind = dice.randrange(8)
    origin = ORIGIN if kind == 0 else None
    peer = talk.connect(origin=origin)
    if kind >= 2:
        token = PROVIDER_TOKEN if kind in (2, 3, 4) else INTERNAL_TOKEN
        peer.say(type="auth", token=token)
    if kind in (2, 3, 4):
        peer.say(hello(talk, dice))
    elif kind == 5:
        peer.say(type="host.hello", name="host", kind="copilot", protocolVersion=2)
        peer.say(type="session.open", session=session(dice))
    elif kind == 6:
        peer.say(type="tower.hello", protocolVersion=2)
    elif kind == 7:
        peer.hello(session="all", name=one(dice, NAMES), tools=tools(dice))
    return peer
