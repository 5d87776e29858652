"""Rules answer permission requests and forbid calls; exactly this, until the session ends."""

from typing import Any

import pytest

from tapui.policies.rules import PolicyRule
from tapui.wire import limits
from tests.core.conftest import Scene
from tests.core.harness import Conversation, Json, Peer
from tests.policies.judged import allow, ask, deny


def asks(
    host: Peer, command: str = "npm ci", id_: str = "r1", session: str = "s1", **more: Any
) -> None:
    detail = {"kind": "shell", "fullCommandText": command, "toolCallId": f"t-{id_}", **more}
    host.say(
        {"type": "approval.request", "id": id_, "sessionId": session, "kind": "permission",
         "detail": detail}
    )  # fmt: skip


def answers(host: Peer) -> list[tuple[str, str]]:
    return [(one["id"], one["decision"]) for one in host.hear_of("approval.answer")]


def approvals(talk: Conversation) -> list[Json]:
    return [event["approval"] for event in talk.events("approval.requested")]


def decides(tower: Peer, approval: Json, decision: str = "approve", **more: Any) -> list[Json]:
    tower.hear()
    return tower.ask(
        {"type": "approval.decide", "approvalId": approval["id"], "decision": decision, **more}
    )


def calls(host: Peer, command: str, id_: str = "k1") -> Json:
    args = {"command": command}
    host.say(type="hook.preToolUse", id=id_, sessionId="s1", tool="bash", args=args)
    return host.hear_one("hook.decision")


@pytest.fixture
def ruled(scene: Scene) -> Scene:
    """A scene whose shell has handed in rules."""
    rules = [
        *allow("npm ci", "npm test", place="config.toml:3"),
        *ask("npm publish"),
        *deny("rm", place="config.toml:9", reason="not here"),
    ]
    scene.talk.rules(*rules)
    scene.host.hear()
    scene.tower.hear()
    return scene


# Requests


def test_a_rule_that_allows_answers_and_is_recorded(ruled: Scene) -> None:
    asks(ruled.host)
    assert answers(ruled.host) == [("r1", "approve")]
    decided = ruled.talk.events("approval.deciding", "approval.decided")
    assert [(one["kind"], one["approval"]["state"]) for one in decided] == [
        ("approval.deciding", "deciding"),
        ("approval.decided", "approved"),
    ]
    for one in decided:
        assert one["approval"]["decidedBy"] == "rule"
        assert one["approval"]["rule"] == {
            "effect": "allow",
            "kind": "shell",
            "pattern": "npm ci",
            "source": "person",
            "place": "config.toml:3",
        }
    assert ruled.talk.gateway.state.rules_allowed == 1
    assert ruled.talk.gateway.state.snapshot().rules_allowed == 1


def test_nothing_is_answered_before_it_is_recorded(ruled: Scene) -> None:
    ruled.talk.records = "held"
    asks(ruled.host)
    assert answers(ruled.host) == []
    ruled.talk.recorded()
    assert answers(ruled.host) == [("r1", "approve")]


def test_an_answer_that_cannot_be_recorded_does_not_hold(ruled: Scene) -> None:
    ruled.talk.records = "refused"
    asks(ruled.host)
    assert answers(ruled.host) == [("r1", "deny")]
    assert ruled.talk.gateway.state.rules_allowed == 0


def test_a_rule_that_forbids_answers_with_its_reason(ruled: Scene) -> None:
    asks(ruled.host, "npm ci && rm x")
    (answer,) = ruled.host.hear_of("approval.answer")
    assert (answer["decision"], answer["reason"]) == ("deny", "not here")


def test_what_is_left_to_the_person_says_part_by_part_why(ruled: Scene) -> None:
    asks(ruled.host, "npm ci && node x.js")
    assert answers(ruled.host) == []
    (approval,) = approvals(ruled.talk)
    first, second = approval["judged"]["parts"]
    assert (first["text"], first["rule"]["pattern"]) == ("npm ci", "npm ci")
    assert second == {"text": "node x.js"}
    assert "rule" not in approval


def test_it_names_the_nearest_rule_in_one_line_of_bounded_length(ruled: Scene) -> None:
    asks(ruled.host, "npm 'r\u202e\nun'")
    asks(ruled.host, f"npm {'x' * 1_000}", "r2")
    first, second = (one["judged"]["parts"][0]["why"] for one in approvals(ruled.talk))
    assert first == "rule “npm ci”: it names ci, not r\\u202e\\x0aun"
    assert second.startswith("rule “npm ci”: it names ci, not xxx")
    assert (len(second), second[-1]) == (limits.MAX_RULE_TEXT, "…")


def test_a_rule_that_asks_is_named(ruled: Scene) -> None:
    asks(ruled.host, "npm publish")
    assert answers(ruled.host) == []
    assert approvals(ruled.talk)[0]["rule"]["effect"] == "ask"


def test_two_towers_cannot_decide_what_a_rule_has_decided(ruled: Scene) -> None:
    ruled.talk.records = "held"
    asks(ruled.host)
    (error,) = decides(ruled.tower, approvals(ruled.talk)[0], "deny")
    assert error["code"] == "UNKNOWN_APPROVAL"
    ruled.talk.recorded()
    assert answers(ruled.host) == [("r1", "approve")]


def test_without_rules_a_command_is_only_taken_apart(scene: Scene) -> None:
    scene.talk.rules()
    asks(scene.host, "npm ci && ls > out.txt")
    (approval,) = approvals(scene.talk)
    written = [{"path": "out.txt"}]
    assert approval["judged"]["parts"] == [
        {"text": "npm ci"},
        {"text": "ls", "redirections": "> out.txt", "writes": written},
    ]
    assert answers(scene.host) == []


@pytest.mark.parametrize("kind", ["userInput", "elicitation"])
def test_questions_are_the_persons(ruled: Scene, kind: str) -> None:
    detail = {"kind": "shell", "fullCommandText": "npm ci"}
    ruled.host.say(
        {"type": "approval.request", "id": "q", "sessionId": "s1", "kind": kind, "detail": detail}
    )
    assert answers(ruled.host) == []


def test_rules_that_are_new_answer_what_waits(ruled: Scene) -> None:
    asks(ruled.host, "node x.js")
    assert answers(ruled.host) == []
    ruled.talk.rules(*allow("node x.js"))
    assert answers(ruled.host) == [("r1", "approve")]


def test_the_port_of_the_sessions_own_program_is_guarded(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1", ports=[18282])
    talk.rules(*allow("curl http://localhost:*"), ports=[9400])
    asks(host, "curl http://localhost:18282/", "r1")
    asks(host, "curl http://localhost:9400/", "r2")
    asks(host, "curl http://localhost:8080/", "r3")
    assert answers(host) == [("r3", "approve")]


def test_ports_of_programs_that_are_only_seen_are_guarded_while_they_are(
    talk: Conversation,
) -> None:
    host, other = talk.host(), talk.host()
    host.open("s1")
    talk.rules(*allow("curl http://localhost:*"))
    other.say(type="sessions.unattached", unattached=[], ports=[18283, 18284])
    asks(host, "curl http://localhost:18283/", "r1")
    assert answers(host) == []
    other.say(type="sessions.unattached", unattached=[], ports=[18284])
    asks(host, "curl http://localhost:18283/ -v", "r2")
    asks(host, "curl http://localhost:18284/", "r3")
    other.drop()
    asks(host, "curl http://localhost:18284/ -v", "r4")
    assert answers(host) == [("r2", "approve"), ("r4", "approve")]


# What is told of a request that waits


def judgements(talk: Conversation) -> list[Json]:
    return [event["approval"] for event in talk.events("approval.judged")]


def pieces(approval: Json) -> list[tuple[str, str | None]]:
    parts = approval["judged"]["parts"]
    return [(one["text"], one["rule"]["pattern"] if "rule" in one else None) for one in parts]


@pytest.mark.parametrize("rules", [[], allow("npm test")])
def test_what_is_asked_before_the_folder_was_read_is_judged_then(
    talk: Conversation, rules: list[PolicyRule]
) -> None:
    talk.rules(*rules)
    talk.holds_rules = True
    host = talk.host()
    host.open("s1", cwd="/a")
    asks(host, "npm test && node x.js > out.txt")
    assert "judged" not in approvals(talk)[0]
    talk.folder_rules["/a"] = ("/a", [])
    talk.rules_found()
    (told,) = judgements(talk)
    assert pieces(told) == [("npm test", "npm test" if rules else None), ("node x.js", None)]
    assert told["judged"]["parts"][1]["writes"] == [{"path": "out.txt"}]
    (kept,) = talk.gateway.state.snapshot().approvals
    assert (kept.id, kept.judged) == (
        told["id"],
        talk.gateway.parts.approvals.waiting[kept.id].view.judged,
    )
    assert kept.state == "waiting"
    assert answers(host) == []


def test_rules_that_change_are_told_of_what_waits_and_no_other(ruled: Scene) -> None:
    asks(ruled.host, "npm ci && node x.js", "r1")
    asks(ruled.host, "go test", "r2")
    ruled.talk.rules(*allow("npm ci"), *ask("node"))
    (told,) = judgements(ruled.talk)
    assert pieces(told) == [("npm ci", "npm ci"), ("node x.js", "node")]
    assert told["rule"]["effect"] == "ask"
    ruled.talk.rules(*allow("npm ci"), *ask("node"))
    assert len(judgements(ruled.talk)) == 1, "the same rules again are no news"
    ruled.talk.rules(*allow("npm ci"))
    assert "rule" not in judgements(ruled.talk)[-1]


def test_what_is_known_of_a_request_stays_while_another_folder_is_read(ruled: Scene) -> None:
    asks(ruled.host, "npm ci && node x.js")
    ruled.talk.holds_rules = True
    ruled.host.say(type="session.update", sessionId="s1", cwd="/elsewhere")
    ruled.talk.rules(*allow("npm ci"), *ask("node"))
    assert judgements(ruled.talk) == []
    ruled.talk.rules_found()
    assert judgements(ruled.talk)[0]["rule"]["effect"] == "ask"


# Folders


def test_the_rules_of_a_folder_hold_where_the_folder_really_is(talk: Conversation) -> None:
    talk.folder_rules["/link"] = ("/data/app", deny("npm publish", source="folder"))
    host = talk.host(hooks=True)
    host.open("s1", cwd="/link")
    talk.rules(*allow("npm", folder="/data"))
    asks(host, "npm ci", "r1")
    asks(host, "npm publish", "r2")
    assert answers(host) == [("r1", "approve"), ("r2", "deny")]
    host.say(type="session.update", sessionId="s1", cwd="/elsewhere")
    asks(host, "npm ci", "r3")
    assert answers(host) == []


def test_a_changed_file_of_a_folder_holds_at_once(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1", cwd="/a")
    talk.rules(*allow("npm"))
    from tapui.policies.rule_reader import FolderRules

    read = FolderRules("/a", "/a", ask("npm publish", source="folder"))
    talk.tell(talk.gateway.policies.folder_changed, read)
    talk.turn()
    asks(host, "npm publish")
    assert answers(host) == []


def test_nothing_is_allowed_before_the_folder_was_read(talk: Conversation) -> None:
    talk.rules(*allow("npm"))
    talk.holds_rules = True
    host = talk.host()
    host.open("s1", cwd="/a")
    asks(host)
    assert answers(host) == []
    talk.folder_rules["/a"] = ("/a", [])
    talk.rules_found()
    assert answers(host) == [("r1", "approve")]


def test_a_call_waits_for_the_rules_of_its_folder(talk: Conversation) -> None:
    talk.rules()
    talk.holds_rules = True
    host = talk.host(hooks=True)
    host.open("s1", cwd="/a")
    talk.folder_rules["/a"] = ("/a", deny("rm", source="folder"))
    args = {"command": "rm x"}
    host.say(type="hook.preToolUse", id="k1", sessionId="s1", tool="bash", args=args)
    assert host.hear_of("hook.decision") == []
    talk.rules_found()
    assert host.hear_one("hook.decision")["decision"] == "deny"


def test_a_folder_that_was_left_meanwhile_does_not_count(talk: Conversation) -> None:
    talk.rules(*allow("npm", folder="/a"))
    talk.holds_rules = True
    host = talk.host()
    host.open("s1", cwd="/a")
    host.say(type="session.update", sessionId="s1", cwd="/b")
    talk.rules_found()
    asks(host)
    assert answers(host) == []


def test_a_host_that_leaves_while_rules_are_read_is_not_missed(talk: Conversation) -> None:
    talk.rules()
    talk.holds_rules = True
    host = talk.host(hooks=True)
    host.open("s1", cwd="/a")
    host.say(type="hook.preToolUse", id="k1", sessionId="s1", tool="bash", args={})
    host.drop()
    talk.rules_found()
    assert talk.gateway.busy_with()[0] == 0


# Calls


def test_a_call_that_is_forbidden_is_refused_before_it_runs(talk: Conversation) -> None:
    host = talk.host(hooks=True)
    host.open("s1")
    talk.rules(*deny("rm", place="config.toml:9"))
    assert calls(host, "ls")["decision"] == "allow"
    refused = calls(host, "sudo rm x", "k2")
    assert refused["decision"] == "deny"
    assert refused["reason"] == "the person's rule “rm” forbids it"
    (event,) = talk.events("gate.checked")
    assert event["gate"]["decidedBy"] == "rule"
    assert event["gate"]["rule"]["place"] == "config.toml:9"


def test_a_rule_that_asks_is_told_to_the_host_before_the_call_runs(talk: Conversation) -> None:
    host = talk.host(hooks=True)
    host.open("s1")
    talk.rules(*ask("npm publish"), *deny("rm"))
    asked = {"decision": "ask", "reason": "your rule “npm publish” asks each time"}
    assert calls(host, "cd x && npm publish", "k1").items() >= asked.items()
    assert calls(host, "npm publish; rm x", "k2")["decision"] == "deny"
    assert calls(host, "npm ci", "k3")["decision"] == "allow"


def test_a_rule_goes_before_the_gates_of_providers(talk: Conversation) -> None:
    host = talk.host(hooks=True)
    host.open("s1")
    gate = {"match": {"tool": "bash"}, "action": "gate", "gateId": "g"}
    provider = talk.provider("s1", hooks={"onPreToolUse": [gate]})
    talk.rules(*deny("rm"))
    provider.hear()
    assert calls(host, "rm x")["decision"] == "deny"
    assert provider.hear_of("gate.check") == []


def test_other_callers_are_refused_too(ruled: Scene) -> None:
    ruled.talk.rules(*deny("greet", kind="tool"))
    ruled.host.hear()
    ruled.host.invoke("s1")
    outcome = ruled.host.hear_one("tool.outcome")
    assert outcome["errorCode"] == "UNAUTHORIZED"


def test_a_call_that_cannot_be_read_is_refused_where_some_are_forbidden(
    talk: Conversation,
) -> None:
    host = talk.host(hooks=True)
    host.open("s1")
    odd = b'{"type":"hook.preToolUse","id":"k1","sessionId":"s1","tool":"bash","args":{"n":1e999}}'
    host.say(odd)
    assert host.hear_one("hook.decision")["decision"] == "allow"
    talk.rules(*deny("rm"))
    host.say(odd)
    assert host.hear_one("hook.decision")["decision"] == "deny"


# Exactly this, until the session ends


def test_exactly_this_is_allowed_until_the_session_ends(ruled: Scene) -> None:
    asks(ruled.host, "node x.js")
    assert decides(ruled.tower, approvals(ruled.talk)[0], keep=True) == []
    assert answers(ruled.host) == [("r1", "approve")]
    asks(ruled.host, "node x.js", "r2")
    asks(ruled.host, "node y.js", "r3")
    assert answers(ruled.host) == [("r2", "approve")]
    (second,) = (one for one in ruled.talk.events("approval.decided")[1:])
    assert second["approval"]["rule"] == {
        "effect": "allow",
        "kind": "shell",
        "pattern": "",
        "source": "session",
    }
    ruled.host.say(type="session.close", sessionId="s1")
    ruled.talk.wait(11)
    ruled.host.open("s1")
    asks(ruled.host, "node x.js", "r4")
    assert answers(ruled.host) == []


def test_exactly_this_is_asked_about_again_by_a_gateway_that_was_started_anew(
    ruled: Scene,
) -> None:
    asks(ruled.host, "node x.js")
    decides(ruled.tower, approvals(ruled.talk)[0], keep=True)
    again = Conversation()
    host = again.host()
    host.open("s1")
    host.hear()
    asks(host, "node x.js", "r2")
    assert answers(host) == []


def test_what_waits_for_the_same_is_allowed_with_it(ruled: Scene) -> None:
    asks(ruled.host, "node x.js", "r1")
    asks(ruled.host, "node x.js", "r2")
    decides(ruled.tower, approvals(ruled.talk)[0], keep=True)
    assert sorted(answers(ruled.host)) == [("r1", "approve"), ("r2", "approve")]


def test_another_folder_or_session_is_another_question(ruled: Scene) -> None:
    asks(ruled.host, "node x.js")
    decides(ruled.tower, approvals(ruled.talk)[0], keep=True)
    ruled.host.open("s2")
    ruled.host.hear()
    asks(ruled.host, "node x.js", "r2", session="s2")
    ruled.host.say(type="session.update", sessionId="s1", cwd="/elsewhere")
    asks(ruled.host, "node x.js", "r3")
    assert answers(ruled.host) == []


def test_a_denial_is_not_kept(ruled: Scene) -> None:
    asks(ruled.host, "node x.js")
    decides(ruled.tower, approvals(ruled.talk)[0], "deny", keep=True)
    asks(ruled.host, "node x.js", "r2")
    assert answers(ruled.host) == [("r1", "deny")]


@pytest.mark.parametrize("command", ["tapui stop", "npm publish", "tmux send-keys y"])
def test_what_is_always_asked_is_not_kept(ruled: Scene, command: str) -> None:
    asks(ruled.host, command)
    (error,) = decides(ruled.tower, approvals(ruled.talk)[0], keep=True)
    assert error["code"] == "INVALID_JSON"
    assert "cannot be allowed until the session ends" in error["message"]
    assert decides(ruled.tower, approvals(ruled.talk)[0]) == []
    assert answers(ruled.host) == [("r1", "approve")]


def test_only_permissions_are_kept(ruled: Scene) -> None:
    ruled.host.say(
        {"type": "approval.request", "id": "q", "sessionId": "s1", "kind": "userInput",
         "detail": {"question": "?"}}
    )  # fmt: skip
    (error,) = decides(ruled.tower, approvals(ruled.talk)[0], keep=True)
    assert error["code"] == "INVALID_JSON"


def test_a_rule_with_a_long_pattern_is_shown_by_its_beginning(ruled: Scene) -> None:
    ruled.talk.rules(PolicyRule("allow", "shell", f"npm {'x' * 5_000}"))
    ruled.host.hear()
    asks(ruled.host, f"npm {'x' * 5_000}")
    assert answers(ruled.host) == [("r1", "approve")]
    assert len(approvals(ruled.talk)[0]["rule"]["pattern"]) == 500
