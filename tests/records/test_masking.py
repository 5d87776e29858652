"""Masking: what is taken out of records, what is left alone, and that records stay records."""

import base64
import random
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import tapui
from tapui.records import reader
from tapui.records.journal import Journal
from tapui.records.masking import FORMS, MASK, Masks
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
PGP_KEY = (
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n"
    + "lQOYBFzq0gEBCAC7/3v+nQ\n" * 12
    + "=aB1c\n-----END PGP PRIVATE KEY BLOCK-----"
)
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
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
    "gitlab": ("glpat-", "a1B2c3D4e5F6g7H8i9J0"),
    "pypi": ("pypi-", "AgEIcHlwaS5vcmcCJGa1B2c3D4e5F6"),
    "hugging-face": ("hf_", "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH"),
    "stripe": ("sk_live_", "4eC39HqLyjWDarjtT1zdp7dc"),
    "stripe-restricted": ("rk_live_", "4eC39HqLyjWDarjtT1zdp7dc"),
    "vault": ("hvs.", "CAESIJlU02LQZq_a1B2c3D4e5F6"),
    "aws-session": ("ASIA", "IOSFODNN7EXAMPLE"),
    "aws-ini": ("aws_secret_access_key = ", AWS_SECRET),
    "aws-json": ('SecretAccessKey": "', AWS_SECRET),
    "aws-shell": ("AWS_SESSION_TOKEN=", "IQoJb3JpZ2luX2VjEJr/" * 4 + "w=="),
    "google-access": ("ya29.", "a0AfH6SMBx-1234_567890abcdefgh"),
    "google-client": ("GOCSPX-", "a1B2c3D4e5F6g7H8-_i9J0k1L2M3"),
    "google-refresh": ("1//0", "gdEfGhIjKlMnOpQrStUvWxYz-a1B2c3D4e5F6_g7H8"),
    "slack-app": ("xapp-", "1-A0123456789-1234567890123-abcdef0123456789"),
    "slack-hook": ("hooks.slack.com/services/", "T0A1B2C3D/B0A1B2C3D/a1B2c3D4e5F6g7H8i9J0k1L2"),
    "bearer": ("Bearer ", "abcdef0123456789abcdef"),
    "header": ("authorization: bearer ", "abcdefghijklmnop0123456789"),
    "header-token": ("Authorization: token ", "0123456789abcdef0123456789abcdef01234567"),
    "header-basic": ("AUTHORIZATION: Basic ", "YWxhZGRpbjpvcGVuc2VzYW1l"),
    "pgp": ("-----BEGIN PGP PRIVATE KEY BLOCK-----", PGP_KEY[37:]),
    "key": ("-----BEGIN RSA PRIVATE KEY-----", KEY[31:]),
}
PASSWORD = "s3cr3t-P4ss,w0rd"
OCCURRENCES = [
    *(
        (form.format(secret), secret)
        for secret, forms in {
            "abcdefghijklmnop0123456789": (
                "> authorization: bearer {}", "authorization:bearer {}", "AUTHORIZATION: BEARER {}",
                "Authorization:\tBearer\t{}", "BEARER {}", "Bearer\t{}", "Bearer   {}",
                "* [HTTP/2] [1] [authorization: Bearer {}]", "authorization: Token {}",
                "Proxy-Authorization: token {}", "HTTP_AUTHORIZATION=token {}",
                "headers = {{'Authorization': 'token {}'}}", '("authorization", "bearer {}")',
                "map[Authorization:[Bearer {}]]", 'curl -H "authorization: bearer {}" localhost',
            ),
            "dXNlcjpwYXNz": (
                "authorization: Basic {}", "Proxy-authorization: basic {}",
                '"Authorization": "BASIC {}"',
            ),
            AWS_SECRET: (
                "aws_secret_access_key = {}", "AWS_SECRET_ACCESS_KEY={}",
                'export AWS_SECRET_ACCESS_KEY="{}"', '"SecretAccessKey": "{}"',
                "secretAccessKey: '{}'", "<SecretAccessKey>{}</SecretAccessKey>",
                "AWS Secret Access Key [None]: {}", "aws_session_token = {0}{0}{0}",
                '"SessionToken": "{0}{0}{0}"', "AKIAIOSFODNN7EXAMPLE,{}", "ASIAIOSFODNN7EXAMPLE {}",
            ),
            PASSWORD: (
                "git clone https://me:{}@github.test/a/b", "postgres://app:{}@db:5432/shop",
                "redis://:{}@cache", "HTTPS_PROXY=http://me:{}@proxy:3128", "amqp://u:{}@[::1]/v",
                "mysql://u:at@{}@db",
            ),
            "T0A1B2C3D/B0A1B2C3D/a1B2c3D4e5F6g7H8i9J0k1L2": (
                "curl -d x https://hooks.slack.com/services/{}",
            ),
        }.items()
        for form in forms
    ),
    ("hooks.slack.com\\/services\\/T0A1B2C3D\\/B0A1B2C3D\\/a1B2c3D4e5F6g7H8", "a1B2c3D4e5F6g7H8"),
    ("xoxd-a1B2c3%2BD4e5F6%2Fg7H8%3D%3D", "D4e5F6%2Fg7H8%3D"),
    ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"),
]  # fmt: skip
"""Texts as programs write them, each with the secret in it."""
VIEWED = {
    "tab": "\t{}", "blanks": "      {}", "quoted": "> {}", "twice": ">> {}", "piped": "  | {}",
    "list": "{n}. {}", "cat -n": "{n:6}\t{}", "bat": "{n:4} │ {}", "diff": "+{}", "shell": "# {}",
    "grep": "my_key (2).pem:{n}:{}", "Java": '    "{}\\n" +', "PHP": "'{}\\n' .", "C": '"{}\\n"',
    "Python": 'b"{}\\n"', "comment": " * {}", "JavaScript": "  `{}`,", "echo": 'echo "{}" >> a.pem',
    "CRLF": "{}\r", "cat -A": "{}$", "blame": "^1a2b3c4 (A. Person 2026-01-01 {n:2}) {}",
}  # fmt: skip
"""What viewers, quotes and code put around the lines of a key."""
INNOCENT = (
    *(
        "Authorization: Basic authentication",
        "authorization: token required",
        "bearer of the token",
    ),
    *(
        "a bearer authentication scheme",
        "aws_secret_access_key = os.environ[name]",
        "aws_session_token",
    ),
    *(
        "docker://nginx:1.25@sha256:0123456789abcdef",
        "http://localhost:3000/a@b",
        "git@github.com:a/b",
    ),
    *("https://me:${PASSWORD}@host", "https://me:$TOKEN@host", "https://user:<password>@host"),
    *(
        "ssh://git@github.com:22/a",
        "it takes 1//0 of it",
        "prev.value_of_the_thing_that_was",
        "ya29.",
    ),
    *(
        "hvs.method_of_a_class_with_a_long_name",
        "glpat-of-it",
        "hf_transformers_model_name_or_path",
    ),
    *("0123456789abcdef0123456789abcdef01234567", "6f1c1c1e-1111-4222-8333-000000000001"),
    *('if "-----BEGIN PRIVATE KEY-----" in text and "-----END PRIVATE KEY-----" in text:', "NASIA"),
    *(
        "the -----BEGIN PGP PRIVATE KEY BLOCK----- line begins a key",
        "sk_live_keys",
        "xapp-container-a",
    ),
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


def test_each_form_of_the_table_has_an_example() -> None:
    examples = "\n".join([*map("".join, SECRETS.values()), *(text for text, _ in OCCURRENCES)])
    for kind, form, begin, secret in FORMS:
        assert re.search(begin + secret, examples.encode(), re.DOTALL), (kind, form)


def is_left(secret: str, text: str) -> bool:
    """Return whether a text has any eight characters of a secret."""
    return any(secret[at : at + 8] in text for at in range(len(secret) - 7))


@pytest.mark.parametrize(("text", "secret"), OCCURRENCES)
def test_a_secret_is_masked_as_programs_write_it(text: str, secret: str) -> None:
    assert is_left(secret, text)
    for whole in (text, f"a\n{text}\nb", encode({"a": text}).decode(), encode([[text]]).decode()):
        assert not is_left(secret, Masks().masked(line_of(posted(whole))).decode()), whole
        assert not is_left(secret, Masks().masked_text(whole)), whole


@pytest.mark.parametrize("form", VIEWED)
@pytest.mark.parametrize("key", [KEY, PGP_KEY], ids=["PEM", "PGP"])
def test_a_key_is_masked_with_what_stands_around_its_lines(key: str, form: str) -> None:
    every = key.split("\n")
    for kept in (every, every[:-2]):
        shown = (VIEWED[form].format(line, n=n) for n, line in enumerate(kept, 1))
        text = "\n".join(shown)
        for whole in (
            text,
            encode({"a": text}).decode(),
            encode({"b": encode([text]).decode()}).decode(),
        ):
            for told in (
                Masks().masked(line_of(posted(whole))).decode(),
                Masks().masked_text(whole),
            ):
                assert not is_left(every[5], told), whole
                assert "PRIVATE KEY" in told


_blanks = st.sampled_from(
    ["", " ", "\n", "\t", '"', "'", "`", "=", ": ", "(", "[", ", ", "\r\n", "é "]
)
_prose = st.lists(
    st.sampled_from(["the", "build", "2026-01-01", "a/b.py", "x_y", "(", "}"]), max_size=9
)


@given(
    kind=st.sampled_from([*SECRETS.values()]),
    before=_blanks,
    after=_blanks,
    around=_prose,
    depth=st.integers(0, 2),
)
def test_no_part_of_a_secret_is_left_wherever_it_stands(
    kind: tuple[str, str], before: str, after: str, around: list[str], depth: int
) -> None:
    begin, secret = kind
    secret_part = re.split("ENCRYPTED|GnuPG v2", secret)[-1].partition("-----END")[0].strip()
    words = " ".join(around)
    text = f"{words} {before}{begin}{secret}{after or ' '}{words}"
    for _ in range(depth):
        text = encode({"text": text}).decode()
    record = Masks().masked(line_of(posted(text)))
    assert reader.parse(record[:-1]) is not None
    assert not any(is_left(line, record.decode()) for line in secret_part.split("\n") if line)
    if '"' not in before + after:
        assert words in record.decode()


def test_ordinary_files_are_left_alone() -> None:
    picture = base64.b64encode(random.Random(5).randbytes(400_000)).decode()
    for folder in ("core", "policies", "projection", "wire"):
        for path in sorted(Path(tapui.__file__).parent.joinpath(folder).rglob("*.py")):
            text = path.read_text()
            assert Masks().masked_text(text) == text, path
    assert Masks().masked_text(f"data:image/png;base64,{picture}").endswith(picture)


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
