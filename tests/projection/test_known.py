"""What is known around a request: its turn's prompt, and what failed before in it."""

from tapui.projection.requests.known import Tries, known, tries_of
from tapui.projection.requests.request_kind import AskedRequest, detail_of
from tapui.wire.subjects import Approval
from tests.projection.test_turns import Day
from tests.records.turns import stamp

PYTEST = {"kind": "shell", "fullCommandText": "pytest -q"}


def asked(detail: object = PYTEST, kind: str = "permission") -> Approval:
    times = (stamp(1), stamp(9))
    return Approval("a1", kind, "waiting", detail, *times, session_id="s1")  # type: ignore[arg-type]


def lines(day: Day, approval: Approval) -> list[str]:
    return [one.text for one in known(day.state, [AskedRequest(approval, detail_of(approval))])]


def tried(*commands: tuple[str, int]) -> Day:
    day = Day()
    day.happen("user.message", content="make it\ngreen")
    for number, (command, code) in enumerate(commands):
        day.start(f"c{number}", command=command)
        day.finish(f"c{number}", exit_code=code)
    return day


def test_the_prompt_and_what_failed_before() -> None:
    day = tried(("npm ci", 1), ("npm ci", 1), ("ls", 0), ("make", 2))
    assert lines(day, asked()) == [
        "in /code",
        "after you: “make it ⏎ green”",
        "failed before in this turn: make (exit 2), npm ci (exit 1) 2×",
    ]


def test_the_same_once_more_is_counted() -> None:
    day = tried(("pytest -q", 1), ("pytest -q", 0), ("pytest -q", 1))
    assert tries_of(day.state, asked()) == Tries(3, 2)
    assert lines(day, asked())[-1] == "4th try, failed twice"


def test_tries_that_did_not_fail_are_not_told() -> None:
    assert lines(tried(("pytest -q", 0)), asked())[1:] == ["after you: “make it ⏎ green”"]


def test_many_failures_are_counted() -> None:
    day = tried(*((f"false {number}", 1) for number in range(6)))
    told = (
        "failed before in this turn: false 5 (exit 1), false 4 (exit 1), false 3 (exit 1), 3 more"
    )
    assert lines(day, asked())[-1] == told


def test_a_turn_that_is_over_led_to_nothing() -> None:
    day = tried(("pytest -q", 1))
    day.happen("session.idle")
    assert lines(day, asked()) == ["in /code"]


def test_words_of_tries() -> None:
    found = [Tries(before, 1).words for before in (1, 2, 3, 10, 12, 20)]
    assert [one.partition(" try, failed once")[0] for one in found] == [
        *("2nd", "3rd", "4th", "11th", "13th", "21st")
    ]
    assert Tries(5, 0).words == ""
    assert Tries(5, 4).words == "6th try, failed 4 times"
