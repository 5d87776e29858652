"""Memory of a started process: what large messages leave free serves the next ones."""

import subprocess
import sys

import pytest

from tapui.runtime import tuning

PROBE = """
import resource
from tapui.runtime import tuning
if {settles}:
    settled = tuning.settled()
    settled.__enter__()
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
    text = """
import gc
from tapui.runtime import tuning
before = gc.get_threshold()
with tuning.settled():
    print(gc.get_freeze_count(), gc.get_threshold() == tuning.COLLECTOR)
print(gc.get_threshold() == before)
"""
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=30
    )
    frozen, is_set, is_restored = done.stdout.split()
    assert int(frozen) > 1000
    assert (is_set, is_restored) == ("True", "True")


def test_threads_take_turns_often_only_within_the_block() -> None:
    before = sys.getswitchinterval()
    with tuning.switching_often():
        assert sys.getswitchinterval() == pytest.approx(tuning.SWITCH_INTERVAL)
    assert sys.getswitchinterval() == before


COLLECTING = """
import gc
from tapui.runtime import tuning
usual = gc.get_threshold()
tuning.start()
assert gc.get_threshold()[0] > 100 * usual[0], "few collections while the program is loaded"
with tuning.settled():
    assert gc.get_threshold()[0] < 10 * usual[0]
    assert gc.get_freeze_count() > 0
"""


def test_collections_are_rare_until_the_program_is_loaded() -> None:
    subprocess.run([sys.executable, "-c", COLLECTING], check=True, timeout=30)
