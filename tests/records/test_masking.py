"""Masking: what is taken out of records, what is left alone, and that records stay records."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tapui.records import reader
from tapui.records.journal import Journal
from tapui.records.masking import MASK, Masks
from tapui.runtime.system import RegexMatcher
from tapui.settings.settings import Records
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.codec import encode
from tests.records.turns import Writer, lines, opened, stamp

KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n"
    + "MIIEpAIBAAKCAQEA7/3v+n\n" * 12
    + "-----END RSA PRIVATE KEY-----"
)
# Written in two parts: no tool that looks for secrets should find one in this file.
SECRETS = {
    "github": ("ghp_", "R4nd0mR4nd0mR4nd0mR4nd0mR4nd0mR4nd0m"),
    "github-server": ("ghs_", "R4nd0mR4nd0mR4nd0mR4nd0mR4nd0mR4nd0m"),
    "github-fine": ("github_pat_", "11ABCDEFG0abcdefghijkl_" + "a1B2" * 14),
    "npm": ("npm_", "a1B2c3D4" * 4 + "wxyz"),
    "aws": ("AKIA", "IOSFODNN7EXAMPLE"),
    "google": ("AIza", "SyA-1234567890abcdefghijklmnopqrstu"),
    "slack": ("xoxb-", "123456789012-abcdefABCDEF"),
    "openai": ("sk-", "proj-abcdEFGH1234_abcdEFGH1234"),
    "anthropic": ("sk-", "ant-api03-abcdEFGH1234-abcdEFGH1234"),
    "jwt": ("eyJ", "hbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "c2lnbmF0dXJl"),
    "bearer": ("Bearer ", "abcdef0123456789abcdef"),
    "key": ("-----BEGIN RSA PRIVATE KEY-----", KEY[31:]),
}
INNOCENT = (
    *("task-force-of-twenty-four-people", "sk-estimator-html-representation-of", "KAKIA", "AKIA"),
    *("the Bearer of bad news", "eyJust", "ghp_", "npm_config_cache", "AIza", "xoxo-hugs"),
    *("_private_variable_of_the_class", "-----BEGIN CERTIFICATE-----", "https://a.example/a-b_c"),
)


def posted(text: str) -> ev.StreamPosted:
    return ev.StreamPosted("s1", "log@ci", ev.Line(1, stamp(1), "keep", text))


def line_of(event: ev.Event) -> bytes:
    return b'{"v":1,"run":"r1","seq":7,"ts":"%s",%s\n' % (stamp(7).encode(), encode(event)[1:])


@pytest.mark.parametrize("form", SECRETS)
def test_secrets_of_known_forms_are_masked(form: str) -> None:
    kept, secret = SECRETS[form]
    for before in ("", "x=", "\n", "\t", '"', "\\", "https://", "é", " "):
        masks = Masks()
        data = masks.masked(line_of(posted(f"{before}{kept}{secret}\nafter")))
        record = reader.parse(data[:-1])
        assert record is not None, before
        assert record.masked == masks.count == 1, before
        assert isinstance(record.event, ev.StreamPosted), before
        assert record.event.line.event == f"{before}{kept}{MASK}\nafter"


@pytest.mark.parametrize("form", SECRETS)
def test_in_text_that_is_no_record_they_are_masked_as_well(form: str) -> None:
    kept, secret = SECRETS[form]
    assert Masks().masked_text(f"a {kept}{secret}\nafter") == f"a {kept}{MASK}\nafter"


@pytest.mark.parametrize("form", SECRETS)
def test_a_secret_in_json_that_is_text_in_json_is_masked(form: str) -> None:
    kept, secret = SECRETS[form]
    inner = msgspec.json.encode({"env": f"\n{kept}{secret}"}).decode()
    call = subjects.Call(
        "c1", "s1", "ci", "t", "done", stamp(0), args_cut=subjects.Cut(inner, 9, "0")
    )
    data = Masks().masked(line_of(ev.CallFinished("s1", call)))
    assert secret[-30:-8].encode() not in data
    record = reader.parse(data[:-1])
    assert record is not None
    assert isinstance(record.event, ev.CallFinished)
    assert record.event.call.args_cut is not None
    assert msgspec.json.decode(record.event.call.args_cut.head) == {"env": f"\n{kept}{MASK}"}


@pytest.mark.parametrize("form", SECRETS)
def test_a_secret_in_what_a_shell_told_is_masked(form: str) -> None:
    kept, secret = SECRETS[form]
    for place in ("head", "tail", "cwd"):
        plain = subjects.Shell("1", head="a", tail="b", cwd="/c")
        shell = replace(plain, **{place: f"{kept}{secret}"})
        call = subjects.Call("c1", "s1", "copilot", "bash", "done", stamp(0), shell=shell)
        for event in (ev.CallFinished("s1", call), ev.CallExited("s1", call)):
            record = reader.parse(Masks().masked(line_of(event))[:-1])
            assert record is not None, place
            assert isinstance(record.event, ev.CallFinished | ev.CallExited), place
            assert record.event.call.shell == replace(shell, **{place: f"{kept}{MASK}"})
        assert encode(shell) in line_of(event), place


def test_what_is_no_secret_is_left_alone() -> None:
    for text in INNOCENT:
        data = line_of(posted(f"{text}\n{text} {text}"))
        assert Masks().masked(data) == data, text


def test_only_records_with_secrets_change_and_each_counts_its_own() -> None:
    first, second, third = (
        line_of(posted(text))
        for text in ("nothing", " ".join("".join(one) for one in SECRETS.values()), "nothing")
    )
    masks = Masks()
    data = masks.masked(first + second + third)
    assert data.startswith(first)
    assert data.endswith(third)
    record = reader.parse(data.split(b"\n")[1])
    assert record is not None
    assert record.masked == masks.count == len(SECRETS)


def test_what_the_journal_writes_is_masked_and_what_it_was_given_is_not(
    state: Path, workspace: Path
) -> None:
    secret = "".join(SECRETS["github"])
    with Writer(state) as writer:
        event = posted(f"token {secret}")
        assert writer.turn(opened("s1", workspace), event) == frozenset()
        assert event.line.event == f"token {secret}"
    (line,) = lines(workspace / "files/tap/streams.jsonl")
    assert line["masked"] == 1
    assert line["line"]["event"] == f"token ghp_{MASK}"
    (found,) = reader.tail(workspace / "files/tap", "streams", 1)
    assert found.masked == 1


def own(*patterns: str) -> Masks:
    return Masks([RegexMatcher().compile(pattern) for pattern in patterns])


def test_patterns_of_the_persons_own_are_tried_on_decoded_texts(
    state: Path, workspace: Path
) -> None:
    reports: list[str] = []
    masks = own(r"hunter\d", 'quo"te\n')
    journal = Journal(state, "r1", Records(), lambda text, _: reports.append(text), masks=masks)
    events = [opened("s1", workspace), posted('a hunter2 and a quo"te\n here'), posted("nothing")]
    entries = [ev.Entry("r1", seq, stamp(seq), event) for seq, event in enumerate(events, 1)]
    assert journal.write([(one, encode(one.event)) for one in entries]) == frozenset()
    assert journal.close(10)
    first, second = lines(workspace / "files/tap/streams.jsonl")
    assert first["line"]["event"] == f"a {MASK} and a {MASK} here"
    assert first["masked"] == 2
    assert "masked" not in second
    assert reports == []


@pytest.mark.parametrize("pattern", [".", r"[\s\S]+", "[a-z0-9-]+", "c", "s1|running|keep", r"\d+"])
def test_no_pattern_costs_a_record_its_form(pattern: str) -> None:
    args = msgspec.Raw(b'{"id":"c1","state":"running","deep":[{"n":1.50,"t":"abc"}]}')
    call = subjects.Call("c1", "s1", "ci", "greet", "running", stamp(0), args=args, timeout=2.0)
    for event in (ev.CallStarted("s1", call), posted("abc 123")):
        masks = own(pattern)
        record = reader.parse(masks.masked(line_of(event))[:-1])
        assert record is not None
        assert record.event is not None
        assert (record.kind, record.session_id) == (event.__struct_config__.tag, "s1")
        if isinstance(record.event, ev.CallStarted):
            assert (record.event.call.id, record.event.call.state) == ("c1", "running")
            assert b"1.50" in bytes(record.event.call.args or b"")


def test_a_text_that_a_pattern_takes_too_long_on_is_masked_whole() -> None:
    masks = own("^(a|aa|a?a)+$")
    slow = "a" * 60 + "!"
    args = msgspec.json.encode([slow] * 100)
    call = subjects.Call("c1", "s1", "ci", "greet", "running", stamp(0), args=msgspec.Raw(args))
    record = reader.parse(masks.masked(line_of(ev.CallStarted("s1", call)))[:-1])
    assert record is not None
    assert isinstance(record.event, ev.CallStarted)
    assert record.event.call.args is not None
    assert msgspec.json.decode(record.event.call.args) == [MASK] * 100


PIECES = st.lists(
    st.one_of(
        st.text(max_size=6),
        st.sampled_from(["\\", '"', "\n", "\\n", "-----BEGIN RSA PRIVATE KEY-----", "Bearer "]),
        st.sampled_from(["".join(one) for one in SECRETS.values()]),
        st.sampled_from([one[1] for one in SECRETS.values()]),
    ),
    max_size=8,
).map("".join)


@given(text=PIECES)
def test_a_masked_record_is_a_record(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    nested = encode({"text": text}).decode()
    for whole in (text, nested):
        record = reader.parse(Masks().masked(line_of(posted(whole)))[:-1])
        assert record is not None
        assert isinstance(record.event, ev.StreamPosted)
        if not record.masked:
            assert record.event.line.event == whole
        elif whole is nested:
            assert set(msgspec.json.decode(record.event.line.event)) == {"text"}
