"""What the person does with changed files: seen, notes for the agent, and what is put back."""

from typing import Any

import pytest

from tapui.core.effects import CompareFolder, LookAtFolder, PutFileBack
from tapui.core.proof import facts as fact
from tapui.projection.changed_files import notes_prompt, writers_words
from tapui.projection.state import State
from tapui.wire import limits
from tapui.wire.changes import ChangedFile, ChangeNote, FileWriter, LineRange
from tests.core.conftest import Scene
from tests.core.harness import Json
from tests.core.proof.test_watching import PASSED, Agent


def lines(first: int, last: int) -> Json:
    return {"first": first, "last": last}


CAN = ["tell", "now", "stop"]


class Reader(Agent):
    """The person at a tower, who looks at what the agent changed."""

    def open(self) -> None:
        self.host.open(self.session, shellTools=["bash"], reservedTools=["bash"], cwd="/code")
        self.host.say(type="session.update", sessionId=self.session, can=CAN)

    def say(self, kind: str, **fields: Any) -> Json:
        """Say something to the gateway; return the answer."""
        self.tower.say(type=kind, id="q", sessionId=self.session, **fields)
        answers = [one for one in self.tower.hear() if one.get("id") == "q"]
        (answer,) = answers
        return answer

    def files(self, **asked: Any) -> dict[str, Json]:
        return {one["path"]: one for one in self.say("changes.read", **asked)["files"]}

    def see(self, path: str, state_id: str) -> Json:
        return self.say("file.see", root="/code", path=path, stateId=state_id)

    def note(self, path: str = "cart.py", body: str = "why?", **fields: Any) -> str:
        answer = self.say("note.keep", root="/code", path=path, body=body, **fields)
        return str(answer["note"]["id"])

    @property
    def notes(self) -> list[ChangeNote]:
        marks = self.talk.gateway.state.marks.get(self.session)
        return list(marks.notes.values()) if marks is not None else []

    def again(self) -> None:
        """End the session, and open it once more."""
        self.host.say(type="session.close", sessionId=self.session)
        self.talk.wait(20)
        self.open()
        self.begin()


@pytest.fixture
def reader(scene: Scene) -> Reader:
    made = Reader(scene)
    made.begin()
    made.edit()
    return made


# Seen


def test_a_file_is_seen_until_it_is_another_one(reader: Reader) -> None:
    file = reader.files()["cart.py"]
    assert not file.get("isSeen")
    assert reader.see("cart.py", file["stateId"])["type"] == "changes.done"
    assert reader.files()["cart.py"]["isSeen"]
    reader.edit(content="newer")
    assert not reader.files()["cart.py"].get("isSeen")
    reader.edit(content="new")
    assert reader.files()["cart.py"]["isSeen"]
    reader.see("cart.py", "")
    assert not reader.files()["cart.py"].get("isSeen")
    assert [one["stateId"] for one in reader.talk.events("changes.seen") if "stateId" in one] == [
        file["stateId"]
    ]


def test_a_mark_is_there_again_when_the_session_is_resumed(reader: Reader) -> None:
    state_id = reader.files()["cart.py"]["stateId"]
    reader.see("cart.py", state_id)
    reader.note()
    reader.again()
    assert reader.talk.gateway.state.marks["s2"].seen == {("/code", "cart.py"): state_id}
    assert [note.body for note in reader.notes] == ["why?"]


def test_marks_outlive_clear_and_a_change_of_the_ledger(reader: Reader) -> None:
    reader.see("cart.py", "one")
    reader.note()
    reader.host.open("s4", shellTools=["bash"], cwd="/code", replaces="s2")
    reader.session = "s4"
    assert "s2" not in reader.talk.gateway.state.marks
    reader.shell.is_changed = True
    reader.begin()
    reader.edit("till.py")
    reader.end()
    reader.again()
    assert reader.talk.gateway.state.marks["s4"].seen == {("/code", "cart.py"): "one"}
    assert [note.body for note in reader.notes] == ["why?"]


def test_marks_are_bounded(reader: Reader) -> None:
    for number in range(limits.MAX_SEEN_FILES + 1):
        reader.see(f"{number}.py", "x")
    seen = reader.talk.gateway.state.marks["s2"].seen
    assert len(seen) == limits.MAX_SEEN_FILES
    assert ("/code", "0.py") not in seen
    assert reader.see("a.py", "x" * (limits.MAX_STATE_ID + 1))["code"] == "INVALID_JSON"


def test_a_snapshot_has_the_marks(reader: Reader) -> None:
    reader.see("cart.py", "x")
    reader.note()
    state = reader.talk.gateway.state
    assert State.of(state.snapshot()).marks == state.marks


def test_marks_prove_nothing(reader: Reader) -> None:
    reader.run("pytest", 0, PASSED)
    reader.end()
    before = len(reader.facts)
    reader.see("cart.py", "x")
    reader.note()
    assert [type(one).__name__ for one in reader.facts[before:]] == ["SeenByPerson", "NoteStood"]
    assert reader.lines() == ["checked: pytest, 2 tests, after the last change"]


# Notes


def test_a_note_is_kept_changed_and_dropped(reader: Reader) -> None:
    id_ = reader.note(lines=lines(2, 3), quote="a\nb", stateId="s")
    (note,) = reader.notes
    assert (note.path, note.lines, note.quote, note.side) == (
        "cart.py",
        LineRange(2, 3),
        "a\nb",
        "new",
    )
    assert reader.note(body="better", noteId=id_) == id_
    assert [(one.body, one.quote) for one in reader.notes] == [("better", "a\nb")]
    assert reader.say("note.drop", noteId=id_)["type"] == "changes.done"
    assert reader.notes == []
    assert reader.say("note.drop", noteId=id_)["code"] == "NOT_FOUND"
    reader.again()
    assert reader.notes == []


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"body": " \n"}, "INVALID_JSON"),
        ({"body": "x" * (limits.MAX_NOTE_BODY + 1)}, "INVALID_JSON"),
        ({"quote": "x" * (limits.MAX_NOTE_QUOTE + 1)}, "INVALID_JSON"),
        ({"lines": {"first": 0, "last": 1}}, "INVALID_JSON"),
        ({"lines": {"first": 3, "last": 2}}, "INVALID_JSON"),
        ({"noteId": "n-none"}, "NOT_FOUND"),
        ({"sessionId": "nowhere"}, "INVALID_SESSION"),
    ],
)
def test_a_note_that_is_refused(reader: Reader, fields: Json, code: str) -> None:
    note = {"type": "note.keep", "id": "q", "sessionId": "s2", "root": "/code", "path": "a.py"}
    reader.tower.say(note | {"body": "b"} | fields)
    assert reader.tower.hear_one("error")["code"] == code
    assert reader.notes == []


def test_a_session_has_so_many_notes(reader: Reader) -> None:
    for _ in range(limits.MAX_NOTES):
        reader.note()
    answer = reader.say("note.keep", root="/code", path="a.py", body="more")
    assert answer["code"] == "RATE_LIMITED"
    assert len(reader.notes) == limits.MAX_NOTES


def test_notes_are_told_as_one_prompt(reader: Reader) -> None:
    reader.note(body="why not sum()?", lines=lines(42, 42), quote="    total += one")
    reader.note("docs/a.md", "not needed")
    answer = reader.say("notes.tell", way="now")
    assert answer["type"] == "session.ordered"
    told = reader.host.hear_one("session.tell")
    assert (told["way"], told["id"]) == ("now", answer["orderId"])
    assert told["text"] == (
        "Notes on your changes:\n\n"
        "`cart.py:42`\n>     total += one\nwhy not sum()?\n\n"
        "`docs/a.md`\nnot needed"
    )
    assert {note.order_id for note in reader.notes} == {answer["orderId"]}
    assert all(note.told_at for note in reader.notes)
    assert reader.say("notes.tell")["code"] == "NOT_FOUND"
    again = {"root": "/code", "path": "cart.py", "body": "x", "noteId": reader.notes[0].id}
    assert reader.say("note.keep", **again)["code"] == "NOT_FOUND"


def test_some_notes_are_told_and_may_be_told_again(reader: Reader) -> None:
    first, second = reader.note(), reader.note(body="second")
    reader.say("notes.tell", noteIds=[second, second])
    assert reader.host.hear_one("session.tell")["text"].count("second") == 1
    assert [bool(note.told_at) for note in reader.notes] == [False, True]
    reader.say("notes.tell", noteIds=[first, second], text=" Please:\n")
    assert reader.host.hear_one("session.tell")["text"].startswith("Please:\n\n`cart.py`\nwhy?")
    assert reader.say("notes.tell", noteIds=["n-none"])["code"] == "NOT_FOUND"


def test_notes_that_did_not_arrive_are_not_told(reader: Reader) -> None:
    reader.note()
    order = reader.say("notes.tell")["orderId"]
    reader.host.say(type="order.result", id=order, state="failed", error="it is gone")
    assert [(note.told_at, note.order_id) for note in reader.notes] == [("", "")]
    reader.host.say(type="session.update", sessionId="s2", can=[])
    assert reader.say("notes.tell")["code"] == "NOT_FOUND"
    assert not reader.notes[0].told_at


def test_too_much_for_one_prompt_is_refused(reader: Reader) -> None:
    for _ in range(limits.MAX_TELL // limits.MAX_NOTE_BODY + 1):
        reader.note(body="x" * limits.MAX_NOTE_BODY)
    assert reader.say("notes.tell")["code"] == "PAYLOAD_TOO_LARGE"
    assert not any(note.told_at for note in reader.notes)


def test_a_told_note_is_ticked_when_its_line_has_changed(reader: Reader) -> None:
    reader.note(lines=lines(1, 1), quote="new")
    order = reader.say("notes.tell")["orderId"]
    reader.host.say(type="order.result", id=order, state="done")
    reader.files()
    assert reader.notes[0].change == ""
    reader.edit(content="newer")
    reader.files()
    assert reader.notes[0].change == "changed"
    reader.edit(content="new")
    reader.files()
    assert reader.notes[0].change == "changed"
    reader.again()
    assert reader.notes[0].change == "changed"


def test_a_note_on_a_file_that_is_gone_stays(reader: Reader) -> None:
    reader.edit("till.py")
    reader.note("till.py", lines=lines(1, 1), quote="new")
    del reader.shell.files["till.py"]
    reader.files()
    assert [note.change for note in reader.notes] == ["gone"]
    reader.edit("till.py")
    reader.say("diff.read", root="/code", path="till.py")
    assert [note.change for note in reader.notes] == [""]


def test_a_note_that_was_dropped_meanwhile_is_not_there_again(reader: Reader) -> None:
    id_ = reader.note(lines=lines(1, 1), quote="other")
    reader.say("notes.tell")
    reader.shell.holds = (CompareFolder,)
    reader.tower.say(type="changes.read", id="c", sessionId="s2")
    reader.say("note.drop", noteId=id_)
    reader.shell.release()
    assert reader.notes == []


def test_what_repositories_and_agents_wrote_stays_one_quote() -> None:
    note = ChangeNote(
        "n", "/r", "a\nb.py", "t", "b", LineRange(1, 2), "old", "one\r\n> two\x85three"
    )
    lines = notes_prompt([note], "/r").split("\n")[2:]
    assert lines == ["`a ⏎ b.py:1-2` (removed)", "> one", "> > two", "> three", "b"]


# Put back


def put_back(reader: Reader, path: str = "cart.py", **fields: Any) -> Json:
    fields = {"stateId": reader.files()[path]["stateId"], **fields}
    return reader.say("file.putBack", root="/code", path=path, **fields)


def test_what_is_put_back_is_the_persons_change(reader: Reader) -> None:
    reader.edit("till.py")
    reader.run("pytest", 0, PASSED)
    reader.end()
    assert reader.lines() == ["checked: pytest, 2 tests, after the last change"]
    assert put_back(reader, since="turn")["type"] == "changes.done"
    assert set(reader.shell.files) == {"till.py"}
    assert reader.talk.gateway.state.turns["s2"].standing is not None
    assert "unchecked" in reader.stands
    (told,) = reader.talk.events("changes.putBack")
    assert (told["path"], told["by"], told["since"]) == ("cart.py", "you", "turn")
    written = [one for one in reader.facts if isinstance(one, fact.FilesWritten)]
    assert (written[-1].by, written[-1].paths) == ("person", ["/code/cart.py"])
    assert set(reader.files()) == {"till.py"}


def test_the_writer_is_the_person(reader: Reader) -> None:
    reader.shell.files["cart.py"] = "1"
    reader.end()
    reader.begin()
    reader.edit(content="2")
    put_back(reader, since="turn")
    (newest, *_) = reader.files()["cart.py"]["by"]
    assert (newest["kind"], newest["what"]) == ("person", "put back")
    file = ChangedFile("/code", "cart.py", "modified", by=[FileWriter("person", "t", "put back")])
    assert writers_words(file) == "you: put back"


def test_a_turn_does_not_own_what_the_person_put_back(reader: Reader) -> None:
    reader.end()
    reader.begin()
    put_back(reader)
    history = reader.talk.gateway.proof.of("s2").history  # type: ignore[union-attr]
    assert history.turn_written == []


def test_a_file_that_is_another_one_is_not_put_back(reader: Reader) -> None:
    answer = put_back(reader, stateId="another")
    assert answer["message"] == "the file is another one than shown: look again"
    assert "cart.py" in reader.shell.files
    assert not reader.talk.events("changes.putBack")
    assert not [one for one in reader.facts if getattr(one, "by", "") == "person"]


def test_what_cannot_be_put_back(reader: Reader) -> None:
    state_id = reader.files()["cart.py"]["stateId"]
    asked = {"path": "cart.py", "stateId": state_id}
    for fields in ({"root": "/elsewhere"}, {"root": "/code", "since": "turn", "turn": 9}):
        assert reader.say("file.putBack", **asked, **fields)["code"] == "NOT_FOUND"
    assert not reader.shell.holds
    assert "cart.py" in reader.shell.files


def test_what_a_turn_before_changed_is_not_put_back_as_the_newest_one_s(reader: Reader) -> None:
    shown = reader.files(since="turn")["cart.py"]
    states = {"stateId": shown["stateId"], "oldStateId": shown["oldStateId"]}
    reader.begin("more")
    answer = put_back(reader, since="turn", **states)
    assert answer["message"] == "it is not changed"
    assert "cart.py" in reader.shell.files
    assert put_back(reader, since="turn", turn=1, **states)["type"] == "changes.done"


def test_a_turn_that_was_not_looked_at_yet_has_nothing_to_put_back(reader: Reader) -> None:
    """The agent is at work all the time: no look is of one moment. The turn before is another."""
    shown = reader.files(since="turn")["cart.py"]
    reader.shell.holds = (LookAtFolder,)
    reader.run("make")
    reader.begin("more")
    states = {"stateId": shown["stateId"], "oldStateId": shown["oldStateId"]}
    place = {"root": "/code", "path": "cart.py", "since": "turn", **states}
    reader.tower.say(type="file.putBack", id="q", sessionId=reader.session, **place)
    answers: list[Json] = []
    while reader.shell.held and not answers:
        reader.start("make")
        look = reader.shell.held.pop(0)
        reader.shell.holds = ()
        reader.shell.carry_out(look)
        reader.shell.holds = (LookAtFolder,)
        reader.talk.turn()
        answers = [one for one in reader.tower.hear() if one.get("id") == "q"]
    assert [one["message"] for one in answers] == ["how that turn found the folder is not known"]
    assert "cart.py" in reader.shell.files


def test_a_session_that_ends_while_a_file_is_put_back(reader: Reader) -> None:
    state_id = reader.files()["cart.py"]["stateId"]
    reader.shell.holds = (PutFileBack,)
    reader.tower.say(
        type="file.putBack", id="q", sessionId="s2", root="/code", path="cart.py", stateId=state_id
    )
    reader.host.say(type="session.close", sessionId="s2")
    reader.shell.release()
    assert reader.tower.hear_one("changes.done")["id"] == "q"
    assert len(reader.talk.events("changes.putBack")) == 1
