"""What a session does now, and since when."""

from tapui.projection.now import Loop, SessionNow, agent_now, failed_since, now_of
from tests.projection.test_turns import Day
from tests.records.turns import stamp


def now(day: Day) -> SessionNow | None:
    assert now_of(day.copy, "s1") == now_of(day.state, "s1")
    return now_of(day.state, "s1")


def test_now_is_the_newest_thing_that_the_session_does() -> None:
    day = Day()
    assert now(day) is None
    assert now_of(day.state, "nowhere") is None
    day.happen("user.message", content="go")
    assert now(day) == SessionNow("thinking", stamp(2))
    day.happen("assistant.intent", intent="Looking around")
    assert now(day) == SessionNow("writing", stamp(3), text="Looking around")
    day.happen("assistant.message", content="I see.")
    assert now(day) == SessionNow("writing", stamp(4), text="I see.")
    day.start("c1", command="ls")
    assert now(day) == SessionNow("call", stamp(5), "bash", "ls")
    day.approve("waiting", call="c1")
    assert now(day) == SessionNow("waiting", stamp(5), "bash", "ls")
    day.approve("approved", call="c1")
    day.finish("c1")
    day.happen("session.idle")
    assert now(day) == SessionNow("idle", stamp(day.seq), text="I see.")


def test_what_each_subagent_does() -> None:
    day = Day()

    def does(agent: str) -> SessionNow | None:
        return agent_now(day.state, "s1", agent)

    day.happen("user.message", content="go")
    assert does("k1") is None
    day.start("t1", "task")
    told = {"remoteSessionId": "k1", "toolCallId": "t1", "agentName": "reviewer"}
    day.happen("subagent.started", **told, description="look")
    assert does("k1") == SessionNow("thinking", stamp(3), text="look")
    day.start("c1", agent="k1", command="rg x")
    assert does("k1") == SessionNow("call", stamp(5), "bash", "rg x")
    day.approve("waiting", call="c1", agent="k1")
    assert does("k1") == SessionNow("waiting", stamp(5), "bash", "rg x")
    day.approve("approved", call="c1", agent="k1")
    day.finish("c1", agent_id="k1")
    day.happen("assistant.message", content="Well.", agentId="k1")
    assert does("k1") == SessionNow("writing", stamp(9), text="Well.")
    day.happen("subagent.completed", toolCallId="t1")
    assert does("k1") is None


def test_now_in_a_subagent_names_it() -> None:
    day = Day()
    day.happen("user.message", content="go")
    day.start("t1", "task", description="look")
    day.happen("subagent.started", remoteSessionId="k1", toolCallId="t1", agentName="reviewer")
    assert now(day) == SessionNow("call", stamp(3), "reviewer", "look", "reviewer")
    day.start("c1", agent="k1", command="rg x")
    assert now(day) == SessionNow("call", stamp(5), "bash", "rg x", "reviewer")


def test_a_program_that_fails_three_times_in_a_turn_is_a_loop() -> None:
    day = Day()
    day.happen("user.message", content="go")
    for number, command in enumerate(["pnpm test", "ls x", "CI=1 pnpm test --run", "pnpm test b"]):
        found = now(day)
        assert found is not None
        assert found.loop is None
        day.start(f"c{number}", command=command)
        day.finish(f"c{number}", exit_code=1)
    found = now(day)
    assert found is not None
    assert found.loop == Loop("pnpm test", 1, 3)
    assert failed_since(day.state, stamp(0)) == 4
    assert failed_since(day.state, day.turn.steps[-1].at) == 1
    assert failed_since(day.state, stamp(1000)) == 0
