"""An entry of a file as the core plans it, and as the person is shown it."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tapui.consents.consents import Consented, Proposal
from tapui.consents.emitters import plan_of
from tapui.consents.file_goals import GoalConsents
from tapui.core.emitters.plans import (
    EmitterEntryRead,
    EmitterPlan,
    FolderEmitters,
    GoalEntryRead,
    GoalPlan,
    MustAsk,
)
from tapui.core.runs.schedules import runs_in_words
from tapui.emitters.config.entries import (
    ConfigProblem,
    Configuration,
    EmitterEntry,
    ProviderEntry,
)
from tapui.text import safe_text
from tapui.wire.emitters import FileProblem
from tapui.wire.surrogates import without_surrogates


def folder_emitters(cwd: str, configuration: Configuration) -> FolderEmitters:
    """Return what a configuration says. Links are looked up: not on a loop."""
    entries: tuple[EmitterEntry | ProviderEntry, ...] = (
        *configuration.emitters,
        *configuration.providers,
    )
    return FolderEmitters(
        cwd,
        configuration.folder,
        tuple(_entry_read(configuration, entry) for entry in entries),
        configuration.is_readable,
        tuple(file_problem(configuration.folder, one) for one in configuration.problems),
    )


def goal_plans(configuration: Configuration) -> list[GoalPlan]:
    """Return the goals of a configuration, none of a folder whose path no JSON can hold."""
    folder = configuration.folder
    if folder != without_surrogates(folder):
        return []
    return [
        GoalPlan(name=one.name, criteria=one.criteria, agent=one.agent, deadline=one.deadline)
        for one in configuration.goals
    ]


def goals_read(configuration: Configuration, consents: GoalConsents) -> tuple[GoalEntryRead, ...]:
    """Return the goals of a configuration, with whether each is allowed. Files are read."""
    folder = configuration.folder
    found = []
    for plan, entry in zip(goal_plans(configuration), configuration.goals, strict=False):
        standing = consents.standing(folder, plan)
        found.append(
            GoalEntryRead(
                plan=plan,
                digest=hashlib.sha256(msgspec.json.encode((folder, plan))).hexdigest(),
                is_allowed=isinstance(standing, Consented),
                why="" if isinstance(standing, Consented) else standing.why,
                file=safe_text(configuration.path or ""),
                line=entry.line,
            )
        )
    return tuple(found)


def file_problem(folder: str, problem: ConfigProblem) -> FileProblem:
    """Return what is wrong in a folder's file as towers know it."""
    return FileProblem(
        file=safe_text(f"{folder.rstrip('/')}/{problem.file}"),
        line=problem.line,
        text=problem.text,
        key=safe_text(problem.key),
        name=problem.name,
        is_error=problem.is_error,
    )


def _plan(configuration: Configuration, entry: EmitterEntry | ProviderEntry) -> EmitterPlan:
    try:
        return plan_of(configuration, entry)
    except OSError:  # it cannot be started: that is said when it is to be
        bare = plan_of(configuration, msgspec.structs.replace(entry, cwd=None))
        cwd = os.path.normpath(Path(configuration.folder, entry.cwd or ""))
        return msgspec.structs.replace(bare, cwd=cwd)


def _entry_read(
    configuration: Configuration, entry: EmitterEntry | ProviderEntry
) -> EmitterEntryRead:
    read = EmitterEntryRead(
        plan=_plan(configuration, entry), description=entry.description, line=entry.line
    )
    if isinstance(entry, ProviderEntry):
        return read
    return msgspec.structs.replace(
        read,
        ownership=entry.ownership,
        filter_ownership=entry.filter_ownership,
        lifespan=entry.lifespan,
    )


def asking(
    proposal: Proposal[EmitterPlan], entry: EmitterEntry | ProviderEntry, file: str | None
) -> MustAsk:
    """Return what the person is asked; all texts of it can be encoded. `file` is the entry's."""
    return MustAsk(proposal.digest, _detail(proposal, entry, file), proposal.why)


def _detail(
    proposal: Proposal[EmitterPlan], entry: EmitterEntry | ProviderEntry, file: str | None
) -> dict[str, Any]:
    """Return a proposal for the approval's sheet (`tapui/wire/README.md` has the keys)."""
    shown = proposal.entry
    return {
        "kind": shown.kind,
        "command": shown.command,
        "args": list(shown.args),
        "prompt": shown.prompt,
        "cwd": safe_text(shown.cwd),
        "isOutside": proposal.is_outside,
        "shell": shown.shell,
        "env": dict(shown.env),
        "schedule": runs_in_words(shown),
        "maxRuns": shown.max_runs,
        "autoStart": shown.auto_start,
        "includeStderr": shown.include_stderr,
        "stream": shown.stream,
        "rules": [[rule.match, rule.outcome] for rule in shown.rules],
        "injector": shown.injector,
        "delivery": shown.delivery,
        "description": entry.description,
        "file": safe_text(file or ""),
        "line": entry.line,
        "files": [safe_text(name) for name, _ in proposal.files],
        "uncovered": list(proposal.uncovered),
        "doubts": list(proposal.doubts),
        **({"asksEachChange": True} if shown.is_folder_tools else {}),
    }


def problems_in_words(folder: str, problems: Sequence[ConfigProblem]) -> list[str]:
    if not problems:
        return []
    first = next((one for one in problems if one.is_error), problems[0])
    more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
    left = "" if first.key or not first.is_error else " (what was read of it before holds)"
    return [safe_text(f"{folder.rstrip('/')}/{first}{more}{left}")]
