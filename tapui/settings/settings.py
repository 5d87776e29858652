"""The settings, with their defaults: each table of the configuration is a Struct."""

from msgspec import Struct, field

from tapui import DEFAULT_PORT


class Briefing(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What the agent of a session learns of tapui."""

    told: bool = True
    """Whether the agent gets a few lines about tapui's tools, the emitters and the streams, with
    its first prompt and again after `/clear`."""
    words: str = ""
    """Words of your own about the tools, instead of tapui's; the emitters and streams follow."""


class Timeouts(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Times in seconds."""

    call: float = 120.0
    """How long a tool call may take when neither tool nor caller gives a timeout."""
    mode_approval: float = 60.0
    """How long a mode switch waits for the person before it is denied."""
    emitter_approval: float = 600.0
    """How long a command that an agent wants to have run beside its session waits for the person
    before it is denied."""
    idle_exit: float = 30.0
    """`serve --exit-when-idle`: how long after the last session ended."""


class Records(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The records: their limits in bytes, how long they are kept, what is masked in them."""

    inline: int = 64 * 1024
    """Arguments and results are kept whole up to this size."""
    file: int = 64 * 1024 * 1024
    """A file is rotated at this size."""
    session: int = 1024 * 1024 * 1024
    """The oldest rotated files of a session are dropped above this total."""
    keep_days: int = 90
    """Records of sessions that ended so many days ago are removed."""
    traces: bool = True
    """Whether spans of turns, gates, queues, calls and prompts are recorded, and calls carry a
    `traceparent` of ours to their providers."""
    mask: tuple[str, ...] = ()
    """Patterns of texts that are masked before they are recorded, besides well-known secrets."""


class Alarming(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """When you are called although no question has just come."""

    waiting: float = 10.0
    """Minutes that a request may wait before you are called again; 0 for no such alarm."""
    quiet: float = 10.0
    """Minutes that a turn may go without an event, while nothing of it waits for you; 0 for no such
    alarm."""
    failing: bool = True
    """Call you when the same program and subcommand fails three times in a turn."""


class Spend(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What a session may use before its next prompt waits for your answer; 0 for no such budget."""

    tokens: int = 0
    """Tokens in and out, those from a cache too, that a session may use before its next prompt
    waits for you; 0 for no budget."""
    requests: float = 0.0
    """The same in premium requests, where the session reports them."""


class Answering(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Who may answer what waits for you."""

    command_line: str = "person"
    """`person`: what answers, sends, starts or grants must come from the tower or from a shell that
    you let in, and not from an agent or what it has started. `always`: any process of yours may."""
    new_terminals: str = "ask"
    """A shell that you have not let in. `ask`: you are asked once for it, in the tower or where
    `tapui serve` runs; without either it is refused. `take`: it is taken, and recorded as not let
    in."""


class ModeSwitches(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Requests to switch a session's mode, by who asks and the mode that is asked for. `allow`: it
    is switched at once; `ask`: you are asked; `never`: it is refused."""

    agent_to_plan: str = "ask"
    """When the session's agent asks for plan."""
    agent_to_interactive: str = "ask"
    """When the session's agent asks for interactive."""
    agent_to_autopilot: str = "ask"
    """When the session's agent asks for autopilot; never `allow`."""
    subagent_to_plan: str = "ask"
    """When a subagent asks for plan, in its session."""
    subagent_to_interactive: str = "ask"
    """When a subagent asks for interactive, in its session."""
    subagent_to_autopilot: str = "never"
    """When a subagent asks for autopilot, in its session; never `allow`."""
    provider_to_plan: str = "ask"
    """When a provider asks for plan."""
    provider_to_interactive: str = "ask"
    """When a provider asks for interactive."""
    provider_to_autopilot: str = "never"
    """When a provider asks for autopilot; never `allow`."""
    command_line_to_plan: str = "ask"
    """When a command of yours (`tapui call tap_set_session_mode`) asks for plan."""
    command_line_to_interactive: str = "ask"
    """When a command of yours (`tapui call tap_set_session_mode`) asks for interactive."""
    command_line_to_autopilot: str = "ask"
    """When a command of yours (`tapui call tap_set_session_mode`) asks for autopilot; `allow` holds
    only while `approvals.command-line` is `person`."""
    lock: bool = True
    """Whether a mode that you set, in tapui or in the session itself, is yours until you change it:
    requests of others are refused, and read that it is `userOwned`."""


class Checking(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What a turn of an agent is checked by, beside the checks that tapui knows."""

    commands: tuple[str, ...] = ()
    """Commands that are checks of each folder, such as "./check.sh": a turn that changed files
    shows whether they passed since. Each is one command, without `&&`, `;` or a pipe. tapui does
    not run them by itself."""
    ignore: tuple[str, ...] = ()
    """Patterns of files whose changes need no check, such as "CHANGELOG*" or "site/"."""


class Proving(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What you can do about a turn that nothing proves."""

    prove: bool = True
    """Whether a session's check can be run as your own command (`.` `v`, `tapui prove`)."""
    send_back: bool = True
    """Whether what is missing of a turn can be sent back to its agent: by you (`.` `r`), or by a
    goal at the end of its turn."""
    file_goals: bool = True
    """Whether goals of a folder's `tap.config.json` are opened in its sessions, once you allowed
    them."""


class CopilotAccess(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """How tapui comes into sessions of Copilot CLI."""

    port: str = "ask"
    """Whether Copilot may open its port, which asks for no password (`--ui-server`). `ask`: you are
    asked once where other people have accounts. `always`: you are not asked. `never`: `tapui
    copilot` does not open it, and none is attached to; the extension is the way in."""
    provider_url: str = ""
    """Sessions that tapui starts: the address of a model provider of your own (OpenAI's protocol,
    up to `/v1`), as `COPILOT_PROVIDER_BASE_URL` names it, which goes before this."""
    provider_type: str = "openai"
    """The provider's kind: `openai`, `azure` or `anthropic`."""
    key_file: str = ""
    """The file with the provider's key; read when the gateway starts."""
    headers_file: str = ""
    """The file with HTTP headers for the provider, one "Name: value" a line, as
    `COPILOT_PROVIDER_HEADERS` has them; read when the gateway starts."""
    model: str = ""
    """The model of sessions that tapui starts without naming one."""


class Telemetry(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Where spans go, besides the records. These hold only from your file or the administrator's:
    no variable sets them."""

    otlp_endpoint: str = ""
    """The address of an OpenTelemetry collector (OTLP over HTTP), such as "http://localhost:4318":
    tapui's spans go there as they end, and those of sessions that it starts. Empty for none."""
    exporter_type: str = ""
    """Sessions that tapui starts: `otlp-http` or `file`, where an endpoint and a file are set."""
    file_path: str = ""
    """Sessions that tapui starts: the file in which Copilot writes its spans, one a line."""
    source_name: str = ""
    """Sessions that tapui starts: the name of the instrumentation in Copilot's spans."""
    capture_content: bool = False
    """Whether Copilot's spans of sessions that tapui starts have prompts, answers, arguments and
    results. tapui's own have none of these."""


class Memory(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The notes of the provider `memory`."""

    folder: str = ""
    """The folder in which they are; empty for "~/.copilot-cli/memories"."""
    ask_writes: bool = False
    """Whether you are asked before an agent saves or deletes a note, in each session, also where
    its program asks nothing. Without it the program asks as about each tool."""


class Notify(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """How you are called when something waits for you, besides the bell and the title."""

    command: tuple[str, ...] = ()
    """A program and its arguments, run without a shell; `{text}` in them is the notice, `{kind}` a
    word for what it is about (a request's kind, `alarm`, `several`), `{session}` the session's id.
    Such as ["notify-send", "--", "tapui", "{text}"]; empty for none."""


class LibraryDocs(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Where the provider `docs` looks, besides tapui's own documents and the packages that are
    installed for a session's folder. These hold only from your file or the administrator's: no
    variable sets them."""

    context7: str = "ask"
    """Whether the service Context7 may be asked about libraries that are not here: it reads their
    names and the agent's question. `ask`: it is not asked, and you are shown once in a session how
    to allow it; `always`; `never`."""
    address: str = ""
    """The address of that service; empty for https://context7.com."""
    paths: tuple[str, ...] = ()
    """Folders of documents of your own (`.md`): each is a library, with the folder's name."""


class LanguageServerAccess(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Copilot's language server, for `tapui language-server`."""

    program: str = ""
    """The server's program, as a whole path; empty for `copilot-language-server` on the PATH."""


class Settings(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """All settings, with their defaults."""

    port: int = DEFAULT_PORT
    """The gateway's port on 127.0.0.1 and ::1."""
    theme: str = "tapui-dark"
    """The name of the tower's theme."""
    attach: bool = True
    """Whether to look for running Copilot sessions."""
    provider_tools: int = 100
    """How many tools a provider may have, an MCP server too: each goes along with every request to
    the model."""
    local_session: bool = True
    """Whether the built-in session `local` is there."""
    glyphs: str = "unicode"
    """`unicode`, or `ascii` for terminals that draw other characters with another width."""
    bell: bool = True
    """Whether the terminal's bell rings when something waits for you."""
    approvals: Answering = field(default_factory=Answering)
    modes: ModeSwitches = field(default_factory=ModeSwitches)
    checks: Checking = field(default_factory=Checking)
    copilot: CopilotAccess = field(default_factory=CopilotAccess)
    notify: Notify = field(default_factory=Notify)
    alarms: Alarming = field(default_factory=Alarming)
    budget: Spend = field(default_factory=Spend)
    keys: dict[str, str] = field(default_factory=dict)
    """The tower's keys, by action: one key, or several with blanks between them."""
    agent: Briefing = field(default_factory=Briefing)
    timeouts: Timeouts = field(default_factory=Timeouts)
    records: Records = field(default_factory=Records)
    telemetry: Telemetry = field(default_factory=Telemetry)
    proof: Proving = field(default_factory=Proving)
    memory: Memory = field(default_factory=Memory)
    library_docs: LibraryDocs = field(default_factory=LibraryDocs)
    language_server: LanguageServerAccess = field(default_factory=LanguageServerAccess)
