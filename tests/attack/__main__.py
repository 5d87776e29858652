"""`python -m tests.attack --guesses 1000000`: guesses of pairing codes, and what they earned."""

import argparse
import sys

from tests.attack.guessing import Attack


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--guesses", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gap", type=float, default=0.2, help="longest pause, seconds")
    options = parser.parse_args()
    tally = Attack(options.seed, gap=options.gap).guess(options.guesses)
    sys.stdout.write(
        f"{tally.guesses} guesses in {tally.minutes:.0f} minutes of the gateway's clock: "
        f"{tally.tries} tries, {tally.limited} refused by the limit, {tally.ignored} after the "
        f"end, {tally.codes} codes opened, {tally.admitted} admitted; at most "
        f"{tally.most_in_a_minute} tries in a minute, {tally.most_for_a_code} for a code\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
