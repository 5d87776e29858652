"""The pairing code as the tower paints it: digits of three rows."""

from textual.renderables.digits import DIGITS, DIGITS3X3_BOLD

_WIDTH, _ROWS = 3, 3
_GLYPHS = {
    tuple(row.ljust(_WIDTH) for row in DIGITS3X3_BOLD[_ROWS * i : _ROWS * (i + 1)]): digit
    for i, digit in enumerate(DIGITS)
    if digit in " 0123456789"
}


def read_code(screen: str) -> str | None:
    """Return the six digits on a screen, None while there are none."""
    lines = screen.splitlines()
    for i in range(len(lines) - _ROWS + 1):
        rows = lines[i : i + _ROWS]
        for left in range(max(map(len, rows))):
            found = "".join(
                _GLYPHS.get(tuple(row[at : at + _WIDTH].ljust(_WIDTH) for row in rows), "?")
                for at in range(left, left + 7 * _WIDTH, _WIDTH)
            )
            code = found[:3] + found[4:]
            if found[3] == " " and code.isdigit():
                return code
    return None
