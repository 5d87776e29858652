"""`python -m tests.documents` makes what is generated anew: the tables of `tapui/wire` and
`tapui/docs`, and what shells read to complete commands."""

from tapui.cli.commands.completion import SHELLS, script_file
from tests.documents import completion, interface, pages, tables

if __name__ == "__main__":
    for name, (path, table) in {**interface.tables(), **pages.tables()}.items():
        path.write_text(tables.updated(path.read_text(), name, table()))
    for shell in SHELLS:
        script_file(shell).write_text(completion.script(shell))
