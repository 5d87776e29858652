"""`python -m tapui`."""

import sys

from tapui.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
