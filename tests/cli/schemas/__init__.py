"""The shapes that `--json` promises."""

import json
from pathlib import Path
from typing import Any

import jsonschema


def check(name: str, text: str) -> Any:
    """Return the JSON that a command printed, which must fit the schema; it is plain ASCII."""
    assert text.isascii()
    assert "\x7f" not in text
    value = json.loads(text)
    schema = json.loads((Path(__file__).parent / f"{name}.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(value)
    return value
