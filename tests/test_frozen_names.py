"""Names that others start, import, set or have in their files. They go on working.

When a test here fails because something was renamed or moved: keep the old name working beside the
new one (an import in the old place, an option with two names). Rows are added; none is changed or
taken out without a note to users in the documents of the release.
"""

import argparse
import ast
import importlib.util
import inspect
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "tapui"
KEEP = "others use this name: keep it working (see the top of tests/test_frozen_names.py)"

# What programs of authors import, and how they call it. `*` marks what has no parentheses.

IMPORTED = {
    "tapui.provider": """
        Allow(context=None)
        Concurrency(max=None, scope='instance')
        DeclarationError *
        Deny(reason)
        File(path, mime_type=None, note=None)
        GateCall *
        GatewayRefusal *
        Image(data, mime_type=None, note=None)
        Provider(name, *, instance=None, metadata=None, session=None, context=None,
            startup_context=None, concurrency=None, subscribe=(), call_timeout=None)
        Provider.append(self, section, text)
        Provider.background(self, function)
        Provider.call(self, tool, arguments=None)
        Provider.context *
        Provider.context_rule(self, content, *, tool=None, args=None, file=None, provider=None)
        Provider.deny(self, *, tool=None, args=None, file=None, provider=None, reason)
        Provider.filter(self, stream, rules)
        Provider.gate(self, *, tool=None, args=None, file=None, provider=None, reason=None,
            fail_open=False, name=None)
        Provider.on(self, event)
        Provider.prepend(self, section, text)
        Provider.remove_tool(self, name)
        Provider.replace(self, section, text)
        Provider.replace_tools(self, tools)
        Provider.run(self, argv=None)
        Provider.serve(self, dial, **options)
        Provider.set_context(self, text)
        Provider.test(self, **options)
        Provider.tool(self, function=None, /, *, name=None, description=None, timeout=None,
            parameters=None)
        Provider.transform(self, section)
        Context.cancelled *
        Context.log(self, text)
        Context.progress(self, done=None, total=None, text='')
        Context.prompt(self, text)
        Context.push(self, event=None, *, level='keep', stream=None, prompt=None, metadata=None)
        Context.query(self, *streams, last=100)
        Context.wait(self, seconds)
        Session.folder *
        Session.id *
        Session.is_idle *
        Session.label *
        Session.log(self, text)
        Session.mode *
        Session.model *
        Session.prompt(self, text)
        Session.push(self, event=None, *, level='keep', stream=None, prompt=None, metadata=None)
        Session.query(self, *streams, last=100)
        Session.set_context(self, text)
        SessionNews.data *
        GateCall.args *
        ToolError(code, text='', retryable=None)
    """,
    "tapui.testing.session": """
        ProviderSession.advance(self, seconds)
        ProviderSession.another(self, id_)
        ProviderSession.busy(self)
        ProviderSession.call(self, tool, args=None, /, **more)
        ProviderSession.cancelling *
        ProviderSession.disconnect(self, *, keep_out=False)
        ProviderSession.happens(self, event, /, **data)
        ProviderSession.id *
        ProviderSession.idle(self)
        ProviderSession.is_bound *
        ProviderSession.native(self, tool, args=None, /, **more)
        ProviderSession.next_prompt(self)
        ProviderSession.next_push(self)
        ProviderSession.prompts *
        ProviderSession.pushes *
        ProviderSession.reconnected(self)
        ProviderSession.restart_gateway(self)
        ProviderSession.shutdown(self)
        ProviderSession.start(self, tool, args=None, /, **more)
        ProviderSession.stream(self, name)
        ProviderSession.timeline *
        ProviderSession.tools *
        ProviderSession.transformed(self, section, current)
        ProviderSession.turn(self, prompt, **sections)
        CallResult.context *
        CallResult.data *
        CallResult.error *
        CallResult.error_code *
        CallResult.file *
        CallResult.is_ok *
        CallResult.is_retryable *
        CallResult.text *
        NativeVerdict.is_allowed *
        NativeVerdict.is_denied *
        StartedCall.cancel(self, reason='Cancelled')
        StartedCall.is_done *
        StartedCall.progress(self)
        StartedCall.result *
    """,
    "tapui.testing.results": """
        ResultFile.read(self)
    """,
    "tapui.testing.opening": """
        open_test(provider, *, session='test', cwd=None, patience=10.0)
    """,
    "tapui.testing": """
        tool_context(folder)
    """,
    "tapui.testing.pytest_plugin": """
        pytest_configure(config)
        tapui_test *
    """,
    "tapui.testing.session_fixture": """
        provider_session *
    """,
    "tapui.provider.socket_link": """
        dial_socket(url, end=None)
    """,
    "tapui.secret": """
        Secret(text)
        Secret.reveal(self)
    """,
}
ATTRIBUTES = {
    "Context": ("call_id", "session", "tool", "traceparent"),
    "GateCall": ("session", "tool"),
    "GatewayRefusal": ("code", "text"),
    "Session": ("persist_dir",),
    "SessionNews": ("name", "session"),
    "ToolError": ("code", "retryable", "text"),
}
"""What objects of `tapui.provider` have besides."""

# What is started

STARTED = {
    "tapui": "the person, agents' hooks, MCP clients (`-P -m tapui mcp-door`)",
    "tapui.authoring.dev.program": "`tapui provider dev`, on each save",
    "tapui.cli.demo.host": "`tapui demo`",
    "tapui.cli.demo.ci_watch": "the demo's host",
    "tapui.cli.demo.visitor": "the demo's host",
    "tapui.cli.demo.workshop": "the demo's host",
    "tapui.emitters.runner": "a gateway, for its first emitter",
    "tapui.folder_tools.importing": "a provider `tools`, for its files",
    "tapui.folder_tools.reading": "a gateway or a command, for a folder's `tools/`",
    "tapui.hosts.copilot": "a gateway, for Copilot CLI",
    "tapui.hosts.copilot.finding.past_reading": "`tapui query --past`",
    "tapui.hosts.language_server": "`tapui language-server`",
    "tapui.index": "a gateway, once records are written",
    "tapui.index.answering": "`tapui query`, and a gateway, for a question to the records",
    "tapui.mcp_servers.bridge": "a gateway, for each MCP server",
    "tapui.runtime.folders": "a gateway, for its first look at a folder",
    "tapui.runtime.folders.worktrees": "a tower, for a worktree of a session",
    "tapui.shipped": "a gateway: a folder's `tools/`, and `tapui provider add`",
    "tapui.shipped.docs": "the provider `docs`, for what is installed",
    "tapui.schemas.check": "a provider or a tower, for a slow schema",
}
"""Modules that are started with `python -m`, and by what. A gateway that runs while tapui is
updated starts the new one's."""

ENTRY_POINTS = {
    "scripts": {"tapui": "tapui.cli.main:main"},
    "tapui.provider": {"testing": "tapui.testing.opening:open_test"},
    "pytest11": {"tapui": "tapui.testing.pytest_plugin"},
}

# The environment

SETTINGS = """
    TAPUI_AGENT_TOLD TAPUI_AGENT_WORDS TAPUI_ALARMS_FAILING TAPUI_ALARMS_QUIET TAPUI_ALARMS_WAITING
    TAPUI_APPROVALS_COMMAND_LINE TAPUI_APPROVALS_NEW_TERMINALS TAPUI_ATTACH TAPUI_BELL
    TAPUI_BUDGET_REQUESTS TAPUI_BUDGET_TOKENS TAPUI_CHECKS_COMMANDS TAPUI_CHECKS_IGNORE
    TAPUI_COPILOT_HEADERS_FILE TAPUI_COPILOT_KEY_FILE TAPUI_COPILOT_MODEL TAPUI_COPILOT_PORT
    TAPUI_COPILOT_PROVIDER_TYPE TAPUI_COPILOT_PROVIDER_URL TAPUI_GLYPHS TAPUI_LIBRARY_DOCS_ADDRESS
    TAPUI_LIBRARY_DOCS_CONTEXT7 TAPUI_LIBRARY_DOCS_PATHS TAPUI_LOCAL_SESSION
    TAPUI_LANGUAGE_SERVER_PROGRAM
    TAPUI_MODES_AGENT_TO_AUTOPILOT
    TAPUI_MODES_AGENT_TO_INTERACTIVE TAPUI_MODES_AGENT_TO_PLAN TAPUI_MODES_COMMAND_LINE_TO_AUTOPILOT
    TAPUI_MODES_COMMAND_LINE_TO_INTERACTIVE TAPUI_MODES_COMMAND_LINE_TO_PLAN TAPUI_MODES_LOCK
    TAPUI_MODES_PROVIDER_TO_AUTOPILOT TAPUI_MODES_PROVIDER_TO_INTERACTIVE
    TAPUI_MODES_PROVIDER_TO_PLAN TAPUI_MODES_SUBAGENT_TO_AUTOPILOT TAPUI_MEMORY_FOLDER
    TAPUI_MEMORY_ASK_WRITES
    TAPUI_MODES_SUBAGENT_TO_INTERACTIVE TAPUI_MODES_SUBAGENT_TO_PLAN TAPUI_NOTIFY_COMMAND TAPUI_PORT
    TAPUI_PROOF_FILE_GOALS TAPUI_PROOF_PROVE TAPUI_PROOF_SEND_BACK
    TAPUI_PROVIDER_TOOLS TAPUI_RECORDS_FILE TAPUI_RECORDS_INLINE TAPUI_RECORDS_KEEP_DAYS
    TAPUI_RECORDS_MASK TAPUI_RECORDS_SESSION TAPUI_RECORDS_TRACES
    TAPUI_TELEMETRY_CAPTURE_CONTENT TAPUI_TELEMETRY_EXPORTER_TYPE TAPUI_TELEMETRY_FILE_PATH
    TAPUI_TELEMETRY_OTLP_ENDPOINT TAPUI_TELEMETRY_SOURCE_NAME TAPUI_THEME TAPUI_TIMEOUTS_CALL
    TAPUI_TIMEOUTS_EMITTER_APPROVAL TAPUI_TIMEOUTS_IDLE_EXIT TAPUI_TIMEOUTS_MODE_APPROVAL
"""
"""Variables that set what `config.toml` sets."""
VARIABLES = {
    "COPILOT_AGENT_SESSION_ID": "marks a process of an agent",
    "COPILOT_CLI": "marks a process of an agent",
    "COPILOT_EXTENSION_PARENT_PID": "marks a process of an agent",
    "COPILOT_HOME": "where Copilot's files are",
    "COPILOT_HOOK_DIR": "marks a process of an agent",
    "COPILOT_MODEL": "the model of sessions that tapui starts",
    "COPILOT_PROVIDER_BASE_URL": "a model of one's own, for Copilot",
    "NO_COLOR": "no colours",
    "TAPUI_DEBUG": "tracebacks",
    "TAPUI_DEMO_COMMAND": "inside of the demo",
    "TAPUI_DEMO_HOME": "inside of the demo",
    "TAPUI_DEMO_PACE": "inside of the demo",
    "TAPUI_DEMO_URL": "inside of the demo",
    "TAPUI_HOME": "configuration and state in one folder",
    "TAPUI_INSIDE": "marks what a gateway has started",
    "TAP_GATEWAY": "where programs of authors find the gateway",
    "TAP_RUN": "marks an emitter's run, and all that it starts",
    "TAP_SESSION": "an emitter's session",
    "TAP_PROVIDER_TOKEN": "what programs of authors authenticate with",
}

# The command line: commands with their arguments and options

COMMANDS = """
    : --attach --no-attach --port --theme --version
    approve id: --port
    call tool values: --args --port --session
    changes session: --json --md --patch --port --since
    completion shell:
    config: --example --json
    copilot args:
    demo: --theme
    deny id: --port
    doctor: --json
    emitters allow name: --folder --json --later-versions --port --session --yes
    emitters keep name: --folder --json --port --session
    emitters list name: --folder --json --port --session
    emitters logs name: --folder --json --last --port --session
    emitters pause name: --folder --json --port --session
    emitters resume name: --folder --json --port --session
    emitters revoke name: --folder --json
    emitters run name: --folder --json --port --session
    emitters start name: --folder --json --port --session
    emitters stop name: --folder --json --port --session
    findings add name: --folder
    findings export: --folder --format
    findings list: --folder --json --level --status
    findings show id: --folder --json
    findings triage id status: --folder --reason --until
    goal allow goal criterion: --json --port --yes
    goal change goal command: --and --ask-me --criterion --file --line --tool --without
    goal change: --deadline --json --port --status --title --tokens --turns
    goal done goal: --json --port
    goal drop goal: --json --port --reason
    goal list: --all --json --port --session
    goal note goal text: --json --port
    goal open command: --and --ask-me --criterion --file --line --tool
    goal open: --agent --deadline --json --parent --port --send-back --session --title --tokens
    goal open: --turns
    goal pause goal: --json --port
    goal resume goal: --json --port
    goal send-back goal switch: --json --port
    goal show goal: --json --port
    goal verify goal: --json --port
    install what: --dry-run
    language-server: --json --model --port --program
    language-server agent prompt:
    language-server sign-in:
    mcp add name: --cwd --env --header --json --url
    mcp allow name: --folder --json --later-versions --port --yes
    mcp list name: --all --folder --json --port
    mcp remove name: --folder --json
    mcp test name tool values: --all --args --folder --json
    mcp-door: --port
    memory delete name: --yes
    memory edit name:
    memory list: --json
    memory show name:
    next: --port
    provider add name: --folder --yes
    provider call file tool values: --args
    provider check file: --all --json
    provider describe file: --all --json --markdown
    provider dev file: --port --prefix --session
    provider mcp file:
    provider new name: --lang --template
    provider run file args:
    records: --collection --json --last --session
    records delete session: --yes
    records purge: --before --yes
    records query: --agg --format --group-by --limit --session --since --where
    replay session:
    review dispose finding disposition: --json --port --reason
    review list: --all --json --last --precision --session
    review sarif: --all --session
    review show id: --json
    run prompt: --cwd --json --mode --model --policy --port --resume --tries --trust-folder --until
    search text: --json --last --session --since
    send session text: --json --now --port --stop-first
    serve: --attach --detach --exit-when-idle --json --no-attach --port
    sessions delete session: --yes
    sessions go session:
    sessions list text: --json --last
    sessions resume session: --print
    status: --json --line --port --watch
    stop: --port --yes
    stop-turn session: --json --port
    tail stream: --follow --json --port --session
    token: --json --port --session
    tools call tool values: --args --folder --yes
    tools check: --folder --json
    tools dev: --folder --port --prefix --session --yes
    tools list: --folder --json
    tools run: --folder --port --prefix --session --yes
    uninstall what: --dry-run
    usage: --json --session --since
    why file: --json --last --since
    why-allowed call: --json --session
"""

# What is written into files of others (their bytes: `tests/corpus`)

WRITTEN = {
    "extensions/tapui/extension.mjs": "the extension of Copilot CLI",
    "skills/ci-fix/SKILL.md": "a skill",
    "skills/create-provider/SKILL.md": "a skill",
    "skills/tap-goal/SKILL.md": "a skill",
    "skills/tap-loop/SKILL.md": "a skill",
    "skills/tap-monitor/SKILL.md": "a skill",
}
MCP_ENTRY = ("tapui", ["-P", "-m", "tapui", "mcp-door"], {"TAPUI_HOME", "TAPUI_PORT"})
"""The entry in `mcp-config.json`: its name, arguments and variables."""
FOLDER_FILES = (
    ".mcp.json", ".vscode/mcp.json", "tap.config.json", ".github/tap.config.json",
    "copilot-channels.config.json", ".github/copilot-channels.config.json",
    "tapui.toml", ".github/tapui.toml",
)  # fmt: skip
"""Files that people keep for tapui in repositories."""
HOME_FILES = (
    "config.toml", "consents.json", "copied.txt", "copilot-port.json", "emitters",
    "gateway.json", "index", "internal-token", "last-approvals.json", "log", "mcp.json", "mcp",
    "pins", "provider-token", "records.sqlite", "run", "sessions.jsonl", "sessions", "themes",
    "tools-token", ".provider-token",
)  # fmt: skip
"""Names below the configuration, the state and Copilot's folder."""


def _rows(text: str) -> Iterator[str]:
    """Yield the rows of a table; a row goes on behind a line that ends with a comma."""
    yield from re.sub(r",\n\s*", ", ", text).strip().splitlines()


IMPORTS = [(module, row.strip()) for module, text in IMPORTED.items() for row in _rows(text)]


@pytest.mark.parametrize(("module", "row"), IMPORTS, ids=[row for _, row in IMPORTS])
def test_authors_import_and_call(module: str, row: str) -> None:
    name, signature = re.match(r"([\w.]+)\s*(.*)", row).groups()  # type: ignore[union-attr]
    found: Any = import_module(module)
    for part in name.split("."):
        assert hasattr(found, part), f"{module}.{name}: {KEEP}"
        found = getattr(found, part)
    if signature == "*":
        return
    taken = inspect.signature(found).parameters
    frozen = ast.parse(f"def f{signature}: ...").body[0]
    assert isinstance(frozen, ast.FunctionDef)
    old = frozen.args
    optional = [*old.posonlyargs, *old.args][::-1][: len(old.defaults)]
    optional += [one for one, value in zip(old.kwonlyargs, old.kw_defaults, strict=True) if value]
    by_place = [one.arg for one in (*old.posonlyargs, *old.args)]
    given = [one for one in taken.values() if one.kind < inspect.Parameter.VAR_POSITIONAL]
    assert [one.name for one in given][: len(by_place)] == by_place, f"{row}: {KEEP}"
    for one in (*old.args, *old.kwonlyargs):
        assert one.arg in taken, f"{one.arg} of {row}: {KEEP}"
    for one in optional:
        assert taken[one.arg].default is not inspect.Parameter.empty, f"{one.arg} of {row}: {KEEP}"
    known = {one.arg for one in (*old.posonlyargs, *old.args, *old.kwonlyargs, old.vararg,
                                 old.kwarg) if one}  # fmt: skip
    new = {key for key, one in taken.items() if one.default is inspect.Parameter.empty} - known
    assert not {key for key in new if taken[key].kind not in _MANY}, f"{row} needs {new}: {KEEP}"


_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def test_authors_find_attributes() -> None:
    import tapui.provider

    for name, attributes in ATTRIBUTES.items():
        source = inspect.getsource(getattr(tapui.provider, name))
        for one in attributes:
            assert re.search(rf"self\.{one}\b[^\n]* = |^    {one}: ", source, re.MULTILINE), (
                f"{one}: {KEEP}"
            )


@pytest.mark.parametrize("module", STARTED)
def test_started_modules_are_there(module: str) -> None:
    found = importlib.util.find_spec(module)
    assert found is not None, f"{module} is started by {STARTED[module]}: {KEEP}"
    if found.submodule_search_locations is not None:
        found = importlib.util.find_spec(f"{module}.__main__")
    assert found is not None
    assert found.origin is not None
    source = Path(found.origin).read_text()
    assert '__name__ == "__main__"' in source, f"{module} does nothing when it is started: {KEEP}"


def test_all_that_is_started_is_in_the_table() -> None:
    found = {
        name
        for path in PACKAGE.rglob("*.py")
        for name in re.findall(r'(?:own_program\(\s*|"-m", )"(tapui[\w.]*)"', path.read_text())
    }
    assert found <= set(STARTED), "add a row to STARTED: from now on this name stays"
    mains = {".".join(path.parent.relative_to(ROOT).parts) for path in PACKAGE.rglob("__main__.py")}
    assert mains <= set(STARTED)


def test_entry_points_stay() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = {"scripts": project["scripts"], **project["entry-points"]}
    for group, points in ENTRY_POINTS.items():
        for name, target in points.items():
            assert found[group].get(name) == target, f"{group} {name}: {KEEP}"
            module, _, attribute = target.partition(":")
            assert hasattr(import_module(module), attribute or "__name__"), target


def test_variables_of_the_environment_stay() -> None:
    from tapui.settings import loading

    found = {one.variable for one in loading.SETTINGS.values()}
    assert set(SETTINGS.split()) - found == set(), KEEP
    assert found - set(SETTINGS.split()) == set(), "a new setting: add its variable to SETTINGS"
    sources = "\n".join(
        path.read_text() for path in PACKAGE.rglob("*") if path.suffix in (".py", ".js", ".mjs")
    )
    for name in VARIABLES:
        assert re.search(rf"\b{name}\b", sources), f"{name}: {KEEP}"
    told = set(re.findall(r'["\'](TAPU?I?_[A-Z_]+[A-Z])["\']', sources))
    new = told - set(VARIABLES) - set(SETTINGS.split())
    assert not new, "a new variable: add it to VARIABLES"


def test_commands_and_their_options_stay() -> None:
    from tapui.cli import parser

    found = dict(_commands(parser.build(), ""))
    for row in _rows(COMMANDS):
        words, _, options = row.strip().partition(":")
        name = next((one for one in _shorter(words) if one in found), None)
        assert name is not None, f"{words}: {KEEP}"
        there = found[name]
        wanted = {*options.split(), *words.removeprefix(name).split()}
        assert not wanted - there, f"tapui {words}: {wanted - there}: {KEEP}"


def _shorter(words: str) -> Iterator[str]:
    """Yield what may be the command's name in a row: all of it, then fewer words."""
    parts = words.split()
    for count in range(len(parts), -1, -1):
        yield " ".join(parts[:count])


def _commands(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, set[str]]]:
    taken: set[str] = set()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, inner in action.choices.items():
                yield from _commands(inner, f"{name} {word}".strip())
        else:
            taken.update(action.option_strings or [action.dest])
    yield name, taken


def test_names_in_files_of_others_stay(tmp_path: Path) -> None:
    from tapui.hosts.copilot.install.mcp_config import McpConfig, doors, own_entry
    from tapui.hosts.copilot.install.own_files import ExtensionFile, skill_files

    for file in (ExtensionFile(tmp_path), *skill_files(tmp_path)):
        file.install()
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert set(WRITTEN) - written == set(), KEEP
    assert written - set(WRITTEN) == set(), "a new file in people's folders: add it to WRITTEN"
    name, arguments, variables = MCP_ENTRY
    entry = own_entry(dict.fromkeys(variables, "x") | {"PATH": "/bin"})
    assert (entry["args"], set(entry["env"])) == (arguments, variables), KEEP
    McpConfig(tmp_path, entry).install()
    assert doors(tmp_path) == [name], KEEP


def test_files_of_people_keep_their_names() -> None:
    sources = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    for name in (*FOLDER_FILES, *HOME_FILES):
        folder, slash, base = name.rpartition("/")
        there = f'"{name}"' in sources or (f'"{base}"' in sources and f"{folder}{slash}" in sources)
        assert there, f"{name}: {KEEP}"
