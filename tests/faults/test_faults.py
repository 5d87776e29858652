"""A fault beside the test's own code fails the test that caused it."""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INNER = '''
import asyncio, gc, logging, os, subprocess, sys, threading
from pathlib import Path
import pytest
from tests.rig import faults, left_behind
from tests.rig.gateway import Home

def boom():
    raise RuntimeError("boom")

async def test_callback():
    asyncio.get_running_loop().call_soon(boom)
    await asyncio.sleep(0)

async def test_callback_of_a_loop_with_a_handler():
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: None)
    loop.call_soon(boom)
    await asyncio.sleep(0)

def test_callback_of_a_loop_in_a_thread():
    async def main():
        asyncio.get_running_loop().call_soon(boom)
        await asyncio.sleep(0)
    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    thread.join()

def test_callback_of_the_fast_loop():
    from tapui.runtime.tuning import run
    async def main():
        asyncio.get_running_loop().call_soon(boom)
        await asyncio.sleep(0)
    run(main())

async def test_task_that_nobody_awaits():
    async def fail():
        boom()
    asyncio.create_task(fail())
    await asyncio.sleep(0)

async def test_task_that_fails_at_the_end():
    async def fail():
        try:
            await asyncio.sleep(60)
        finally:
            boom()
    test_task_that_fails_at_the_end.task = asyncio.create_task(fail())
    await asyncio.sleep(0)

def test_coroutine_that_was_never_awaited():
    async def nothing():
        pass
    nothing()

def test_finalizer_in_a_cycle():
    class Left:
        def __init__(self):
            self.me = self
        def __del__(self):
            boom()
    Left()

def test_open_file_in_a_cycle(tmp_path):
    file = (tmp_path / "open").open("w")
    box = [file]
    box.append(box)

def test_thread():
    thread = threading.Thread(target=boom)
    thread.start()
    thread.join()

@pytest.mark.parametrize("name", ["tapui.core", "asyncio", "another"])
def test_error_log(name):
    logging.getLogger(name).error("a fault of %s", "ours")

def test_error_log_that_is_not_passed_on(monkeypatch):
    monkeypatch.setattr(logging.getLogger("tapui"), "propagate", False)
    logging.getLogger("tapui.core").error("kept")

@pytest.fixture
def failing_end():
    yield
    logging.getLogger("tapui").error("at the end")

def test_error_log_of_a_fixture(failing_end):
    pass

def test_switch_interval():
    sys.setswitchinterval(0.0002)

def test_collector():
    gc.disable()

def test_thresholds():
    gc.set_threshold(5)

@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return Home(tmp_path_factory.mktemp("home"))

def write(home, text, name="serve-0.err"):
    file = home.root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as out:
        out.write(text)

def test_traceback_of_a_process(home):
    write(home, "Traceback (most recent call last):\\n  ...\\nKeyError: 1\\n")

def test_error_in_the_log_of_a_process(home):
    write(home, "2026-11-21 20:10:00 INFO all is well\\n", "tapui/state/tapui.log")
    write(home, "2026-11-21 20:10:01 ERROR a fault\\n", "tapui/state/tapui.log")

@pytest.mark.expects_error_log("disk is full")
def test_error_of_a_process_beside_the_named(home):
    write(home, "2026-11-21 20:10:00 ERROR the disk is full\\n", "tapui/state/tapui.log")
    write(home, "2026-11-21 20:10:01 ERROR a fault\\n", "tapui/state/tapui.log")

@pytest.mark.expects_error_log("disk is full")
def test_another_error_than_the_named():
    logging.getLogger("tapui").error("something else")

@pytest.mark.expects_error_log("disk is full")
def test_named_error_that_does_not_come():
    pass

def test_process_that_is_left_behind(tmp_path, monkeypatch):
    left_behind.WITHIN = 0.1
    left_behind.look_after(tmp_path)
    environ = {**os.environ, "TAPUI_HOME": str(tmp_path / "tapui")}
    subprocess.Popen(["sleep", "60"], env=environ, stdin=subprocess.DEVNULL)

class TestGood:
    """Each follows a test that fails, and does not pay for it."""

    @pytest.mark.expects_error_log("disk is full", "boom")
    async def test_named(self):
        logging.getLogger("tapui").error("the %s is full", "disk")
        logging.getLogger("tapui").exception("boom")

    @pytest.mark.expects_error_log("disk is full")
    def test_named_of_a_process(self, home):
        write(home, "2026-11-21 20:10:00 ERROR the disk is full\\n", "tapui/state/tapui.log")

    def test_line_of_a_process(self, home):
        write(home, "tapui: no gateway runs\\n")

    def test_named_in_the_test(self, expects_error_log):
        expects_error_log("disk is full")
        logging.getLogger("tapui").error("the disk is full")

    def test_warnings(self):
        logging.getLogger("tapui").warning("nothing to worry about")

    def test_settings_are_as_they_were(self):
        assert sys.getswitchinterval() == 0.005
        assert gc.isenabled()
        assert gc.get_threshold()[0] != 5

    @pytest.mark.expects_error_log("disk is full")
    def test_skipped(self):
        pytest.skip("what it needs is missing")

    def test_caught(self):
        try:
            boom()
        except RuntimeError:
            logging.getLogger("tapui").info("caught", exc_info=True)
'''


BLAMED = {
    "test_callback": "FAILED",
    "test_callback_of_a_loop_with_a_handler": "FAILED",
    "test_callback_of_a_loop_in_a_thread": "FAILED",
    "test_callback_of_the_fast_loop": "FAILED",
    "test_task_that_nobody_awaits": "FAILED",
    "test_task_that_fails_at_the_end": "ERROR",
    "test_coroutine_that_was_never_awaited": "FAILED",
    "test_finalizer_in_a_cycle": "ERROR",
    "test_open_file_in_a_cycle": "ERROR",
    "test_thread": "FAILED",
    "test_error_log[tapui.core]": "FAILED",
    "test_error_log[asyncio]": "FAILED",
    "test_error_log[another]": "FAILED",
    "test_error_log_that_is_not_passed_on": "FAILED",
    "test_error_log_of_a_fixture": "ERROR",
    "test_traceback_of_a_process": "FAILED",
    "test_error_in_the_log_of_a_process": "FAILED",
    "test_error_of_a_process_beside_the_named": "FAILED",
    "test_switch_interval": "ERROR",
    "test_collector": "ERROR",
    "test_thresholds": "ERROR",
    "test_another_error_than_the_named": "FAILED",
    "test_named_error_that_does_not_come": "ERROR",
    "test_process_that_is_left_behind": "ERROR",
}
"""What each test that does wrong comes to: FAILED by its end, or ERROR after its fixtures'."""
GOOD = (
    "TestGood::test_named",
    "TestGood::test_named_of_a_process",
    "TestGood::test_line_of_a_process",
    "TestGood::test_named_in_the_test",
    "TestGood::test_warnings",
    "TestGood::test_settings_are_as_they_were",
    "TestGood::test_caught",
)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Run the tests above in a process of their own; return what each came to."""
    folder = tmp_path_factory.mktemp("inner")
    (folder / "test_inner.py").write_text(INNER)
    (folder / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "pytest_plugins = ['tests.rig.fault_hooks']\n"
    )
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\nfilterwarnings = error\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--strict-markers"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "1 skipped" in done.stdout
    found: dict[str, set[str]] = defaultdict(set)
    for line in done.stdout.splitlines():
        outcome, _, rest = line.partition(" ")
        if outcome in {"PASSED", "FAILED", "ERROR"} and rest.startswith("test_inner.py::"):
            found[rest.removeprefix("test_inner.py::").split(" - ")[0]].add(outcome)
    assert found, done.stdout + done.stderr
    return found


@pytest.mark.parametrize("test", BLAMED)
def test_fault_fails_the_test_that_caused_it(outcomes: dict[str, set[str]], test: str) -> None:
    assert BLAMED[test] in outcomes[test]


@pytest.mark.parametrize("test", GOOD)
def test_fault_does_not_fail_another_test(outcomes: dict[str, set[str]], test: str) -> None:
    assert outcomes[test] == {"PASSED"}


def test_all_tests_are_accounted_for(outcomes: dict[str, set[str]]) -> None:
    assert set(outcomes) == {*BLAMED, *GOOD}
