"""Requests to start emitters: all that would run, in full, several of one file together.

Those of a file come as one request each, and are often answered alike: they are shown one below the
other, and one answer is sent for each of them. What an agent asks for is shown alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tapui.projection import asking
from tapui.projection.state import is_waiting
from tapui.tower.app.view import View
from tapui.tower.requests.requests import (
    Option,
    covered,
    fact,
    judged_lines,
    list_of,
    origin,
    text_of,
)
from tapui.tower.requests.urgency import Request, asker
from tapui.tower.textual.reader import Paragraph, title, value
from tapui.wire import subjects

PROMPTS = "Sent to the agent as a prompt, without your doing."
PROVIDES = "A provider: its tools are the session's, and it may send the agent messages."
LATER_VERSIONS = "laterVersions"
"""In the answer: the files that the command names may change."""


class AskedEmitter(NamedTuple):
    """A request, and all of its detail."""

    approval: subjects.Approval
    detail: Mapping[str, Any]


def is_agents(approval: subjects.Approval, detail: Mapping[str, Any]) -> bool:
    """Return whether a session's agent asks, and not the file of a folder."""
    del approval
    return isinstance(detail.get("asker"), str)


def together(view: View, approval: subjects.Approval) -> list[subjects.Approval]:
    """Return the requests that are shown and answered with one: those of the same file that wait.

    What is not here whole is answered by itself.
    """
    folder = _folder(view, approval)
    if folder is None or approval.is_cut:
        return [approval]
    return [one for one in view.waiting if not one.is_cut and _folder(view, one) == folder]


def _folder(view: View, approval: subjects.Approval) -> str | None:
    """Return the folder in whose file an emitter stands; None for none."""
    if approval.kind != "emitter" or not is_waiting(approval):
        return None
    detail = approval.detail
    id_ = detail.get("emitterId") if isinstance(detail, Mapping) else None
    emitter = view.state.emitters.get(id_) if isinstance(id_, str) else None
    return emitter.folder if emitter is not None else None


def headline(view: View, asked: Sequence[AskedEmitter]) -> str:
    """Return who asks for what."""
    first = asked[0]
    who = asker(view.state, Request(first.approval))
    has_providers = any(_is_provider(one.detail) for one in asked)
    if len(asked) > 1:
        what = "emitters and providers" if has_providers else "emitters"
        return f"{who} has {len(asked)} {what} that are to start"
    name = text_of(first.detail, "name") or "it has no name"
    if is_agents(*first):
        return f"{who} asks to start an emitter: {name}"
    return f"{who} has {'a provider' if has_providers else 'an emitter'} that is to start: {name}"


def _is_provider(detail: Mapping[str, Any]) -> bool:
    return detail.get("kind") == "provider"


def answers(asked: Sequence[AskedEmitter], *, others: int) -> list[Option]:
    """Return the answers that have an effect. `others` would be shown together with this one."""
    count = len(asked)
    if is_agents(*asked[0]):
        return [
            Option("allow", "allow exactly this", "allows exactly this: it starts"),
            Option("deny", "deny", "denies"),
            Option("deny-and-tell", "deny, and tell the agent …", "denies and tells it this"),
        ]
    what = "exactly this" if count == 1 else f"these {count}"
    starts = "it starts" if count == 1 else "they start"
    found = [Option("allow", f"allow {what}", f"allows {what}: {starts}")]
    files = sum(len(list_of(one.detail, "files")) for one in asked)
    if files:
        named = "the file it names" if files == 1 else f"the {files} files named"
        also = f"allow {what}, and later versions of {named}"
        found.append(Option("keep", also, f"{also.replace('allow', 'allows', 1)}"))
    denies = "deny" if count == 1 else f"deny these {count}"
    found.append(Option("deny", denies, denies.replace("deny", "denies", 1)))
    if count > 1:
        found.append(Option("one-by-one", "answer one by one", ""))
    elif others > 1:
        found.append(Option("one-by-one", f"answer all {others} of this file together", ""))
    return found


def explained(view: View, asked: Sequence[AskedEmitter]) -> list[Paragraph]:
    """Return everything that the person should know before they decide, nothing cut."""
    # First, for the end of a long command may be out of sight.
    parts: list[Paragraph] = []
    if any(text_of(one.detail, "command") for one in asked):
        parts.append(Paragraph(asking.RIGHTS, "strong"))
    if any(not text_of(one.detail, "command") for one in asked):
        prompts = PROMPTS if len(asked) == 1 else f"Prompts: {PROMPTS[0].lower()}{PROMPTS[1:]}"
        parts.append(Paragraph(prompts, "strong"))
    parts.append(Paragraph(""))
    for number, one in enumerate(asked, 1):
        if len(asked) > 1:
            name = " ".join(text_of(one.detail, "name").split())
            parts += [title(f"{number} of {len(asked)}: {name}"), Paragraph("")]
        parts += _one(view, one)
        if number < len(asked):
            parts.append(Paragraph(""))
    return parts


def _one(view: View, asked: AskedEmitter) -> list[Paragraph]:
    approval, detail = asked
    rest = dict(detail)
    for key in ("emitterId", "asker", "name"):
        rest.pop(key, None)
    is_provider = _is_provider(rest)
    is_command = text_of(rest, "command") != ""
    parts = [value(asking.emitter_text(rest), "strong"), Paragraph("")]
    for key in ("kind", "command", "args", "prompt"):
        rest.pop(key, None)
    if is_provider:
        parts += [Paragraph(PROVIDES), Paragraph("")]
    if changed := str(rest.pop("changed", "") or ""):
        parts += [Paragraph("Changed since you allowed it:", "warning"), value(changed, "warning")]
        parts.append(Paragraph(""))
    if is_agents(*asked):
        judged = judged_lines(view, approval)
        parts += [
            value(f"{number}  {one}", is_laid_out=True) for number, one in enumerate(judged, 1)
        ]
        parts += [Paragraph("")] * bool(judged)
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
    for key in sorted(rest):
        if rest[key] not in (None, "", [], {}):
            parts += [title(key), value(str(rest[key]))]
    return parts


def _lines_of(rest: dict[str, Any], *, has_filter: bool) -> list[Paragraph]:
    """Return what becomes of its lines."""
    stream, injector = text_of(rest, "stream"), text_of(rest, "injector")
    delivery, rules = text_of(rest, "delivery"), list_of(rest, "rules")
    for key in ("stream", "injector", "delivery", "rules"):
        rest.pop(key, None)
    if not has_filter:
        return fact("stream", stream)
    said = {
        "disabled": "off: nothing of it is sent to the agent",
        "enabled": "on: what the filter injects is sent to the agent, and that it failed",
    }.get(injector, "what the filter injects is sent to the agent")
    if delivery == "all" and injector != "disabled":
        said = "every line that is kept is sent to the agent"
    parts = [*fact("stream", stream), *fact("injector", said)]
    if not rules:
        return [*parts, *fact("filter", "none: every line is kept")]
    parts.append(Paragraph("filter, the first that matches", "muted"))
    return parts + [value(_rule(one)) for one in rules]


def _rule(found: object) -> str:
    if isinstance(found, Mapping):
        return f"{found.get('outcome') or '?':<8} {found.get('match') or ''}"
    if isinstance(found, Sequence) and not isinstance(found, str) and len(found) == 2:
        return f"{found[1]!s:<8} {found[0]!s}"
    return str(found)
