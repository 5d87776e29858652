"""The README's first line: the demo out of the repository, without a clone."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import missing
from tests.rig.gateway import Home
from tests.rig.tmux import Tmux
from tests.rig.waiting import until

ROOT = Path(__file__).parents[2]


def test_the_first_line_of_the_readme_shows_the_demo(tmux: Tmux, home: Home) -> None:
    (line,) = re.findall(r"^uvx .*$", (ROOT / "README.md").read_text(), re.MULTILINE)
    programs = Path(sys.executable).parent
    if shutil.which("uvx", path=str(programs)) is None:
        missing("uv is not installed (pip install -e '.[test]')")
    cache = subprocess.run(
        [programs / "uv", "cache", "dir"], capture_output=True, text=True, check=True
    ).stdout.strip()
    env = {**os.environ} | home.env(  # with what a machine needs to reach its package index
        PATH=f"{programs}:{os.environ['PATH']}",
        REPOSITORY=f"file://{ROOT}",
        UV_CACHE_DIR=cache,
        UV_PYTHON=sys.executable,
        TERM="xterm-256color",
    )
    screen = tmux.start(["sh", "-c", line], env=env, cwd=home.root)
    # What is not in uv's cache is fetched first.
    until(lambda: screen.is_dead or screen.find("4 sessions"), within=240, what=screen.text)
    assert not screen.is_dead, screen.scrollback()
    screen.keys("q")
    assert screen.wait_dead() == 0
