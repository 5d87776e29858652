"""An author's file: loads it, finds the provider in it, and describes what is wrong with it."""

import ast
import builtins
import contextlib
import functools
import linecache
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any, NamedTuple, NoReturn

import tapui
from tapui.provider import Provider

SLOW_SECONDS = 5.0
"""After this long the author learns that a file is still being loaded, and at which line."""
MAX_TOLD = 8_000
"""Characters of a traceback that are shown, from its end."""
_FALLBACK = "provider_file"
_PACKAGE = str(Path(tapui.__file__).parent) + os.sep


class LoadError(Exception):
    """A file cannot be loaded, or has no provider in it. The text is for its author: several lines
    where it has the traceback through the author's files."""


class LoadedFile(NamedTuple):
    """A file that was loaded. `runs_at_import` says that it calls `run()` without the guard
    `if __name__ == "__main__":`; what comes after that call was not carried out."""

    path: Path
    module: ModuleType
    provider: Provider
    runs_at_import: bool


class _RunReachedError(BaseException):
    """The file calls `run()`: it is loaded."""

    def __init__(self, provider: Provider) -> None:
        super().__init__()
        self.provider = provider


def load(path: Path, *, slow_seconds: float = SLOW_SECONDS) -> LoadedFile:
    """Load a file as a module and return it with its provider.

    What the file prints goes to standard error. A child that it forks and that returns from the
    file ends there. Raises `LoadError`, and `KeyboardInterrupt` as it comes.
    """
    code = compiled(path)
    module = _module(path)
    process = os.getpid()
    reached: Provider | None = None
    made: list[Provider] = []
    try:
        with (
            _told_when_slow(path, slow_seconds),
            contextlib.redirect_stdout(sys.stderr),
            _run_is_reached(),
            _making_is_noted(path, made),
        ):
            exec(code, module.__dict__)  # noqa: S102 - the author's file, to be run
    except _RunReachedError as end:
        reached = end.provider
    except SystemExit as end:
        raise LoadError(
            f"{path.name} ended the program while it was loaded (sys.exit({end.code!r})"
            f"{_at(path, end.__traceback__)}); put what ends it below\n"
            'if __name__ == "__main__":'
        ) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - told to the author
        raise LoadError(author_traceback(error)) from None
    finally:
        if os.getpid() != process:
            os._exit(0)  # a child that the file forked: it is not the one that loads it
    provider = reached or _provider_in(module, path, made)
    return LoadedFile(path, module, provider, reached is not None)


def run(path: Path, arguments: Sequence[str] = ()) -> None:
    """Run a file as a program, with these arguments. Where it has a provider and does not call
    its `run()`, that is done for it; not where the file has used a provider itself, as tests do.

    Raises `LoadError`, and `SystemExit` and `KeyboardInterrupt` as they come.
    """
    code = compiled(path)
    prepare(path)
    module = ModuleType("__main__")
    module.__file__ = str(path)
    module.__builtins__ = builtins  # type: ignore[attr-defined]  # as every module has them
    sys.modules["__main__"] = module
    sys.argv = [str(path), *arguments]
    process = os.getpid()
    made: list[Provider] = []
    with _use_is_noted() as used, _making_is_noted(path, made):
        try:
            exec(code, module.__dict__)  # noqa: S102 - the author's file, to be run
            if not used:
                if os.getpid() != process:
                    os._exit(0)  # a child that the file forked
                _provider_in(module, path, made).run()
        except LoadError:
            raise
        except Exception as error:  # noqa: BLE001 - told to the author
            raise LoadError(author_traceback(error)) from None


_USES = ("run", "serve", "test", "call")
"""What a program that serves or tests a provider calls of it."""


@contextlib.contextmanager
def _use_is_noted() -> Iterator[list[Provider]]:
    """Give a list to which each provider is added that is run, served or tested."""
    noted: list[Provider] = []
    originals = {name: getattr(Provider, name) for name in _USES}

    def noting(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def use(provider: Provider, *args: Any, **options: Any) -> Any:
            noted.append(provider)
            return original(provider, *args, **options)

        return use

    for name, original in originals.items():
        setattr(Provider, name, noting(original))
    try:
        yield noted
    finally:
        for name, original in originals.items():
            setattr(Provider, name, original)


@contextlib.contextmanager
def _making_is_noted(path: Path, made: list[Provider]) -> Iterator[None]:
    """Add to `made` each provider that is made while the file is carried out itself, and not a
    module that it imports."""
    original = Provider.__init__

    def make(provider: Provider, *args: Any, **options: Any) -> None:
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the way to the caller's file
        while frame is not None and frame.f_code.co_name != "<module>":
            frame = frame.f_back
        if frame is not None and frame.f_code.co_filename == str(path):
            made.append(provider)
        original(provider, *args, **options)

    Provider.__init__ = make  # type: ignore[assignment, method-assign]  # for the time of loading
    try:
        yield
    finally:
        Provider.__init__ = original  # type: ignore[method-assign]


def compiled(path: Path) -> CodeType:
    """Return a file's code, compiled anew: what Python keeps in `__pycache__` may be of a save
    within the same second. Raises `LoadError`."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise LoadError(f"{path}: {error.strerror or error}") from None
    linecache.checkcache(str(path))
    try:
        return compile(source, str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise LoadError(author_traceback(error)) from None


def prepare(path: Path) -> str:
    """Make the file's folder the first in which modules are looked for, and return the name that
    the file has as a module: its own, unless that is taken."""
    folder = str(path.parent)
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)
    name = path.stem
    is_free = (
        name.isidentifier() and name not in sys.stdlib_module_names and name not in sys.modules
    )
    return name if is_free else _FALLBACK


def _module(path: Path) -> ModuleType:
    module = ModuleType(prepare(path))
    module.__file__ = str(path)
    module.__builtins__ = builtins  # type: ignore[attr-defined]  # as every module has them
    sys.modules[module.__name__] = module
    return module


def _provider_in(module: ModuleType, path: Path, made: list[Provider]) -> Provider:
    """Return the provider that the file makes, to which it adds a tool, or which it runs."""
    found = {
        id(one): (name, one) for name, one in vars(module).items() if isinstance(one, Provider)
    }
    if not found:
        raise LoadError(
            f"{path.name} has no provider; it needs one such as:\n"
            f'provider = Provider("{path.stem}")'
        )
    own = [
        (name, one)
        for name, one in found.values()
        if any(one is other for other in made) or _has_tool_of(one, path) or _runs(path, name)
    ]
    if not own:
        raise LoadError(_imported_alone(path, [name for name, _ in found.values()]))
    if len(own) > 1:
        names = ", ".join(f"{name} ({one.name!r})" for name, one in own)
        raise LoadError(
            f"{path.name} has {len(own)} providers: {names}; a file has one. "
            "Put each into a file of its own"
        )
    return own[0][1]


def _has_tool_of(provider: Provider, path: Path) -> bool:
    functions = (provider.function_of(tool.name) for tool in provider.tools)
    return any(one is not None and one.place[0] == str(path) for one in functions)


def _runs(path: Path, name: str) -> bool:
    """Return whether the file has a call such as `provider.run()`, also below the guard."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "run"
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == name
        for node in ast.walk(ast.parse(path.read_bytes()))
    )


def _imported_alone(path: Path, names: list[str]) -> str:
    """Say what a file needs that has no other providers than those it imports."""
    text = f"{path.name} has no provider or tool of its own, it imports {', '.join(names)};"
    if path.stem.startswith("test_") or path.stem.endswith("_test"):
        return (
            f"{text} a test runs itself, with the last line:\n"
            'if __name__ == "__main__": unittest.main()\n'
            "or, with pytest: raise SystemExit(pytest.main([__file__]))"
        )
    return (
        f"{text} to serve that, add a tool to it, or the last line:\n"
        f'if __name__ == "__main__": {names[0]}.run()'
    )


@contextlib.contextmanager
def _run_is_reached() -> Iterator[None]:
    """Have `Provider.run` end the file instead of serving."""

    def reached(provider: Provider, argv: list[str] | None = None) -> NoReturn:  # noqa: ARG001 - as `run` has it
        raise _RunReachedError(provider)

    original = Provider.run
    Provider.run = reached  # type: ignore[assignment, method-assign]  # for the time of loading
    try:
        yield
    finally:
        Provider.run = original  # type: ignore[method-assign]


# What the author reads


@contextlib.contextmanager
def _told_when_slow(path: Path, seconds: float) -> Iterator[None]:
    """Tell the author on standard error where a file is that takes long to load."""
    thread = threading.get_ident()

    def tell() -> None:
        frame = sys._current_frames().get(thread)  # noqa: SLF001 - the way to another thread's frame
        at = _deepest(path, frame)
        sys.stderr.write(f"{path.name} is still being loaded after {seconds:g} s{at}\n")
        sys.stderr.flush()

    timer = threading.Timer(seconds, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _deepest(path: Path, frame: FrameType | None) -> str:
    while frame is not None and frame.f_code.co_filename != str(path):
        frame = frame.f_back
    return "" if frame is None else _place(path, frame.f_lineno)


def _at(path: Path, trace: TracebackType | None) -> str:
    lines = [
        line for frame, line in traceback.walk_tb(trace) if frame.f_code.co_filename == str(path)
    ]
    return _place(path, lines[-1]) if lines else ""


def _place(path: Path, line: int) -> str:
    return f", at line {line}: {linecache.getline(str(path), line).strip()}"


def author_traceback(error: BaseException) -> str:
    """Return an error as Python prints it, without the frames of tapui and of Python's importing:
    only the author's files, and what they call."""
    told = traceback.TracebackException.from_exception(error)
    seen: set[int] = set()
    waiting: list[traceback.TracebackException | None] = [told]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.stack[:] = [frame for frame in one.stack if not _is_ours(frame.filename)]
        waiting += [one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or ())]
    text = "".join(told.format()).rstrip()
    if not told.stack and text.startswith("Traceback (most recent call last):\n"):
        text = text.partition("\n")[2]
    return text if len(text) <= MAX_TOLD else f"…{text[-MAX_TOLD:]}"


def _is_ours(filename: str) -> bool:
    return filename.startswith((_PACKAGE, "<frozen importlib"))
