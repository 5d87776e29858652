"""Writing an emitter into its folder's file, so that what was allowed stays allowed."""

import os

import msgspec

from tapui.consents.consents import Consented, Kept
from tapui.consents.emitters import EmitterConsents, plan_of
from tapui.core.effects import SaveEmitter
from tapui.core.emitters.plans import EmitterPlan, Schedule
from tapui.emitters.config.entries import Configuration, EmitterEntry, StreamEntry
from tapui.emitters.config.reading import OLD_FILES, read
from tapui.emitters.config.saving import SaveError, save_emitter, save_stream
from tapui.files.foreign_file import reason
from tapui.policies.rules import is_within

_OLD = "{old} is never written: {new} has what it said, and counts from now on"


class EmitterKeeping:
    """One order to write an emitter. Files are read and written: not on a loop."""

    def __init__(self, consents: EmitterConsents, effect: SaveEmitter) -> None:
        self._consents = consents
        self._effect = effect
        self.note: str | None = None
        """What the person should know besides."""

    def save(self) -> tuple[Configuration, frozenset[str]]:
        """Write it; return the new configuration, and the entries that match the order.

        Their consent is unchanged. Raises `SaveError`.
        """
        before = read(self._effect.folder)
        if not before.is_readable:
            raise SaveError(f"it is not changed: {before.problems[0]}")
        entry, stream = self._wanted(before)
        allowed = self._allowed(before)
        after = before
        if stream != before.stream(entry.stream):
            after = save_stream(before.folder, stream)
        after = save_emitter(before.folder, entry)
        if before.is_old:
            old = next((one for one in OLD_FILES if (before.path or "").endswith(one)), "")
            self.note = _OLD.format(old=old, new=after.path)
        return after, self._keep_consents(_expected(before, entry, stream), after, allowed)

    def _wanted(self, before: Configuration) -> tuple[EmitterEntry, StreamEntry]:
        effect, plan = self._effect, self._effect.entry.plan
        known = before.emitter(plan.name)
        if effect.is_new and known is not None:
            raise SaveError(f"the file has an emitter {plan.name} already")
        if not effect.is_new and known is None:
            raise SaveError(f"there is no emitter {plan.name} in the file any more")
        entry = known or self._new(before.folder, plan)
        if effect.rules is not None:
            entry = msgspec.structs.replace(entry, rules=effect.rules)
        if effect.auto_start is not None:
            entry = msgspec.structs.replace(entry, auto_start=effect.auto_start)
        if effect.every is not None and entry.schedule.kind == "timed":
            entry = msgspec.structs.replace(entry, schedule=Schedule("timed", effect.every))
        return entry, self._stream(before.stream(entry.stream), plan)

    def _new(self, folder: str, plan: EmitterPlan) -> EmitterEntry:
        """Return the entry of an emitter that the agent has started."""
        given = self._effect.entry
        assert plan.schedule is not None, "the core keeps emitters alone"
        cwd: str | None = os.path.realpath(plan.cwd)
        if cwd is not None and is_within(cwd, folder):
            inner = os.path.relpath(cwd, folder)
            cwd = None if inner == "." else inner
        return EmitterEntry(
            name=plan.name,
            command=plan.command,
            prompt=plan.prompt,
            # The delay of a run that was to come once is over when a file is read.
            schedule=Schedule("oneTime") if plan.runs == "oneTime" else plan.schedule,
            stream=plan.stream_name,
            cwd=cwd,
            shell=plan.shell,
            env=dict(plan.env),
            include_stderr=plan.include_stderr,
            ownership=given.ownership,
            filter_ownership=given.filter_ownership,
            max_runs=plan.max_runs,
            description=given.description,
        )

    def _stream(self, known: StreamEntry, plan: EmitterPlan) -> StreamEntry:
        """Return the stream's settings; a delivery is that of an injector which is set."""
        effect = self._effect
        injector, delivery = effect.injector, effect.delivery
        if effect.is_new and known.injector == "unset" and plan.injector != "unset":
            injector, delivery = injector or plan.injector, delivery or plan.delivery
        if injector is None and delivery is not None and known.injector == "unset":
            injector = "enabled"
        return msgspec.structs.replace(
            known, injector=injector or known.injector, delivery=delivery or known.delivery
        )

    # Consent

    def _allowed(self, before: Configuration) -> dict[str, Kept[EmitterPlan]]:
        kept = {
            one.entry.name: one
            for _, one in self._consents.listed(before.folder)
            if one.entry.kind == "emitter"
        }
        found: dict[str, Kept[EmitterPlan]] = {}
        for entry in before.emitters:
            if entry.name not in kept:
                continue
            try:
                standing = self._consents.standing(before, entry)
            except OSError:
                continue  # it cannot run, allowed or not
            if isinstance(standing, Consented):
                found[entry.name] = kept[entry.name]
        return found

    def _keep_consents(
        self, expected: Configuration, after: Configuration, allowed: dict[str, Kept[EmitterPlan]]
    ) -> frozenset[str]:
        own = set()
        for entry in after.emitters:
            name = entry.name
            wanted = expected.emitter(name)
            if wanted is None or _started(after, entry) != _started(expected, wanted):
                continue  # it was changed meanwhile
            own.add(name)
            former = allowed.get(name)
            is_new = name == self._effect.entry.plan.name and self._effect.is_new
            if former is None and not is_new:
                continue
            try:
                self._keep_consent(after, entry, former)
            except OSError as error:
                self.note = f"you will be asked about {name} again: {reason(error)}"
        return frozenset(own)

    def _keep_consent(
        self, after: Configuration, entry: EmitterEntry, former: Kept[EmitterPlan] | None
    ) -> None:
        """Keep the consent to an entry in its present spelling. Raises `OSError`."""
        standing = self._consents.standing(after, entry)
        if isinstance(standing, Consented):
            return
        if former is None:
            self._consents.allow(standing, later_versions=False)
        elif former.later_versions or standing.files == former.files:
            self._consents.allow(standing, later_versions=former.later_versions)


def _expected(before: Configuration, entry: EmitterEntry, stream: StreamEntry) -> Configuration:
    """Return a configuration with our change alone."""
    emitters = [one for one in before.emitters if one.name != entry.name]
    streams = [one for one in before.streams if one.name != stream.name]
    return msgspec.structs.replace(before, emitters=(*emitters, entry), streams=(*streams, stream))


def _started(configuration: Configuration, entry: EmitterEntry) -> EmitterPlan | None:
    try:
        return plan_of(configuration, entry)
    except OSError:
        return None
