"""Indexes packages, one for each line: `python -P -m tapui.shipped.docs STATE NICE`.

A package's files are hostile: what makes the parser crash, or takes too much memory or time, ends
this process and not the provider, which starts another one for the rest. It prints a line for each
package that is done, and ends with its input or its reader.
"""

import os
import resource
import sqlite3
import sys
from pathlib import Path

import msgspec

from tapui.shipped.docs.package_reading import make
from tapui.shipped.docs.packages import Package

_MEMORY = 1536 * 1024 * 1024
"""Bytes of address space."""
_SECONDS = 60
"""Seconds of computing, for one package or several."""


def main() -> int:
    state = Path(sys.argv[1])
    os.nice(int(sys.argv[2]))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    decoder = msgspec.json.Decoder(Package)
    for line in sys.stdin.buffer:
        used = int(sum(os.times()[:2]))
        resource.setrlimit(resource.RLIMIT_CPU, (used + _SECONDS, used + _SECONDS))
        package = decoder.decode(line)
        try:
            told = str(make(state, package))
        except (OSError, sqlite3.Error, MemoryError) as error:
            told = f"- {type(error).__name__}"
        try:
            sys.stdout.write(f"{told}\n")
            sys.stdout.flush()
        except BrokenPipeError:
            os._exit(0)  # the provider has ended; a normal end would try to write once more
    return 0


if __name__ == "__main__":
    sys.exit(main())
