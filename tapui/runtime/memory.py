"""How this process holds its memory once it has started: for speed, within bounds."""

import gc
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's `mallopt`."""
_KEPT_BYTES = 32 * 1024 * 1024
_MAPPED_BYTES = 8 * 1024 * 1024


def settle() -> None:
    """Call once, when what is loaded stays for good.

    A full garbage collection no longer walks it, so that it does not hold the loop up for tens of
    milliseconds. And memory that large messages leave free is kept, up to 32 MiB, for the next
    ones: given back to the system with each, it came anew page by page, at half of their cost.
    """
    gc.freeze()
    if sys.platform == "linux":
        _keep_freed()


def _keep_freed() -> None:
    import ctypes

    # Another C library than glibc has no such setting: it stays as it is.
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_MMAP_THRESHOLD, _MAPPED_BYTES)
