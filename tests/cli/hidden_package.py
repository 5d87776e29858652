"""An environment in which an optional package counts as not installed."""

from tests.rig.gateway import Home

_CUSTOM = """\
from importlib import metadata

_found = metadata.Distribution.from_name.__func__


def from_name(cls, name):
    if name == "%s":
        raise metadata.PackageNotFoundError(name)
    return _found(cls, name)


metadata.Distribution.from_name = classmethod(from_name)
"""


def hide_the_package(home: Home, name: str = "mcp") -> dict[str, str]:
    """Return the environment of commands that find no package of this name."""
    folder = home.root / "hidden"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(_CUSTOM % name)
    return home.env(PYTHONPATH=str(folder))
