"""The findings of a session, by which later ones are known."""

from tapui.projection.fingerprints import base, is_same
from tapui.wire.reviews import Finding


class KnownFindings:
    """At most `most` findings: of more, the oldest goes first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.by_id: dict[str, Finding] = {}
        """Oldest first."""
        self._by_base: dict[str, list[str]] = {}

    def put(self, finding: Finding) -> None:
        if finding.id not in self.by_id:
            self._by_base.setdefault(base(finding.fingerprint), []).append(finding.id)
            if len(self.by_id) >= self._most:
                self._forget(next(iter(self.by_id)))
        self.by_id[finding.id] = finding

    def _forget(self, id_: str) -> None:
        gone = base(self.by_id.pop(id_).fingerprint)
        self._by_base[gone].remove(id_)
        if not self._by_base[gone]:
            del self._by_base[gone]

    def named(self, name: str) -> Finding | None:
        """Return a finding by its id, or the newest with this fingerprint."""
        found = self.by_id.get(name)
        if found is not None:
            return found
        ids = self._by_base.get(base(name), [])
        return next((self.by_id[id_] for id_ in reversed(ids)
                     if self.by_id[id_].fingerprint == name), None)  # fmt: skip

    def same(self, print_: str) -> list[Finding]:
        """Return all findings with this very fingerprint, oldest first."""
        ids = self._by_base.get(base(print_), [])
        found = (self.by_id[id_] for id_ in ids)
        return [one for one in found if one.fingerprint == print_]

    def before(self, print_: str) -> Finding | None:
        """Return the newest finding with this fingerprint, one that was decided first."""
        ids = self._by_base.get(base(print_), [])
        same = [self.by_id[id_] for id_ in reversed(ids)
                if is_same(self.by_id[id_].fingerprint, print_)]  # fmt: skip
        decided = (one for one in same if one.disposed is not None)
        return next(decided, same[0] if same else None)
