"""Requests to start emitters: all that would run, in full, several of one file together.

Those of a file come as one request each, and are often answered alike: they are shown one below the
other, and one answer is sent for each of them. A request of an agent is shown alone.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from tapui.projection.paragraphs import (
    Paragraph,
    covered,
    fact,
    list_of,
    origin,
    other_fields,
    text_of,
    title,
    value,
)
from tapui.projection.requests.permissions import judged_text
from tapui.projection.requests.request_kind import (
    DENY,
    DENY_AND_TELL,
    AskedRequest,
    Option,
    RequestContext,
    RequestKind,
)
from tapui.projection.state import State, is_waiting
from tapui.projection.stream_words import filter_rule_words
from tapui.wire.subjects import Approval
from tapui.wire.turns import StepKind

RIGHTS = (
    "Runs with your rights, without Copilot's questions; the files it runs may change, by the agent"
    " too."
)
"""What it means to allow a command that runs again without a question."""
PROMPTS = "Sent to the agent as a prompt, without your doing."
EACH_CHANGE = "You are asked about each change of these files, and about each new one."
PROVIDES = "A provider: its tools are the session's, and it may send the agent messages."
NO_NAME = "(no name)"
LATER_VERSIONS = {"laterVersions": True}
"""The answer that goes with `keep`: the files that the command names may change."""


class EmitterRequest(RequestKind):
    """An emitter of a folder's file or of an agent is to start."""

    word = verb_word = "emitter"
    kept_as = LATER_VERSIONS
    is_copied = is_explained_alone = False

    def line(self, approval: Approval, detail: Mapping[str, Any]) -> str:
        """Return its name, when it runs, and what."""
        text = emitter_text(detail)
        schedule = str(detail.get("schedule") or "").removeprefix("runs ").partition(",")[0]
        headline = f"{detail.get('name') or NO_NAME}  {schedule}".rstrip()
        return f"{headline}: {text}" if text else headline

    def step(self, detail: Mapping[str, Any]) -> StepKind | None:
        # The request of a folder's file has nothing to do with the agent's turn.
        return "gate" if is_agents(detail) else None

    def together(
        self, state: State, waiting: Sequence[Approval], approval: Approval
    ) -> list[Approval]:
        """Return those of the same file that wait; alone one that is not here whole."""
        folder = _folder(state, approval)
        if folder is None or approval.is_cut:
            return [approval]
        return [one for one in waiting if not one.is_cut and _folder(state, one) == folder]

    def headline(self, state: State, asked: Sequence[AskedRequest]) -> str:
        first = asked[0]
        who = self.asker(state, first.approval)
        has_providers = any(_is_provider(one.detail) for one in asked)
        if len(asked) > 1:
            what = "emitters and providers" if has_providers else "emitters"
            return f"{who} has {len(asked)} {what} that are to start"
        name = text_of(first.detail, "name") or NO_NAME
        if is_agents(first.detail):
            return f"{who} asks to start an emitter: {name}"
        kind = "a provider" if has_providers else "an emitter"
        return f"{who} has {kind} that is to start: {name}"

    def answers(self, asked: Sequence[AskedRequest], others: int) -> list[Option]:
        count = len(asked)
        if is_agents(asked[0].detail):
            allow = Option("allow", "allow exactly this", "allows exactly this: it starts")
            return [allow, DENY, DENY_AND_TELL]
        what = "exactly this" if count == 1 else f"these {count}"
        starts = "it starts" if count == 1 else "they start"
        options = [Option("allow", f"allow {what}", f"allows {what}: {starts}")]
        files = sum(len(list_of(one.detail, "files")) for one in asked)
        if files and not any(one.detail.get("asksEachChange") for one in asked):
            also = f"{what}, and later versions of {files_named(files)}"
            options.append(Option("keep", f"allow {also}", f"allows {also}"))
        these = "" if count == 1 else f" these {count}"
        options.append(Option("deny", f"deny{these}", f"denies{these}"))
        if count > 1:
            options.append(Option("one-by-one", "answer one by one", ""))
        elif others > 1:
            options.append(Option("one-by-one", f"answer all {others} of this file together", ""))
        return options

    def explained(self, context: RequestContext, asked: Sequence[AskedRequest]) -> list[Paragraph]:
        # First, for the end of a long command may be out of sight.
        parts: list[Paragraph] = []
        if any(text_of(one.detail, "command") for one in asked):
            parts.append(Paragraph(RIGHTS, "strong"))
        if any(not text_of(one.detail, "command") for one in asked):
            prompts = PROMPTS if len(asked) == 1 else f"Prompts: {PROMPTS[0].lower()}{PROMPTS[1:]}"
            parts.append(Paragraph(prompts, "strong"))
        parts.append(Paragraph(""))
        for number, one in enumerate(asked, 1):
            if len(asked) > 1:
                name = " ".join(text_of(one.detail, "name").split())
                parts += [title(f"{number} of {len(asked)}: {name}"), Paragraph("")]
            parts += _one(context.state, one)
            if number < len(asked):
                parts.append(Paragraph(""))
        return parts


def emitter_text(detail: Mapping[str, Any]) -> str:
    """Return what would run, of a provider with its arguments, or the prompt that would be sent."""
    command, args = detail.get("command"), detail.get("args")
    if isinstance(command, str) and isinstance(args, list) and args:
        return shlex.join((command, *map(str, args)))
    return str(command if command is not None else detail.get("prompt") or "")


def is_agents(detail: Mapping[str, Any]) -> bool:
    """Return whether a session's agent asks, and not the file of a folder."""
    return isinstance(detail.get("asker"), str)


def files_named(count: int) -> str:
    return "the file it names" if count == 1 else f"the {count} files named"


def _folder(state: State, approval: Approval) -> str | None:
    """Return the folder in whose file an emitter stands; None for none."""
    if approval.kind != "emitter" or not is_waiting(approval):
        return None
    detail = approval.detail
    id_ = detail.get("emitterId") if isinstance(detail, Mapping) else None
    emitter = state.emitters.get(id_) if isinstance(id_, str) else None
    return emitter.folder if emitter is not None else None


def _is_provider(detail: Mapping[str, Any]) -> bool:
    return detail.get("kind") == "provider"


def _one(state: State, asked: AskedRequest) -> list[Paragraph]:
    approval, detail = asked
    rest = dict(detail)
    for key in ("emitterId", "asker", "name"):
        rest.pop(key, None)
    is_provider = _is_provider(rest)
    is_command = text_of(rest, "command") != ""
    text = emitter_text(rest)
    apart: list[Paragraph] = []
    parts = [value(text, "strong")]
    if is_agents(detail):
        parts, apart = judged_text(state, approval, text)
    parts.append(Paragraph(""))
    for key in ("kind", "command", "args", "prompt"):
        rest.pop(key, None)
    if is_provider:
        parts += [Paragraph(PROVIDES), Paragraph("")]
    if rest.pop("asksEachChange", False):
        parts += [Paragraph(EACH_CHANGE), Paragraph("")]
    if changed := str(rest.pop("changed", "") or ""):
        parts += [Paragraph("Changed since you allowed it:", "warning"), value(changed, "warning")]
        parts.append(Paragraph(""))
    parts += [*apart, *[Paragraph("")] * bool(apart)]
    parts.append(Paragraph(str(rest.pop("schedule", "") or ""), "strong"))
    runs = rest.pop("maxRuns", None)
    outside = ", outside of the session's folder" if rest.pop("isOutside", False) else ""
    if is_command:
        parts += fact("in", f"{text_of(rest, 'cwd')}{outside}", "warning" if outside else "")
        shell = "none: it is a program" if is_provider else "bash -lc"
        parts += fact("shell", text_of(rest, "shell") or shell)
        variables = rest.get("env")
        if isinstance(variables, Mapping) and variables:
            parts.append(Paragraph("variables", "muted"))
            parts += [value(f"{name}={text}") for name, text in variables.items()]
    if runs is not None:
        parts += fact("runs", f"at most {runs}")
    if rest.get("autoStart") is False:
        parts += fact("starts", "not by itself")
    if rest.get("includeStderr") is False:
        parts += fact("its errors", "are left out")
    for key in ("cwd", "shell", "env", "autoStart", "includeStderr"):
        rest.pop(key, None)
    parts += _lines_of(rest, has_filter=is_command and not is_provider)
    parts += origin(rest)
    parts += covered(rest)
    return parts + other_fields(rest)


def _lines_of(rest: dict[str, Any], *, has_filter: bool) -> list[Paragraph]:
    stream, injector = text_of(rest, "stream"), text_of(rest, "injector")
    delivery, rules = text_of(rest, "delivery"), list_of(rest, "rules")
    for key in ("stream", "injector", "delivery", "rules"):
        rest.pop(key, None)
    if not has_filter:
        return fact("stream", stream)
    sentence = {
        "disabled": "off: nothing of it is sent to the agent",
        "enabled": "on: what the filter has for the agent is sent, and that it failed",
    }.get(injector, "what the filter has for the agent is sent")
    if delivery == "all" and injector != "disabled":
        sentence = "every line that is kept is sent to the agent"
    parts = [*fact("stream", stream), *fact("injector", sentence)]
    if not rules:
        return [*parts, *fact("filter", "none: every line is kept")]
    parts.append(Paragraph("filter, the first that matches", "muted"))
    return parts + [value(_rule(one)) for one in rules]


def _rule(found: object) -> str:
    if isinstance(found, Mapping):
        return filter_rule_words(str(found.get("outcome") or "?"), str(found.get("match") or ""))
    if isinstance(found, Sequence) and not isinstance(found, str) and len(found) == 2:
        return filter_rule_words(str(found[1]), str(found[0]))
    return str(found)
