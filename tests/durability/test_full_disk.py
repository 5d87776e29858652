"""The journal on real limits: a file size limit, and a file system with no room left."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.records.turns import Writer, refused, seqs
from tests.rig.file_sizes import files_of_at_most

ROOT = Path(__file__).parents[2]

FULL = """
import sys
from pathlib import Path
from tests.records.turns import Writer, decided, opened, refused, seqs, started
state, full = Path(sys.argv[1]), Path(sys.argv[2])
with Writer(state) as writer:
    assert writer.turn(opened("s1", full), decided("a1", "s1")) == frozenset()
    kept = []
    while not (lost := writer.turn(started("s1", "c", 1000), refused("x"))):
        kept.append(writer.seq - 1)
    assert lost == {writer.seq - 1}, lost
    first = writer.seq + 1
    lost = writer.turn(decided("a2", "s1"), *[started("s1", "c", 5000) for _ in range(20)])
    assert set(range(first + 1, first + 21)) <= lost
    # The approval may have fitted into its own file's last block; the answer says which.
    assert writer.sync([first]) == (first not in lost)
    assert seqs(full / "files/tap/calls.jsonl") == kept
    (full / "filler").unlink()
    writer.now += 2
    assert writer.turn(started("s1", "works", 1000)) == frozenset()
    assert writer.sync([writer.seq])
    for report in writer.reports:
        print(*report)
assert seqs(full / "files/tap/calls.jsonl") == [*kept, writer.seq]
"""

MOUNTED = """
mount -t tmpfs -o size=64k,mode=777 none "$2" && head -c 20000 /dev/zero > "$2/filler" || exit 77
exec "$0" -c "$3" "$1" "$2"
"""


def test_a_file_size_limit_keeps_whole_records(tmp_path: Path) -> None:
    path = tmp_path / "gateway/errors.jsonl"
    with Writer(tmp_path) as writer:
        writer.turn(refused("x"))
        size = path.stat().st_size
        with files_of_at_most(3 * size + size // 2):
            assert writer.turn(*[refused("x") for _ in range(4)]) == {4, 5}
            assert path.stat().st_size == 3 * size
            assert writer.turn(refused("x")) == {6}
        writer.now += 2
        assert writer.turn(refused("x")) == frozenset()
        (_, told), over = writer.reports
    assert "File too large" in told
    assert over == ("info", "Records are written again; 3 are missing")
    assert seqs(path) == [1, 2, 3, 7]


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a small tmpfs")
def test_a_full_file_system_keeps_whole_records(tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("no unshare to mount a small tmpfs with")
    done = subprocess.run(
        [unshare, "-rm", "sh", "-c", MOUNTED, sys.executable, str(tmp_path), str(full), FULL],
        capture_output=True, text=True, timeout=60, check=False, cwd=ROOT,
    )  # fmt: skip
    if done.returncode in (1, 77) and "Traceback" not in done.stderr:
        pytest.skip(f"no small tmpfs to be had here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    told, over = done.stdout.splitlines()
    assert "No space left on device" in told
    assert over.startswith("info Records are written again; ")
