"""`python -m tests.simulator --seed N`, `--seeds A:B`, `--steps`, `--jobs`, `--inside`.

With `--inside` the real turn and journal carry out what the core decides, and parts of them fail.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from tests.simulator.run import STEPS, StoryError, Told, run

CHUNK = 250


def _many(seeds: range, steps: int, inside: bool) -> list[int] | str:
    totals = [0, 0, 0, 0, 0]
    for seed in seeds:
        try:
            told: Told = run(seed, steps, inside=inside)
        except StoryError as error:
            return str(error)
        counts = (told.steps, told.events, told.outcomes, told.faults, told.runs)
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
    return totals


def _chunks(first: int, last: int) -> Iterator[range]:
    for start in range(first, last, CHUNK):
        yield range(start, min(start + CHUNK, last))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--seed", type=int, help="tell one story")
    which.add_argument("--seeds", default="0:100000", help="tell the stories A:B (B not included)")
    parser.add_argument("--steps", type=int, default=STEPS, help="steps before the silence")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--inside", action="store_true", help="let things break inside, too")
    options = parser.parse_args()
    if options.seed is not None:
        told = run(options.seed, options.steps, inside=options.inside)
        sys.stdout.write(f"seed {options.seed} holds: {told}\n")
        return 0
    first, last = map(int, options.seeds.split(":"))
    begun, done, totals = time.monotonic(), 0, [0, 0, 0, 0, 0]
    with ProcessPoolExecutor(options.jobs) as pool:
        chunks = list(_chunks(first, last))
        options_of = ([options.steps] * len(chunks), [options.inside] * len(chunks))
        for chunk, found in zip(chunks, pool.map(_many, chunks, *options_of), strict=True):
            if isinstance(found, str):
                sys.stdout.write(found + "\n")
                pool.shutdown(cancel_futures=True)
                return 1
            done += len(chunk)
            totals = [a + b for a, b in zip(totals, found, strict=True)]
    seconds = time.monotonic() - begun
    sys.stdout.write(
        f"{done} seeds, {totals[0]} steps, {totals[1]} events, {totals[2]} outcomes, "
        f"{totals[3]} faults inside, {totals[4]} runs of emitters, "
        f"{seconds:.0f} s ({done / seconds:.0f} seeds/s): nothing failed\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
