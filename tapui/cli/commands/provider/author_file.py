"""The file that a command is about."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tapui.authoring.loading import LoadedFile, LoadError, load
from tapui.cli.failure import WRONG_USE, Failure


def chosen(text: str) -> Path:
    """Return the path of an argument, absolute. Raises `Failure` where no Python file is there."""
    path = Path(text)
    if path.suffix == ".py" and path.is_file():
        return path.resolve()
    if path.is_dir():
        inside = sorted(one.name for one in path.glob("*.py") if not one.name.startswith("test_"))
        hint = f"; did you mean {path / inside[0]}?" if inside else ""
        raise Failure(f"{text} is a folder{hint}", WRONG_USE)
    if not path.exists():
        raise Failure(f"{text} is not there", WRONG_USE)
    raise Failure(f"{text} is no Python file; its name must end with .py", WRONG_USE)


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Turn what is wrong with the author's file into a failure."""
    try:
        yield
    except LoadError as error:
        raise Failure(str(error)) from None


def loaded(text: str) -> LoadedFile:
    """Load the file of an argument. Raises `Failure`."""
    path = chosen(text)
    with told():
        return load(path)
