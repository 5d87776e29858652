"""`python -m tests.fuzz --frames N --seed S [--jobs J] [--looks 1]`."""

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from tests.fuzz.run import LOOKS, Done, FuzzError, fuzz

CHUNK = 100_000


def _many(seed: int, frames: int, looks: int) -> Done | str:
    try:
        return fuzz(frames, seed, looks)
    except FuzzError as error:
        return f"{error}\nagain with: python -m tests.fuzz --seed {seed} --frames {frames}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first 100,000 frames")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--looks", type=int, default=LOOKS, help="refused frames a look")
    options = parser.parse_args()
    sizes = [CHUNK] * (options.frames // CHUNK)
    if options.frames % CHUNK:
        sizes.append(options.frames % CHUNK)
    seeds = range(options.seed, options.seed + len(sizes))
    begun, total = time.monotonic(), Done()
    with ProcessPoolExecutor(options.jobs) as pool:
        for found in pool.map(_many, seeds, sizes, [options.looks] * len(sizes)):
            if isinstance(found, str):
                sys.stdout.write(found + "\n")
                pool.shutdown(cancel_futures=True)
                return 1
            total.frames += found.frames
            total.refused += found.refused
            total.looks += found.looks
    seconds = time.monotonic() - begun
    sys.stdout.write(
        f"{total.frames} frames, {total.refused} refused, {total.looks} looks, {seconds:.0f} s "
        f"({total.frames / seconds:.0f} frames/s): nothing failed\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
