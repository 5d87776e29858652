"""A project's programs run with uv, which installs tapui for them: packages are downloaded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tapui.authoring.projects import make

pytestmark = pytest.mark.skipif(
    not os.environ.get("TAPUI_REQUIRE_LIVE"),
    reason="downloads packages: TAPUI_REQUIRE_LIVE=1 runs it",
)


def test_a_projects_tests_run_with_uv(tmp_path: Path) -> None:
    make("greeter", "python", tmp_path)
    ended = subprocess.run(
        [Path(sys.prefix, "bin", "uv"), "run", "--no-progress", "test_greeter.py"],
        cwd=tmp_path / "greeter",
        env={**os.environ, "UV_CACHE_DIR": str(tmp_path / "cache"), "UV_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "Ran 2 tests" in ended.stderr
