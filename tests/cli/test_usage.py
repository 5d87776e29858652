"""`tapui usage`, without a gateway."""

import json

import pytest

from tapui.wire.events import SessionHappened, TurnSentBack
from tests.cli.running import HOSTILE, RAW, ran
from tests.index.played import raw
from tests.index.test_usage import answer, of_model, totals
from tests.records.turns import Writer, closed, opened
from tests.rig.gateway import Home


@pytest.fixture
def _recorded(home: Home) -> None:
    with Writer(home.tapui) as writer:
        writer.turn(opened("s1"), opened("other"))
        writer.turn(totals(of_model(1_000_000, 90, requests=30.0)))
        writer.turn(answer(1_200, cost=1.5, cacheReadTokens=900), answer(30, "opus"))
        writer.turn(answer(7, HOSTILE, session_id="other"))
        writer.turn(closed("s1"))


@pytest.mark.usefixtures("_recorded")
def test_usage_is_a_row_for_each_session_and_model(home: Home) -> None:
    done = ran(home, "usage")
    assert done.returncode == 0, done.stderr
    titles, *rows = [line.split() for line in done.stdout.splitlines()]
    assert titles[2:] == ["CALLS", "INPUT", "OUTPUT", "CACHE", "READ", "COST", "PREMIUM", "LAST"]
    hostile, first, second, everything = rows
    assert hostile[-8:-2] == ["1", "7", "1", "0", "-", "-"]
    assert first[:8] == ["label", "gpt-5", "91", "1,001,200", "91", "900", "1.50", "30"]
    assert second == ["opus", "1", "30", "1", "0", "-", "-"]
    assert everything == ["all", "93", "1,001,237", "93", "900", "1.50", "30"]
    assert "1,000,000 tokens in and 90 out (label) were used before tapui came" in done.stderr
    assert not RAW.search(done.stdout.replace("\n", ""))


def test_usage_names_what_was_used_after_an_agent_was_sent_back(home: Home) -> None:
    with Writer(home.tapui) as writer:
        writer.turn(opened("s1"))
        writer.turn(SessionHappened("s1", "user.message", raw({"content": "mend"})), answer(10))
        writer.turn(TurnSentBack("s1", ["g-1"], 1, 3, "not proven yet"), answer(38_000))
    done = ran(home, "usage")
    said = "of these, 38,000 tokens in and 1 out (label) were used after an agent was sent back"
    assert said in done.stderr
    told = json.loads(ran(home, "usage", "--json").stdout)
    assert told["again"] == {"input": 38_000, "output": 1, "calls": 1}


@pytest.mark.usefixtures("_recorded")
def test_usage_in_json(home: Home) -> None:
    whole = json.loads(ran(home, "usage", "--json").stdout)
    assert whole["usage"]["input"] == 1_001_237
    assert whole["history"] == {"input": 1_000_000, "output": 90, "calls": 90}
    assert {one["sessionId"] for one in whole["sessions"]} == {"s1", "other"}
    assert [one["model"] for one in whole["models"]] == [HOSTILE, "gpt-5", "opus"]
    one = json.loads(ran(home, "usage", "--json", "--session", "s").stdout)
    assert [model["model"] for model in one["models"]] == ["gpt-5", "opus"]


@pytest.mark.usefixtures("_recorded")
def test_usage_of_nothing_fails(home: Home) -> None:
    done = ran(home, "usage", "--since", "1h")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "nothing was recorded of what models used\n"
    assert json.loads(ran(home, "usage", "--since", "1h", "--json").stdout)["sessions"] == []
    assert ran(home, "usage", "--session", "x").stderr == (
        "tapui: there are no records of session x\n"
    )


def test_usage_of_no_records_at_all(home: Home) -> None:
    assert ran(home, "usage").returncode == 1
