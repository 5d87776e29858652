"""`python -m tests.documents` makes the tables of `tapui/wire` and `tapui/docs` anew."""

from tests.documents import interface, pages, tables

if __name__ == "__main__":
    for name, (path, table) in {**interface.tables(), **pages.tables()}.items():
        path.write_text(tables.updated(path.read_text(), name, table))
