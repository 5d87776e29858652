"""`tapui provider new`: a project from a template."""

import argparse
import shlex
from pathlib import Path

from tapui.authoring import projects
from tapui.cli import output
from tapui.cli.failure import WRONG_USE, Failure
from tapui.invocation import command

_OURS = "tapui "
_ELSEWHERE = "# in another terminal"
_NEXT = {
    "python": ("tapui provider dev {module}.py", f"tapui call greet name=Ada   {_ELSEWHERE}"),
    "javascript": ("npm test", "npm start", f"tapui call greet name=Ada   {_ELSEWHERE}"),
    "browser": ("npm test", "npm start", "tapui call read_page   # once the page is connected"),
}


def run(args: argparse.Namespace) -> int:
    """Write the project, and say what to do next."""
    try:
        files = projects.make(args.name, args.lang, Path())
    except projects.ProjectError as error:
        raise Failure(str(error), WRONG_USE) from None
    for file in files:
        output.say(f"wrote {file}")
    module = projects.module_name(args.name)
    output.say("")
    output.say("next:")
    output.say(f"  cd {shlex.quote(args.name)}")
    for line in _NEXT[args.lang]:
        line = line.format(module=module)  # noqa: PLW2901 - filled in
        is_ours = line.startswith(_OURS)
        output.say(f"  {command(line.removeprefix(_OURS)) if is_ours else line}")
    return 0
