"""Questions to the records: SQL of one's own, or a stock question by its name.

`ask` blocks; it may be called in any thread, and cancelled from another. The answer is made by a
process of its own (`tapui.index.answering`), which is killed when its time is over.
"""

import contextlib
import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tapui import times
from tapui.files.foreign_file import decoded
from tapui.index.numbering import id_at
from tapui.index.store import IndexMissing

SECONDS = 2.0
"""How long an answer may take."""
MOST_SECONDS = 60.0
ROWS = 10_000
"""Rows of an answer; what comes after them is left out."""
QUESTIONS_FOLDER = "questions"
"""In the person's configuration folder: a `.sql` file for each question of their own."""
_STOCK = Path(__file__).parent / "questions"
_MAX_FILE = 64 * 1024
_MAX_OUTPUT = 64 * 1024 * 1024
_STARTING = 10.0
"""Seconds until the process begins: on a busy machine that takes longer than most answers."""
_ENDING = 1.5
"""Seconds that it may take beside the answer once it has begun."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}\Z")
_PARAMETER = re.compile(r"--\s*:(\w+)\s*= ?(\S*)\s*(.*)\Z")
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])\Z")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_REF = re.compile(r"(?:records:)?(?:(?P<collection>\w+)/)?(?P<run>[^/\s]+)/(?P<seq>\d{1,18})\Z")
_INHERITED = ("HOME", "LANG", "LC_ALL", "PATH", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE",
              "PYTHONPYCACHEPREFIX", "TMPDIR", "TZ")  # fmt: skip


class QuestionRefused(Exception):  # noqa: N818 - an answer, not a fault of the program
    """There is no answer, and why. `is_wrong`: the question is at fault, not the records."""

    def __init__(self, text: str, *, is_wrong: bool = True) -> None:
        super().__init__(text)
        self.is_wrong = is_wrong


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """An answer. `is_truncated`: there are more rows than these. `took` is in seconds."""

    columns: list[str]
    rows: list[list[Any]]
    is_truncated: bool = False
    took: float = 0.0


@dataclass(frozen=True, slots=True)
class PastRows:
    """An index of what another program's files tell (`past.PastIndex`), and what its rows say of
    where they come from."""

    path: Path
    provenance: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of a stock question, with the text that it has where none is given."""

    name: str
    default: str
    about: str


@dataclass(frozen=True, slots=True)
class StockQuestion:
    """A stock question: the comments of its file say what it is about and what it takes."""

    name: str
    about: str
    sql: str
    parameters: tuple[Parameter, ...] = ()
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class Ref:
    """What leads to a record: `records:COLLECTION/RUN/SEQ`. Without a collection it is looked for
    in all."""

    run: str
    seq: int
    collection: str = ""


class Cancellation:
    """Ends answers before their time: kills the processes that make them. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: list[subprocess.Popen[bytes]] = []
        self.is_set = False

    def set(self) -> None:
        """End what is being answered, and all that is asked with it later."""
        with self._lock:
            self.is_set = True
            for process in self._processes:
                process.kill()

    @contextlib.contextmanager
    def ending(self, process: "subprocess.Popen[bytes]") -> Iterator[None]:
        """Have a process killed by `set`, which may have come before it began."""
        with self._lock:
            self._processes.append(process)
            if self.is_set:
                process.kill()
        try:
            yield
        finally:
            with self._lock:
                self._processes.remove(process)

    def check(self) -> None:
        """Raise `QuestionRefused` where it was cancelled."""
        if self.is_set:
            raise QuestionRefused("it was cancelled", is_wrong=False)


@dataclass(frozen=True, slots=True)
class _Terms:
    """How long an answer may take, how many rows it has at most, what it is also made of, and what
    ends it earlier."""

    seconds: float
    rows: int
    past: PastRows | None
    cancellation: Cancellation


@dataclass(slots=True)
class _Output:
    data: bytearray = field(default_factory=bytearray)
    is_late: bool = False


def stock_names() -> list[str]:
    """Return the names of the stock questions."""
    return sorted(path.stem for path in _STOCK.glob("*.sql"))


def questions(config: Path) -> dict[str, StockQuestion]:
    """Return the stock questions and the person's own, by name; one of their own goes before."""
    found = {}
    for name in stock_names():
        found[name] = question_of(name, (_STOCK / f"{name}.sql").read_text("utf-8"))
    with contextlib.suppress(OSError):  # most people have none of their own
        for path in sorted((config / QUESTIONS_FOLDER).glob("*.sql")):
            if not _NAME.match(path.stem) or not path.is_file():
                continue  # a pipe would be waited for
            if path.stat().st_size <= _MAX_FILE:
                text = decoded(path.read_bytes(), "replace")
                found[path.stem] = question_of(path.stem, text, is_own=True)
    return found


def question_of(name: str, text: str, *, is_own: bool = False) -> StockQuestion:
    """Read a question's file: `-- what it is about`, `-- :name = default  what it is`, its SQL."""
    about: list[str] = []
    parameters: list[Parameter] = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        if given := _PARAMETER.match(line):
            parameters.append(Parameter(given[1], given[2], given[3].strip()))
        else:
            about.append(line.removeprefix("--").strip())
    return StockQuestion(name, " ".join(about), text, tuple(parameters), is_own)


def is_sql(text: str) -> bool:
    """Return whether a text is SQL and not the name of a question."""
    return not _NAME.match(text.strip())


def parted(text: str) -> tuple[str, dict[str, str]]:
    """Part a line `NAME KEY=VALUE …`, with quotes as in a shell; of SQL, it is all of it.

    Raises `QuestionRefused` for a word that is no `KEY=VALUE`.
    """
    word = text.split(maxsplit=1)[0] if text.strip() else ""
    if is_sql(word) or word in ("select", "with", "values"):
        return text, {}
    try:
        name, *words = shlex.split(text)
    except ValueError:
        raise QuestionRefused("a quote is not closed") from None
    return name, given_by(words)


def given_by(words: Iterable[str]) -> dict[str, str]:
    """Return what words of the form KEY=VALUE give. Raises `QuestionRefused`."""
    given = {}
    for one in words:
        name, is_value, value = one.partition("=")
        if not is_value:
            raise QuestionRefused(f"expected KEY=VALUE, got {one}")
        given[name] = value
    return given


def ask(
    state: Path,
    config: Path,
    text: str,
    arguments: Mapping[str, str] | None = None,
    *,
    seconds: float = SECONDS,
    rows: int = ROWS,
    past: PastRows | None = None,
    cancellation: Cancellation | None = None,
) -> AnswerTable:
    """Answer SQL, or a stock question with its arguments; with `past` also of what others' files
    tell.

    Raises `QuestionRefused`, also once it is cancelled, and `IndexUnusable` where there is no index
    to ask.
    """
    terms = _Terms(seconds, rows, past, cancellation or Cancellation())
    given = dict(arguments or {})
    if is_sql(text):
        if given:
            raise QuestionRefused("SQL takes no arguments: write the values into it")
        return _asked(state, text, {}, terms)
    known = questions(config)
    question = known.get(text.strip())
    if question is None:
        raise QuestionRefused(f"there is no question {text.strip()}; {', '.join(known)}")
    return _asked(state, question.sql, values_of(question, given), terms)


def values_of(question: StockQuestion, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of a question's parameters. Raises `QuestionRefused`."""
    names = [one.name for one in question.parameters]
    for name in given:
        if name not in names:
            takes = f"it takes {', '.join(names)}" if names else "it takes nothing"
            raise QuestionRefused(f"{question.name} has no {name}; {takes}")
    now = time.time()
    values: dict[str, Any] = {"now": _stamp(now)}
    for one in question.parameters:
        text = given.get(one.name, one.default)
        if one.name in ("since", "until"):
            values[one.name] = id_at(moment(text, now)) if text else 0
        elif one.name == "ref":
            ref = ref_of(text)
            values |= {"ref": text, "ref_run": ref.run, "ref_seq": ref.seq}
        elif one.default.isdecimal():
            if not text.isdecimal() or len(text) > 9:
                raise QuestionRefused(f"{one.name}: expected a number, got {text!r}")
            values[one.name] = int(text)
        else:
            values[one.name] = text
    return values


def moment(text: str, now: float) -> float:
    """Return the seconds since the epoch that a text means: `2h` ago, or an RFC 3339 time.

    Raises `QuestionRefused`.
    """
    if found := _SPAN.match(text.strip()):
        return now - float(found[1]) * _UNITS[found[2]]
    then = times.epoch(text.strip())
    if then is None:
        wanted = "a span such as 2h or 3d, or a time such as 2026-11-20T18:30:00Z"
        raise QuestionRefused(f"expected {wanted}, got {text!r}")
    return then


def ref_of(text: str) -> Ref:
    """Read what leads to a record. Raises `QuestionRefused`."""
    found = _REF.match(text.strip())
    if found is None:
        raise QuestionRefused(f"expected COLLECTION/RUN/SEQ, as in the column ref, got {text!r}")
    return Ref(found["run"], int(found["seq"]), found["collection"] or "")


def _stamp(seconds: float) -> str:
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.000000Z"


def _asked(state: Path, sql: str, values: dict[str, Any], terms: "_Terms") -> AnswerTable:
    seconds, rows, past = terms.seconds, terms.rows, terms.past
    if not 0 < seconds <= MOST_SECONDS:
        raise QuestionRefused(f"an answer may take at most {MOST_SECONDS:g} seconds")
    request = {"state": str(state), "sql": sql, "values": values, "rows": rows, "seconds": seconds}
    if past is not None:
        request |= {"past": str(past.path), "provenance": past.provenance}
    began = time.monotonic()
    columns: list[str] | None = None
    found: list[list[Any]] = []
    for told in _answered(request, seconds, terms.cancellation):
        if isinstance(told, list):
            found.append(told)
        elif "columns" in told:
            columns = told["columns"]
        elif columns is not None and "truncated" in told:
            return AnswerTable(columns, found, told["truncated"], time.monotonic() - began)
    raise QuestionRefused("the process that answers ended too early", is_wrong=False)


def ask_records(state: Path, records: dict[str, Any], *, seconds: float = SECONDS) -> Any:
    """Answer a question of `tap_query_records` (`record_query`).

    Raises `QuestionRefused`, and `IndexUnusable`.
    """
    request = {"state": str(state), "records": records, "seconds": seconds}
    for told in _answered(request, seconds + _ENDING, Cancellation()):
        return told
    raise QuestionRefused("the process that answers ended too early", is_wrong=False)


def _answered(request: dict[str, Any], seconds: float, cancellation: Cancellation) -> Iterator[Any]:
    """Yield what the process says. Raises `QuestionRefused` and `IndexUnusable`."""
    command = (sys.executable, "-P", "-m", "tapui.index.answering")
    environ = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
            cwd="/",
        )
    except OSError as error:
        text = f"the process that answers cannot be started: {error.strerror}"
        raise QuestionRefused(text, is_wrong=False) from None
    with process, cancellation.ending(process):
        try:
            output, fault = _output(process, json.dumps(request).encode(), seconds)
        finally:
            process.kill()
    cancellation.check()
    if output.is_late:
        raise QuestionRefused(f"it took longer than {seconds:g} seconds", is_wrong=False)
    lines = bytes(output.data).strip().splitlines()  # it begins with an empty one
    for line in lines:
        told = json.loads(line)
        if isinstance(told, dict) and "error" in told:
            if told.get("isMissing"):
                raise IndexMissing
            raise QuestionRefused(told["error"])
        yield told
    if process.returncode not in (0, None) and not lines:
        last = fault.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise QuestionRefused(f"the process that answers failed: {last}", is_wrong=False)


def _output(
    process: "subprocess.Popen[bytes]", given: bytes, seconds: float
) -> tuple[_Output, bytes]:
    """Read what the process writes until it ends, is too much, or `seconds` have passed since it
    has begun."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with contextlib.suppress(BrokenPipeError):  # it has ended, and says why
        process.stdin.write(given)
        process.stdin.close()
    output, fault = _Output(), bytearray()
    open_ = [process.stdout, process.stderr]
    deadline = time.monotonic() + _STARTING
    while open_:
        ready, _, _ = select.select(open_, [], [], max(deadline - time.monotonic(), 0))
        if not ready or len(output.data) > _MAX_OUTPUT:
            output.is_late = True
            break
        for one in ready:
            data = os.read(one.fileno(), 64 * 1024)
            if not data:
                open_.remove(one)
            elif one is process.stdout:
                if not output.data:
                    deadline = time.monotonic() + seconds + _ENDING
                output.data += data
            else:
                fault[:] = (fault + data)[-4096:]
    if not output.is_late:
        output.is_late = process.wait() in (-signal.SIGALRM, -signal.SIGXCPU)
    return output, bytes(fault)
