"""Commands as agents write them, each with the rules that a person has in mind.

Two readers marked each before the rules were tried on it: whether the person wants it to run
unasked. Where they differ, it is to be asked.
"""

import json
from pathlib import Path

from tapui.policies.guards import Guards
from tapui.policies.leads import Leads
from tapui.policies.requests import of_permission
from tapui.policies.rules import PolicyRule
from tapui.policies.verdicts import judge

FILE = Path(__file__).parent / "agents_commands.jsonl"
LEAST = 0.79
"""The part of what the person wants allowed that rules allow; the rest is asked."""


def test_no_rule_allows_what_the_person_wants_to_be_asked_about() -> None:
    wanted = allowed = 0
    for line in FILE.read_text().splitlines():
        given = json.loads(line)
        folder = given["folder"]
        leads = Leads(folders=(folder,), home="/home/me").as_detail()
        detail = {"kind": "shell", "fullCommandText": given["command"], "leads": leads}
        rules = [PolicyRule("allow", "shell", one, folder=folder) for one in given["rules"]]
        effect = judge(of_permission(detail, folder), rules, folder, Guards()).effect
        is_wanted = given["marks"] == ["allow", "allow"]
        assert is_wanted or effect != "allow", given
        wanted += is_wanted
        allowed += effect == "allow"
    assert wanted == 140
    assert allowed / wanted >= LEAST
