"""`--since`: a span back from now, a date or a time, as people write them."""

import argparse
import re
import time
from datetime import datetime

_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])\Z")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
META = "2h|3d|2026-11-20"


def moment(text: str) -> float:
    """Return the seconds since the epoch that are meant; an argument's type.

    `30m`, `2h`, `3d`, `1w` ago; `2026-11-20`, `2026-11-20T18:30` in local time; `18:30` today.
    """
    if found := _SPAN.match(text.strip()):
        return time.time() - float(found[1]) * _SECONDS[found[2]]
    try:
        if re.fullmatch(r"\d\d?:\d\d", text.strip()):
            hour, minute = map(int, text.split(":"))
            now = datetime.now().astimezone()
            return now.replace(hour=hour, minute=minute, second=0, microsecond=0).timestamp()
        return datetime.fromisoformat(text.strip()).astimezone().timestamp()
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"expected a span such as 2h or 3d, or a time such as 2026-11-20T18:30, got {text!r}"
        ) from None
