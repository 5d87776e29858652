"""What a session is to reach (`/goal`), told once for each change of what is shown."""

from pathlib import Path
from typing import Any

import msgspec

from tapui.wire import limits
from tapui.wire.host import SessionEvent, SessionUpdate
from tapui.wire.limits import MAX_ID
from tapui.wire.subjects import Account
from tests.hosts.cli_played import CliPlayed
from tests.hosts.gateway import GatewayPlayed, HostThread
from tests.rig.waiting import until

CART: dict[str, Any] = {"id": 1, "objective": " mend the cart\n", "status": "active"}


def told(gateway: GatewayPlayed, event: str = "session.objective") -> list[Any]:
    """Return how the objective stood, or what else is told by an event, each time."""
    return [msgspec.json.decode(one.data) for one in gateway.of(SessionEvent, event=event)]


def rests_twice(cli: CliPlayed, method: str) -> None:
    """Let two turns end, at each of which the CLI is asked for something."""
    first = len(cli.asked(method)) + 1
    for number, turn in enumerate(("t-1", "t-2"), first):
        cli.happens("s1", "assistant.turn_start", turnId=turn)
        cli.happens("s1", "session.idle", mode="interactive")
        until(
            lambda asked=number: len(cli.asked(method)) >= asked,  # type: ignore[misc]
            what="the question",
        )


def asked(cli: CliPlayed) -> int:
    return len(cli.asked("session.autopilotObjective.getState"))


def test_its_text_and_status_are_told(cli: CliPlayed, gateway: GatewayPlayed) -> None:
    cli.aims("s1", CART)
    until(lambda: len(told(gateway)) == 1, what="the objective")
    cli.aims("s1", {**CART, "status": "paused", "pauseReason": "autopilot_off"})
    until(lambda: len(told(gateway)) == 2, what="the pause")
    cli.aims("s1", {**CART, "status": "completed", "completionSummary": "it is mended"})
    until(lambda: len(told(gateway)) == 3, what="the end")
    cli.aims("s1", None)
    until(lambda: len(told(gateway)) == 4, what="that it is gone")
    text = {"id": "1", "text": "mend the cart"}
    assert told(gateway) == [
        {**text, "status": "active", "reason": ""},
        {**text, "status": "paused", "reason": "autopilot_off"},
        {**text, "status": "completed", "reason": "it is mended"},
        {},
    ]


def test_what_is_as_it_was_is_not_told_again(cli: CliPlayed, gateway: GatewayPlayed) -> None:
    cli.aims("s1", CART)
    until(lambda: len(told(gateway)) == 1, what="the objective")
    before = asked(cli)
    for turns in range(5):
        cli.aims("s1", {**CART, "turnCount": turns})
    until(lambda: asked(cli) > before, what="the question")
    cli.aims("s1", {**CART, "id": 2, "objective": "x" * 5_000})
    until(lambda: len(told(gateway)) == 2, what="the next objective")
    assert told(gateway)[1]["id"] == "2"
    assert len(told(gateway)[1]["text"]) == 2_000


def test_one_of_before_is_told_when_the_connection_is_back(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    cli.aims("s1", CART)
    until(lambda: len(told(gateway)) == 1, what="the objective")
    cli.objectives["s1"]["status"] = "paused"
    cli.drop()
    until(lambda: len(told(gateway)) == 2, what="the objective, once attached again")
    assert told(gateway)[1]["status"] == "paused"


def test_a_cli_that_does_not_know_the_question_is_asked_once(
    cli: CliPlayed, copilot_home: Path
) -> None:
    cli.unknown.add("session.autopilotObjective.getState")
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home) as host:
        until(lambda: [one for _, one in host.reports if "objective" in one], what="a report")
        for _ in range(3):
            cli.aims("s1", CART)
        cli.happens("s1", "assistant.intent", intent="later")
        gateway.wait(SessionEvent, event="assistant.intent")
        reports = [one for one in host.reports if "objective" in one[1]]
    assert (asked(cli), told(gateway)) == (1, [])
    assert reports == [("warning", "ask for the objective: this Copilot CLI does not know that")]


def test_what_is_left_of_quotas_is_told_where_it_has_changed(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    premium = {
        "entitlementRequests": 150, "isUnlimitedEntitlement": False, "overage": 0,
        "overageAllowedWithExhaustedQuota": False, "remainingPercentage": 35.3,
        "usageAllowedWithExhaustedQuota": False, "usedRequests": 97,
        "resetDateEpochMs": 1_796_083_200_000,
    }  # fmt: skip
    chat = {**premium, "isUnlimitedEntitlement": True, "resetDateEpochMs": 1e300}
    cli.quotas = {"premium": premium, "chat": chat}
    rests_twice(cli, "session.quota.get")
    left = {"remaining": 35.3, "used": 97}
    resets = {"resetsAt": "2026-12-01T00:00:00.000000Z", "entitled": 150}
    quotas = [{"name": "chat", **left}, {"name": "premium", **left, **resets}]
    until(lambda: told(gateway, "session.quota") == [{"quotas": quotas}], what="them, once")


def test_who_is_signed_in_is_told_where_it_has_changed(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    def told_accounts() -> list[Account]:
        updates = gateway.of(SessionUpdate)
        return [one.account for one in updates if one.account is not None]

    until(lambda: told_accounts() == [Account(signed_in=False)], what="that none is")
    cli.account = {
        "isAuthenticated": True, "authType": "user", "host": "https://github.com", "login": "ada",
        "copilotPlan": "business", "statusMessage": "Signed in as " + 600 * "a",
    }  # fmt: skip
    rests_twice(cli, "session.gitHubAuth.getStatus")
    cli.happens("s1", "assistant.intent", intent="later")
    gateway.wait(SessionEvent, event="assistant.intent")
    assert [one.signed_in for one in told_accounts()] == [False, True]
    account = told_accounts()[1]
    assert (account.kind, account.login, account.plan) == ("user", "ada", "business")
    assert account.host == "https://github.com"
    assert len(account.note or "") <= MAX_ID


def test_what_the_agent_wants_to_do_is_told_when_it_changed(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    cli.todos = [
        {"id": "a", "title": " Write notes ", "status": "in_progress"},
        {"id": "b", "title": "Fix links", "status": "done"},
        {"id": "c", "description": "of a newer CLI", "status": "someday"},
    ]
    cli.happens("s1", "session.todos_changed")
    until(lambda: len(told(gateway, "session.todos")) == 1, what="the list")
    cli.todos = []
    cli.happens("s1", "session.todos_changed")
    until(lambda: len(told(gateway, "session.todos")) == 2, what="that it is empty")
    states = ("inProgress", "done", "pending")
    titles = ("Write notes", "Fix links", "of a newer CLI")
    todos = [{"title": t, "state": s} for t, s in zip(titles, states, strict=True)]
    assert told(gateway, "session.todos") == [{"todos": todos}, {}]


def test_a_long_list_is_told_with_the_counts_of_all(cli: CliPlayed, gateway: GatewayPlayed) -> None:
    cli.todos = [{"id": str(at), "title": f"todo {at}", "status": "done"} for at in range(9_000)]
    cli.todos += [{"id": f"b{at}", "title": "b", "status": "blocked"} for at in range(1_000)]
    cli.happens("s1", "session.todos_changed")
    until(lambda: len(told(gateway, "session.todos")) == 1, what="the list")
    (list_,) = told(gateway, "session.todos")
    assert len(list_["todos"]) == limits.MAX_TODOS
    assert list_["counts"] == {"done": 9_000, "blocked": 1_000}
