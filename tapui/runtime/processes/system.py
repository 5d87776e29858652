"""The module that reads processes on this system."""

import sys

if sys.platform == "darwin":
    from tapui.runtime.processes.macos import (
        boot,
        holder,
        is_marked,
        now,
        status,
        terminal_name,
        uid,
    )
else:
    from tapui.runtime.processes.linux import (
        boot,
        holder,
        is_marked,
        now,
        status,
        terminal_name,
        uid,
    )

__all__ = ["boot", "holder", "is_marked", "now", "status", "terminal_name", "uid"]
