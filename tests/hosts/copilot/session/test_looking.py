"""What goes on in a session: each part as its CLI tells it, or why it does not."""

from tapui.wire.host import HostCanvas, HostSchedule, HostTask, SessionLook, SessionLooked
from tests.hosts.cli_played import CliPlayed
from tests.hosts.gateway import GatewayPlayed


def looked(gateway: GatewayPlayed, session: str = "s1") -> SessionLooked:
    gateway.tell(SessionLook("lk-1", session))
    return gateway.wait(SessionLooked, id="lk-1")


def test_tasks_schedules_canvases_and_the_screen(cli: CliPlayed, gateway: GatewayPlayed) -> None:
    cli.agents, cli.commands = ["explore"], ["npm test"]
    entry = {"id": 1, "nextRunAt": "2036-01-01T00:00:00Z", "prompt": "look again"}
    cli.schedules = [
        {**entry, "recurring": True, "intervalMs": 300_000},
        {**entry, "recurring": True, "cron": "0 9 * * *", "displayPrompt": "/standup"},
        {**entry, "recurring": False, "at": 1},
        {**entry, "recurring": True, "selfPaced": True},
    ]
    cli.canvases = [
        {"canvasId": "board", "extensionId": "x", "instanceId": "board-1", "title": "Board"}
    ]
    told = looked(gateway)
    assert told.tasks == [
        HostTask("npm test", "shell", "running", "npm test"),
        HostTask("explore", "agent", "running", "", "explore"),
    ]
    next_run = "2036-01-01T00:00:00.000000Z"
    assert told.schedules == [
        HostSchedule("look again", "timed", 300.0, None, next_run),
        HostSchedule("/standup", "cron", None, "0 9 * * *", next_run),
        HostSchedule("look again", "oneTime", None, None, next_run),
        HostSchedule("look again", "selfPaced", None, None, next_run),
    ]
    assert told.canvases == [HostCanvas("board-1", "Board")]
    assert told.ui == {"elicitation": True, "canvases": False}
    assert told.unknown == {}


def test_a_cli_that_cannot_tell_one_tells_the_others(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    cli.unknown |= {"session.canvas.listOpen", "session.schedule.list"}
    told = looked(gateway)
    assert (told.tasks, told.schedules, told.canvases) == ([], None, None)
    assert told.unknown == {
        "schedules": "ask for schedules: this Copilot CLI does not know that",
        "canvases": "ask for canvases: this Copilot CLI does not know that",
    }


def test_a_session_that_has_ended_is_answered_for(cli: CliPlayed, gateway: GatewayPlayed) -> None:
    told = looked(gateway, "gone")
    assert (told.tasks, told.schedules, told.canvases, told.ui) == (None, None, None, None)
