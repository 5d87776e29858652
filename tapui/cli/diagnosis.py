"""What `tapui doctor` finds: versions, folders, gateways, sessions, and what mends each fault."""

import asyncio
import contextlib
import importlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tapui import __version__, times, update
from tapui.cli import output
from tapui.cli.context import other_settings
from tapui.cli.overview import goal_trouble
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import GatewayError, Refused, difference, found_in, restart_line
from tapui.client.glance import glance
from tapui.consents.consents import Consented
from tapui.consents.emitters import EmitterConsents
from tapui.consents.mcp_servers import ServerConsents
from tapui.core.emitters.plans import FOLDER_TOOLS
from tapui.emitters.config.entries import Configuration
from tapui.emitters.config.reading import read as read_configuration
from tapui.emitters.shell.plans import file_problem
from tapui.files.foreign_file import reason
from tapui.home.accounts import other_people
from tapui.home.paths import Home
from tapui.home.run_folder import GatewayFile, gateways
from tapui.home.tokens import ToolsTokenFile
from tapui.hosts.copilot.finding.discovery import Cli, Discovery
from tapui.hosts.copilot.finding.stored_sessions import folder_of
from tapui.hosts.copilot.finding.unattached_sessions import START_TIME, unattached
from tapui.hosts.copilot.install.mcp_config import NAME, McpConfig, own_entry
from tapui.hosts.copilot.install.own_files import ExtensionFile, is_experimental, skill_files
from tapui.hosts.language_server import installation
from tapui.hosts.mcp import package
from tapui.invocation import command
from tapui.mcp_servers.config.entries import ServerEntry
from tapui.mcp_servers.config.reading import read_folder, read_own
from tapui.mcp_servers.server_start import CannotStartError, server_start
from tapui.projection.folder_tools import waiting_folders
from tapui.projection.goal_words import STATUS_WORDS, open_sessions_goals
from tapui.projection.proof import WORDS, record_of
from tapui.projection.provider_status import statuses
from tapui.projection.requests.request_kind import session_name
from tapui.projection.reviews import monitors_of, unreviewed_words
from tapui.projection.span_counts import dropped_words, export_trouble
from tapui.projection.state import State, is_open
from tapui.projection.words import UNCHECKED_ANSWERS, account_words, alarm_words, refused_mode
from tapui.records.ledger_files import altered_ledgers
from tapui.settings.loading import ConfigError, Loaded
from tapui.settings.settings import Settings
from tapui.shipped import ARGUMENTS, SHIPPED
from tapui.shipped.docs.standing import docs_standing
from tapui.shipped.memory import memory_standing
from tapui.station.faults import log_files, log_path
from tapui.text import safe_text
from tapui.wire.steering import ModelsList, ModelsRead
from tapui.wire.subjects import Account, Session

PACKAGES = (
    "textual",
    "rich",
    "websockets",
    "msgspec",
    "regex",
    "psutil",
    "platformdirs",
    "tomlkit",
    "uvloop",
    "mcp",
)
"""Distributions that tapui runs on; the last two are optional."""
OPTIONAL = frozenset({"uvloop", "mcp"})

_DOOR, _SERVERS, _LANGUAGE_SERVER = "mcp", "mcp-servers", "language-server"
_VERSION = re.compile(r"\d+\.\d+\.\d+[\w.+-]*")
_VERSION_SECONDS = 10.0
_SHOWN_FILES = 5
_SHOWN_MODELS = 8
_MODELS_SECONDS = 10.0
"""For the models of all sessions of a gateway: a host that hangs holds nothing up."""

FolderState = Literal["ok", "missing", "notAFolder", "notWritable"]
SessionState = Literal["attachable", "starting", "noPort", "headless"]
FindingState = Literal["ok", "warning", "error"]


class DoctorFinding(Struct):
    """Something that was looked at. `command` mends it, or does more of it; None: nothing to do.

    `id` is the thing that was looked at, the same in every version; several findings may have it.
    """

    id: str
    state: FindingState
    text: str
    command: str | None = None


class Folder(Struct, rename="camel"):
    """A folder of tapui's; `missing` is fine, it is made when it is needed."""

    name: str
    path: str
    state: FolderState


class RunningOne(Struct, rename="camel"):
    """A running gateway, and where its process logs its faults (None: nothing was logged)."""

    url: str
    pid: int
    version: str
    log: str | None


class FoundSession(Struct, rename="camel"):
    """A session of a Copilot CLI that runs here."""

    id: str
    pid: int
    cwd: str
    state: SessionState


class Findings(Struct, rename="camel"):
    """All that the command knows; `packages` are versions, None where one is not installed."""

    tapui: str
    python: str
    executable: str
    platform: str
    packages: dict[str, str | None]
    folders: list[Folder]
    logs: list[str]
    """Log files of faults, the newest first."""
    gateways: list[RunningOne]
    sessions: list[FoundSession]
    findings: list[DoctorFinding]
    """What that means, and the commands that mend it."""


def examine(folders: Home, settings: Loaded | ConfigError) -> Findings:
    """Look at everything; nothing is changed. Of gateways it asks who is connected to them.

    `settings` are those in force, or why there are none.
    """

    def log_of(pid: int) -> str | None:
        path = log_path(folders, pid)
        return output.path_text(path) if path.exists() else None

    clis = Discovery(folders.copilot).scan()
    running = gateways(folders)
    port_rule = "ask" if isinstance(settings, ConfigError) else settings.settings.copilot.port
    findings = _diagnose(folders, running, clis, port_rule)
    findings += _language_server(settings)
    if isinstance(settings, Loaded):
        findings += _shipped(folders.state, settings.settings)
        findings += [
            DoctorFinding("settings", "warning", told, line)
            for told, line in other_settings(settings)
        ]
        findings += [
            DoctorFinding("config", "warning", fault, command("config"))
            for fault in settings.faults
        ]
    else:
        findings += [
            DoctorFinding("config", "error", line, command("config"))
            for line in str(settings).split("\n")
        ]
    return Findings(
        tapui=__version__,
        python=platform.python_version(),
        executable=output.path_text(sys.executable),
        platform=platform.platform(),
        packages={name: _version(name) for name in PACKAGES},
        folders=[
            Folder(name, output.path_text(path), _folder_state(path))
            for name, path in (
                ("configuration", folders.config),
                ("state", folders.state),
                ("copilot", folders.copilot),
            )
        ],
        logs=[output.path_text(path) for path in log_files(folders)],
        gateways=[RunningOne(one.url, one.pid, one.version, log_of(one.pid)) for one in running],
        sessions=list(_sessions(clis, folders.copilot)),
        findings=findings,
    )


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _folder_state(path: Path) -> FolderState:
    if not path.exists():
        return "missing"
    if not path.is_dir():
        return "notAFolder"
    return "ok" if os.access(path, os.R_OK | os.W_OK | os.X_OK) else "notWritable"


def _sessions(clis: Iterable[Cli], copilot_home: Path) -> Iterator[FoundSession]:
    for cli in clis:
        state: SessionState = "noPort" if cli.age > START_TIME else "starting"
        if cli.is_attachable:
            state = "attachable"
        elif cli.is_headless:
            state = "headless"
        for session in cli.sessions:
            # A server of several sessions works in none of their folders.
            folder = folder_of(copilot_home, session) or cli.cwd
            yield FoundSession(session, cli.process.pid, output.path_text(folder), state)


# What it means


def _diagnose(
    folders: Home, gateways: Iterable[GatewayFile], clis: Iterable[Cli], port_rule: str
) -> list[DoctorFinding]:
    """Return all findings; `port_rule` is the setting `copilot.port`. Blocks for up to 10 s,
    5 s for each gateway that does not answer, and 10 s for models that no host tells."""
    found = [_cli()]
    found += _extension(folders.copilot)
    found += _skills(folders.copilot)
    found += _mcp_door(folders)
    found += _mcp_servers(folders)
    found += _folder_file(folders.state)
    found += _gateway_findings(gateways)
    found += _session_findings(folders, list(clis), port_rule)
    found += _altered(folders.state)
    found += _index(folders.state)
    return found


def _folder_file(state: Path) -> Iterator[DoctorFinding]:
    try:
        found = read_configuration(str(Path.cwd()))
    except OSError:
        return  # without a folder there is no file
    for problem in found.problems:
        text = str(file_problem(found.folder, problem))
        yield DoctorFinding("emitters", "warning", text, command("emitters list"))
    yield from _services(found)
    entry = found.provider(FOLDER_TOOLS)
    if entry is None or not entry.is_folder_tools:
        return
    allow = command(f"emitters allow {FOLDER_TOOLS}")
    try:
        standing = EmitterConsents(state).standing(found, entry)
    except OSError as error:
        text = f"the tool files of {found.folder} cannot run: {reason(error)}"
        yield DoctorFinding("tools", "warning", safe_text(text), allow)
        return
    if not isinstance(standing, Consented):
        yield _unallowed_tools(found.folder, standing.why, allow)


def _unallowed_tools(folder: str, why: str | None, allow: str) -> DoctorFinding:
    changed = f" ({why})" if why else ""
    text = f"the tool files of {folder} wait until you allow them{changed}"
    return DoctorFinding("tools", "warning", safe_text(text), allow)


def _shipped(state: Path, settings: Settings) -> Iterator[DoctorFinding]:
    """Yield what is wrong with the notes, and with the documents of libraries."""
    memory, docs = memory_standing(settings.memory), docs_standing(state, settings.library_docs)
    if memory.fault is not None:
        text = f"no note of the provider memory can be saved: {memory.fault}"
        yield DoctorFinding("memory", "warning", safe_text(text), command("memory list"))
    if docs.fault is not None:
        text = f"the provider docs cannot index packages: {docs.fault}"
        yield DoctorFinding("docs", "warning", safe_text(text), command("help providers"))
    if docs.asked_at is not None:
        ago = times.age(time.time() - docs.asked_at)
        text = (
            f"an agent asked for documents that are not here {ago} ago; {docs.address} is asked"
            ' for such once you write library-docs.context7 = "always", or "never"'
        )
        yield DoctorFinding("docs", "warning", safe_text(text), command("config"))


def _services(found: Configuration) -> Iterator[DoctorFinding]:
    """Yield what keeps the folder's providers that ship from their services."""
    for entry in found.providers:
        name = entry.args[-1] if entry.args else ""
        shipped = SHIPPED.get(name) if entry.args == (*ARGUMENTS, name) else None
        if shipped is None:
            continue
        trouble = getattr(importlib.import_module(shipped.module), "trouble", None)
        if trouble is None:
            continue
        if (text := trouble(found.folder, os.environ)) is not None:
            told = safe_text(f"provider {name}: {text}")
            yield DoctorFinding("services", "warning", told, command("help services"))
        else:
            yield DoctorFinding("services", "ok", f"provider {name} has a repository and a token")


def _cli() -> DoctorFinding:
    program = shutil.which("copilot")
    if program is None:
        text = "Copilot CLI is not on PATH"
        return DoctorFinding("cli", "warning", text, "npm install -g @github/copilot")
    version = _cli_version(program)
    where = output.path_text(program)
    if version is None:
        text = f"Copilot CLI ({where}) does not say its version"
        return DoctorFinding("cli", "warning", text, "copilot update")
    return DoctorFinding("cli", "ok", f"Copilot CLI {version} ({where})")


def _cli_version(program: str) -> str | None:
    """Return what the package around the program says of itself, else what the program says."""
    for folder in Path(program).resolve().parents[:3]:
        try:
            said = json.loads((folder / "package.json").read_text())
        except (OSError, ValueError, RecursionError):
            continue  # it has no such file, or not one of a package
        if isinstance(said, dict) and str(said.get("name")).startswith("@github/copilot"):
            return str(said.get("version"))
    try:
        done = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    told = _VERSION.search(done.stdout.decode("utf-8", "replace"))
    return told[0] if told else None


def _extension(copilot_home: Path) -> Iterator[DoctorFinding]:
    extension = ExtensionFile(copilot_home)
    path = output.path_text(extension.path)
    install = command("install extension")
    match extension.state():
        case "missing":
            text = "tapui's extension is not installed: sessions are reached by Copilot's port"
            yield DoctorFinding("extension", "ok", text, install)
            return
        case "edited":
            text = f"{path} was not written by tapui, or was changed since"
            yield DoctorFinding("extension", "warning", text, f"{_moved(path)} && {install}")
        case "outdated":
            text = f"{path} is of another version of tapui"
            yield DoctorFinding("extension", "warning", text, install)
        case "installed":
            yield DoctorFinding("extension", "ok", f"tapui's extension is installed ({path})")
    if is_experimental(copilot_home):
        yield DoctorFinding("experimental", "ok", "Copilot loads extensions")
    else:
        text = "Copilot does not load extensions: its experimental features are off"
        yield DoctorFinding("experimental", "warning", text, command("copilot --experimental"))


def _skills(copilot_home: Path) -> Iterator[DoctorFinding]:
    """Those that a person has changed are theirs."""
    install = command("install skills")
    states = [file.state() for file in skill_files(copilot_home)]
    if "outdated" in states:
        text = "tapui's skills are of another version of tapui"
        yield DoctorFinding("skills", "warning", text, install)
    elif "missing" in states:
        text = "tapui's skills are not installed: agents know only the tools' descriptions"
        yield DoctorFinding("skills", "ok", text, install)
    else:
        yield DoctorFinding("skills", "ok", "tapui's skills are installed")


def _gateway_findings(gateways: Iterable[GatewayFile]) -> Iterator[DoctorFinding]:
    for one in gateways:
        yield from _asked(one)
        told = difference(one.version)
        if one.was_updated is True:
            text = f"the gateway at {one.url}: {update.RESTART}"
            yield DoctorFinding("gateway", "warning", text, restart_line(one.port))
        elif told is None:
            yield DoctorFinding("gateway", "ok", f"the gateway at {one.url} is of this version")
        else:
            text = f"the gateway at {one.url} is {told}"
            yield DoctorFinding("gateway", "warning", text, restart_line(one.port))


def _asked(one: GatewayFile) -> Iterator[DoctorFinding]:
    """Yield what is wrong in the files of a gateway's folders, and who has its connections; a
    gateway that does not answer is a finding as well."""
    try:
        told = glance(found_in(one), name="tapui doctor")
    except GatewayError as error:
        yield DoctorFinding("connections", "warning", str(error))
        return
    here = os.path.realpath(Path.cwd())
    for found in told.state.folder_problems:
        if found.folder != here:  # the file of this one is always looked at
            advice = command(f"emitters list --folder {shlex.quote(found.folder)}")
            yield from (
                DoctorFinding("emitters", "warning", str(problem), advice)
                for problem in found.problems
            )
    for apart in told.state.unattached:
        if apart.why is not None:  # doctor sees by itself those for which nothing was opened
            name = f"pid {apart.pid}"
            if apart.id != name:
                name = f"session {apart.id} ({name})"
            text = f"{name} is not attached: {apart.why}"
            yield DoctorFinding("session", "warning", safe_text(text), apart.hint)
    state = State.of(told.state)
    for waiting in waiting_folders(state):
        if waiting.folder != here:
            folder = shlex.quote(waiting.folder)
            allow = command(f"emitters allow {FOLDER_TOOLS} --folder {folder}")
            yield _unallowed_tools(waiting.folder, waiting.why, allow)
    for session in filter(is_open, state.sessions.values()):
        if session.program is not None:
            text = f"session {session.label or session.id}: attached to {session.program}"
            yield DoctorFinding("session", "ok", safe_text(text))
        known = state.modes.get(session.id)
        if known is not None and known.refused is not None and known.refused.decided_by == "nobody":
            name = session.label or session.id
            text = f"session {name}: a mode was refused: {refused_mode(state, session)}"
            yield DoctorFinding("modes", "warning", safe_text(text), command(""))
    marks = Counter(
        record.mark
        for session in state.sessions.values()
        if (record := record_of(state, session)) is not None
    )
    if marks:
        words = {**WORDS, "unknown": "without a known check"}
        counts = ", ".join(f"{marks[mark]} {words[mark]}" for mark in WORDS if mark in marks)
        text = f"sessions that rest and have changed files at {one.url}: {counts}"
        yield DoctorFinding("proof", "ok", text)
    if told.started is not None and told.started.unchecked:
        text = f"{UNCHECKED_ANSWERS} at {one.url}: approvals.command-line is always"
        yield DoctorFinding("answers", "warning", text, command("config"))
    yield from _unbelieved(state)
    yield from _goals(one, state)
    yield from _spans(one, state)
    yield from _reviews(one, state)
    yield from _accounts(one, state)
    yield from _providers(state)
    places = told.places
    if places is None:
        return  # an older gateway does not say
    text = f"the gateway at {one.url} has {places.open} of {places.most} connections"
    if places.bridges:
        text += f", and {places.bridges} of MCP servers"
    if not places.refused:
        yield DoctorFinding("connections", "ok", text)
        return
    who = ", ".join(f"{holder.name} has {holder.count}" for holder in places.holders)
    text += f"; it refused {places.refused} because all its places were taken: {who}"
    yield DoctorFinding("connections", "warning", safe_text(text), command("status"))


def _unbelieved(state: State) -> Iterator[DoctorFinding]:
    for alarm in state.alarms.values():
        if alarm.kind == "ledger":
            now = time.time()
            name = session_name(state, alarm.session_id)
            text = f"session {name}: {alarm_words(alarm)}, {times.when(alarm.since, now)}"
            yield DoctorFinding("ledgers", "warning", safe_text(text), command("status"))


def _altered(state: Path) -> Iterator[DoctorFinding]:
    for path in altered_ledgers(state)[:_SHOWN_FILES]:
        shown = output.path_text(path)
        text = f"a ledger that something other than tapui changed is kept as {shown}"
        yield DoctorFinding("ledgers", "warning", text, f"rm {shlex.quote(shown)}")


def _index(state: Path) -> Iterator[DoctorFinding]:
    """Yield what is wrong with the index of the records."""
    from tapui.index.search import damaged_files, standing

    one = standing(state)
    if one.state == "unusable":
        text = f"the index of the records cannot be used and is made again: {one.fault}"
        yield DoctorFinding("index", "warning", safe_text(text), command("query prompts"))
    elif one.state == "behind":
        share = 100 * one.done // max(one.total, 1)
        text = f"the index has read {share} % of the records: answers lack the rest until then"
        yield DoctorFinding("index", "warning", text, command("query prompts"))
    damaged = damaged_files(state) if one.damaged else []
    for path, count in damaged[:_SHOWN_FILES]:
        lines = "1 damaged line" if count == 1 else f"{count:,} damaged lines"
        text = f"{lines} of the records, passed over, in {output.path_text(path)}"
        yield DoctorFinding("records", "warning", safe_text(text), command("help records"))
    if (more := len(damaged) - _SHOWN_FILES) > 0:
        text = f"more files of records with damaged lines: {more:,}"
        yield DoctorFinding("records", "warning", text, command("help records"))


def _goals(one: GatewayFile, state: State) -> Iterator[DoctorFinding]:
    """Yield each goal with which something is wrong, and how many there are."""
    goals = open_sessions_goals(state)
    for goal in goals:
        if wrong := goal_trouble(goal):
            text = f"session {session_name(state, goal.session_id)}: goal {goal.title}: {wrong}"
            show = command(f"goal show {goal.id}")
            yield DoctorFinding("goals", "warning", safe_text(text), show)
    if goals:
        counts = Counter(STATUS_WORDS[goal.status] for goal in goals)
        words = ", ".join(f"{count} {word}" for word, count in counts.items())
        yield DoctorFinding("goals", "ok", f"goals at {one.url}: {words}")


def _spans(one: GatewayFile, state: State) -> Iterator[DoctorFinding]:
    """Yield that spans were dropped, and that a collector does not take them."""
    if (dropped := dropped_words(state)) is not None:
        text = f"the gateway at {one.url}: {dropped}"
        yield DoctorFinding("spans", "warning", text, command("records --collection traces"))
    if (trouble := export_trouble(state.span_export)) is not None:
        advice = command("help records")
        yield DoctorFinding("spanExport", "warning", safe_text(trouble), advice)


def _reviews(one: GatewayFile, state: State) -> Iterator[DoctorFinding]:
    """Yield each monitor that escalates or has lines that no review has, and how many there are."""
    monitors = [found for id_ in state.sessions for found in monitors_of(state, id_)]
    for monitor in monitors:
        last = monitor.last
        wrong = [f"escalates: {' '.join(last.reason.split())}"] * (last.decision == "escalate")
        wrong += filter(None, [unreviewed_words(monitor.unreviewed, monitor.gaps)])
        if wrong:
            name = session_name(state, monitor.session_id)
            text = f"session {name}: monitor {last.monitor} {', '.join(wrong)}"
            show = command(f"review show {last.id}")
            yield DoctorFinding("reviews", "warning", safe_text(text), show)
    if monitors:
        found = sum(monitor.open_findings for monitor in monitors)
        text = f"monitors that are reviewed at {one.url}: {len(monitors)}, open findings: {found}"
        yield DoctorFinding("reviews", "ok", text)


def _accounts(one: GatewayFile, state: State) -> Iterator[DoctorFinding]:
    """Yield who is signed in for the sessions of each account, and which models that gives."""
    known: dict[tuple[Account, str | None], Session] = {}
    for session in filter(is_open, state.sessions.values()):
        if session.account is not None:
            known.setdefault((session.account, session.model), session)
    if not known:
        return
    listed = asyncio.run(_models(one, [session.id for session in known.values()]))
    for (account, model), session in known.items():
        name = f"session {session_name(state, session.id)}"
        answer = listed.get(session.id)
        names = [found.id for found in answer.models or ()] if answer is not None else []
        told = safe_text(f"{name}: {account_words(account)}")
        if account.signed_in or names or model:
            yield DoctorFinding("account", "ok", told)
        else:
            yield DoctorFinding("account", "warning", f"{told}; it has no model", "copilot login")
        if names:
            more = f" and {len(names) - _SHOWN_MODELS} more" if names[_SHOWN_MODELS:] else ""
            text = f"models of {name}: {', '.join(names[:_SHOWN_MODELS])}{more}"
            yield DoctorFinding("models", "ok", safe_text(text))
        elif account.signed_in and (answer is None or answer.error is not None):
            why = "no answer" if answer is None else answer.error
            text = safe_text(f"{name}: its models are not known: {why}")
            yield DoctorFinding("models", "warning", text)


async def _models(one: GatewayFile, session_ids: list[str]) -> dict[str, ModelsList]:
    """Return the models of sessions, as far as their hosts tell them in time."""
    listed: dict[str, ModelsList] = {}
    with contextlib.suppress(GatewayError, TimeoutError):  # what came until then counts
        async with (
            asyncio.timeout(_MODELS_SECONDS),
            await GatewayConnection.open(found_in(one), name="tapui doctor") as connection,
        ):
            for id_ in session_ids:
                try:
                    listed[id_] = await connection.answer(ModelsRead(id_, id_), ModelsList)
                except Refused as refused:
                    listed[id_] = ModelsList(id_, error=str(refused))
    return listed


def _providers(state: State) -> Iterator[DoctorFinding]:
    """Yield what providers say is wrong with them."""
    for status in statuses(state):
        if status.is_wrong:
            name = session_name(state, status.session_id)
            text = f"session {name}: provider {status.provider.name}: {status.text}"
            yield DoctorFinding("providers", "warning", safe_text(text), command("status"))


def _session_findings(folders: Home, clis: list[Cli], port_rule: str) -> Iterator[DoctorFinding]:
    people = other_people() if any(cli.ports for cli in clis) else []
    for cli in clis:
        if not cli.ports:
            continue
        text = f"Copilot (pid {cli.process.pid}) has a port without a password"
        install = command("install extension")
        if people:
            who = ", ".join(people)
            text = f"{text}: {who} can run commands through it; end it, and start it without"
            yield DoctorFinding("port", "warning", text, install)
        elif port_rule == "never":
            text = f"{text}, which copilot.port forbids: it is not attached to"
            yield DoctorFinding("port", "warning", text, install)
        else:
            yield DoctorFinding("port", "ok", f"{text}; no other user has an account here")
    with_ports = port_rule != "never"
    for one in unattached(clis, folders.copilot, with_ports=with_ports):
        if one.why is None:
            text = f"session {one.id} (pid {one.pid}) cannot be attached to"
            yield DoctorFinding("session", "warning", text, one.hint)


def _moved(path: str) -> str:
    return f"mv {shlex.quote(path)} {shlex.quote(path + '.mine')}"


# The MCP door: its package, Copilot's entry, the token


def _mcp_door(folders: Home) -> Iterator[DoctorFinding]:
    config = McpConfig(folders.copilot, own_entry(os.environ))
    token = ToolsTokenFile(folders.state)
    state, path, install = config.state(), output.path_text(config.path), command("install mcp")
    if state == "missing" and not token.path.exists():
        text = "the MCP door is not installed: other MCP clients do not get the providers' tools"
        yield DoctorFinding(_DOOR, "ok", text, install)
        return
    match state:
        case "missing":
            text = f"{path} has no entry {NAME}: Copilot CLI does not start the MCP door"
            yield DoctorFinding(_DOOR, "ok", text, install)
        case "edited":
            text = f"the entry {NAME} in {path} was not written by tapui, or was changed since"
            yield DoctorFinding(_DOOR, "warning", text, f"copilot mcp remove {NAME} && {install}")
        case "unreadable":
            text = f"{path} is a link, or cannot be read as JSON"
            yield DoctorFinding(_DOOR, "warning", text, f"{_moved(path)} && {install}")
        case "outdated":
            yield DoctorFinding(_DOOR, "warning", _outdated(config, path), install)
        case "installed":
            yield DoctorFinding(_DOOR, "ok", f"Copilot CLI starts the MCP door ({path})")
    yield from _door_token(token, install)
    if (fault := package.fault()) is not None:
        yield DoctorFinding("mcp-package", "warning", fault, package.install_line())
    else:
        yield DoctorFinding("mcp-package", "ok", f"{package.NAME} {package.installed()}")


def _outdated(config: McpConfig, path: str) -> str:
    program = config.program() or ""
    if program and not Path(program).exists():
        return f"the entry {NAME} in {path} starts {program}, which is not there"
    if program != config.entry["command"]:
        return f"the entry {NAME} in {path} starts another Python ({program})"
    return f"the entry {NAME} in {path} is for other folders, another port, or of an earlier tapui"


def _door_token(file: ToolsTokenFile, install: str) -> Iterator[DoctorFinding]:
    path = output.path_text(file.path)
    try:
        token = file.read()
    except OSError as error:
        text = f"{path} is not used: {error.strerror or error}"
        yield DoctorFinding("mcp-token", "warning", text, f"{_moved(path)} && {install}")
        return
    if token is None:
        text = "the token for tools was revoked: no MCP client gets any"
        yield DoctorFinding("mcp-token", "warning", text, install)
    else:
        yield DoctorFinding("mcp-token", "ok", f"the token for tools is in {path}")


def _language_server(settings: Loaded | ConfigError) -> Iterator[DoctorFinding]:
    """Tell whether `tapui language-server` would find its program."""
    named = "" if isinstance(settings, ConfigError) else settings.settings.language_server.program
    try:
        program = installation.found_program(named, os.environ, Path.cwd())
    except installation.NoProgramError as error:
        if named:
            yield DoctorFinding(_LANGUAGE_SERVER, "warning", str(error), command("config"))
        else:
            text = "Copilot's language server is not installed: it holds no conversations"
            yield DoctorFinding(_LANGUAGE_SERVER, "ok", text, installation.INSTALL)
        return
    text = f"`{command('language-server')}` starts {output.path_text(program)}"
    yield DoctorFinding(_LANGUAGE_SERVER, "ok", text)


# MCP servers that cannot start in the way they are configured


def _mcp_servers(folders: Home) -> Iterator[DoctorFinding]:
    """Return what is to be said of the person's servers, and of those of this folder's files."""
    own = read_own(folders)
    files = (own, *read_folder(str(Path.cwd())))
    for file in files:
        for problem in file.problems:
            state: FindingState = "error" if not file.is_readable and file is own else "warning"
            yield DoctorFinding(_SERVERS, state, str(problem), None)
    entries = [entry for file in files for entry in file.entries]
    if not entries:
        return
    if (fault := package.fault("MCP servers need")) is not None:
        yield DoctorFinding(_SERVERS, "warning", fault, package.install_line())
    consents = ServerConsents(folders.state)
    good = 0
    for entry in entries:
        found = _server(entry, consents)
        good += found is None
        if found is not None:
            yield found
    if good:
        yield DoctorFinding(_SERVERS, "ok", f"{good} MCP servers can start", command("mcp list"))
    if consents.damage:
        yield DoctorFinding(_SERVERS, "warning", safe_text(consents.damage), None)


def _server(entry: ServerEntry, consents: ServerConsents) -> DoctorFinding | None:
    name = f"MCP server {entry.name}"
    try:
        standing = consents.standing(entry)
    except OSError as error:
        return DoctorFinding(
            _SERVERS, "warning", f"{name} cannot run in its folder: {reason(error)}", None
        )
    if not isinstance(standing, Consented):
        allow = command(f"mcp allow {entry.name}")
        return DoctorFinding(_SERVERS, "ok", f"{name} of this folder is not allowed yet", allow)
    try:
        start = server_start(entry, standing.entry, os.environ, "")
    except CannotStartError as error:
        return DoctorFinding(_SERVERS, "warning", f"{name}: {safe_text(str(error))}", None)
    if start.command is None or shutil.which(Path(start.cwd or "/", start.command)):
        return None
    if "/" not in start.command and shutil.which(start.command):
        return None
    text = f"{name} starts {safe_text(start.command)}, which is not there"
    return DoctorFinding(_SERVERS, "warning", text, command(f"mcp remove {entry.name}"))
