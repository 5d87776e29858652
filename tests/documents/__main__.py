"""`python -m tests.documents` makes the tables of `tapui/wire/README.md` anew."""

from tests.documents.interface import README, updated

if __name__ == "__main__":
    README.write_text(updated(README.read_text()))
