"""What is said of a part is what bash did: generated texts run with the real one.

Each part is a program that notes its name and code, in a folder of its own; what is `passed` has
run and exited 0, where its folder says.
"""

import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tapui.core.proof.deciding import read

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash"),
]
NOTES = '#!/bin/sh\necho "$1 $2 $PWD" >> "$NOTES"\nexit $2\n'


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bash")
    (made / "work/sub/sub").mkdir(parents=True)
    (made / "bin").mkdir()
    program = made / "bin/ran"
    program.write_text(NOTES)
    program.chmod(0o755)
    return made


PARTS = st.sampled_from(["ran # 0", "ran # 0", "ran # 0", "ran # 3"])
ALONE = [
    *("true", "false", "exit 3", "exit 0", "(exit 3)", "cd sub", "cd nowhere", "cd ..", "set -e"),
    *("set +e", "set -o pipefail", "set +o pipefail", "set -eo pipefail", "X=1", "export X=1"),
    *("[ -e sub ]", "test -e no", "echo x", "cat", "! true", "X=$(false)", ": ${NOPE:?}", "wait"),
    *("trap 'exit 0' EXIT", "eval false", "set -u", "echo $NOPE", "break", "exec true", "let 0"),
]
WRAPPED = [
    *("{}", "{}", "{} > /dev/null", "{} 2>&1", "time {}", "timeout 5 {}", "env A=1 {}", "A=1 {}"),
    *("command {}", "exec {}", "! {}", "X=$({})", "echo $({})", "bash -c '{}'", "eval '{}'"),
    *("bash -ec '{}; true'", "{} > /nowhere/x", "{} > >(cat)", "nice {}", "time -p {}"),
    "cat <<EOF && {}\nx\nEOF\n",
]
GROUPS = [
    *("({})", "{{ {}\n}}", "! ({})", "if {}\nthen true\nfi", "for i in 1 2; do {}\ndone"),
    *("f() {{ {}\n}}; true", "while false; do {}\ndone", "case x in x) {} ;; esac", "X=$({})"),
    *("! {{ {}\n}}", "time ({})", "({}) | cat", "{{ {}\n}} 2>&1 | tail -1", "({}\n) > /dev/null"),
]
SIGNS = [
    *(
        " && ",
        " && ",
        " && ",
        " || ",
        "; ",
        "\n",
        " | ",
        " |& ",
        " & ",
        " &&\n",
        " || { exit 3; }; ",
    ),
    *(" 2>&1 | ", " > /dev/null && ", "&&", "||", " # && x\n", " | tail -1 && "),
]
UNITS = st.one_of(
    st.builds(lambda form, part: form.format(part), st.sampled_from(WRAPPED), PARTS),
    st.builds(lambda form, part: form.format(part), st.sampled_from(WRAPPED), PARTS),
    st.sampled_from(ALONE),
)


def chains(units: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    more = st.lists(st.tuples(st.sampled_from(SIGNS), units), max_size=3)
    ends = st.sampled_from(["", "", "", " &", ";", " | cat", " || true", "; true"])
    return st.builds(
        lambda one, others, end: one + "".join(map("".join, others)) + end, units, more, ends
    )


def grouped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    form = st.sampled_from(GROUPS)
    return st.one_of(UNITS, st.builds(lambda one, text: one.format(text), form, chains(inner)))


TEXTS = chains(grouped(grouped(UNITS)))


def numbered(text: str) -> str:
    """Give each part a name of its own."""
    pieces = text.split("ran #")
    numbers: Iterator[int] = itertools.count(1)
    return pieces[0] + "".join(f"ran a{next(numbers)}{piece}" for piece in pieces[1:])


def done(place: Path, text: str, notes: Path) -> tuple[int, dict[str, list[tuple[int, str]]]]:
    """Run a text; return its code, and how often with which codes and where its parts ran."""
    paths = {"PATH": f"{place / 'bin'}:/usr/bin:/bin", "NOTES": str(notes), "HOME": str(place)}
    code = subprocess.run(
        ["bash", "-c", text],
        cwd=place / "work",
        env=paths,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=30,
        check=False,
    ).returncode
    found: dict[str, list[tuple[int, str]]] = {}
    for line in notes.read_text().splitlines() if notes.exists() else ():
        name, number, folder = line.split(" ", 2)
        where = os.path.relpath(folder, place / "work")
        found.setdefault(name, []).append((int(number), where))
    return code, found


RUNS = itertools.count()


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(TEXTS)
@example("! { cd sub\n}; ran # 0")
@example("ran # 3 2>&1 | tail -1")
@example("ran # 0 && ran # 3 2>&1 | tail -1")
@example("set -e; ran # 3; ran # 0")
@example("ran # 3 || { exit 3; }; ran # 0")
@example("cd nowhere; ran # 0")
@example("ran # 0 && for i in 1 2; do ran # 3\ndone")
@example("trap 'exit 0' EXIT; ran # 3")
@example("exit 0; ran # 0")
def test_what_passed_has_run_and_exited_0(place: Path, text: str) -> None:
    text = numbered(text)
    reading = read(text)
    code, ran = done(place, text, place / f"notes{next(RUNS)}")
    for at, part in enumerate(reading.parts):
        if part.words[0] != "ran":
            continue
        found = reading.outcome(at, code)
        seen = ran.get(part.words[1], [])
        if found.state == "passed":
            assert seen
            assert all(one == (0, part.folder or ".") for one in seen)
        elif found == ("failed", ""):
            assert all(number != 0 for number, _ in seen)
        own = reading.code_of(at, code)
        assert own is None or not seen or seen[-1][0] == own
