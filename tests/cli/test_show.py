"""`tapui show`: a request or a turn in full, at a running gateway."""

import json

from tests.cli.running import HOSTILE, RAW, ask_permission, next_event, run
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host


async def test_a_request_is_shown_with_its_parts_and_what_answers_it(
    gateway: Gateway, home: Home
) -> None:
    host, watching, id_ = await ask_permission(gateway)
    async with host, watching:
        command = {"kind": "shell", "fullCommandText": "npm ci > out.txt && ls"}
        detail = {**command, "intention": f"Install {HOSTILE}", "odd": 1}
        asked = {"id": "r2", "sessionId": "s1", "kind": "permission", "detail": detail}
        await host.send({"type": "approval.request", **asked})
        second = (await next_event(watching, "approval.requested"))["approval"]["id"]
        code, out, err = await run(home, "show", second)
        assert (code, err) == (0, "")
        assert RAW.search(out) is None
        for part in (
            "First asks to run a command",
            "│ npm ci > out.txt && ls",
            "  └ npm ci > out.txt    writes out.txt",
            "the agent says: “Install ",
            "1 field that this tapui has no words for",
            "│ odd: 1",
            f"waits: `tapui approve {second}`".replace(second, "ID"),
        ):
            assert part in out
        code, out, _ = await run(home, "show", id_, "--json")
        assert (code, json.loads(out)["detail"]["fullCommandText"]) == (0, "ls")
        assert (await run(home, "deny", id_))[0] == 0
        code, out, _ = await run(home, "show", id_)
        assert out.splitlines()[-1] == "denied by the command line, no check"
        code, _, err = await run(home, "show", "zzz")
        assert (code, err) == (1, f"tapui: there is no request zzz; waiting are: {second}\n")
        assert (await run(home, "show", second, "--md"))[0] == 2


async def test_a_turn_is_a_page_of_markdown(gateway: Gateway, home: Home) -> None:
    async with await Host.hello(gateway.url, gateway.internal_token) as host:
        await host.open("s1", label="First | of *all*")

        async def happen(event: str, **data: object) -> None:
            about = {"sessionId": "s1", "event": event, "data": data}
            await host.send({"type": "session.event", **about})

        await happen("user.message", content=f"make it | green\n{HOSTILE}")
        args = {"tool": "bash", "toolCallId": "t1", "args": {"command": "pytest -q | tail"}}
        await happen("tool.execution_start", **args)
        result = {"success": True, "result": {"exitCode": 1}}
        await happen("tool.execution_complete", **args, **result)
        await happen("assistant.message", content="All tests pass.")
        await happen("session.idle")
        code, out, err = await run(home, "show", "last", "--session", "s1", "--md")
        assert (code, err) == (0, "")
        assert RAW.search(out) is None
        lines = out.splitlines()
        assert lines[0] == r"### Turn 1 of First \| of \*all\*"
        assert lines[4].startswith(r"> you: make it \| green ")
        assert r"| bash | pytest -q \| tail | " in out
        code, out, _ = await run(home, "show", "1", "--session", "s1", "--json")
        assert (code, json.loads(out)["head"]["number"]) == (0, 1)
        code, _, err = await run(home, "show", "7", "--session", "s1")
        assert (code, err) == (1, "tapui: session s1 has no turn 7 that is kept\n")
