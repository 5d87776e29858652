"""Keys as the person reads them."""

from textual.binding import Binding
from textual.keys import format_key

_NAMES = {
    "enter": "Enter",
    "space": "Space",
    "escape": "Esc",
    "end": "End",
    "home": "Home",
}


def key_name(key: str) -> str:
    """Return a key of Textual's (`left_square_bracket`, `enter`) as it is printed on the keyboard
    or in a manual (`[`, `Enter`)."""
    return _NAMES.get(key) or format_key(key)


def key_names(binding: Binding) -> str:
    """Return the keys of a binding, such as `Enter i`."""
    return " ".join(key_name(key.strip()) for key in binding.key.split(","))
