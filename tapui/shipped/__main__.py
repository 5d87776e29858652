"""Runs a provider that ships: `python -P -m tapui.shipped NAME`, with a provider's arguments."""

import importlib
import sys

from tapui.shipped import SHIPPED


def main(argv: list[str]) -> int:
    """Serve until it is ended; return the exit code."""
    name, *rest = argv or [""]
    sys.argv[0] = f"tapui.shipped {name}"  # it is no file that the person could start
    if name == "tools":
        from tapui.shipped import tools

        return tools.run(rest)
    if name not in SHIPPED:
        sys.stderr.write(f"tapui has no provider {name!r}; it has {', '.join(SHIPPED)}\n")
        return 2
    importlib.import_module(SHIPPED[name].module).provider().run(rest)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
