"""Run the Autobahn WebSocket suite against tapui's server: `python -m tests.autobahn.run WSTEST`.

The suite needs Python 2.7 and is not part of the ordinary test run. `WSTEST` is the path of its
command, installed once, with any Python 2.7 (pyenv has one), as

    python2.7 -m pip install virtualenv && python2.7 -m virtualenv autobahn
    autobahn/bin/pip install autobahntestsuite==25.10.1 autobahn==0.10.9 txaio==2.1.0 \
        Twisted==20.3.0 pyOpenSSL==21.0.0

It takes about a minute. Cases 12 and 13 are left out: they are about compression, which is off.
What `echo.py` does differently from the gateway is said there. Exit code 1 when a case ends in
another way than OK, informational, or as listed in `EXPLAINED`.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

EXPLAINED = {
    "6.4.1": "UTF-8 is checked once the message is complete, not while it arrives",
    "6.4.2": "as 6.4.1",
    "6.4.3": "as 6.4.1",
    "6.4.4": "as 6.4.1",
    "7.1.5": "a close frame inside a fragmented message is a protocol error (1002) to the library",
}
"""Cases that do not end in OK, and why."""

_FINE = {"OK", "INFORMATIONAL"}
_LIMIT = 900  # seconds


def run(wstest: str, folder: Path) -> dict[str, dict[str, str]]:
    """Run all cases and return the suite's verdicts by case."""
    echo = subprocess.Popen(
        [sys.executable, "-m", "tests.autobahn.echo"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert echo.stdout is not None
        port = int(echo.stdout.readline())
        spec = folder / "fuzzingclient.json"
        spec.write_text(
            json.dumps(
                {
                    "outdir": str(folder / "report"),
                    "servers": [{"agent": "tapui", "url": f"ws://127.0.0.1:{port}"}],
                    "cases": ["*"],
                    "exclude-cases": ["12.*", "13.*"],
                    "exclude-agent-cases": {},
                }
            )
        )
        command = [wstest, "-m", "fuzzingclient", "-s", str(spec)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=_LIMIT)
    finally:
        echo.terminate()
        echo.wait()
    verdicts: dict[str, dict[str, str]] = json.loads((folder / "report/index.json").read_text())[
        "tapui"
    ]
    return verdicts


def main() -> int:
    """Run the suite, print what deviates, and return the exit code."""
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        verdicts = run(sys.argv[1], Path(folder))
    unexplained = 0
    for case, verdict in sorted(verdicts.items()):
        if verdict["behavior"] in _FINE and verdict["behaviorClose"] in _FINE:
            continue
        reason = EXPLAINED.get(case)
        unexplained += reason is None
        print(f"{case}: {verdict['behavior']}, {verdict['behaviorClose']}: {reason or 'NEW'}")
    fine = len(verdicts) - len(EXPLAINED)
    print(f"{len(verdicts)} cases, {unexplained} unexplained; {fine} are expected to be fine")
    return 1 if unexplained or not verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
