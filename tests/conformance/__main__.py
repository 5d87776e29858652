"""`python -m tests.conformance` writes the table anew."""

from pathlib import Path

from tests.conformance.table import rendered

if __name__ == "__main__":
    Path(__file__).with_name("table.md").write_text(rendered())
