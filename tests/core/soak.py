"""Many steps of random conversations: `python -m tests.core.soak --steps 100000`."""

import argparse
import sys
import time

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.core.machine import ConversationMachine

STEPS_PER_CONVERSATION = 200


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100_000, help="steps to take, at least")
    wanted: int = parser.parse_args().steps
    taken = conversations = 0

    class Counting(ConversationMachine):
        def check_invariants(self, *args: object, **more: object) -> None:
            nonlocal taken
            taken += 1
            super().check_invariants(*args, **more)  # type: ignore[arg-type]

        def teardown(self) -> None:
            nonlocal conversations
            conversations += 1
            super().teardown()

    begun = time.monotonic()
    while taken < wanted:
        run_state_machine_as_test(  # type: ignore[no-untyped-call]
            Counting,
            settings=settings(
                max_examples=50,
                stateful_step_count=STEPS_PER_CONVERSATION,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            ),
        )
    seconds = time.monotonic() - begun
    sys.stdout.write(
        f"{taken} steps in {conversations} conversations, {seconds:.0f} s: nothing failed\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
