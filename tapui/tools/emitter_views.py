"""An emitter as the model reads it: the words of the keys are those of `tap.config.json`."""

from typing import Any

from tapui.emitters.config.entries import interval_text
from tapui.wire.emitters import Emitter

_MOST_TEXT = 300
_MOST_RULES = 20


def emitter_json(emitter: Emitter) -> dict[str, Any]:
    """Return an emitter as JSON; keys without a value are left out, long texts are cut."""
    counts = emitter.counts
    every = interval_text(emitter.every) if emitter.every else None
    told = {
        "name": emitter.name,
        "status": emitter.state,
        "why": _head(emitter.why),
        "error": _head(emitter.error),
        "lifespan": emitter.lifespan,
        "ownership": emitter.ownership,
        "emitterType": "command" if emitter.command is not None else "prompt",
        "command": _head(emitter.command),
        "prompt": _head(emitter.prompt),
        "runSchedule": emitter.kind,
        "in" if emitter.kind == "oneTime" else "runInterval": every,
        "maxRuns": emitter.max_runs,
        "stream": emitter.stream,
        "sessionInjector": "off" if emitter.injector == "disabled" else "on",
        "delivery": emitter.delivery,
        "eventFilter": [
            {"match": _head(rule.match), "outcome": rule.outcome}
            for rule in emitter.rules[:_MOST_RULES]
        ],
        "moreRules": max(len(emitter.rules) - _MOST_RULES, 0) or None,
        "cwd": emitter.cwd,
        "shell": emitter.shell,
        "autoStart": emitter.auto_start,
        "includeStderr": emitter.include_stderr,
        "description": emitter.description or None,
        "runs": emitter.runs,
        "acceptedLines": counts.kept + counts.surfaced + counts.injected + counts.held,
        "droppedLines": counts.dropped,
        "injectedLines": counts.injected,
        "nextRunAt": emitter.next_run_at,
        "lastRunAt": emitter.last_run_at,
        "lastRunStatus": emitter.last_status,
        "exitCode": emitter.exit_code,
        "signal": emitter.signal,
    }
    return {key: value for key, value in told.items() if value is not None}


def _head(text: str | None) -> str | None:
    if text is None or len(text) <= _MOST_TEXT:
        return text
    return text[: _MOST_TEXT - 1] + "…"
