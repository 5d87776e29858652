"""What fails once is told from a fault: second runs, the mark `machine`, and the verdict of CI."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.rig.verdict import AT_MOST, Outcome, judge

ROOT = Path(__file__).parents[2]
INNER = '''
import subprocess, sys, threading, time
from pathlib import Path
import pytest

RUNS = Path(__file__).with_name("runs")

def runs(name):
    """Count how often a test of this name has begun."""
    file = RUNS / name
    file.parent.mkdir(exist_ok=True)
    count = len(file.read_text()) + 1 if file.exists() else 1
    file.write_text("x" * count)
    return count

class TestMachine:
    pytestmark = pytest.mark.machine

    @pytest.mark.parametrize("way", ["a.b/c::d", "\\x1b[31m"])
    def test_passes_in_its_second_run(self, way):
        assert runs(f"second-{len(way)}") > 1, "the first\\nof two lines"

    def test_passes_alone(self):
        assert runs("alone") > 2

    def test_fixture_fails_once(self, fails_once):
        pass

    def test_is_a_fault(self):
        assert False, "for good"

    @pytest.mark.timeout(1)
    def test_hangs(self):
        hung = threading.Thread(target=time.sleep, args=(2,), name="beside")
        hung.start()
        runs("hangs")
        time.sleep(60)

@pytest.fixture
def fails_once():
    yield
    assert runs("fixture") > 1

def test_not_marked_passes_alone():
    assert runs("not-marked") > 1, "only alone"

def test_not_marked_is_a_fault():
    assert runs("fault") < 1

@pytest.mark.parametrize("what", ["thread", "process"])
def test_not_marked_uses_the_machine(what):
    if what == "thread":
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
    else:
        subprocess.run([sys.executable, "-c", ""])

def test_passes():
    pass

def test_skipped():
    pytest.skip("no such program")
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tests above."""
    folder = tmp_path_factory.mktemp("inner")
    (folder / "test_inner.py").write_text(INNER)
    _configured(folder)
    return folder


def _configured(folder: Path) -> None:
    (folder / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "pytest_plugins = ['tests.rig.machine_tests']\n"
    )
    (folder / "pytest.ini").write_text(
        "[pytest]\naddopts = -p xdist -p pytest_timeout -p pytest_rerunfailures -ra\n"
        "markers =\n    machine: its outcome depends on the machine\n"
    )


def _run(folder: Path, *argv: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", *argv],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def first(folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run the tests as CI does first."""
    return _run(folder, "pytest", "-n", "2", "--junitxml=tests.xml")


@pytest.fixture(scope="module")
def verdict(
    folder: Path, first: "subprocess.CompletedProcess[str]"
) -> "subprocess.CompletedProcess[str]":
    """Give what failed its second run, and the verdict."""
    return _run(folder, "tests.rig.verdict", "tests.xml", str(first.returncode))


def _beginning(lines: str, word: str) -> set[str]:
    found = [line for line in lines.splitlines() if line.startswith(f"{word} ")]
    return {line.removeprefix(f"{word} ").removeprefix("test_inner.py::") for line in found}


def test_a_fault_is_red_and_named(verdict: "subprocess.CompletedProcess[str]") -> None:
    assert verdict.returncode == 1
    after_the_last_run = verdict.stdout.rpartition("\n=")[2]
    assert _beginning(after_the_last_run, "FAILED") == {
        "TestMachine::test_is_a_fault: AssertionError: for good",
        "TestMachine::test_hangs: Failed: Timeout (>1.0s) from pytest-timeout.",
        "test_not_marked_is_a_fault: AssertionError: assert 1 < 1",
        *(
            f"test_not_marked_uses_the_machine[{what}]: "
            f"Failed: not marked `machine`, and starts a {what}, from"
            for what in ("thread", "process")
        ),
    }


def test_what_needed_a_second_run_is_unsteady(
    verdict: "subprocess.CompletedProcess[str]",
) -> None:
    assert _beginning(verdict.stdout, "UNSTEADY") == {
        "TestMachine::test_passes_in_its_second_run[a.b/c::d]: AssertionError: the first",
        "TestMachine::test_passes_in_its_second_run[\\x1b[31m]: AssertionError: the first",
        "TestMachine::test_passes_alone: AssertionError: assert 1 > 2",
        "TestMachine::test_fixture_fails_once: AssertionError: assert 1 > 1",
        "(not marked) test_inner.py::test_not_marked_passes_alone: AssertionError: only alone",
    }


def test_the_last_line_counts(verdict: "subprocess.CompletedProcess[str]") -> None:
    assert "skipped 1: no such program" in verdict.stdout.splitlines()
    last = verdict.stdout.splitlines()[-1]
    assert last == "red: 6 passed, 5 failed, 1 skipped, 5 unsteady"


def test_a_hang_costs_one_test_and_is_not_run_again_beside_others(
    folder: Path, first: "subprocess.CompletedProcess[str]"
) -> None:
    assert "Stack of beside" in first.stdout + first.stderr
    assert "2 passed" not in first.stdout
    assert "1 skipped" in first.stdout


def test_a_test_runs_at_most_as_often_as_said(
    folder: Path, verdict: "subprocess.CompletedProcess[str]"
) -> None:
    assert verdict.returncode == 1
    assert {file.name: len(file.read_text()) for file in (folder / "runs").iterdir()} == {
        "second-8": 2,
        "second-5": 2,
        "alone": 3,
        "fixture": 2,
        "hangs": 2,  # once, and once alone
        "not-marked": 2,
        "fault": 2,
    }


def test_a_worker_that_dies_costs_the_test_that_it_ran(tmp_path: Path) -> None:
    passes = "".join(f"def test_{number}(): pass\n" for number in range(3))
    for number in range(9):
        (tmp_path / f"test_{number}.py").write_text(passes)
    (tmp_path / "test_9.py").write_text(
        f"import os, signal\n{passes}def test_dies(): os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    _configured(tmp_path)
    done = _run(tmp_path, "pytest", "-n", "2", "--junitxml=tests.xml", "--dist=loadfile")
    assert "1 failed, 30 passed" in done.stdout, done.stdout
    judged = _run(tmp_path, "tests.rig.verdict", "tests.xml", str(done.returncode))
    assert judged.returncode == 1
    assert "crashed while running 'test_9.py::test_dies'" in judged.stdout.rpartition("FAILED ")[2]


def test_more_failures_than_a_machine_explains_are_red_at_once() -> None:
    found = {f"test_x.py::test_{number}": Outcome(failed=True) for number in range(AT_MOST + 1)}

    def never(name: str) -> bool:
        raise AssertionError(name)

    assert len(judge(1, found, never).faults) == AT_MOST + 1


@pytest.mark.parametrize("status", [2, 3, 4, 5, -9])
def test_a_run_that_did_not_reach_its_end_is_red(status: int) -> None:
    verdict = judge(status, {"test_x.py::test_passes": Outcome()}, lambda _name: True)
    assert not verdict.is_green
    assert verdict.lines()[0] == f"pytest ended with status {status}"


def test_a_run_without_tests_is_red() -> None:
    skipped = {"test_x.py::test_skipped": Outcome(skipped="no such program")}
    assert not judge(0, {}, lambda _name: True).is_green
    assert not judge(0, skipped, lambda _name: True).is_green
