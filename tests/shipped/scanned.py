"""A project that scanners have looked at, and logs that are made for a test."""

import json
import shutil
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parent / "sarif"
SCANNERS = ("bandit", "semgrep", "eslint", "codeql")
SHOP = """\
import os
import subprocess


def search(name):
    return subprocess.run(f"grep {name} goods.txt", shell=True)


def price(text):
    return eval(text)


def clean(path):
    os.system("rm " + path)  # nosec
"""
CART = """\
export function total(text) {
  const unused = 1;
  return eval(text);
}
export function old(text) {
  return eval(text); // eslint-disable-line no-eval -- fixed in the next release
}
"""


def shop(folder: Path, *scanners: str) -> Path:
    """Write the project with the logs of scanners; return its folder."""
    for name, text in (("app/shop.py", SHOP), ("src/cart.js", CART)):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for one in scanners:
        shutil.copy(SAMPLES / f"{one}.sarif", folder)
    return folder


def result(rule: str = "R1", path: str = "app/shop.py", line: int = 1, **more: Any) -> Any:
    """Return a result of a log."""
    place = {"artifactLocation": {"uri": path}, "region": {"startLine": line}}
    usual = {"ruleId": rule, "level": "error", "message": {"text": f"{rule} is broken"}}
    return {**usual, "locations": [{"physicalLocation": place}], **more}


def log(*results: Any, tool: str = "scan", **more: Any) -> bytes:
    """Return a log of one run."""
    run = {"tool": {"driver": {"name": tool, "rules": []}}, "results": list(results), **more}
    return json.dumps({"version": "2.1.0", "runs": [run]}).encode()
