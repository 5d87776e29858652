"""Tables in documents: between two comments that name them."""


def written(text: str, name: str) -> str:
    """Return what a document has between the markers of a table."""
    begin, end = _markers(name)
    return text.partition(begin)[2].partition(end)[0].strip("\n")


def updated(text: str, name: str, table: str) -> str:
    """Return a document with a table made anew. Raises `ValueError` where it has no markers."""
    begin, end = _markers(name)
    before, found, rest = text.partition(begin)
    if not found:
        raise ValueError(f"no place for {name}")
    return f"{before}{begin}\n{table}\n{end}{rest.partition(end)[2]}"


def _markers(name: str) -> tuple[str, str]:
    return f"<!-- {name}: from the code -->", f"<!-- {name}: end -->"
