"""The built-in tools for emitters, in the words of `tap.config.json`.

The person is asked about each command, even where others were allowed; the gateway decides.
"""

from collections.abc import Callable
from typing import Any

from tapui.core.emitters.plans import interval_text
from tapui.emitters.config.arguments import DELAY_KEYS, FilterGiven, ToolArguments
from tapui.emitters.config.entry_keys import (
    FILTER_KEYS,
    FLAT_KEYS,
    INTERVAL_KEYS,
    STREAM_KEYS,
    merged_patterns,
)
from tapui.settings.settings import Timeouts
from tapui.tools.definitions import TEXT, BuiltinTool, Pages, RefusedError, Schema, object_of
from tapui.wire.builtin import (
    EmitterAnswer,
    EmitterAsked,
    EmitterAskedCancel,
    EmitterAskedStop,
    EmitterRulesAsked,
    EmittersAnswer,
    EmittersRead,
)
from tapui.wire.emitters import Emitter
from tapui.wire.limits import MODEL_PROMPT_RUNS
from tapui.wire.message import Message
from tapui.wire.provider import ToolCall

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
        "cron": emitter.cron,
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


def _given(call: ToolCall) -> ToolArguments:
    return ToolArguments(object_of(call))


def _told(_call: ToolCall, answer: EmitterAnswer) -> dict[str, Any]:
    if answer.error is not None or answer.emitter is None:
        raise RefusedError(answer.error or "the emitter is not there")
    return emitter_json(answer.emitter)


def _with_notes(call: ToolCall, answer: EmitterAnswer, read: Callable[[ToolArguments], Any]) -> Any:
    """Return the emitter, with what `read` notes of the arguments that were not taken as given."""
    told, given = _told(call, answer), _given(call)
    read(given)
    return {**told, "notes": given.notes} if given.notes else told


def _start(call: ToolCall) -> Message:
    return EmitterAsked(call.id, call.session_id, _given(call).emitter())


def _started(call: ToolCall, answer: EmitterAnswer) -> Any:
    return _with_notes(call, answer, ToolArguments.emitter)


def _schedule(call: ToolCall) -> Message:
    return EmitterAsked(call.id, call.session_id, _given(call).prompt())


def _scheduled(call: ToolCall, answer: EmitterAnswer) -> Any:
    return _with_notes(call, answer, ToolArguments.prompt)


def _stop(call: ToolCall) -> Message:
    return EmitterAskedStop(call.id, call.session_id, _given(call).name())


def _list(call: ToolCall) -> Message:
    object_of(call)
    return EmittersRead(call.id, call.session_id)


def _listed(_call: ToolCall, answer: EmittersAnswer) -> Any:
    return {"emitters": [emitter_json(one) for one in answer.emitters]}


def _set_filter(call: ToolCall) -> Message:
    wanted = _given(call).filter()
    if wanted.patterns is not None:
        return EmittersRead(call.id, call.session_id)  # the others of the three stay as they are
    return EmitterRulesAsked(call.id, call.session_id, wanted.name, wanted.rules)


def _filter_set(call: ToolCall, answer: EmitterAnswer | EmittersAnswer) -> Any:
    if isinstance(answer, EmitterAnswer):
        return _with_notes(call, answer, ToolArguments.filter)
    wanted = _given(call).filter()
    return EmitterRulesAsked(call.id, call.session_id, wanted.name, _merged(wanted, answer))


def _merged(wanted: FilterGiven, answer: EmittersAnswer) -> Any:
    known = next((one for one in answer.emitters if one.name == wanted.name), None)
    rules = merged_patterns(known.rules if known is not None else [], wanted.patterns or {})
    if rules is None:
        raise RefusedError(
            f"the filter of '{wanted.name}' has rules of its own, which one pattern would replace: "
            "give eventFilter with all rules"
        )
    return rules


def _patience(timeouts: Timeouts) -> float:
    return timeouts.emitter_approval


_NAME = TEXT | {"description": "The emitter's name"}
_RULES: Schema = {
    "type": "array",
    "description": "The first rule that matches a line decides; a line that none matches is kept",
    "items": {
        "type": "object",
        "properties": {
            "match": TEXT | {"description": "Regular expression, in either case"},
            "outcome": TEXT | {"enum": ["drop", "keep", "surface", "inject"]},
        },
        "required": ["match", "outcome"],
    },
}
_FILTERS = frozenset({*FILTER_KEYS, *FLAT_KEYS})
_FORMER = frozenset({
    *_FILTERS, *INTERVAL_KEYS, *STREAM_KEYS, "autoStart", "env", "force", "lifespan", "scope",
    "managedBy", "metadata", "ownership",
})  # fmt: skip
"""What a file's entry may say, and what the earlier extension's tools took."""
_INTERVAL = "such as 30s, 5m, 2h or 1d"

EMITTER_TOOLS = (
    BuiltinTool(
        "tap_start_emitter",
        "Start a command or prompt beside this session: always, once, or on an interval. "
        "A command's lines go through the filter: drop, keep, surface (to the person) or inject "
        "(to you). The person is asked before a command. Prompts: one of yours at a "
        f"time, {MODEL_PROMPT_RUNS} runs in a session. It ends with this session.",
        _start,
        _started,
        {
            "name": _NAME,
            "command": TEXT | {"description": "A command line for bash, or else:"},
            "prompt": TEXT | {"description": "A prompt for this session"},
            "runInterval": TEXT
            | {"description": f"From the end of a run to the next, {_INTERVAL}; idle: of a prompt"},
            "cron": TEXT
            | {"description": "Or when, in local time: */15 9-17 * * 1-5 (min hour day month dow)"},
            "runSchedule": TEXT | {"enum": ["continuous", "timed", "oneTime", "idle"]},
            "maxRuns": {"type": "integer", "minimum": 1},
            "stream": TEXT | {"description": "Stream of its lines; else that of its name"},
            "cwd": TEXT | {"description": "Absolute, or relative to the session's folder"},
            "shell": TEXT,
            "eventFilter": _RULES,
            "subscribe": {
                "type": "boolean",
                "default": True,
                "description": "Whether injected lines and failures reach you",
            },
            "delivery": TEXT
            | {
                "enum": ["surface", "important", "all"],
                "default": "surface",
                "description": "all: every line that is kept reaches you",
            },
            "includeStderr": {"type": "boolean", "default": True},
            "description": TEXT | {"description": "Shown to the person"},
        },
        ("name",),
        patience=_patience,
        withdraw=EmitterAskedCancel,
        former=_FORMER,
    ),
    BuiltinTool(
        "tap_stop_emitter",
        "Stop an emitter that you started. What the person owns is theirs to stop.",
        _stop,
        _told,
        {"name": _NAME},
        ("name",),
        former=frozenset({"force"}),
    ),
    BuiltinTool(
        "tap_list_emitters",
        "List the emitters of this session and of its folder: what each runs, when, its state and "
        "how many lines it had.",
        _list,
        _listed,
        {},
        pages=Pages("emitters", "name"),
    ),
    BuiltinTool(
        "tap_set_event_filter",
        "Change the filter of an emitter that you started; later lines go through it. The person "
        "is shown the change.",
        _set_filter,
        _filter_set,
        {"name": _NAME, "eventFilter": _RULES},
        ("name", "eventFilter"),
        former=_FILTERS,
    ),
    BuiltinTool(
        "tap_schedule_prompt",
        "Send yourself a prompt once, after a delay: to look again in ten minutes. One of your "
        f"prompts at a time, {MODEL_PROMPT_RUNS} in a session.",
        _schedule,
        _scheduled,
        {
            "prompt": TEXT,
            "in": TEXT | {"description": f"The delay, {_INTERVAL}"},
            "name": TEXT | {"description": "To stop it by", "default": "later"},
        },
        ("prompt", "in"),
        patience=_patience,
        withdraw=EmitterAskedCancel,
        former=frozenset({*DELAY_KEYS, *STREAM_KEYS, "description"}),
    ),
)
