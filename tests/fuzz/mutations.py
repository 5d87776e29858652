"""Ways to spoil a message: its bytes, its tree, its types, sizes, numbers, text and depth."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from tests.fuzz.corpus import FRAMES, MESSAGES

SCALARS: tuple[str, ...] = (
    *("null", "true", "false", "0", "-0", "-1", "1", "2", "2.0", "3", "1e3", "0.1", "-1.5"),
    *("1e999", "-1e999", "1e-999", "9007199254740993", "18446744073709551616", "1" * 40),
    *("NaN", "Infinity", "01", "1.", ".5", "+1", "0x10", "1_0"),
    *('""', '"x"', '"s1"', '"all"', '"ann"', '"tap"', '"a@b"', '"list_ann_x"', '"call-1"'),
    *(r'"\ud800"', r'"\udc00\ud800"', r'"\u0000"', r'"\u202e"', r'"\x"', '"\t"', '"é"', '"😀"'),
    *(r'"("', r'"(a+)+$"', r'"[z-a]"', r'"\\p{"', '"' + "x" * 2000 + '"', '"' + "é" * 70 + '"'),
    *("[]", "{}", "[[]]", '{"":0}', "[{}]", '{"a":"\\ud800"}', '{"\\ud800":1}', '{"n":1e999}'),
    *('{"target":"i1"}', '{"target":"\\ud800"}', '{"path":"\\udfff"}', '{"$ref":"http://x"}'),
    *("[" * 300 + "]" * 300, '{"a":' * 300 + "1" + "}" * 300, "[" * 40 + "]" * 40),
    *("[" * 5000 + "]" * 5000, "[" * 5000, '{"a":' * 2000 + "[]" + "}" * 2000),
)
BITS: tuple[bytes, ...] = (
    *(b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xf4\x90\x80\x80"),
    *(b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\n", b" ", b"\\u", b"\\ud800"),
    *(b"1e999", b"null", b'"type":"hello",', b'"id":7,', b'"sessionId":"s9",', b"//", b"/*"),
)


def _spliced(dice: Random, data: bytes) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + dice.choice(BITS) + data[at + dice.choice((0, 0, 1, 3)) :]


def _flipped(dice: Random, data: bytes) -> bytes:
    spoilt = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        spoilt[dice.randrange(len(spoilt))] = dice.randrange(256)
    return bytes(spoilt)


def _cut(dice: Random, data: bytes) -> bytes:
    at = dice.randrange(len(data))
    return data[:at] if dice.random() < 0.5 else data[at:]


def _crossed(dice: Random, data: bytes) -> bytes:
    other = dice.choice(FRAMES)
    return data[: dice.randrange(len(data))] + other[dice.randrange(len(other)) :]


def _revalued(dice: Random, data: bytes) -> bytes:
    """Put a wrong value somewhere in the tree."""
    tree = json.loads(data)
    mark = "@@here@@"
    _mark(dice, tree, mark)
    text = json.dumps(tree, separators=(",", ":"))
    return text.replace(f'"{mark}"', dice.choice(SCALARS), 1).encode("utf-8", "surrogatepass")


def _mark(dice: Random, tree: Any, mark: str) -> None:
    """Put the mark in the place of one value, deep or not."""
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = dice.choice(keys)
        inner = tree[key]
        if isinstance(inner, (dict, list)) and inner and dice.random() < 0.7:
            tree = inner
            continue
        tree[key] = mark
        return


def _rekeyed(dice: Random, data: bytes) -> bytes:
    """Drop, add or double a key."""
    tree = json.loads(data)
    kind = dice.randrange(3)
    if kind == 0:
        tree.pop(dice.choice(list(tree)))
        return json.dumps(tree).encode()
    other = dice.choice(MESSAGES)
    key = dice.choice(list(other))
    if kind == 1:
        return json.dumps({**tree, key: other[key]}).encode()
    again = json.dumps({key: other[key]})[1:-1].encode()
    return b"{" + again + b"," + data.strip()[1:]


def _grown(dice: Random, data: bytes) -> bytes:
    """Repeat a part of the tree until it is too much."""
    tree = json.loads(data)
    lists = [key for key, value in tree.items() if isinstance(value, list)]
    times = dice.choice((2, 21, 51, 101))
    if lists:
        key = dice.choice(lists)
        tree[key] = tree[key] * times
    else:
        key = dice.choice(list(tree))
        tree[key] = str(tree[key]) * times
    return json.dumps(tree).encode()


def _generated(dice: Random, _: bytes) -> bytes:
    """Make a tree from nothing, with a type that exists."""

    def value(depth: int) -> str:
        kind = dice.randrange(6)
        if kind == 0 and depth:
            return "[" + ",".join(value(depth - 1) for _ in range(dice.randrange(4))) + "]"
        if kind == 1 and depth:
            inner = (f'"{dice.choice(keys)}":{value(depth - 1)}' for _ in range(dice.randrange(4)))
            return "{" + ",".join(inner) + "}"
        return dice.choice(SCALARS[:-6])

    keys = ("id", "sessionId", "tools", "name", "args", "x", "match", "type", "data", "level")
    kind = json.dumps(dice.choice(MESSAGES)["type"])
    fields = "".join(f',"{dice.choice(keys)}":{value(3)}' for _ in range(dice.randrange(5)))
    return f'{{"type":{kind}{fields}}}'.encode("utf-8", "surrogatepass")


def _noise(dice: Random, _: bytes) -> bytes:
    return dice.randbytes(dice.randrange(40))


def _spaced(dice: Random, data: bytes) -> bytes:
    """Change nothing that matters."""
    return dice.choice((b" ", b"\n", b"\r\n\t")) + data.replace(b", ", b"\n,") + b" "


MUTATIONS: tuple[Callable[[Random, bytes], bytes], ...] = (
    *(_spliced, _flipped, _cut, _crossed, _generated, _noise, _spaced, _grown),
    *(_revalued, _revalued, _revalued, _revalued, _rekeyed, _rekeyed),
)


def spoilt(dice: Random, data: bytes) -> bytes:
    """Return a valid frame with something wrong with it; sometimes nothing is."""
    if dice.random() < 0.08:
        return data
    return dice.choice(MUTATIONS)(dice, data)
