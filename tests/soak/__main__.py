"""An hour of mixed traffic against a real `tapui serve`: does what it uses stay flat?

    python -m tests.soak [--seconds 3600] [--connections 50] [--every 10] [--rate 60]

Hosts open and close sessions, call tools (answered, failing, silent, cancelled, large), ask gates
and approvals; providers bind, push, judge, die and come back; towers come and go; slow ones read
nothing for minutes; others send garbage. A sample each `--every` seconds shows memory, descriptors,
threads and the latency of small calls (as their callers saw it, who share one process and these
cores). At the end there is a table of what happened and a verdict; the exit code is 1 when
something rose, or when something happened that should not: a call without an outcome or with two,
an event missing at a tower, an error in the log, something left behind when all have gone.
"""

import argparse
import sys

from tests.soak.run import soak
from tests.soak.samples import RULE


def _show(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two samples")
    parser.add_argument(
        "--rate", type=float, default=60.0, help="calls a second, all hosts together"
    )
    options = parser.parse_args()
    done = soak(options.seconds, options.connections, options.every, options.rate, _show)
    for what, count in done.counts.items():
        _show(f"{count:9,}  {what}")
    _show(RULE)
    for trend in done.trends:
        _show(str(trend))
    for fault in done.faults[:50]:
        _show(f"FAULT: {fault}")
    _show(f"{len(done.faults)} faults; verdict: {'flat' if done.is_flat else 'NOT FLAT'}")
    return 0 if done.is_flat else 1


if __name__ == "__main__":
    sys.exit(main())
