"""What was shown is what is allowed, and what is allowed is what is started."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tapui.consents import consents as kept
from tapui.consents.consents import Consented, Proposal
from tapui.consents.emitters import FOLDER, EmitterConsents
from tapui.core.emitters.plans import EmitterPlan, Schedule
from tapui.emitters.config.entries import Configuration, EmitterEntry
from tapui.emitters.config.reading import read
from tests.emitters.config.folder import configured, written

PULSE = {"name": "pulse", "command": "./pulse.sh --fast", "runInterval": "5m"}
DAY = 24 * 3600
Standing = Consented[EmitterPlan] | Proposal[EmitterPlan]


class Clock:
    """A clock that the test turns."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "folder"
    path.mkdir()
    (path / "pulse.sh").write_text("echo up")
    return path


@pytest.fixture
def consents(state: Path) -> EmitterConsents:
    return EmitterConsents(state)


def first(found: Configuration) -> Any:
    return (*found.emitters, *found.providers)[0]


def standing(consents: EmitterConsents, folder: Path, **keys: Any) -> Standing:
    """Write the emitter with these keys, and ask for its standing."""
    file = {"emitters": [{**PULSE, **keys}]}
    found = configured(folder, file)
    return consents.standing(found, first(found))


def proposal(found: Standing) -> Proposal[EmitterPlan]:
    assert isinstance(found, Proposal)
    return found


def is_new(found: Standing) -> bool:
    return proposal(found).why == ""


def is_of_files(found: Standing) -> bool:
    return proposal(found).why == "files that it names: pulse.sh"


def allowed(consents: EmitterConsents, folder: Path, *, later: bool = False, **keys: Any) -> None:
    shown = proposal(standing(consents, folder, **keys))
    consents.allow(shown, later_versions=later)
    assert isinstance(standing(consents, folder, **keys), Consented)


def test_nothing_is_allowed_before_it_was_shown(consents: EmitterConsents, folder: Path) -> None:
    found = standing(consents, folder)
    assert is_new(found)
    shown = found
    assert (shown.entry.command, str(shown.entry.schedule)) == ("./pulse.sh --fast", "every 5m")
    assert shown.entry.cwd == shown.folder == str(folder)
    assert [name for name, _ in shown.files] == ["pulse.sh"]
    assert not shown.is_outside
    assert consents.listed() == []


def test_what_is_started_is_what_was_shown(consents: EmitterConsents, folder: Path) -> None:
    shown = proposal(standing(consents, folder))
    consents.allow(shown, later_versions=False)
    found = standing(consents, folder)
    assert found == Consented(shown.entry, ("pulse.sh",))


def test_a_file_that_changed_between_the_sheet_and_the_answer_is_asked_about(
    consents: EmitterConsents, folder: Path
) -> None:
    shown = proposal(standing(consents, folder))
    (folder / "pulse.sh").write_text("rm -rf ~")
    consents.allow(shown, later_versions=False)
    assert is_of_files(standing(consents, folder))


def test_an_entry_that_changed_between_the_sheet_and_the_answer_is_asked_about(
    consents: EmitterConsents, folder: Path
) -> None:
    shown = proposal(standing(consents, folder))
    standing(consents, folder, command="./other")
    consents.allow(shown, later_versions=True)
    found = standing(consents, folder, command="./other")
    assert isinstance(found, Proposal)
    assert found.why == "another command"


def test_an_entry_of_another_configuration_has_no_standing(
    consents: EmitterConsents, folder: Path
) -> None:
    entry = first(configured(folder, {"emitters": [PULSE]}))
    forged = msgspec.structs.replace(entry, command="rm -rf ~")
    with pytest.raises(ValueError, match="not of this configuration"):
        consents.standing(read(folder), forged)


@pytest.mark.parametrize(
    ("keys", "what"),
    [
        ({"command": "./pulse.sh --slow"}, "another command"),
        ({"command": None, "prompt": "look"}, "another command"),
        ({"runInterval": "1m"}, "runs every 1m (it was every 5m)"),
        ({"runInterval": None}, "runs all the time (it was every 5m)"),
        ({"maxRuns": 3}, "runs: at most 3 (it was no limit)"),
        ({"cwd": "sub"}, "runs in "),
        ({"cwd": "/"}, "runs in / (it was "),
        ({"shell": "zsh"}, "shell: zsh (it was the usual one)"),
        ({"env": {"A": "1", "B": "2"}}, "other variables: A, B"),
        ({"eventFilter": [{"match": ".*", "outcome": "inject"}]}, "another filter"),
        ({"includeStderr": False}, "its error output is left out"),
        ({"autoStart": False}, "does not start by itself"),
        ({"stream": "ops"}, "stream: ops (it was pulse)"),
    ],
)
def test_every_change_of_what_runs_is_asked_about(
    consents: EmitterConsents, folder: Path, keys: dict[str, Any], what: str
) -> None:
    allowed(consents, folder, later=True)
    found = standing(consents, folder, **keys)
    assert isinstance(found, Proposal)
    assert found.why.startswith(what)
    assert isinstance(standing(consents, folder), Consented)


@pytest.mark.parametrize(
    "keys",
    [
        {"description": "d"},
        {"metadata": {"a": 1}},
        {"ownership": "modelOwned"},
        {"every": "300 seconds", "runInterval": None},
        {"name": "Pulse!"},
        {"cwd": "."},
        {"eventFilter": {"rules": [], "ownership": "modelOwned"}},
    ],
)
def test_what_changes_nothing_that_runs_is_not_asked_about(
    consents: EmitterConsents, folder: Path, keys: dict[str, Any]
) -> None:
    allowed(consents, folder)
    assert isinstance(standing(consents, folder, **keys), Consented)


@pytest.mark.parametrize(
    ("injector", "what"),
    [
        ({"enabled": True}, ("injector: enabled (it was unset)",)),
        (
            {"enabled": True, "delivery": "all"},
            ("injector: enabled (it was unset)", "delivery: all (it was surface)"),
        ),
    ],
)
def test_the_injector_of_its_stream_is_covered(
    consents: EmitterConsents, folder: Path, injector: dict[str, Any], what: tuple[str, ...]
) -> None:
    allowed(consents, folder)
    file = {"streams": [{"name": "pulse", "sessionInjector": injector}], "emitters": [PULSE]}
    found = configured(folder, file)
    changed = consents.standing(found, first(found))
    assert isinstance(changed, Proposal)
    assert changed.why == "; ".join(what)


def test_a_changed_file_is_asked_about_unless_later_versions_are_allowed(
    consents: EmitterConsents, folder: Path
) -> None:
    allowed(consents, folder)
    (folder / "pulse.sh").write_text("echo down")
    found = standing(consents, folder)
    assert is_of_files(found)
    consents.allow(found, later_versions=True)
    (folder / "pulse.sh").write_text("echo again")
    assert standing(consents, folder) == Consented(found.entry, ())


def test_a_file_that_comes_or_goes_is_a_change(consents: EmitterConsents, folder: Path) -> None:
    allowed(consents, folder)
    (folder / "pulse.sh").unlink()
    assert is_of_files(standing(consents, folder))
    (folder / "pulse.sh").write_text("echo up")
    assert isinstance(standing(consents, folder), Consented)


def test_a_consent_is_of_one_folder_and_one_name(
    consents: EmitterConsents, folder: Path, tmp_path: Path
) -> None:
    allowed(consents, folder)
    other = tmp_path / "other"
    other.mkdir()
    (other / "pulse.sh").write_text("echo up")
    assert is_new(standing(consents, other))
    assert is_new(standing(consents, folder, name="pulse2"))


def test_a_folder_is_known_by_its_real_path(
    consents: EmitterConsents, folder: Path, tmp_path: Path
) -> None:
    allowed(consents, folder)
    (tmp_path / "link").symlink_to(folder)
    assert isinstance(standing(consents, tmp_path / "link"), Consented)
    (tmp_path / "link").unlink()
    (tmp_path / "evil").mkdir()
    (tmp_path / "link").symlink_to("evil")
    assert is_new(standing(consents, tmp_path / "link"))


def test_a_folder_to_run_in_that_becomes_a_link_is_asked_about(
    consents: EmitterConsents, folder: Path, tmp_path: Path
) -> None:
    (folder / "sub").mkdir()
    allowed(consents, folder, cwd="sub")
    (folder / "sub").rmdir()
    (folder / "sub").symlink_to(tmp_path)
    found = standing(consents, folder, cwd="sub")
    assert isinstance(found, Proposal)
    assert found.is_outside


def test_providers_need_consent_too(consents: EmitterConsents, folder: Path) -> None:
    provider = {"name": "pulse", "command": "python3", "args": ["pulse.sh"], "env": {"A": "b"}}
    found = configured(folder, {"emitters": [PULSE], "providers": [provider]})
    emitter = consents.standing(found, found.emitters[0])
    consents.allow(proposal(emitter), later_versions=False)
    asked = consents.standing(found, found.providers[0])
    assert is_new(asked)
    assert [name for name, _ in asked.files] == ["pulse.sh"]
    consents.allow(asked, later_versions=False)
    assert isinstance(consents.standing(found, found.emitters[0]), Consented)
    changed = configured(folder, {"providers": [{**provider, "args": ["pulse.sh", "-v"]}]})
    now = consents.standing(changed, changed.providers[0])
    assert isinstance(now, Proposal)
    assert now.why == "other arguments"


def test_a_consent_is_kept_in_a_private_file(
    consents: EmitterConsents, folder: Path, state: Path
) -> None:
    allowed(consents, folder)
    path = state / FOLDER / kept.FILE
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert isinstance(standing(EmitterConsents(state), folder), Consented)


def test_a_revoked_consent_is_gone_everywhere(
    consents: EmitterConsents, folder: Path, state: Path
) -> None:
    allowed(consents, folder)
    assert [(one, this.entry.name) for one, this in consents.listed(str(folder))] == [
        (str(folder), "pulse")
    ]
    other = EmitterConsents(state)
    assert isinstance(standing(other, folder), Consented)
    assert consents.revoke(str(folder), kind="provider") == 0
    assert consents.revoke(str(folder), "pulse", "emitter") == 1
    assert consents.revoke(str(folder)) == 0
    assert is_new(standing(other, folder))
    assert consents.listed() == []


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"{", "it is damaged"),
        (b"", "it is damaged"),
        (b"\xff", "it is damaged"),
        pytest.param(b"[" * 100_000, "it is damaged", id="deep"),
        (b'{"version":1,"folders":{"/x":[{}]}}', "it is damaged"),
        (b'{"version":2,"folders":{}}', "it is of another version of tapui"),
        pytest.param(b" " * (kept.MAX_BYTES + 1), "it is larger than", id="large"),
    ],
)
def test_a_damaged_file_allows_nothing_and_is_told(
    consents: EmitterConsents,
    folder: Path,
    state: Path,
    data: bytes,
    text: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    allowed(consents, folder)
    path = state / FOLDER / kept.FILE
    path.write_bytes(data)
    found = standing(consents, folder)
    assert is_new(found)
    assert text in consents.damage
    assert [text in record.message for record in caplog.records] == [True]
    consents.allow(found, later_versions=False)
    assert consents.damage == ""
    assert isinstance(standing(consents, folder), Consented)
    assert path.with_name("consents.json.damaged").read_bytes() == data


def test_a_file_that_others_can_write_allows_nothing(
    consents: EmitterConsents, folder: Path, state: Path
) -> None:
    allowed(consents, folder)
    path = state / FOLDER / kept.FILE
    path.chmod(0o666)
    fresh = EmitterConsents(state)
    assert is_new(standing(fresh, folder))
    assert "others can write it" in fresh.damage


def test_a_link_or_a_pipe_in_its_place_allows_nothing(
    consents: EmitterConsents, folder: Path, state: Path, tmp_path: Path
) -> None:
    allowed(consents, folder)
    path = state / FOLDER / kept.FILE
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert is_new(standing(consents, folder))
    assert "it cannot be read" in consents.damage
    path.unlink()
    os.mkfifo(path)
    assert is_new(standing(consents, folder))
    assert "it is not a file" in consents.damage


def test_consents_that_are_in_use_stay_when_there_are_too_many(state: Path, folder: Path) -> None:
    clock = Clock()
    consents = EmitterConsents(state, clock)
    consents.most = 3
    for name in ("a", "b", "c"):
        clock.now += 1
        allowed(consents, folder, name=name)
    clock.now += 2 * DAY
    assert isinstance(standing(consents, folder, name="a"), Consented)
    allowed(consents, folder, name="d")
    assert sorted(one.entry.name for _, one in consents.listed()) == ["a", "c", "d"]


def test_consents_are_bounded_in_bytes(
    consents: EmitterConsents, folder: Path, state: Path
) -> None:
    consents.most_bytes = 20_000
    for at in range(10):
        allowed(consents, folder, name=f"n{at}", command="x" * 5_000)
    assert (state / FOLDER / kept.FILE).stat().st_size <= 20_000
    assert [one.entry.name for _, one in consents.listed()] == ["n7", "n8", "n9"]
    shown = proposal(standing(consents, folder, command=None, prompt="x" * 30_000))
    with pytest.raises(OSError, match="too large to be kept"):
        consents.allow(shown, later_versions=False)


def test_a_folder_with_a_name_that_is_no_text_is_never_allowed(
    consents: EmitterConsents, tmp_path: Path
) -> None:
    folder = tmp_path / os.fsdecode(b"x\xff")
    folder.mkdir()
    shown = proposal(standing(consents, folder))
    with pytest.raises(OSError, match="not valid UTF-8"):
        consents.allow(shown, later_versions=False)
    assert is_new(standing(consents, folder))
    assert shown.digest


def test_the_digest_of_a_proposal_is_that_of_all_that_is_shown(
    consents: EmitterConsents, folder: Path
) -> None:
    shown = proposal(standing(consents, folder))
    assert proposal(standing(consents, folder)).digest == shown.digest
    other = proposal(standing(consents, folder, maxRuns=2)).digest
    (folder / "pulse.sh").write_text("x")
    assert len({shown.digest, other, proposal(standing(consents, folder)).digest}) == 3


def test_a_use_that_cannot_be_kept_is_logged(
    state: Path, folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    consents = EmitterConsents(state, clock)
    allowed(consents, folder)
    clock.now += 2 * DAY

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tapui.files.private_file.write", full)
    assert isinstance(standing(consents, folder), Consented)
    assert "No space left" in caplog.text


def test_a_prompt_is_covered(consents: EmitterConsents, folder: Path) -> None:
    allowed(consents, folder, command=None, prompt="look", runInterval="idle")
    found = standing(consents, folder, command=None, prompt="look!", runInterval="idle")
    assert isinstance(found, Proposal)
    assert found.why == "another prompt"


def test_what_is_kept_is_what_was_allowed(consents: EmitterConsents, folder: Path) -> None:
    keys = {
        "env": {"A": "ü"},
        "eventFilter": [{"match": "a", "outcome": "inject"}],
        "maxRuns": 2,
        "shell": "zsh",
    }
    allowed(consents, folder, **keys)
    ((_, one),) = consents.listed()
    entry: EmitterEntry = first(read(folder))
    assert (one.entry.schedule, one.entry.rules) == (Schedule("timed", 300), entry.rules)
    assert one.entry.env == (("A", "ü"),)


def test_hostile_names_in_what_changed_are_safe(consents: EmitterConsents, folder: Path) -> None:
    allowed(consents, folder)
    found = standing(consents, folder, cwd="\x1b[31m\u202e")
    assert isinstance(found, Proposal)
    assert found.why.isprintable()
    written(folder, "{}")
