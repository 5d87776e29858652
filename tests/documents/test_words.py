"""Documents are read once: no clause with an unknown subject, no phrase that hides who acts."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "tapui").rglob("*.md"))]
FORBIDDEN = re.compile(
    r"\b(whoever|whatever|nobody|no one|somebody|is told|are told|as it is|says so|its word"
    r"|whose word|what it says|for want of|outside of a turn|came together with others)\b",
    re.IGNORECASE,
)
VALUES = re.compile(r'"nobody"')
"""Values of the wire."""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_document_has_only_plain_words(document: Path) -> None:
    text = " ".join(VALUES.sub("", document.read_text()).split())
    found = [text[max(0, one.start() - 40) : one.end() + 20] for one in FORBIDDEN.finditer(text)]
    assert found == []
