"""Commands that did not run, by their codes and by what programs print in their place."""

import pytest

from tapui.core.proof.reporters import absence
from tapui.core.proof.summaries import Summary

NO_FOLDER = "the folder that it names is not there"
NO_PROGRAM = "its program is not there"
NO_TARGET = "its script or target is not there"


@pytest.mark.parametrize(
    ("text", "code", "output", "why"),
    [
        ("ruff check .", 127, "bash: line 1: ruff: command not found", f"{NO_PROGRAM} (exit 127)"),
        ("./test.sh", 126, "Permission denied", "its program cannot be run (exit 126)"),
        ("cd nodir && pytest", 1, "bash: line 1: cd: nodir: No such file or directory", NO_FOLDER),
        ("cd nodir && pytest", 1, "sh: 1: cd: can't cd to nodir", NO_FOLDER),
        ("cd nodir && pytest", 1, "cd: no such file or directory: nodir", NO_FOLDER),
        ("cd nodir && pytest", 1, "", "exit 1 may be that of cd: nothing was printed"),
        ("make -C nodir", 2, "make: *** nodir: No such file or directory.  Stop.", NO_FOLDER),
        ("make tests", 2, "make: *** No rule to make target 'tests'.  Stop.", NO_TARGET),
        ("make lint", 2, "make: *** [Makefile:2: lint] Error 127", NO_PROGRAM),
        ("npm run lint", 1, 'npm error Missing script: "lint"\nnpm error\n', NO_TARGET),
        ("npm run lint", 1, 'npm ERR! Missing script: "lint"', NO_TARGET),
        ("yarn lint", 1, 'error Command "lint" not found.', NO_TARGET),
        ("pnpm lint", 1, "\u2009ERR_PNPM_NO_SCRIPT\u2009 Missing script: lint", NO_TARGET),
        ("just lint", 1, "error: justfile does not contain recipe `lint`", NO_TARGET),
        ("python -m pytest", 1, "/usr/bin/python3.11: No module named pytest", NO_PROGRAM),
        ("uv run pytest", 2, "error: Failed to spawn: `pytest`\n  Caused by: x", NO_PROGRAM),
        ("pytest a.py", 4, "ERROR: file or directory not found: a.py", "a file that it names is"),
    ],
)
def test_what_is_not_there(text: str, code: int, output: str, why: str) -> None:
    assert absence(text, code, output, {}, is_cut=False).startswith(why)


@pytest.mark.parametrize(
    ("text", "code", "output"),
    [
        ("pytest", 1, ""),
        ("pytest", 0, "/usr/bin/python3: No module named pytest"),
        ("make test", 2, "make: *** No rule to make target 'lib.o', needed by 'a'.  Stop."),
        ("make test", 2, "make: *** No rule to make target 'other'.  Stop."),
        ("make test", 2, "make: *** [Makefile:2: test] Error 1"),
        ("npm run build", 1, 'npm error Missing script: "compile"'),
        ("cd web && tsc", 2, "cart.ts(1,1): error TS1005"),
        ("pytest", None, "bash: line 1: cd: nodir: No such file or directory"),
    ],
)
def test_what_failed_did_run(text: str, code: int | None, output: str) -> None:
    assert absence(text, code, output, {}, is_cut=False) == ""


def test_tests_that_failed_did_run_whatever_they_print() -> None:
    failed = {"pytest": Summary(program="pytest", failed=1)}
    output = "bash: line 1: pytest: command not found\n1 failed in 0.1s"
    assert absence("pytest", 127, output, failed, is_cut=False) == ""


def test_an_output_that_is_not_known_is_not_empty() -> None:
    assert absence("cd web && make", 1, "", {}, is_cut=True) == ""
