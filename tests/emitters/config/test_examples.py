"""Configurations of the earlier extension's documents: they work as they are."""

import json
from pathlib import Path

import msgspec
import pytest

from tapui.core.emitters.plans import Schedule
from tapui.emitters.config.entries import EmitterEntry
from tapui.emitters.config.saving import save_emitter
from tests.emitters.config.folder import configured

ONE_COMMAND = (
    '{"emitters":[{"name":"pulse","command":"./pulse.sh","autoStart":true,"eventFilter":['
    '{"match":"starting","outcome":"drop"},{"match":"warn|fail","outcome":"inject"},'
    '{"match":".*","outcome":"keep"}]}]}'
)
TWO_STREAMS = (
    '{"streams":[{"name":"ops","description":"Operations","sessionInjector":{"enabled":true,'
    '"delivery":"surface","ownership":"userOwned"}},{"name":"upkeep","description":"Upkeep loop",'
    '"sessionInjector":{"enabled":true,"delivery":"important","ownership":"userOwned"}}],'
    '"emitters":[{"name":"pulse","description":"Demo","command":"./pulse.sh","stream":"ops",'
    '"autoStart":true,"includeStderr":true,"ownership":"userOwned","eventFilter":['
    '{"match":"starting","outcome":"drop"},{"match":"up|fine","outcome":"surface"},'
    '{"match":"warn|fail","outcome":"inject"},{"match":".*","outcome":"keep"}]},'
    '{"name":"upkeep","description":"Repo upkeep","prompt":"Look for new failing runs and review '
    'comments; report only what needs action.","runInterval":"15m","stream":"upkeep",'
    '"autoStart":false,"ownership":"userOwned"}]}'
)
LATER_PROMPT = (
    '{"emitters":[{"name":"later-check-pool","prompt":"Go on with the pool question: read the new '
    'log and report.","runSchedule":"oneTime","autoStart":true,"ownership":"modelOwned",'
    '"lifespan":"persistent","metadata":{"deferredAt":"2026-04-26T14:30:00Z",'
    '"deferredFrom":"session-1","task":"pool"}}]}'
)
GUARDIAN = (
    '{"guardian":{"gating":{"blockPushOnCIFailure":true}},"emitters":[{"name":"git-watch",'
    '"command":"git fetch -q; echo behind=$(git rev-list --count HEAD..@{u} 2>/dev/null || '
    'echo 0)","every":"30s","eventFilter":[{"match":"behind=0","outcome":"drop"},'
    '{"match":"behind=[1-9]","outcome":"surface"},'
    '{"match":"conflicts=[1-9]|CrashLoopBackOff","outcome":"inject"},'
    '{"match":".*","outcome":"keep"}]},{"name":"correlate","prompt":"Compare the recent events of '
    'all streams; say nothing unless two belong together.","every":"idle","maxRuns":10}]}'
)
WRITTEN_BEFORE = (
    '{"streams":[{"name":"api","sessionInjector":{"enabled":true,"delivery":"surface",'
    '"ownership":"modelOwned"}}],"emitters":[{"name":"api-log","stream":"api","autoStart":true,'
    '"includeStderr":false,"ownership":"userOwned","command":"./poll-api","every":"5m",'
    '"cwd":"services/api","eventFilter":{"includePattern":"api","excludePattern":"polling",'
    '"notifyPattern":"error|fatal","ownership":"modelOwned"}}]}'
)
OLD_NAMES = (
    '{"channels":[{"name":"ops","description":"Operations","subscription":{"enabled":true,'
    '"delivery":"important","managedBy":"user"}}],"monitors":[{"name":"pulse",'
    '"command":"./pulse.sh","channel":"ops","autoStart":true,"includeStderr":true,'
    '"managedBy":"user","classifier":{"includePattern":"up|warn|fail","excludePattern":"starting",'
    '"notifyPattern":"warn|fail","managedBy":"user"}},{"name":"upkeep","prompt":"Anything new that '
    'needs action?","every":"15m","channel":"upkeep","autoStart":false,"managedBy":"user",'
    '"classifier":{"notifyPattern":"failed|urgent","managedBy":"user"}}]}'
)
EMPTY = '{"streams":[],"emitters":[]}'


def rules(entry: EmitterEntry) -> list[tuple[str, str]]:
    return [(rule.match, rule.outcome) for rule in entry.rules]


def test_one_command_without_stream_and_injector(tmp_path: Path) -> None:
    found = configured(tmp_path, ONE_COMMAND)
    assert found.problems == ()
    assert found.streams == ()
    (pulse,) = found.emitters
    assert (pulse.command, pulse.stream, str(pulse.schedule)) == (
        "./pulse.sh",
        "pulse",
        "all the time",
    )
    assert rules(pulse) == [("starting", "drop"), ("warn|fail", "inject"), (".*", "keep")]
    assert found.stream("pulse").injector == "unset"


def test_a_command_and_a_prompt_in_streams_of_their_own(tmp_path: Path) -> None:
    found = configured(tmp_path, TWO_STREAMS)
    assert found.problems == ()
    pulse, upkeep = found.emitters
    assert (pulse.stream, pulse.ownership, pulse.auto_start) == ("ops", "userOwned", True)
    assert [outcome for _, outcome in rules(pulse)] == ["drop", "surface", "inject", "keep"]
    assert (upkeep.schedule, upkeep.auto_start) == (Schedule("timed", 900), False)
    assert (upkeep.ownership, upkeep.command) == ("userOwned", None)
    assert [(one.name, one.injector, one.delivery, one.ownership) for one in found.streams] == [
        ("ops", "enabled", "surface", "userOwned"),
        ("upkeep", "enabled", "important", "userOwned"),
    ]


def test_a_prompt_once_at_the_next_session_with_its_metadata(tmp_path: Path) -> None:
    found = configured(tmp_path, LATER_PROMPT)
    assert found.problems == ()
    (later,) = found.emitters
    assert (later.schedule, later.lifespan) == (Schedule("oneTime"), "persistent")
    assert (later.auto_start, later.ownership) == (True, "modelOwned")
    save_emitter(tmp_path, msgspec.structs.replace(later, auto_start=False))
    saved = json.loads((tmp_path / "tap.config.json").read_bytes())["emitters"][0]
    assert saved == {**json.loads(LATER_PROMPT)["emitters"][0], "autoStart": False}


def test_pollers_and_an_idle_prompt_beside_a_foreign_key(tmp_path: Path) -> None:
    found = configured(tmp_path, GUARDIAN)
    assert found.problems == ()
    watch, correlate = found.emitters
    assert watch.schedule == Schedule("timed", 30)
    assert [outcome for _, outcome in rules(watch)] == ["drop", "surface", "inject", "keep"]
    assert (correlate.schedule, correlate.max_runs) == (Schedule("idle"), 10)
    save_emitter(tmp_path, msgspec.structs.replace(correlate, max_runs=5))
    before = json.loads(GUARDIAN)
    before["emitters"][1]["maxRuns"] = 5
    assert json.loads((tmp_path / "tap.config.json").read_bytes()) == before


@pytest.mark.parametrize("place", ["tap.config.json", ".github/tap.config.json"])
def test_what_the_earlier_extension_wrote(tmp_path: Path, place: str) -> None:
    found = configured(tmp_path, WRITTEN_BEFORE, place)
    assert found.problems == ()
    assert found.path == str(tmp_path / place)
    (log,) = found.emitters
    assert rules(log) == [
        ("polling", "drop"),
        ("error|fatal", "inject"),
        ("api", "keep"),
        (".*", "drop"),
    ]
    assert (log.filter_ownership, log.ownership) == ("modelOwned", "userOwned")
    assert (log.include_stderr, log.cwd, log.schedule) == (
        False,
        "services/api",
        Schedule("timed", 300),
    )
    assert found.stream("api").ownership == "modelOwned"


@pytest.mark.parametrize("folder", ["", ".github/"])
def test_an_old_file_under_its_old_names(tmp_path: Path, folder: str) -> None:
    found = configured(tmp_path, OLD_NAMES, f"{folder}copilot-channels.config.json")
    assert found.problems == ()
    assert found.is_old
    pulse, upkeep = found.emitters
    assert rules(pulse) == [
        ("starting", "drop"),
        ("warn|fail", "inject"),
        ("up|warn|fail", "keep"),
        (".*", "drop"),
    ]
    assert (pulse.stream, pulse.ownership, pulse.filter_ownership) == (
        "ops",
        "userOwned",
        "userOwned",
    )
    assert rules(upkeep) == [("failed|urgent", "inject")]
    assert (upkeep.schedule, upkeep.auto_start) == (Schedule("timed", 900), False)
    assert [(one.injector, one.delivery, one.ownership) for one in found.streams] == [
        ("enabled", "important", "userOwned")
    ]


def test_an_empty_file_is_empty_without_a_word(tmp_path: Path) -> None:
    found = configured(tmp_path, EMPTY)
    assert (found.problems, found.emitters, found.streams) == ((), (), ())
    assert found.is_readable
    assert found.path is not None


@pytest.mark.parametrize(
    "text",
    [ONE_COMMAND, TWO_STREAMS, LATER_PROMPT, GUARDIAN, WRITTEN_BEFORE],
    ids=["one", "two", "later", "guardian", "written"],
)
def test_an_entry_saved_as_it_is_leaves_the_file_as_it_is(tmp_path: Path, text: str) -> None:
    found = configured(tmp_path, text)
    for entry in found.emitters:
        save_emitter(tmp_path, entry)
    assert (tmp_path / "tap.config.json").read_text() == text
