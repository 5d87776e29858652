"""Programs of ours in processes of their own: how they are started, and where their log goes."""

import logging
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from tapui import update
from tapui.runtime.children.child import Command
from tapui.runtime.children.child_output import Source

INHERITED = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONPATH",
    "PYTHONPYCACHEPREFIX",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
)
"""What such a process gets of the environment."""
LOG_FORMAT = "%(levelname)s %(name)s: %(message)s"
"""How such a process writes its log, on its standard error."""

_LINE = re.compile(r"(INFO|WARNING|ERROR|CRITICAL) ([\w.]+): (.*)")

_log = logging.getLogger(__name__)


def own_program(
    module: str, *args: str, environ: Mapping[str, str], is_whole: bool = False
) -> Command:
    """Return the command that runs one of our modules with this interpreter.

    It gets what is `INHERITED` of the environment; with `is_whole`, all of it.
    """
    given = environ if is_whole else [name for name in INHERITED if name in environ]
    return Command(
        # -P: what lies in the folder that tapui was started in is never imported.
        (sys.executable, "-P", "-m", module, *args),
        {name: environ[name] for name in given},
        cwd=Path("/"),
    )


class ProgramLog:
    """Takes the output of such a process into the log of this one."""

    def __init__(self) -> None:
        self._level = logging.INFO

    def take(self, source: Source, text: str) -> None:
        """Log a line of its log; one without a level belongs to the line before."""
        update.look_at(text)
        line = _LINE.match(text)
        if line is None:
            _log.log(self._level, "%s: %s", source, text)
            return
        self._level = logging.getLevelNamesMapping()[line[1]]
        logging.getLogger(line[2]).log(self._level, "%s", line[3])
