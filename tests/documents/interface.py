"""The tables of `tapui/wire`, made from the code: messages, shapes, limits, codes."""

import ast
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Raw, Struct, UnsetType

from tapui.core.conversations.legal import LEGAL
from tapui.wire import builtin, host, limits, provider, tower
from tapui.wire.errors import CallError, ErrorCode
from tapui.wire.message import Message

README = Path(limits.__file__).with_name("README.md")
APPENDIX = README.with_name("APPENDIX.md")
_WORDS: dict[Any, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    Raw: "JSON",
    Any: "JSON",
    ErrorCode: "code",
}


def tables() -> dict[str, tuple[Path, Callable[[], str]]]:
    """Return what makes each table, with its document, by the name in its markers."""
    return {
        "provider": (APPENDIX, partial(_conversation, provider.FromProvider, provider.ToProvider)),
        "host": (APPENDIX, partial(_conversation, host.FromHost, host.ToHost)),
        "tower": (APPENDIX, partial(_conversation, tower.FromTower, tower.ToTower)),
        "builtin": (APPENDIX, partial(_conversation, builtin.FromBuiltin, builtin.ToBuiltin)),
        "shapes": (APPENDIX, _shapes),
        "limits": (APPENDIX, _limits),
        "errors": (README, partial(_list, ErrorCode)),
        "call-errors": (README, partial(_list, CallError)),
    }


def _conversation(incoming: Any, outgoing: Any) -> str:
    rows = ["| | message | in state | fields |", "|---|---|---|---|"]
    for kind in get_args(incoming):
        type_ = str(kind.__struct_config__.tag)
        states = ", ".join(state for state, legal in LEGAL.items() if legal.get(type_) is kind)
        rows.append(f"| → | `{type_}` | {states} | {_fields(kind)} |")
    rows += [
        f"| ← | `{kind.__struct_config__.tag}` | | {_fields(kind)} |" for kind in get_args(outgoing)
    ]
    return "\n".join(rows)


def _fields(kind: type[Struct]) -> str:
    config = kind.__struct_config__
    is_one_of_several = config.tag is not None and not issubclass(kind, Message)
    tag = [f'`{config.tag_field}`: "{config.tag}"'] if is_one_of_several else []
    return ", ".join(
        tag
        + [
            f"`{one.encode_name}{'' if one.required else '?'}`: {_words(one.type)}"
            for one in msgspec.structs.fields(kind)
        ]
    )


def _words(kind: Any) -> str:
    """Return a type as the document has it."""
    if kind in _WORDS:
        return _WORDS[kind]
    if get_origin(kind) is Annotated:
        bare, meta = get_args(kind)
        most = meta.max_length or getattr(limits, (meta.extra or {}).get("limit", ""), None)
        word = "text" if (meta.extra or {}).get("text") else _words(bare)
        return f"{word} ({most:,})" if most else word
    if get_origin(kind) is Literal:
        return " \\| ".join(f'"{value}"' for value in get_args(kind))
    if get_origin(kind) in (Union, types.UnionType):
        kinds = [one for one in get_args(kind) if one not in (types.NoneType, UnsetType)]
        return "number" if set(kinds) == {int, float} else " \\| ".join(map(_words, kinds))
    if get_origin(kind) is list:
        return f"list of {_words(get_args(kind)[0])}"
    if get_origin(kind) is dict:
        return f"{_words(get_args(kind)[1])} by name"
    return f"[{kind.__name__}](#{kind.__name__.lower()})"


def _shapes() -> str:
    found: dict[str, type[Struct]] = {}
    every = [provider.FromProvider, provider.ToProvider, host.FromHost, host.ToHost]
    every += [tower.FromTower, tower.ToTower, builtin.FromBuiltin, builtin.ToBuiltin]
    for union in every:
        for kind in get_args(union):
            _find(kind, found)
    rows = ["| shape | fields |", "|---|---|"]
    rows += [
        f'| <a id="{name.lower()}"></a>{name} | {_fields(found[name])} |' for name in sorted(found)
    ]
    return "\n".join(rows)


def _find(kind: Any, found: dict[str, type[Struct]]) -> None:
    """Add the structs inside of a type, messages left out."""
    if not (isinstance(kind, type) and issubclass(kind, Struct)):
        for one in get_args(kind):
            _find(one, found)
    elif kind.__name__ not in found:
        if not issubclass(kind, Message):
            found[kind.__name__] = kind
        for field in msgspec.structs.fields(kind):
            _find(field.type, found)


def _limits() -> str:
    """Return each limit with its number and what the code says it is for."""
    tree = ast.parse(Path(limits.__file__).read_text())
    rows = ["| limit | number | what it bounds |", "|---|---|---|"]
    for at, node in enumerate(tree.body):
        if isinstance(node, ast.Assign):
            name = ast.unparse(node.targets[0])
            after = tree.body[at + 1] if at + 1 < len(tree.body) else None
            said = ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                said = " ".join(str(after.value.value).split())
            rows.append(f"| `{name}` | {_number(getattr(limits, name))} | {said} |")
    return "\n".join(rows)


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _list(codes: Any) -> str:
    return ", ".join(f"`{code.value}`" for code in codes)
