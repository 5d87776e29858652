"""Emitters written into their file: what was allowed stays allowed, and nothing else is."""

import json
from pathlib import Path
from typing import Any

import pytest

from tapui.core.effects import CheckEmitter, KeepConsent, SaveEmitter
from tapui.core.emitters.plans import (
    EmitterEntryRead,
    EmitterPlan,
    MayStart,
    MustAsk,
    SavedEmitter,
    Schedule,
)
from tapui.emitters.shell import save_order
from tapui.emitters.shell.folders import FolderShell
from tapui.wire.provider import FilterRule

WATCH = {"name": "watch", "command": "sh watch.sh", "stream": "ops", "mine": [1, 2]}
OTHER = {"name": "other", "command": "echo other", "stream": "ops"}
RULES = (FilterRule("err", "inject"),)


class Place:
    """A folder with a file, and the shell that reads it."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "repo"
        self.folder.mkdir()
        (self.folder / "watch.sh").write_text("echo hi")
        self.now = 0.0
        self.shell = FolderShell(root / "state", lambda: self.now)
        self.path = str(self.folder.resolve())

    def write(self, *emitters: Any, name: str = "tap.config.json", **more: Any) -> None:
        (self.folder / name).write_text(json.dumps({**more, "emitters": emitters}))

    def read(self) -> Any:
        return json.loads((self.folder / "tap.config.json").read_text())

    def open(self) -> None:
        self.shell.read(str(self.folder))

    def standing(self, name: str) -> Any:
        return self.shell.check(CheckEmitter(1, self.path, name))

    def allow(self, *names: str, later: bool = False) -> None:
        for name in names:
            asked = self.standing(name)
            assert isinstance(asked, MustAsk)
            kept = KeepConsent(1, self.path, name, asked.digest, later)
            assert self.shell.keep(kept) is None

    def save(self, name: str = "watch", *, is_new: bool = False, **given: Any) -> SavedEmitter:
        plan = {"schedule": Schedule("continuous"), "cwd": self.path, "command": "x"}
        plan |= given.pop("plan", {})
        entry = EmitterEntryRead(
            plan=EmitterPlan(kind="emitter", name=name, **{"stream": name, **plan}),
            ownership="modelOwned",
            lifespan="temporary",
        )
        effect = SaveEmitter(ticket=1, folder=self.path, entry=entry, is_new=is_new, **given)
        return self.shell.save(effect)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_change_is_written_and_stays_allowed(place: Place) -> None:
    place.write(WATCH, OTHER, guardian={"on": True})
    place.open()
    place.allow("watch", "other")
    saved = place.save(rules=RULES, auto_start=False)
    assert (saved.fault, saved.path) == (None, f"{place.path}/tap.config.json")
    assert saved.own == {"watch", "other"}
    said = place.read()
    assert said["guardian"] == {"on": True}
    assert said["emitters"] == [
        {**WATCH, "eventFilter": [{"match": "err", "outcome": "inject"}], "autoStart": False},
        OTHER,
    ]
    standing = place.standing("watch")
    assert isinstance(standing, MayStart)
    assert (standing.plan.rules, standing.plan.auto_start) == (RULES, False)
    place.now = 10.0
    assert place.shell.look().found == [], "what we have written is no news"


def test_an_injector_is_the_streams_and_those_beside_it_stay_allowed(place: Place) -> None:
    place.write(WATCH, OTHER)
    place.open()
    place.allow("watch", "other")
    saved = place.save(delivery="all")
    assert saved.own == {"watch", "other"}
    assert place.read()["streams"][0]["sessionInjector"] == {
        "enabled": True,
        "delivery": "all",
        "ownership": "userOwned",
    }
    for name in ("watch", "other"):
        standing = place.standing(name)
        assert isinstance(standing, MayStart)
        assert standing.plan.delivery == "all"


def test_what_was_not_allowed_is_not_allowed_by_being_written(place: Place) -> None:
    place.write(WATCH, OTHER)
    place.open()
    place.allow("other")
    assert place.save(auto_start=False).fault is None
    assert isinstance(place.standing("watch"), MustAsk)
    assert isinstance(place.standing("other"), MayStart)


def test_a_file_that_has_changed_since_is_asked_about(place: Place) -> None:
    place.write(WATCH)
    place.open()
    place.allow("watch")
    (place.folder / "watch.sh").write_text("rm -rf /")
    assert place.save(auto_start=False).fault is None
    assert isinstance(place.standing("watch"), MustAsk)


def test_consent_to_later_versions_stays_one(place: Place) -> None:
    place.write(WATCH)
    place.open()
    place.allow("watch", later=True)
    assert place.save(auto_start=False).fault is None
    (place.folder / "watch.sh").write_text("echo later")
    assert isinstance(place.standing("watch"), MayStart)


def test_anothers_change_that_comes_meanwhile_is_not_allowed_with_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write(WATCH, OTHER)
    place.open()
    place.allow("watch", "other")
    write = save_order.save_emitter

    def somebody_is_faster(folder: Any, entry: Any) -> Any:
        place.write(WATCH, {**OTHER, "command": "rm -rf /"})
        return write(folder, entry)

    monkeypatch.setattr(save_order, "save_emitter", somebody_is_faster)
    saved = place.save(rules=RULES)
    assert saved.own == {"watch"}
    assert isinstance(place.standing("watch"), MayStart)
    assert isinstance(place.standing("other"), MustAsk)


def test_what_the_agent_started_is_written_whole_and_allowed(place: Place) -> None:
    place.write(OTHER)
    place.open()
    (place.folder / "sub").mkdir()
    plan = {
        "schedule": Schedule("timed", 300),
        "command": "npm test",
        "cwd": f"{place.path}/sub",
        "stream": "tests",
        "injector": "enabled",
        "delivery": "all",
        "max_runs": 7,
    }
    saved = place.save("tests", is_new=True, rules=RULES, plan=plan)
    assert saved.fault is None
    assert saved.own == {"tests", "other"}
    assert place.read()["emitters"][1] == {
        "name": "tests",
        "command": "npm test",
        "runInterval": "5m",
        "maxRuns": 7,
        "cwd": "sub",
        "ownership": "modelOwned",
        "eventFilter": [{"match": "err", "outcome": "inject"}],
    }
    standing = place.standing("tests")
    assert isinstance(standing, MayStart)
    assert (standing.plan.injector, standing.plan.every) == ("enabled", 300)
    assert isinstance(place.standing("other"), MustAsk)


def test_a_folder_without_a_file_gets_one(place: Place) -> None:
    place.open()
    assert place.save("tests", is_new=True).fault is None
    assert [one["name"] for one in place.read()["emitters"]] == ["tests"]
    assert isinstance(place.standing("tests"), MayStart)


def test_an_old_file_is_not_written_and_that_is_said(place: Place) -> None:
    old = "copilot-channels.config.json"
    place.write(WATCH, name=old)
    text = (place.folder / old).read_text()
    place.open()
    place.allow("watch")
    saved = place.save(auto_start=False)
    assert (place.folder / old).read_text() == text
    assert saved.path == f"{place.path}/tap.config.json"
    assert saved.note == (
        f"{old} is never written: {saved.path} has what it said, and counts from now on"
    )
    assert isinstance(place.standing("watch"), MayStart)


@pytest.mark.parametrize(
    ("is_new", "file", "why"),
    [
        (True, [WATCH], "the file has an emitter watch already"),
        (False, [OTHER], "there is no emitter watch in the file any more"),
    ],
)
def test_a_file_that_says_otherwise_by_now_is_left(
    place: Place, is_new: bool, file: list[Any], why: str
) -> None:
    place.write(*file)
    place.open()
    saved = place.save(is_new=is_new, auto_start=False)
    assert (saved.fault, saved.found) == (why, None)
    assert place.read()["emitters"] == file


def test_a_file_that_cannot_be_read_is_left(place: Place) -> None:
    place.write(WATCH)
    place.open()
    (place.folder / "tap.config.json").write_text("{")
    fault = place.save(auto_start=False).fault
    assert fault is not None
    assert "it is not changed" in fault
    assert (place.folder / "tap.config.json").read_text() == "{"
