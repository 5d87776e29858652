"""What a session does now, and since when."""

from tapui.projection.now import Loop, SessionNow, agent_now, counted_since, now_of
from tapui.projection.proof import activity_word, waits_for_shell
from tapui.projection.words import shell_wait_words
from tapui.wire import events as ev
from tapui.wire.subjects import ModelWait
from tests.projection.test_turns import Day
from tests.records.turns import session, stamp


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
    named = {"agentName": "general-purpose", "agentDisplayName": "reviewer"}
    day.happen("subagent.started", remoteSessionId="k1", toolCallId="t1", **named)
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
    assert counted_since(day.state, stamp(0)) == {"failed": 4}
    assert counted_since(day.state, day.turn.steps[-1].at) == {"failed": 1}
    assert counted_since(day.state, stamp(1000)) == {}


def test_a_session_that_asks_its_model_again_waits_for_it() -> None:
    day = Day()
    day.happen("user.message", content="go")
    day.start("c1", command="ls")
    wait = ModelWait(stamp(9), 2, 429)
    day.tell(ev.SessionUpdated("s1", session("s1", state="busy", model_wait=wait)))
    waits = "waits for the model: 429, failed 2×"
    assert now(day) == SessionNow("model", stamp(9), text=waits)
    day.approve("waiting", call="c1")
    assert now(day) == SessionNow("waiting", stamp(3), "bash", "ls")


def test_a_session_whose_commands_go_on_waits_for_them() -> None:
    day = Day()
    day.happen("user.message", content="go")
    day.happen("assistant.message", content="It runs.")
    shells = ["npm run dev", "sleep 9\nls"]
    behind = session("s1", state="busy", shells=shells)
    day.tell(ev.SessionUpdated("s1", behind))
    assert (activity_word(day.state, behind), shell_wait_words(behind)) == ("busy", None)
    day.happen("session.idle")
    ended_at = stamp(day.seq)
    behind = session("s1", shells=shells)
    day.tell(ev.SessionUpdated("s1", behind))
    waits = "waits for 2 shells: “npm run dev”, “sleep 9 ⏎ ls”"
    assert now(day) == SessionNow("shell", ended_at, text=waits)
    assert activity_word(day.state, behind) == "waits for a shell"
    assert waits_for_shell(day.state, behind)
    behind = session("s1", shells=shells[:1], silent=True)
    assert shell_wait_words(behind) == "waits for shell “npm run dev”"
    assert not waits_for_shell(day.state, behind)
    ended = session("s1", state="ended", shells=shells)
    assert (activity_word(day.state, ended), shell_wait_words(ended)) == ("ended", None)


def test_what_was_denied_is_no_loop() -> None:
    day = Day()
    day.happen("user.message", content="go")
    for number in range(4):
        day.start(f"c{number}", command="pnpm test")
        day.finish(f"c{number}", "failed", error="no", error_code="DENIED")
    found = now(day)
    assert found is not None
    assert found.loop is None
    assert counted_since(day.state, stamp(0)) == {"denied": 4}
