"""Keys by name: as Textual calls them, as the person reads and writes them."""

import re
import unicodedata

_SHOWN = {
    "enter": "⏎",
    "space": "Space",
    "escape": "Esc",
    "end": "End",
    "home": "Home",
    "tab": "Tab",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "backspace": "Backspace",
    "delete": "Del",
    "insert": "Ins",
    **{f"f{number}": f"F{number}" for number in range(1, 25)},
}
_WRITTEN = {
    "esc": "escape",
    "return": "enter",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "del": "delete",
    "ins": "insert",
}
_UNICODE = {
    "slash": "solidus",
    "backslash": "reverse_solidus",
    "at": "commercial_at",
    "minus": "hyphen_minus",
    "plus": "plus_sign",
    "underscore": "low_line",
}
"""Textual's own names of characters whose Unicode name is another."""
_TEXTUAL = {name: key for key, name in _UNICODE.items()}
_HYPHENS = re.compile(r"(?<=HYPHEN) (?=MINUS)|(?<=LESS) (?=THAN)|(?<=GREATER) (?=THAN)")
_MODIFIERS = ("ctrl", "alt", "shift")


def textual_key(written: str) -> str | None:
    """Return Textual's name of a key as the person writes it (`/`, `ctrl+f`, `Esc`, `F5`); None
    for what is no key."""
    *modifiers, last = _split(written.strip())
    modifiers = [one.lower() for one in modifiers]
    if any(one not in _MODIFIERS for one in modifiers) or len(set(modifiers)) < len(modifiers):
        return None
    key = _plain_key(last)
    if key is None or (modifiers and len(last) == 1 and last.isupper()):
        return None
    ordered = [one for one in _MODIFIERS if one in modifiers]
    return "+".join([*ordered, key])


def _split(written: str) -> list[str]:
    if len(written) > 1 and written.endswith("+"):
        return [*written[:-1].rstrip("+").split("+"), "+"]
    return written.split("+") if len(written) > 1 else [written]


def _plain_key(last: str) -> str | None:
    if len(last) == 1:
        return _character_key(last)
    name = _WRITTEN.get(last.lower(), last.lower())
    if name in _SHOWN or name in _UNICODE:
        return name
    return name if _character(name) else None


def _character_key(character: str) -> str | None:
    if character.isalnum():
        return character
    name = unicodedata.name(character, "").lower().replace("-", "_").replace(" ", "_")
    if not name or not character.isprintable():
        return None
    return _TEXTUAL.get(name, name)


def _character(name: str) -> str:
    """Return the character that Textual calls `name`, "" for none."""
    unicode_name = _UNICODE.get(name, name).replace("_", " ").upper()
    for spelling in (unicode_name, _HYPHENS.sub("-", unicode_name)):
        try:
            return unicodedata.lookup(spelling)
        except KeyError:
            continue  # no character has this name: the other spelling may be one
    return ""


def key_name(key: str) -> str:
    """Return a key of Textual's (`left_square_bracket`, `enter`) by the sign on the keyboard
    or in a manual (`[`, `⏎`)."""
    *modifiers, last = key.split("+")
    shown = _SHOWN.get(last) or (last if len(last) == 1 else _character(last) or last)
    return "+".join([*(one.capitalize() for one in modifiers), shown])


def written_keys(keys: str) -> str:
    """Return all keys of an action as they are written in the settings, such as `/ ctrl+f`."""
    written: list[str] = []
    for key in keys.split(","):
        *modifiers, last = key.split("+")
        character = "" if last in _SHOWN else _character(last)
        written.append("+".join([*modifiers, character or last]))
    return " ".join(written)


def key_names(keys: str) -> str:
    """Return all keys of an action, such as `Home g`; "" for none."""
    return " ".join(key_name(key.strip()) for key in keys.split(",") if key.strip())
