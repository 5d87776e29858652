"""What is said when records cannot be written: one line when it begins, one when it is over."""

from collections.abc import Callable
from pathlib import Path

from tapui.records.syncer import Report
from tapui.text import safe_text

_SETTLED = 1.0


class Trouble:
    """The files that cannot be written, and why; `lost` counts the records that are missing."""

    def __init__(self, report: Report, clock: Callable[[], float]) -> None:
        self._report = report
        self._clock = clock
        self._failing: dict[Path, tuple[int | None, float]] = {}
        self.lost = 0

    def __bool__(self) -> bool:
        return bool(self._failing)

    def fail(self, path: Path, error: OSError) -> None:
        """Say that the file cannot be written, unless another fails for the same reason."""
        if all(number != error.errno for number, _ in self._failing.values()):
            self._report(
                f"Records cannot be written to {shown(path)}: {error.strerror}. The gateway goes "
                "on without; approvals are refused until this works again",
                "warning",
            )
        self._failing[path] = (error.errno, self._clock())

    def works(self, path: Path) -> None:
        """Say that all files can be written again, when that has lasted a second.

        On a full disk small records fit now and then; that is not worth a line each time.
        """
        known = self._failing.get(path)
        if known is None or self._clock() - known[1] < _SETTLED:
            return
        del self._failing[path]
        if not self._failing:
            self._report(f"Records are written again; {self.lost:,} are missing", "info")
            self.lost = 0

    def moved(self, source: Path, target: Path) -> None:
        """The records that failed at `source` go to `target` from now on."""
        known = self._failing.pop(source, None)
        if known is not None:
            self._failing[target] = known

    def forget(self, folder: Path) -> None:
        """Nothing is written to `folder` any more."""
        for path in [path for path in self._failing if path.parent == folder]:
            del self._failing[path]


def shown(path: Path) -> str:
    return safe_text(str(path))
