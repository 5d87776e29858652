"""What the Python files of a package declare: names, signatures and docstrings, for readers.

Files are parsed, never imported. A name that is defined in a private module counts under the name
by which a public module hands it on.
"""

import ast
import inspect
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

_SIGNATURE = 500
"""Characters of a signature."""
_MOST_MEMBERS = 60
"""Members that a class lists."""
_MEMBER = 140
"""Characters of one of them."""
_CHAIN = 6
"""Modules by which a name may be handed on."""
_RETURNS = re.compile(r"^:returns?: (.*)$", re.MULTILINE)
_OLD = frozenset({"legacy", "deprecated", "compat", "compatibility"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class ApiSection(NamedTuple):
    """A section of a package's documents, before it is indexed."""

    name: str
    """The full name, such as `rich.console.Console.print`."""
    brief: str
    """The first sentence of what it does."""
    text: str
    rest: str = ""
    """What is shown below the text, and not looked through: it lists what has sections of its
    own."""
    is_handed_on: bool = False
    """Whether a package offers it under a shorter name than that of its module."""
    is_old: bool = False
    """Whether it is there for programs of before."""


class _Declared(NamedTuple):
    module: str
    name: str
    """Within the module, such as `Console.print`."""
    signature: str
    doc: str
    fields: str
    """The attributes of a class or constants of a module that are described."""
    members: str = ""


@dataclass
class PythonApi:
    """Takes the files of a package one by one; then `sections()` are what there is to read."""

    _declared: dict[tuple[str, str], _Declared] = field(default_factory=dict)
    _stubs: dict[tuple[str, str], str] = field(default_factory=dict)
    """Signatures of `.pyi` files."""
    _imports: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """What a module has under a name that another one defines."""
    _stars: list[tuple[str, str]] = field(default_factory=list)
    _packages: set[str] = field(default_factory=set)
    _listed: dict[str, set[str]] = field(default_factory=dict)
    """The names in a module's `__all__`."""

    def take(self, module: str, source: bytes, *, is_package: bool, is_stub: bool) -> None:
        """Take a module's file. Raises `ValueError`, also for one that is nested too deep."""
        try:
            tree = ast.parse(source)
            self._module(tree, module, is_package=is_package, is_stub=is_stub)
        except (SyntaxError, RecursionError, MemoryError) as error:
            raise ValueError(f"{module} cannot be parsed") from error

    def _module(self, tree: ast.Module, module: str, *, is_package: bool, is_stub: bool) -> None:
        package = module if is_package else module.rpartition(".")[0]
        if is_package:
            self._packages.add(module)
        texts: dict[str, str] = {}
        for node in _statements(tree.body):
            match node:
                case ast.Assign(
                    targets=[ast.Name(id=name)], value=ast.Constant(value=str() as text)
                ):
                    texts[name] = text
                case ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id=name), attr="__doc__")],
                    value=ast.Name(id=text) | ast.Constant(value=str() as text),
                ):
                    self._describe(module, name, texts.get(text, text))
                case ast.Assign(
                    targets=[ast.Name(id="__all__")], value=ast.List() | ast.Tuple() as value
                ):
                    self._listed.setdefault(module, set()).update(_texts(value))
                case ast.ImportFrom():
                    self._import(node, module, package)
                case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._declare(node, module, "", is_stub=is_stub)
        doc = _docstring(tree)
        self._add(_Declared(module, "", f"module {module}", doc, _fields(tree.body)), is_stub)

    def _describe(self, module: str, name: str, doc: str) -> None:
        """Take a docstring that is set behind a definition."""
        if (known := self._declared.get((module, name))) is not None and not known.doc:
            self._declared[module, name] = known._replace(doc=inspect.cleandoc(doc).strip())

    def _import(self, node: ast.ImportFrom, module: str, package: str) -> None:
        parts = package.split(".")
        base = parts[: len(parts) + 1 - node.level] if node.level else []
        source = ".".join([*base, *([node.module] if node.module else [])])
        for one in node.names:
            if one.name == "*":
                self._stars.append((module, source))
            else:
                self._imports.setdefault((module, one.asname or one.name), (source, one.name))

    def _declare(
        self, node: ast.ClassDef | _Function, module: str, outer: str, *, is_stub: bool
    ) -> None:
        name = f"{outer}{node.name}"
        if isinstance(node, _Function):
            if _is_overload(node) or _is_setter(node):
                return
            signature = _signature(node, name)
            self._add(_Declared(module, name, signature, _docstring(node), ""), is_stub)
            return
        bases = ", ".join(ast.unparse(one) for one in node.bases)
        signature = f"class {name}" + (f"({bases})" if bases else "")
        doc = _docstring(node)
        for one in _functions(node):
            if one.name == "__init__":
                signature += f"\n{_signature(one, name)}"
                doc = "\n\n".join(filter(None, (doc, _docstring(one))))
        fields, members = _fields(node.body), _members(node)
        signature = signature[: 2 * _SIGNATURE]
        self._add(_Declared(module, name, signature, doc, fields, members), is_stub)
        for inner in _statements(node.body):
            if isinstance(inner, ast.ClassDef | _Function) and not inner.name.startswith("_"):
                self._declare(inner, module, f"{name}.", is_stub=is_stub)

    def _add(self, one: _Declared, is_stub: bool) -> None:
        key = (one.module, one.name)
        if is_stub and one.name:
            self._stubs[key] = one.signature
        known = self._declared.get(key)
        if known is None or (not known.doc and one.doc):
            self._declared[key] = one

    def sections(self) -> Iterator[ApiSection]:
        """Yield a section for each module, class and function that users may name."""
        handed_on = self._handed_on()
        for one in self._declared.values():
            top, _, inner = one.name.partition(".")
            offered = handed_on.get((one.module, top), ())
            names = sorted(offered, key=lambda other: (other.count("."), other))
            if one.name and is_public(one.module) and not top.startswith("_"):
                if names or top in self._listed.get(one.module, {top}):
                    names.insert(0, f"{one.module}.{top}")
            elif not one.name and is_public(one.module):
                names = [one.module]
            if not names:
                continue
            others = [f"{other}.{inner}" if inner else other for other in names[1:4]]
            name = f"{names[0]}.{inner}" if inner else names[0]
            section = self._section(one, name, others)
            if section is not None:
                yield section

    def _section(self, one: _Declared, name: str, others: list[str]) -> ApiSection | None:
        if not one.name and not (one.doc or one.fields):
            return None
        also = f"Also: {', '.join(others)}" if others and "." not in one.name else ""
        signature = self._stubs.get((one.module, one.name), one.signature)
        code = f"```python\n{signature}\n```" if one.name else ""
        text = "\n\n".join(filter(None, (code, also, one.doc, one.fields)))
        brief = first_sentence(one.doc)
        is_shorter = any(other.count(".") < name.count(".") for other in others)
        is_old = not _OLD.isdisjoint(one.module.split("."))
        return ApiSection(name, brief, text, one.members, is_handed_on=is_shorter, is_old=is_old)

    def _handed_on(self) -> dict[tuple[str, str], set[str]]:
        """Return the public names of each definition that another module has, too."""
        by_module: dict[str, list[str]] = {}
        for module, name in self._declared:
            if name and "." not in name and not name.startswith("_"):
                by_module.setdefault(module, []).append(name)
        for module, other in self._stars:
            for name in by_module.get(other, ()):
                self._imports.setdefault((module, name), (other, name))
        found: dict[tuple[str, str], set[str]] = {}
        for (module, name), source in self._imports.items():
            if not is_public(module) or name.startswith("_"):
                continue
            # A module that only uses a name does not hand it on; a package does.
            offered = self._listed.get(module)
            if name not in offered if offered is not None else module not in self._packages:
                continue
            key = source
            for _ in range(_CHAIN):
                if key in self._declared or key not in self._imports:
                    break
                key = self._imports[key]
            if key in self._declared and key[1]:
                found.setdefault(key, set()).add(f"{module}.{name}")
        return found


def is_public(module: str) -> bool:
    return not any(one.startswith("_") or one == "internal" for one in module.split("."))


def _texts(node: ast.List | ast.Tuple) -> Iterator[str]:
    for one in node.elts:
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Walk what stands at the level of a body, also within `if`, `try` and `with`."""
    for node in body:
        match node:
            case ast.If():
                yield from _statements(node.body)
                yield from _statements(node.orelse)
            case ast.Try():
                yield from _statements(node.body)
                for handler in node.handlers:
                    yield from _statements(handler.body)
                yield from _statements(node.orelse)
            case ast.With():
                yield from _statements(node.body)
            case _:
                yield node


def _functions(node: ast.ClassDef) -> Iterator[_Function]:
    for one in _statements(node.body):
        if isinstance(one, _Function) and not _is_overload(one) and not _is_setter(one):
            yield one


def _docstring(node: ast.Module | ast.ClassDef | _Function) -> str:
    found = ast.get_docstring(node, clean=False)
    return inspect.cleandoc(found).strip() if found else ""


def first_sentence(doc: str) -> str:
    paragraph = doc.partition("\n\n")[0]
    if paragraph.startswith(":"):
        # A list of fields alone: what is returned says most.
        found = _RETURNS.search(doc)
        paragraph = found[1] if found else ""
    line = " ".join(paragraph.split())
    return line[: line.find(". ") + 1] if ". " in line else line


def _decorators(node: _Function) -> set[str]:
    found = (one.func if isinstance(one, ast.Call) else one for one in node.decorator_list)
    return {
        one.attr if isinstance(one, ast.Attribute) else one.id
        for one in found
        if isinstance(one, ast.Attribute | ast.Name)
    }


def _is_overload(node: _Function) -> bool:
    return "overload" in _decorators(node)


def _is_setter(node: _Function) -> bool:
    return bool(_decorators(node) & {"setter", "deleter"})


def _signature(node: _Function, name: str) -> str:
    """Return how it is called, cut where it is long."""
    kinds = _decorators(node)
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    if kinds & {"property", "cached_property"}:
        return f"property {name}{result}"[:_SIGNATURE]
    arguments = node.args
    first = [*arguments.posonlyargs, *arguments.args][:1]
    if first and first[0].arg in ("self", "cls"):
        (arguments.posonlyargs or arguments.args).pop(0)
    for word in ("classmethod", "staticmethod"):
        name = f"{word} {name}" if word in kinds else name
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    text = f"{prefix}{name}({ast.unparse(arguments)}){result}"
    return text if len(text) <= _SIGNATURE else f"{text[: _SIGNATURE - 1]}…"


def _members(node: ast.ClassDef) -> str:
    """List the methods of a class, with what each does."""
    lines = []
    for one in _functions(node):
        if one.name.startswith("_"):
            continue
        brief = first_sentence(_docstring(one))
        lines.append(f"- {one.name}: {brief}"[:_MEMBER] if brief else f"- {one.name}")
    more = [f"- and {len(lines) - _MOST_MEMBERS} more"] if len(lines) > _MOST_MEMBERS else []
    return "\n".join(["Methods:", *lines[:_MOST_MEMBERS], *more]) if lines else ""


def _fields(body: list[ast.stmt]) -> str:
    """List the attributes or constants behind which a text says what they are."""
    lines = []
    for node, below in itertools.pairwise(body):
        match node, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str() as text)),
            ) if not name.startswith("_"):
                lines.append(f"- {name}: {' '.join(text.split())}"[: 2 * _MEMBER])
    return "\n".join(["Attributes:", *lines[:_MOST_MEMBERS]]) if lines else ""
