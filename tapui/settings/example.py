"""`tapui config --example`: a configuration file with every setting, made from the settings."""

import ast
import inspect
import json
import textwrap
from collections.abc import Iterable, Iterator

import msgspec

from tapui.settings.loading import KEY_BINDINGS, SETTINGS, KeyPath, Setting, allowed
from tapui.settings.settings import Settings

_WIDTH = 78
_HEAD = """\
# Settings of tapui, each with its default. To change one, remove its #.
# A variable of the environment goes before this file, an option before both.
"""

_RULES = """\
# Rules: what is allowed, asked or denied without a question to you. There are
# none by default; `tapui help rules` has what each matches. Such as:
#
#   [[rules]]
#   allow = "npm ci"        begins so; with exact = true nothing may follow
#   folder = "~/src/app"    there and below; without it, everywhere
#
#   [[rules]]
#   deny = ["git push --force", "npm publish"]
#   reason = "done by hand"
"""


def example(actions: Iterable[tuple[str, str, str]]) -> str:
    """Return a TOML file that sets nothing, and says of every setting what it does.

    `actions` are those of the tower: id, keys, what it does.
    """
    about = docs(Settings)
    parts = [_HEAD]
    for table in dict.fromkeys(path[:-1] for path in SETTINGS):
        if table:
            parts.append(f"[{'.'.join(table)}]\n{_comment(about[table])}")
        settings = [one for one in SETTINGS.values() if one.path[:-1] == table]
        parts += [_setting(one, about[one.path]) for one in settings]
    parts.append(_key_bindings(about[KEY_BINDINGS], actions))
    parts.append(_RULES)
    return "\n".join(parts)


def _key_bindings(about: str, actions: Iterable[tuple[str, str, str]]) -> str:
    lines = "".join(f'# {action} = "{keys}"   {does}\n' for action, keys, does in actions)
    return f"[{KEY_BINDINGS[0]}]\n{_comment(about)}{lines}"


def _setting(setting: Setting, about: str) -> str:
    limits = f" {allowed(setting)}" if allowed(setting) else ""
    told = f"{_comment(about + limits)}# Environment: {setting.variable}\n"
    return f"{told}#{setting.path[-1]} = {json.dumps(setting.default, ensure_ascii=False)}\n"


def _comment(text: str) -> str:
    lines = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "".join(f"# {line}\n" for line in lines)


def docs(kind: type[msgspec.Struct], prefix: KeyPath = ()) -> dict[KeyPath, str]:
    """Return what the docstrings under a Struct's fields say, by the settings' paths, and the
    docstring of each table. Raises `KeyError` for a field without one."""
    found = {prefix: inspect.cleandoc(kind.__doc__ or "")}
    said = dict(_docstrings(kind))
    for info in msgspec.structs.fields(kind):
        path = (*prefix, info.encode_name)
        if isinstance(info.type, type) and issubclass(info.type, msgspec.Struct):
            found |= docs(info.type, path)
        else:
            found[path] = said[info.name]
    return found


def _docstrings(kind: type) -> Iterator[tuple[str, str]]:
    """Yield each field of a class and the text under it, on one line."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    for field, below in zip(body.body, body.body[1:], strict=False):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, " ".join(text.split())
