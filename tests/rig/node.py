"""Node, for programs in JavaScript: the one of the lock file, or a newer one of this machine."""

import functools
import platform
import shutil
import subprocess
from pathlib import Path

from tests.conftest import missing

OLDEST = 22
_MODULES = Path(__file__).parent.parent / "live" / "node_modules"
_TEMPLATES = Path(__file__).parent.parent.parent / "tapui" / "authoring" / "templates"
MODULE = _TEMPLATES / "module" / "tap-provider.js"


@functools.cache
def node() -> str:
    """Return the path of a Node that is new enough; skips the test without one."""
    cpu = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    locked = _MODULES / f"node-{platform.system().lower()}-{cpu}" / "bin" / "node"
    for found in (str(locked) if locked.exists() else None, shutil.which("node")):
        if found is not None and _version(found) >= OLDEST:
            return found
    missing(f"Node {OLDEST} is not installed (npm ci in tests/live)")
    raise AssertionError


def typescript() -> str:
    """Return the program that checks types; skips the test without it."""
    found = _MODULES / "typescript" / "bin" / "tsc"
    if not found.exists():
        missing("TypeScript is not installed (npm ci in tests/live)")
    return str(found)


def _version(program: str) -> int:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return int(said.stdout.lstrip("v").partition(".")[0])


def module_in(folder: Path) -> Path:
    """Put the module into a folder, as a project has it; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in (MODULE, MODULE.with_suffix(".d.ts")):
        shutil.copy(file, folder)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def package(name: str, folder: Path) -> None:
    """Let programs in a folder import a package of the lock file; skips the test without it."""
    found = _MODULES / name
    if not found.exists():
        missing(f"the package {name} is not installed (npm ci in tests/live)")
    modules = folder / "node_modules"
    modules.mkdir(parents=True, exist_ok=True)
    (modules / name).symlink_to(found.resolve())
