"""`tapui proof`: of a session that is open, and of one by its records."""

import json
from pathlib import Path

from tests.cli.running import RAW, run
from tests.cli.test_prove import repository, session
from tests.hosts.copilot.finding.test_past import Stored
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Tower

LINE = "○ unchecked: 1 file changed; "


async def test_a_session_that_is_open(gateway: Gateway, home: Home, tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop")
    async with (
        session(gateway, folder) as agent,
        await Tower.hello(gateway.url, gateway.internal_token) as tower,
    ):
        await agent.works()
        await tower.event("session.proof")
        code, out, err = await run(home, "proof", agent.short, "--md")
        assert (code, err) == (6, "")
        assert out.startswith(f"### What was recorded: {agent.session}\n")
        assert f"| 1 | go | cart.py +1 −1 | {LINE}" in out
        assert out.endswith("*recorded by tapui on this machine*\n")
        code, out, _ = await run(home, "proof", agent.short, "--json")
        told = json.loads(out)
        assert (code, told["isProven"], told["turns"][0]["number"]) == (6, False, 1)
        code, _, err = await run(home, "proof", "nothing")
        assert code == 1
        assert err.startswith("tapui: no session is called nothing: none that is open, and none")


async def test_a_session_that_has_ended(gateway: Gateway, home: Home, tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop")
    async with (
        session(gateway, folder) as agent,
        await Tower.hello(gateway.url, gateway.internal_token) as tower,
    ):
        await agent.works()
        await tower.event("session.proof")
    gateway.stop()
    code, out, err = await run(home, "proof", agent.session)
    assert (code, err) == (6, "")
    assert LINE in out
    assert "*checks recorded by tapui on this machine; prompts, files and approvals as" in out
    code, _, err = await run(home, "proof")
    assert code == 3, err


async def test_an_ended_session_is_proven_by_the_ledger_alone(
    gateway: Gateway, home: Home, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "shop")
    async with (
        session(gateway, folder) as agent,
        await Tower.hello(gateway.url, gateway.internal_token) as tower,
    ):
        await agent.works()
        await tower.event("session.proof")
        code, out, _ = await run(home, "prove", agent.short, "--yes")
        assert code == 0, out
        code, page, _ = await run(home, "proof", agent.short)
        assert code == 0, page
        assert "exit 0, 1 test, " in page
        assert "after the last change, run by you" in page
    gateway.stop()
    code, out, _ = await run(home, "proof", agent.session)
    assert code == 0, out
    (ledger,) = home.tapui.glob("**/ledger.jsonl")
    ledger.write_text(ledger.read_text().replace('"code":0', '"code":1', 1))
    code, out, _ = await run(home, "proof", agent.session)
    assert code == 6, out
    assert "it proves nothing*" in out
    ledger.unlink()
    code, out, _ = await run(home, "proof", agent.session, "--json")
    assert (code, json.loads(out)["isProven"]) == (6, False)


async def test_records_that_the_agent_has_written_prove_nothing(
    gateway: Gateway, home: Home, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "shop")
    async with (
        session(gateway, folder) as agent,
        await Tower.hello(gateway.url, gateway.internal_token) as tower,
    ):
        await agent.works()
        await tower.event("session.standing", having="standing")
    gateway.stop()
    forged = 0
    for file in home.tapui.glob(f"sessions/{agent.session}/*.jsonl"):
        text = file.read_text()
        forged += text.count('"state":"unchecked"')
        file.write_text(text.replace('"state":"unchecked"', '"state":"checked"'))
    assert forged == 2
    code, out, _ = await run(home, "proof", agent.session)
    assert code == 6, out
    assert LINE in out


async def test_what_copilot_has_stored(home: Home) -> None:
    stored = Stored(home.copilot)
    stored.run("pytest", 0)
    stored.edit("cart\x1b[31m.py")
    stored.prompt()
    stored.edit()
    stored.run("pytest", 1)
    stored.store()
    code, out, err = await run(home, "proof", "--past", "2001-01-01")
    assert code == 0
    assert not RAW.search(out + err)
    *lines, last = out.splitlines()
    assert "no check after the last change (known: pytest)" in lines[1]
    assert "cart.py: pytest: exit 1" in lines[3]
    assert last.startswith(
        "Copilot's files say: 1 session; 2 turns changed files and ended, "
        "1 with no check after the last change;"
    )
    assert "this proves nothing" in err
    code, out, _ = await run(home, "proof", "--past", "2001-01-01", "--json")
    *turns, counts = map(json.loads, out.splitlines())
    assert [turn["state"] for turn in turns] == ["unchecked", "failed"]
    assert {turn["provenance"] for turn in turns} == {"Copilot's files"}
    assert counts["counts"]["turns"] == 2
    assert (await run(home, "proof", "--past", "30d", "s1"))[0] == 2
