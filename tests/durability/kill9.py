"""Kill a journal's process while it writes: nothing that it acknowledged may be lost.

    python -m tests.durability.kill9 [--rounds 200] [--seed N] [--folder DIR]
    python -m tests.durability.kill9 --kills N   (the whole gateway under load: `gateway_kills`)

Each round starts a process that writes turns of records as fast as it can (several sessions,
rotating files, sizes from a few bytes to 3 MB, which are not written in one step) and acknowledges
each turn over a pipe only after `Journal.write()` returned. At a random acknowledgement it is
killed with SIGKILL. Then the files are read: every acknowledged record must be there, whole and as
it was written, and no record may be damaged. Later rounds write to the same files, so torn tails
are cut on the way.
"""

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tapui.records import register
from tapui.records.reader import Damage
from tapui.wire import events as ev
from tapui.wire import subjects
from tests.durability import gateway_kills
from tests.records.turns import Writer, decided, opened, refused
from tests.rig.replayed import records

ROUNDS_A_FOLDER = 10
SESSIONS = ("s1", "s2", "local")
FILE_LIMIT = 16 * 1024 * 1024
ROOT = Path(__file__).parents[2]


@dataclass
class Tally:
    """What all rounds together saw."""

    rounds: int = 0
    acknowledged: int = 0
    found: int = 0
    torn: int = 0
    damaged: int = 0
    lost: list[str] = field(default_factory=list)


def event_of(run: str, seq: int) -> ev.AnyEvent:
    """Return the event that the child writes as `seq`: the checker makes the same one."""
    rng = random.Random(f"{run}/{seq}")
    match rng.randrange(10):
        case 0:
            return decided(f"a{seq}", rng.choice((*SESSIONS, None)))
        case 1 | 2:
            return refused("r" * rng.randrange(200))
        case _:
            size = 3_000_000 if rng.randrange(150) == 0 else rng.randrange(2000)
            session_id = rng.choice(SESSIONS)
            args = msgspec.Raw(b'"' + b"x" * size + b'"')
            call = subjects.Call(f"c{seq}", session_id, "ci", "greet", "running", "t", args=args)
            return ev.CallStarted(session_id, call)


def write(folder: Path, run: str) -> None:
    """Be the process that is killed."""
    rng = random.Random(run)
    writer = Writer(folder / "state", run=run, file=FILE_LIMIT)
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    lost = writer.turn(opened("s1", workspace), opened("s2"), opened("local"))
    while not lost:
        sys.stdout.buffer.write(b"%d\n" % writer.seq)
        sys.stdout.buffer.flush()
        count = rng.choice((1, 1, 2, 10, 64))
        first = writer.seq + 1
        lost = writer.turn(*[event_of(run, seq) for seq in range(first, first + count)])
    raise SystemExit(f"not recorded: {sorted(lost)}")


def round_(folder: Path, run: str, acknowledgements: int, tally: Tally) -> None:
    """Start the process, kill it at that acknowledgement, and check its files."""
    command = [sys.executable, "-m", "tests.durability.kill9", "--child", str(folder), run]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        last = b""
        for number, line in enumerate(child.stdout, 1):
            last = line if line.endswith(b"\n") else last
            if number == acknowledgements:
                child.send_signal(signal.SIGKILL)
    if child.returncode != -signal.SIGKILL:
        raise SystemExit(f"the writer ended by itself with {child.returncode}")
    acknowledged = int(last)
    state = folder / "state"
    folders = [one for found in register.sessions(state).values() for one in found]
    folders += register.gateway_folders(state)
    damage = Damage()
    found = {record.seq: record.event for record in records(folders, run, damage=damage)}
    for seq in range(1, acknowledged + 1):
        if seq not in found:
            tally.lost.append(f"{run}/{seq} is missing")
        elif seq > len(SESSIONS) and found[seq] != event_of(run, seq):
            tally.lost.append(f"{run}/{seq} is not what was written")
    tally.rounds += 1
    tally.acknowledged += acknowledged
    tally.found += len(found)
    tally.torn += damage.torn
    tally.damaged += damage.lines


def run_rounds(rounds: int, seed: int, root: Path) -> Tally:
    """Run all rounds below `root`, a fresh folder every ten."""
    rng = random.Random(seed)
    tally = Tally()
    for number in range(rounds):
        folder = root / f"k{number // ROUNDS_A_FOLDER}"
        if number % ROUNDS_A_FOLDER == 0:
            shutil.rmtree(root / f"k{number // ROUNDS_A_FOLDER - 1}", ignore_errors=True)
            folder.mkdir()
        run = f"{seed}-{number}"
        round_(folder, run, rng.choice((1, 2, rng.randrange(1, 500))), tally)
    return tally


def main() -> int:
    """Run the rounds and print what they saw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--folder", type=Path, help="where to write (default: the temp folder)")
    parser.add_argument("--child", nargs=2, metavar=("DIR", "RUN"), help=argparse.SUPPRESS)
    parser.add_argument("--kills", type=int, help="kill the whole gateway so often")
    arguments = parser.parse_args()
    if arguments.child:
        write(Path(arguments.child[0]), arguments.child[1])
    if arguments.kills:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as root:
            return gateway_kills.main(arguments.kills, arguments.seed, Path(root))
    with tempfile.TemporaryDirectory(dir=arguments.folder) as root:
        tally = run_rounds(arguments.rounds, arguments.seed, Path(root))
    for line in tally.lost[:20]:
        print(line)
    print(
        f"{tally.rounds} kills (seed {arguments.seed}): {tally.acknowledged:,} records "
        f"acknowledged, {len(tally.lost):,} lost, {tally.found:,} found, {tally.torn} torn tails, "
        f"{tally.damaged} damaged records"
    )
    return 1 if tally.lost or tally.damaged else 0


if __name__ == "__main__":
    raise SystemExit(main())
