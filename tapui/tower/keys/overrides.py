"""The keys that the person chose in `[keys]`: checked before Textual sees them."""

import difflib
from collections.abc import Mapping

from tapui.tower.keys.names import key_name, textual_key
from tapui.tower.keys.table import BY_ID, TABLE, KeyAction, meet


def faults(chosen: Mapping[str, object]) -> dict[str, str]:
    """Return what is wrong with the settings under `[keys]`, by action; nothing if all can be used.

    A value is one key, or several with spaces between them (`"/ ctrl+f"`).
    """
    found: dict[str, str] = {}
    sound: dict[str, str] = {}
    for name, value in chosen.items():
        if name not in BY_ID:
            near = difflib.get_close_matches(name, BY_ID, n=1, cutoff=0.6)
            found[name] = "there is no such action" + (f"; did you mean {near[0]}?" if near else "")
        elif not isinstance(value, str) or not value.split():
            found[name] = f'write a key, such as "{key_name(_first(BY_ID[name]))}"'
        else:
            wrong = [one for one in value.split() if textual_key(one) is None]
            if wrong:
                found[name] = f"{wrong[0]} is no key"
            else:
                sound[name] = _keys(value)
    return found | _clashes(sound, set(found))


def keymap(chosen: Mapping[str, str]) -> dict[str, str]:
    """Return the chosen keys as Textual takes them, by action. They have no faults."""
    return {name: _keys(value) for name, value in chosen.items()}


def _keys(value: str) -> str:
    return ",".join(filter(None, map(textual_key, value.split())))


def _first(action: KeyAction) -> str:
    return action.keys.split(",")[0] or "f5"


def _clashes(sound: Mapping[str, str], skipped: set[str]) -> dict[str, str]:
    """Return the chosen keys that another action has at the same place."""
    in_force = {
        one.id: set((sound.get(one.id) or one.keys).split(","))
        for one in TABLE
        if one.id not in skipped
    }
    found: dict[str, str] = {}
    for name in sound:
        for other in TABLE:
            if other.id == name or other.id not in in_force or _may_share(name, other.id):
                continue
            if meet(BY_ID[name].area, other.area) and (
                both := (in_force[name] & in_force[other.id]) - {""}
            ):
                key = key_name(min(both))
                found[name] = f"{key} is the key of {other.id} already ({other.does})"
    digits = {
        name: digit for name, keys in sound.items() for digit in keys.split(",") if digit.isdigit()
    }
    for name, digit in digits.items():
        if meet(BY_ID[name].area, "screen"):
            found.setdefault(name, f"{digit} goes to a pane")
    return found


def _may_share(one: str, other: str) -> bool:
    """Return whether two actions have a key in common by design: `q` closes a sheet or quits."""
    return {one, other} == {"close-sheet", "quit"}
