"""`tapui records export --otlp`: what is exported of the records, and where it goes."""

import stat

import pytest

from tapui.wire.events import Event, SpanEnded
from tests.cli.running import ran
from tests.records.turns import Writer, finished, opened, stamp, started
from tests.rig.gateway import Home
from tests.telemetry.collector import collecting
from tests.telemetry.spans import attributes, span, spans_of


def ended(number: int, session_id: str = "s1", **fields: object) -> SpanEnded:
    return SpanEnded(span(number, **fields), session_id)


def recorded(home: Home, *events: Event) -> None:
    workspaces = [home.root / "sessions" / one for one in ("s1", "s2")]
    for folder in workspaces:
        folder.mkdir(parents=True, exist_ok=True)
    with Writer(home.tapui) as writer:
        writer.turn(opened("s1", workspaces[0]), opened("s2", workspaces[1]))
        writer.turn(*events)


def exported(text: str) -> list[int]:
    """Return the numbers of the spans in documents, a line each."""
    return [
        int(one.span_id.hex(), 16) for line in text.splitlines() for one in spans_of(line.encode())
    ]


def test_spans_are_printed_a_document_a_line(home: Home) -> None:
    recorded(home, *(ended(one) for one in range(1, 2_002)))
    done = ran(home, "records", "export", "--otlp")
    assert (done.returncode, done.stderr) == (0, "2,001 spans exported\n")
    assert exported(done.stdout) == list(range(1, 2_002))
    assert len(done.stdout.splitlines()) == 3


def test_a_file_is_new_and_only_the_persons(home: Home) -> None:
    recorded(home, ended(1))
    target = home.root / "spans.jsonl"
    done = ran(home, "records", "export", "--otlp", str(target))
    assert (done.returncode, done.stdout) == (0, "")
    assert exported(target.read_text()) == [1]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    again = ran(home, "records", "export", "--otlp", str(target))
    assert (again.returncode, again.stderr) == (
        1,
        f"tapui: {target} is there already; name another file\n",
    )


def test_a_file_that_cannot_be_made_is_told(home: Home) -> None:
    recorded(home, ended(1))
    done = ran(home, "records", "export", "--otlp", str(home.root / "no" / "file"))
    assert done.returncode == 1
    assert "cannot be written: No such file or directory" in done.stderr


def test_one_session_and_a_time(home: Home) -> None:
    recorded(home, ended(1), ended(2, "s2"), ended(3))
    of_one = ran(home, "records", "export", "--otlp", "--session", "s2")
    assert exported(of_one.stdout) == [2]
    (told,) = spans_of(of_one.stdout.encode())
    assert attributes(told)["session.id"] == "s2"
    since = ran(
        home, "records", "export", "--otlp", "--since", stamp(5).removesuffix("Z") + "+00:00"
    )
    assert exported(since.stdout) == [3]
    nothing = ran(home, "records", "export", "--otlp", "--since", "2030-01-01")
    assert (nothing.stdout, nothing.stderr) == ("", "0 spans exported\n")
    unknown = ran(home, "records", "export", "--otlp", "--session", "nope")
    assert unknown.returncode == 1


def test_what_was_said_is_exported_only_with_content(home: Home) -> None:
    failed = ended(2, name="emitter", status="error", code="EXIT_1", error="EXIT_1: oh no")
    recorded(home, started("s1", "c1", 3), finished("s1", "c1"), ended(1, call_id="c1"), failed)
    quiet = ran(home, "records", "export", "--otlp")
    assert "xxx" not in quiet.stdout
    assert "oh no" not in quiet.stdout
    told = ran(home, "records", "export", "--otlp", "--content")
    call, run = spans_of(told.stdout.encode())
    assert attributes(call)["gen_ai.tool.call.arguments"] == '{"text":"xxx"}'
    assert run.status.message == "EXIT_1: oh no"


def test_a_collector_gets_them(home: Home) -> None:
    recorded(home, ended(1), ended(2, "s2"))
    with collecting() as collector:
        done = ran(home, "records", "export", "--otlp", collector.address)
        assert (done.returncode, done.stderr) == (0, "2 spans exported\n")
        ((path, kind, body),) = collector.came
    assert (path, kind) == ("/v1/traces", "application/json")
    assert len(spans_of(body)) == 2


@pytest.mark.parametrize("answer", [500, 302, "closes"])
def test_a_collector_that_does_not_take_them_is_a_failure(home: Home, answer: object) -> None:
    recorded(home, ended(1))
    with collecting(answer) as collector:
        done = ran(home, "records", "export", "--otlp", collector.address)
        assert done.returncode == 1
        assert done.stderr.startswith(f"tapui: {collector.address}: it ")
        assert len(collector.came) == 1


def test_an_address_with_a_password_is_refused(home: Home) -> None:
    done = ran(home, "records", "export", "--otlp", "http://u:p@localhost")
    assert done.returncode == 2
    assert "without a name, a password" in done.stderr


def test_damaged_records_are_passed_over_and_counted(home: Home) -> None:
    recorded(home, ended(1), ended(2, trace_id="no"), ended(3))
    with next(home.root.rglob("traces.jsonl")).open("ab") as file:
        file.write(b'{"kind":"span.ended"}\n\xff\xfe\n{"torn')
    done = ran(home, "records", "export", "--otlp")
    assert exported(done.stdout) == [1, 3]
    assert done.stderr == "2 spans exported\ndamaged ones passed over: 4\n"


def test_it_says_what_to_give(home: Home) -> None:
    done = ran(home, "records", "export")
    assert done.returncode == 2
    assert "--otlp" in done.stderr
    assert done.stdout == ""
