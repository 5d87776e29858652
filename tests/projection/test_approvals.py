"""What is asked, in the words that the tower and the commands share."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tapui.policies.requests import of_permission
from tapui.projection import approvals
from tapui.projection.requests.kinds import kind_of
from tapui.projection.requests.permissions import command_of
from tapui.projection.requests.request_kind import AskedRequest, RequestContext
from tapui.projection.state import State
from tapui.wire.subjects import Approval, Call, Cut, Session


def approval(kind: str, detail: Any = None, **more: Any) -> Approval:
    return Approval(
        id="a-1",
        kind=kind,  # type: ignore[arg-type]
        state=more.pop("state", "waiting"),
        detail=detail,
        created_at="",
        expires_at="",
        **more,
    )


DIFF = "--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n-old\n+new\n+newer\n same\n"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            approval("permission", {"kind": "shell", "fullCommandText": "rm -rf build\nnpm ci\n"}),
            ("run", "rm -rf build ⏎ npm ci"),
        ),
        (
            approval("permission", {"kind": "write", "fileName": "/a/x.py", "diff": DIFF}),
            ("write", "/a/x.py  +2 \N{MINUS SIGN}1"),
        ),
        (approval("permission", {"kind": "path", "path": "/etc\n/usr"}), ("open", "/etc ⏎ /usr")),
        (approval("permission", {"kind": "url", "url": "https://x/"}), ("fetch", "https://x/")),
        (
            approval("permission", {"kind": "mcp", "toolName": "ping", "args": {"n": [1]}}),
            ("call", 'ping {"n":[1]}'),
        ),
        (
            approval(
                "permission",
                {"kind": "hook", "toolName": "bash", "toolArgs": {"command": "a\nb", "x": 1}},
            ),
            ("hook", "bash a ⏎ b"),
        ),
        (approval("permission", {"kind": "new", "x": 1}), ("new", "")),
        (
            approval("permission", {"kind": "extension-permission-access", "wish": "x: register"}),
            ("allow", "x: register"),
        ),
        (approval("permission"), ("allow", "")),
        (approval("permission", [1, "x"]), ("allow", "")),
        (approval("mode", {"from": "plan", "to": "autopilot"}), ("mode", "plan → autopilot")),
        (approval("pairing", {"origin": "https://d"}), ("pair", "https://d")),
        (approval("pairing", {}), ("pair", "local program")),
        (
            approval(
                "command",
                {"line": ["sh 7"], "wanted": "tool.invoke", "tool": "tap_x", "about": "s1"},
            ),
            ("let pass", "sh 7: call tap_x in session s1"),
        ),
        (
            approval(
                "command",
                {
                    "line": ["sh 7"],
                    "wanted": "approval.decide",
                    "decision": "deny",
                    "about": "a-dca6afb",
                    "request": "run npm ci",
                },
            ),
            ("let pass", "sh 7: deny “run npm ci”"),
        ),
        (
            approval("command", {"line": ["sh 7"], "wanted": "goal.drop", "about": "g-1"}),
            ("let pass", "sh 7: drop goal g-1"),
        ),
        (approval("bindAll", {"name": "ci"}), ("join all", "ci")),
        (approval("userInput", {"question": "Which?"}), ("question", "Which?")),
        (approval("elicitation", {"message": "Fill in"}), ("form", "Fill in")),
    ],
)
def test_a_request_is_a_word_and_all_of_what_it_is_about(
    asked: Approval, said: tuple[str, str]
) -> None:
    assert (approvals.verb(asked), approvals.request(asked)) == said


def of_call(kind: str, *calls: Call, call_id: object = "t1") -> str:
    detail = {"kind": kind, "url": "https://x/", "toolCallId": call_id}
    asked = approval("permission", detail, session_id="s1")
    return command_of(State(calls={found.id: found for found in calls}), asked)


def test_the_command_of_a_request_is_that_of_its_call() -> None:
    def call(args: bytes | None, **fields: Any) -> Call:
        given = {"id": "t1", "session_id": "s1", **fields}
        raw = None if args is None else msgspec.Raw(args)
        return Call(tool="bash", provider="x", state="running", started_at="", args=raw, **given)

    bash = call(b'{"command": "curl x\\ngit push", "description": "get"}')
    assert of_call("url", bash) == of_call("path", bash) == "curl x\ngit push"
    assert of_call("url", replace(bash, id="c1", tool_call_id="t1")) == "curl x\ngit push"
    assert of_call("url", call(None, args_cut=Cut('{"command": "curl x', 9, ""))) == "curl x…"
    nothing = {
        "it is the command": ("shell", bash),
        "shown as its arguments": ("mcp", bash),
        "another session's": ("url", replace(bash, session_id="s2")),
        "another call": ("url", replace(bash, id="t2")),
        "no command": ("url", call(b'{"url": "https://x/"}')),
        "no text": ("url", call(b'{"command": ["x"]}')),
        "no object": ("url", call(b'["command"]')),
        "not told": ("url", call(None)),
    }
    for case, (kind, found) in nothing.items():
        assert of_call(kind, found) == "", case
    assert of_call("url", bash, call_id=["t1"]) == ""


def test_what_a_command_fetches_is_asked_about_and_not_its_text_alone() -> None:
    """As Copilot CLI 1.0.102 asks."""
    command = "curl x > f; git push --force"
    parts = [{"fullCommandText": "curl x"}, {"fullCommandText": "git push --force"}]
    detail = {
        "kind": "url",
        "intention": "get it",
        "url": "https://x/",
        "toolCallId": "t1",
        "fullCommandText": command,
        "shellType": "bash",
        "commandSegments": parts,
    }
    asked = approval("permission", detail, session_id="s1")
    assert approvals.request(asked) == "https://x/"
    assert command_of(State(), asked) == command
    context = RequestContext(State(), str)
    shown = kind_of(asked).explained(context, [AskedRequest(asked, detail)])
    assert [part.text for part in shown if part.text] == ["https://x/", "command", command]
    assert not kind_of(asked).folded(asked, detail)


@pytest.mark.parametrize(("shell", "told"), [("bash", []), ("powershell", ["shell", "powershell"])])
def test_the_shell_of_a_command_is_told_where_it_is_another(shell: str, told: list[str]) -> None:
    detail = {"kind": "shell", "fullCommandText": "ls", "shellType": shell}
    asked = approval("permission", detail)
    context = RequestContext(State(), str)
    shown = kind_of(asked).explained(context, [AskedRequest(asked, detail)])
    assert [part.text for part in shown if part.text] == ["ls", *told]
    assert not kind_of(asked).folded(asked, detail)


def test_the_reason_is_what_the_asker_gave() -> None:
    permission = {"kind": "shell", "command": "ls", "intention": "Look\n around"}
    assert approvals.reason(approval("permission", permission)) == "Look around"
    assert approvals.reason(approval("mode", {"reason": "to finish"})) == "to finish"
    assert approvals.reason(approval("mode", {"reason": 3})) == ""
    assert approvals.reason(approval("permission")) == ""


def test_who_asks_is_named_with_the_session_unless_that_is_the_same() -> None:
    state = State()
    state.sessions["s1"] = Session(
        id="s1", label="First", cwd="/", state="idle", host="t", providers=[], opened_at=""
    )
    assert approvals.asker(state, approval("permission", session_id="s1")) == "First"
    mode = approval("mode", {"asker": "ci-watch"}, session_id="s1")
    assert approvals.asker(state, mode) == "ci-watch in First"
    assert approvals.asker(state, approval("bindAll", provider="ci")) == "ci"


@pytest.mark.parametrize(
    ("state", "by", "said"),
    [
        ("approved", "tapui", "approved by you"),
        ("denied", "tapui deny", "denied by you"),
        ("approved", "browser", "approved by browser"),
        ("expired", None, "timed out"),
        ("deciding", "tapui", "a decision is being recorded"),
        ("withdrawn", "cli", "answered by you, in Copilot"),
        ("withdrawn", None, "withdrawn"),
        ("failed", "tapui", "failed"),
    ],
)
def test_how_a_request_ended_is_one_phrase(state: str, by: str | None, said: str) -> None:
    assert approvals.outcome(approval("permission", state=state, decided_by=by)) == said


def test_a_request_that_was_withdrawn_says_why() -> None:
    gone = approval("permission", state="withdrawn", reason="the session\nended")
    assert approvals.outcome(gone) == "withdrawn: the session ⏎ ended"


PLAN = {"message": "The plan is ready", "refusal": "changes"}


@pytest.mark.parametrize(
    ("settled", "words"),
    [
        (
            approval("permission", state="withdrawn", decided_by="cli"),
            "answered by you, in Copilot",
        ),
        (
            approval("permission", state="withdrawn", decided_by="cli", answered="denied"),
            "denied by you, in Copilot",
        ),
        (
            approval("permission", state="withdrawn", decided_by="cli-rule", answered="approved"),
            "approved by a rule of Copilot's own",
        ),
        (
            approval("permission", state="withdrawn", decided_by="cli-judge", answered="approved"),
            "approved by Copilot's judge",
        ),
        (
            approval("elicitation", PLAN, state="denied", decided_by="you", reason="use pnpm"),
            "sent back with changes by you",
        ),
        (approval("elicitation", PLAN, state="denied", decided_by="you"), "sent back by you"),
        (approval("elicitation", PLAN, state="approved", decided_by="you"), "answered by you"),
        (approval("userInput", state="approved", decided_by="tapui"), "answered by you"),
        (
            approval("userInput", {"kind": "budget"}, state="approved", decided_by="you"),
            "approved by you",
        ),
        (
            approval("userInput", state="withdrawn", decided_by="cli", answered="approved"),
            "answered by you, in Copilot",
        ),
        (
            approval("permission", state="withdrawn", reason="the session ended"),
            "withdrawn: the session ended",
        ),
        (
            approval("permission", state="denied", decided_by="nobody"),
            "denied by tapui, as no person could be asked",
        ),
        (approval("permission", state="withdrawn"), "withdrawn"),
    ],
)
def test_how_it_ended_is_told_with_the_answer_given_elsewhere(
    settled: Approval, words: str
) -> None:
    assert approvals.outcome(settled) == words


@pytest.mark.parametrize(
    "detail",
    [
        {"kind": "shell", "fullCommandText": "npm ci"},
        {"kind": "custom-tool", "toolName": "build_all", "args": {}},
        {"kind": "mcp", "serverName": "git hub", "toolName": "create_issue"},
        {"kind": "mcp", "serverName": "files", "toolName": "files-read-all"},
        {"kind": "hook", "toolName": "bash"},
        {"kind": "url", "url": "https://example.org/a"},
    ],
)
def test_in_lists_a_permission_has_the_names_that_rules_take(detail: dict[str, object]) -> None:
    asked = of_permission(detail, "/code")
    told = approvals.subject(State(), approval("permission", detail))
    assert told == f"{asked.kind} {asked.subject}"
