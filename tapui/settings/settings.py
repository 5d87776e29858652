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
    """`person`: what answers, sends, starts or grants must come from a terminal of yours, and not
    from an agent or what it has started. `always`: any process of yours may."""
    new_terminals: str = "ask"
    """A terminal that was opened after the first agent began. `ask`: you are asked once for it, in
    the tower; without a tower it is refused. `take`: it is taken as yours."""


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
    model: str = ""
    """The model of sessions that tapui starts without naming one."""


class Notify(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """How you are called when something waits for you, besides the bell and the title."""

    command: tuple[str, ...] = ()
    """A program and its arguments, run without a shell; `{text}` in them is the notice. Such as
    ["notify-send", "--", "tapui", "{text}"]; empty for none."""


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
    copilot: CopilotAccess = field(default_factory=CopilotAccess)
    notify: Notify = field(default_factory=Notify)
    alarms: Alarming = field(default_factory=Alarming)
    budget: Spend = field(default_factory=Spend)
    keys: dict[str, str] = field(default_factory=dict)
    """The tower's keys, by action: one key, or several with blanks between them."""
    agent: Briefing = field(default_factory=Briefing)
    timeouts: Timeouts = field(default_factory=Timeouts)
    records: Records = field(default_factory=Records)
