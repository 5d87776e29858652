"""JSON with comments and trailing commas: its values, and where in the text each of them stands.

Comments and trailing commas are overwritten with blanks, byte by byte, so that places stay. What
is left is JSON: msgspec reads the values, and tree-sitter tells where they are.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from tapui.emitters.config.fields import JsonPath
from tapui.files.foreign_file import decoded, encoding_fault

if TYPE_CHECKING:
    from tree_sitter import Language, Node

_BOM = b"\xef\xbb\xbf"
_STRING = rb'"(?:[^"\\\n]|\\[^\n])*+"?'
_COMMENT = re.compile(
    _STRING + rb"|(?P<line>//[^\n\r]*)|(?P<block>/\*(?:(?s:.*?)(?P<end>\*/)|(?s:.*)))"
)
_COMMA = re.compile(_STRING + rb"|[\[{,:]\s*,|(?P<comma>,)\s*[\]}]")
_AT_BYTE = re.compile(r"^(?:JSON is malformed: )?(?P<what>.*?) \(byte (?P<at>\d+)\)$")
_MAX_DEPTH = 64
"""Objects and lists within each other: what handles a value goes down by recursion."""
_TOO_DEEP = f"it has more than {_MAX_DEPTH} levels"
_TRAILING = "trailing characters"
_PLAINER = {
    "Input data was truncated": "it ends too early",
    "invalid character": "this is not expected here",
    _TRAILING: "something follows its end",
}
_KEEPS_LINES = bytes(at if at in b"\r\n" else ord(" ") for at in range(256))


class UnreadableError(Exception):
    """A text that is not JSON. Line and column count from 1."""

    def __init__(self, line: int, column: int, text: str) -> None:
        super().__init__(text)
        self.line = line
        self.column = column


@lru_cache(maxsize=1)
def _language() -> "Language":
    import tree_sitter_json
    from tree_sitter import Language

    return Language(tree_sitter_json.language())


def plain_json(text: str) -> str:
    """Return JSON without its comments and trailing commas, as Copilot reads its own files."""
    data = _COMMENT.sub(_without_comment, text.encode())
    return _COMMA.sub(_without_comma, data).decode()


class JsonDocument:
    """A text and its value. Places are bytes behind a byte-order mark. It is immutable.

    Raises `UnreadableError`.
    """

    def __init__(self, data: bytes) -> None:
        self.mark = data[: len(_BOM)] if data.startswith(_BOM) else b""
        self.text = data[len(self.mark) :]
        self._check_encoding()
        self.uncommented = _COMMENT.sub(_without_comment, self.text)
        """The text with blanks for comments; trailing commas are still there."""
        self._plain = _COMMA.sub(_without_comma, self.uncommented)
        self.value: Any = self._decoded()
        self._root: Node | None = None
        self._children: dict[JsonPath, list[Node]] = {}

    def _check_encoding(self) -> None:
        try:
            decoded(self.text)
        except UnicodeDecodeError as error:
            place = self.line_and_column(error.start)
            raise UnreadableError(*place, encoding_fault(error)[1]) from None

    def _decoded(self) -> Any:
        if not self._plain.strip():
            raise UnreadableError(1, 1, "the file is empty")
        try:
            value = msgspec.json.decode(self._plain)
        except RecursionError:
            raise UnreadableError(1, 1, _TOO_DEEP) from None
        except msgspec.MsgspecError as error:
            raise self._fault(str(error)) from None
        if _is_deep(value):
            raise UnreadableError(1, 1, _TOO_DEEP)
        return value

    def _fault(self, error: str) -> UnreadableError:
        found = _AT_BYTE.match(error)
        at = int(found["at"]) if found else len(self._plain.rstrip())
        what = found["what"] if found else error
        if what == _TRAILING:
            at -= 1  # it says where the one behind stands
        line, column = self.line_and_column(at)
        return UnreadableError(line, column, f"not JSON: {_PLAINER.get(what, what)}")

    def line_and_column(self, at: int) -> tuple[int, int]:
        """Return where a byte stands, both counted from 1, the column in characters."""
        begin = self.text.rfind(b"\n", 0, at) + 1
        column = len(self.text[begin:at].decode("utf-8", "replace")) + 1
        return self.text.count(b"\n", 0, at) + 1, column

    def place(self, path: JsonPath) -> tuple[int, int]:
        """Return line and column of a value's key, or of the nearest around it that is there."""
        for length in range(len(path), 0, -1):
            if (span := self.span(path[:length], with_key=True)) is not None:
                return self.line_and_column(span[0])
        return 1, 1

    def span(self, path: JsonPath, *, with_key: bool = False) -> tuple[int, int] | None:
        """Return where a value begins and ends, with its key if asked for; None if it is not there.

        Of keys that are there twice, the last counts, as everywhere in JSON.
        """
        if not path:
            return self._bytes(self._node(()))
        spans = self.member_spans(path) if with_key else self._value_spans(path)
        return spans[-1] if spans else None

    def member_spans(self, path: JsonPath) -> list[tuple[int, int]]:
        """Return the spans of all members of this name, with their keys, or of an element."""
        return [self._bytes(node) for node in self._members(path)]

    def children(self, path: JsonPath) -> list[tuple[int, int]]:
        """Return the spans of the members or elements of the object or list at a path."""
        return [self._bytes(node) for node in self._inner(path)]

    def _value_spans(self, path: JsonPath) -> list[tuple[int, int]]:
        return [self._bytes(_value_node(node)) for node in self._members(path)]

    def _members(self, path: JsonPath) -> "list[Node]":
        inner = self._inner(path[:-1])
        name = path[-1]
        if isinstance(name, int):
            return inner[name : name + 1] if name >= 0 else []
        return [node for node in inner if node.type == "pair" and _key(node) == name]

    def _inner(self, path: JsonPath) -> "list[Node]":
        if path not in self._children:
            node = self._node(path)
            has_inner = node is not None and node.type in ("object", "array")
            self._children[path] = node.named_children if has_inner and node else []
        return self._children[path]

    def _node(self, path: JsonPath) -> "Node | None":
        if path:
            members = self._members(path)
            return _value_node(members[-1]) if members else None
        if self._root is None:
            from tree_sitter import Parser

            document = Parser(_language()).parse(self._plain).root_node
            self._root = document.named_children[0]
        return self._root

    @staticmethod
    def _bytes(node: "Node | None") -> tuple[int, int]:
        return (0, 0) if node is None else (node.start_byte, node.end_byte)


def _without_comment(found: re.Match[bytes]) -> bytes:
    if found["line"] is None and found["end"] is None:
        return found[0]  # a string, or a comment that does not end
    return found[0].translate(_KEEPS_LINES)


def _without_comma(found: re.Match[bytes]) -> bytes:
    return found[0] if found["comma"] is None else b" " + found[0][1:]


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _value_node(node: "Node") -> "Node | None":
    return node.child_by_field_name("value") if node.type == "pair" else node


def _key(node: "Node") -> Any:
    key = node.child_by_field_name("key")
    return None if key is None or key.text is None else msgspec.json.decode(key.text)
