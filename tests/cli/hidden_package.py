"""An environment in which the package `mcp` counts as not installed."""

from tests.rig.gateway import Home

_CUSTOM = """\
from importlib import metadata

_found = metadata.Distribution.from_name.__func__


def from_name(cls, name):
    if name == "mcp":
        raise metadata.PackageNotFoundError(name)
    return _found(cls, name)


metadata.Distribution.from_name = classmethod(from_name)
"""


def hide_the_package(home: Home) -> dict[str, str]:
    """Return the environment of commands that find no package `mcp`."""
    folder = home.root / "hidden"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(_CUSTOM)
    return home.env(PYTHONPATH=str(folder))
