"""The scripts with which shells complete `tapui`, made from the parsers."""

import shtab

from tapui.cli.parser import build


def script(shell: str) -> str:
    return str(shtab.complete(build(), shell=shell)).rstrip("\n") + "\n"
