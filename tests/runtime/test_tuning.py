"""Memory of a started process: what large messages leave free serves the next ones."""

import subprocess
import sys

import pytest

PROBE = """
import resource
from tapui.runtime import tuning
if {settles}:
    tuning.settle()
def pass_on():
    for _ in range(50):
        first = bytearray(1 << 20)
        second = bytes(first)
        del first, second
pass_on()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
pass_on()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(*, settles: bool) -> int:
    """Return how often the second round of large messages had to ask for a page."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(settles=settles)],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's setting")
def test_memory_of_large_messages_is_kept_for_the_next_ones() -> None:
    assert faults(settles=True) * 10 < faults(settles=False)


def test_settling_takes_loaded_objects_out_of_the_collectors_sight() -> None:
    text = (
        "import gc; from tapui.runtime import tuning; tuning.settle(); print(gc.get_freeze_count())"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=30
    )
    assert int(done.stdout) > 1000


COLLECTING = """
import gc
from tapui.runtime import tuning
usual = gc.get_threshold()
tuning.start()
assert gc.get_threshold()[0] > 100 * usual[0], "few collections while the program is loaded"
tuning.settle()
assert gc.get_threshold() == usual
assert gc.get_freeze_count() > 0
"""


def test_collections_are_rare_until_the_program_is_loaded() -> None:
    subprocess.run([sys.executable, "-c", COLLECTING], check=True, timeout=30)
