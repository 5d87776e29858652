"""A command is shown once, and below its lines what is known of the parts in them."""

import pytest

from tapui.core.approvals.policies import judged
from tapui.policies.commands import parsed
from tapui.policies.verdicts import JudgedPart, Judgement
from tapui.projection.requests.permissions import judged_text
from tapui.projection.state import State
from tapui.wire import limits, subjects
from tests.tower.scripted import approval

ALLOWED = subjects.AppliedRule("allow", "shell", "npm ci", "person", "config.toml:7")


def asked(text: str, **rules: subjects.AppliedRule) -> subjects.Approval:
    """Return a request whose parts are those that the gateway finds; `rules` are by program."""
    parts = [
        JudgedPart(one.text, None, "", one.redirections, one.writes) for one in parsed(text).parts
    ]
    found = judged(Judgement(None, None, parts))
    told = [
        subjects.RequestPart(
            one.text, rules.get(one.text.split()[0]), "", one.redirections, one.writes
        )
        for one in found.parts
    ]
    detail = {"kind": "shell", "fullCommandText": text}
    return approval("a1", "permission", detail, judged=subjects.Judged(told))


def shown(text: str, **rules: subjects.AppliedRule) -> list[str]:
    found = judged_text(State(), asked(text, **rules), text)
    lines = [
        part.margin + line
        for part in (*found.shown, *found.apart)
        for line in part.text.split("\n")
    ]
    assert [one for one in lines if one.startswith("│ ")][: len(text.split("\n"))] == [
        f"│ {line}" for line in text.split("\n")
    ], "every line stands there once, in its order"
    return lines


def test_parts_that_are_just_the_lines_of_a_command_are_not_repeated() -> None:
    text = "\n".join(f"touch build/{number}" for number in range(20))
    assert shown(text) == [f"│ {line}" for line in text.split("\n")]
    assert shown("cd src && make") == ["│ cd src && make"]


def test_what_a_line_writes_stands_below_it() -> None:
    assert shown("npm ci\necho 1 > build/1 &&\n  ls >> 'a b'; \ndate") == [
        "│ npm ci",
        "│ echo 1 > build/1 &&",
        "  └ writes build/1",
        "│   ls >> 'a b'; ",
        "  └ writes a b",
        "│ date",
    ]


def test_a_part_among_others_in_its_line_is_named_where_something_is_known_of_it() -> None:
    assert shown("rm -rf build && npm ci && echo done > log 2> err", npm=ALLOWED) == [
        "│ rm -rf build && npm ci && echo done > log 2> err",
        "  └ npm ci    allowed by rule “npm ci” (config.toml:7)",
        "  └ echo done > log 2> err    writes log",
        "  └   writes err",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "cat <<'END' > x\nls > y\nEND\nls > y",
            ["│ cat <<'END' > x", "  └ writes x", "│ ls > y", "│ END", "│ ls > y", "  └ writes y"],
        ),
        ("# ls > y\nls > y", ["│ # ls > y", "│ ls > y", "  └ writes y"]),
        (
            "echo 'a\nb' > x\nls",
            ["│ echo 'a", "│ b' > x", "  └ writes x", "│ ls"],
        ),
        (
            "npm ci \\\n  --offline > log",
            ["│ npm ci \\", "│   --offline > log", "  └ writes log"],
        ),
    ],
)
def test_it_stands_below_the_line_that_runs(text: str, told: list[str]) -> None:
    assert shown(text) == told


def test_a_redirection_of_a_group_names_its_last_part() -> None:
    assert shown("(cd a\nls\n) > out") == [
        "│ (cd a",
        "│ ls",
        "  └ ls > out    writes out",
        "│ ) > out",
    ]


def test_a_part_that_the_text_does_not_have_is_listed_by_itself() -> None:
    part = subjects.RequestPart(
        "git push", subjects.AppliedRule("ask", "shell", "git push", "person")
    )
    one = asked("g push")
    assert one.judged is not None
    one.judged.parts.append(part)
    found = judged_text(State(), one, "g push")
    assert [part.text for part in found.apart] == ["git push    to be asked by rule “git push”"]
    assert found.apart[0].margin == "│ "


def test_a_long_part_that_the_gateway_has_cut_is_found() -> None:
    long = "echo " + "x" * limits.MAX_RULE_TEXT
    lines = shown(f"ls\n{long} > log\nls > other")
    assert lines[1] == f"│ {long} > log"
    assert lines[2].startswith("  └ echo xxx")
    assert lines[2].endswith("    writes log")
    assert lines[4] == "  └ writes other"


def test_beyond_the_parts_that_are_judged_it_says_so() -> None:
    most = limits.MAX_REQUEST_PARTS
    assert shown("\n".join(["ls"] * most))[-1] == "│ ls"
    lines = shown("\n".join(["ls"] * most + ["ls > x"]))
    assert lines[-2:] == [
        "│ ls > x",
        f"only its first {most} parts were looked at, for rules and files",
    ]


def test_what_is_said_cannot_be_written_by_a_command() -> None:
    text = "ls\n  └ writes nothing\necho  └ hi > x"
    assert [line[:2] for line in shown(text) if "nothing" in line or "hi" in line] == ["│ ", "│ "]


def test_of_its_host_s_parts_only_those_in_other_words_are_listed() -> None:
    one = approval("a1", "permission", {"kind": "shell"})
    found = judged_text(State(), one, "rm -rf  build\nnpm ci", segments=["rm -rf build", "npm i"])
    assert [part.text for part in found.shown] == ["rm -rf  build\nnpm ci"]
    assert [part.text for part in found.apart] == ["npm i"]


MOVED = "the command changes its folder before"
QUOTED = "timeout runs what follows it"


@pytest.mark.parametrize(
    ("whys", "lines"),
    [
        (
            (MOVED, MOVED),
            ["  └ b > c    writes c", f"  └ no rule allows any of its parts: {MOVED}"],
        ),
        (
            (MOVED, QUOTED),
            [
                f"  └ a    no rule allows it: {MOVED}",
                f"  └ b > c    no rule allows it: {QUOTED}",
                "  └   writes c",
            ],
        ),
        (
            ("", MOVED),
            [f"  └ b > c    no rule allows it: {MOVED}", "  └   writes c"],
        ),
    ],
)
def test_why_no_rule_allows_any_part_is_said_once(whys: tuple[str, str], lines: list[str]) -> None:
    parts = [
        subjects.RequestPart("a", None, whys[0]),
        subjects.RequestPart("b", None, whys[1], "> c", [subjects.FileWritten("c")]),
    ]
    detail = {"kind": "shell", "fullCommandText": "a; b > c"}
    one = approval("a1", "permission", detail, judged=subjects.Judged(parts))
    found = judged_text(State(), one, "a; b > c")
    told = [part.margin + part.text for part in (*found.shown, *found.apart)]
    assert told == ["│ a; b > c", *lines]
