"""Frames that are nearly messages, or nothing like one."""

import json
from random import Random

from tapui.wire.codec import encode
from tapui.wire.message import Message

WRONG = (None, 7, [], {}, "", "x", True, -1.5, {"x": [None]})


def garbled(dice: Random, message: Message) -> bytes:
    """Return a frame that is nearly this message."""
    data = bytearray(encode(message))
    kind = dice.randrange(4)
    if kind == 0:
        return dice.randbytes(dice.randrange(20))
    if kind == 1:
        return bytes(data[: dice.randrange(len(data))])
    if kind == 2:
        for _ in range(3):
            data[dice.randrange(len(data))] = dice.randrange(256)
        return bytes(data)
    fields = json.loads(data)
    return json.dumps({**fields, dice.choice(list(fields)): dice.choice(WRONG)}).encode()
