"""Every number of the interface, in one place; `tapui/wire/README.md` says what each is for.

Sizes are bytes, times are seconds unless a name says `_MS`.
"""

PROTOCOL_VERSION = 2

MAX_RESULT_BYTES = 5 * 1024 * 1024
"""A `tool.result` frame, inclusive."""
MAX_MESSAGE_BYTES = 2 * 1024 * 1024
"""Any other frame, inclusive."""
MAX_FRAME_BYTES = 32 * 1024 * 1024
"""Above this the transport closes the socket (1009) without reading the frame."""
MAX_FILE_BYTES = 20 * 1024 * 1024
"""A result that a provider leaves in a file."""
MAX_NOTE = 16_384
"""Characters of the text beside such a file."""
OVERSIZED_HEAD_BYTES = 64 * 1024
"""What is kept of a message over `MAX_RESULT_BYTES`, which is refused: its beginning, to find the
type and the id of the refused message in. The rest is counted and dropped as it arrives, so any
number of connections may send such messages at a time."""
MAX_UNAUTHENTICATED_BYTES = 4 * 1024
MAX_DEPTH = 256
"""Nesting of any JSON that is passed through."""
MAX_SCHEMA_DEPTH = 32
"""Nesting of a tool's `parameters`."""

MAX_CONNECTIONS = 200
"""Connections that have authenticated, bridges of MCP servers aside; where the process may have
fewer than 1,000 descriptors there are fewer, and the next three in proportion."""
KEPT_CONNECTIONS = 40
"""Of them, those that only the internal token gets: towers, commands and hosts."""
MAX_TOKEN_CONNECTIONS = 100
"""Of them, with one and the same token other than the internal one."""
MAX_BRIDGE_CONNECTIONS = MAX_CONNECTIONS
"""Connections of the bridges of MCP servers, one for each of their sessions."""
MAX_SILENT_OF_PROCESS = 20
"""Connections of one process over the Unix socket that said no hello, authenticated or not: the one
that was silent for longest is closed for a new one."""
MAX_UNAUTHENTICATED = 10
"""Connections of other users' programs, or unknown ones', that have not authenticated. Of these and
the next three, the one that was silent for longest is closed for a new one."""
MAX_OWN_UNAUTHENTICATED = 50
"""The same of the user's own programs: over the Unix socket, and again over TCP."""
MAX_PAGES_UNAUTHENTICATED = 20
"""The same of pages."""
MAX_ORIGIN_UNAUTHENTICATED = 4
"""The same of pages of one Origin."""
AUTH_TIMEOUT = 10.0
REFUSALS_TOLD = 60.0
"""How often towers and the records learn at most that a connection got no place."""
MAX_HOLDERS = 20
"""Holders of connections that a snapshot names."""

MAX_TOOLS = 1_000
"""Tools of a provider; `provider-tools` of the settings says how many of them are taken."""
MAX_DECLARED_BYTES = 2 * 1024 * 1024
"""Definitions of a provider's tools together, and likewise the texts of its transforms: as much as
one message carries, however many updates brought them."""
MAX_HOOK_RULES = 50
MAX_STREAMS = 20
STREAM_LINES = 200
MAX_SEQ = 2**53 - 1
"""Above every number of a line."""
MAX_HISTORY = 100
MAX_NAME = 64
MAX_ID = 256
"""Characters of an id, or of a name that a message refers to."""
MAX_EXPLANATION = 500
"""Characters of what an error says about a field."""
MAX_PATH = 4_096
"""Characters of a path."""
MAX_IDS = 1_000
"""Entries of a list of ids or names."""
MAX_SUBSCRIPTIONS = 100
"""Events that a provider wants to hear of."""
MAX_AGENTS = 1_000
"""Custom agents of a session."""
MAX_SECTIONS = 100
"""Sections of a prompt that one message has, or one provider changes."""
MAX_UNATTACHED = 100
"""Sessions that a host sees but cannot reach."""
HOST_LOOKS = 20
"""Hosts that have looked for sessions, as many as the live state keeps."""

PUSHES_PER_SECOND = 10
"""Pushes of a provider into a session that reach the person or the agent (`surface`, `inject`)."""
KEPT_PER_SECOND = 200
"""All its pushes into a session, those that are only kept among them."""
DROPPED_INTERVAL = 1.0
"""How often a stream says at most how many of its lines were dropped."""
MAX_HELD_INJECTS = 20
MAX_HELD_CHARACTERS = 4 * 1024 * 1024
"""Characters of the injects of one provider that wait for a session."""
MAX_INJECT_CYCLES = 3
TURN_TIMEOUT = 10.0
"""How long a delivered inject holds the next one back while its session starts no turn."""
SESSION_STREAM_BYTES = 16 * 1024 * 1024
"""Stream lines of one session in memory; the oldest of its largest stream go first."""
STREAM_BYTES = 64 * 1024 * 1024
"""Stream lines of all sessions in memory."""
DEPARTED_STREAM_TTL = 600.0
"""How long the lines of a provider that left its session stay in memory."""
MAX_DEPARTED_STREAMS = 200
"""Providers that left a session whose lines stay so long; those of the oldest go first."""
MAX_STREAM_READ_BYTES = 4 * 1024 * 1024
"""An answer to `stream.read`: the newest lines that fit, one at least."""

CANCEL_GRACE = 5.0
"""How long a cancelled call stays visible as *cancelling* without the provider's answer."""
MAX_CALL_TIMEOUT = 24 * 3600.0

MAX_SESSIONS = 1_000
"""Sessions that are open at once, of all hosts."""
MAX_CALLS = 5_000
"""Calls of one caller under way, those being cancelled too."""
MAX_CALL_BYTES = 64 * 1024 * 1024
"""Arguments of one caller's calls under way."""
MAX_REQUESTS = 200
"""Approvals that one host waits for."""
MAX_REQUEST_BYTES = 32 * 1024 * 1024
"""Details of the approvals that one host waits for."""
MAX_KEPT_RULES = 200
"""Requests that are allowed exactly so until a session ends."""
MAX_REQUEST_PARTS = 32
"""Parts of a request for which the verdict of rules is shown."""
MAX_PART_WRITES = 8
"""Files of a part that redirections write, as they are shown."""
MAX_RULE_TEXT = 500
"""Characters of a rule's pattern, or of a part of a request, as they are shown."""
MAX_PORTS = 16
"""Ports of the program in which a session lives."""
MAX_SEEN_PORTS = 200
"""Ports of programs that a host sees."""
MAX_NATIVE_CALLS = 1_000
"""Calls of a session's own tools under way; the oldest is given up beyond that. As many of its
commands in the background are known."""
MAX_SHELLS = 20
"""Commands in the background for which a session waits, the oldest ones."""
MAX_SHELL_TEXT = 16 * 1024
"""Characters of the beginning, and of the end, that are kept of a command's long output."""
MAX_LIVE_OUTPUT = 8 * 1024
"""Bytes of the newest output of a call that are shown while it runs."""
LIVE_OUTPUT_INTERVAL = 0.4
"""The newest output of a call is taken once in this time; what comes between is dropped."""
MAX_QUOTAS = 20
"""Quotas that are kept of a session's account."""
MAX_TODOS = 100
"""Entries that are kept of an agent's list of what there is to do, the first ones; all count."""
MAX_SPANS = 200
"""Spans that are recorded in a second; those of a turn that are more are counted in its span."""
MAX_ROUTE_SPANS = 50
"""Of those, spans of batches of emitters' lines; further lines join the batch that comes next."""
MAX_SPAN_ERROR = 200
"""Characters of a run's last line on stderr that its span has."""
MAX_SPANS_READ = 1_000
"""Spans of an answer to `spans.read`."""
MAX_WAITING_SPANS = 32
"""Spans of a turn that wait until it is known which trace it belongs to."""
MAX_CHILDREN = 1_000
"""Child sessions that a session knows; the oldest is forgotten beyond that."""
MAX_SUBAGENTS = 50
"""Subagents that a session's view shows; the oldest that ended goes first."""
MAX_QUEUED = 10
"""Calls that wait for a place with a provider that takes only so many at once."""
GATE_TIMEOUT = 5.0
TRANSFORM_TIMEOUT = 2.0
MAX_PATTERN = 1_000
"""Characters of a regex."""
MATCH_TIMEOUT = 0.001
MAX_EVENT_OUTPUT = 64 * 1024
"""Bytes of a call's output in `tool.execution_complete`."""
LOOK_TIMEOUT = 3.0
"""Seconds that a host has to tell what else goes on in a session; what is missing then is
unknown."""
MAX_LOOKED = 100
"""Tasks, schedules and canvases that it tells, of each."""
MAX_CONDITIONS = 20
"""Conditions of a question to the records, of each kind."""
MAX_FIELDS = 50
"""Paths of what it asks for."""
MAX_GROUPS = 3
MAX_AGGREGATES = 8
MAX_TOOL_RESULT = 64 * 1024
"""Bytes of a result of tapui's own tools, as JSON."""
MAX_SUBJECT = 64 * 1024
"""Bytes of text that a regex is tried on."""
MAX_SHOWN_METADATA = 2 * 1024
"""Bytes of a provider's metadata that lists of tools and a session's state include; more is left
out of them."""
MAX_CONTEXT = 64 * 1024
"""Characters of a context that the person and the model are shown."""
MAX_CRITERION = 2_000
"""Characters of a criterion's text, or of its command."""
MAX_CRITERION_TEXTS = 20
"""Texts or patterns of files that one criterion names."""
PROOF_RUN_SECONDS = 3600
"""How long a check that the person runs may take."""
MAX_STREAM_LOOK = 200
"""Lines of a stream that a criterion looks at."""
MAX_GOALS = 50
"""Goals of a session; of more, the oldest that is closed goes first."""
MAX_CRITERIA = 50
"""Criteria of a goal."""
MAX_GOAL_BYTES = 64 * 1024
"""A goal with its criteria, as JSON."""
TRIES = 3
"""How often an agent is sent back in one turn, where the session was not started with another
number."""
MAX_TRIES = 20
"""The highest such number."""
MAX_EVIDENCE_CHECKS = 100
"""Checks that are verified at once, or support one claim."""
MAX_CLAIMS = 50
"""Claims that are audited at once."""
MAX_CHECK_ACTUAL = 500
"""Characters of what a check found."""
MAX_REVIEW_FINDINGS = 100
"""Findings of one review, and dispositions that one proposes."""
MAX_REVIEW_ACTIONS = 50
"""Actions that a review tells of."""
MAX_GAPS = 50
"""Ranges of lines that no review has, which a review tells, the newest."""
MAX_REVIEW_BYTES = 128 * 1024
"""A review with its findings, as JSON."""
LEVEL_RUNS = 2_000
"""Runs of a stream's lines with one level of which is known how long they are, the newest."""
RECENT_REVIEWS = 100
"""Reviews of a session that the live state keeps, the newest; the records have all."""
RECENT_FINDINGS = 1_000
"""Findings in them; the reviews before go first."""
MAX_FINDINGS = 10_000
"""Findings of a session by which a later one is known; the oldest goes first."""
RECENT_GATES = 50
"""Settled gates that the live state keeps."""

SHUTDOWN_MS = 10_000
SESSIONS_QUIET = 0.2
"""After a change of a label or of the foreground `sessions.updated` waits so long for others."""
SESSIONS_QUIET_MAX = 1.0
"""... and is not put off longer than this by a steady flow of changes."""
MAX_TOOLS_OFF = 1_000
"""Tools of a session that the person has switched off one by one."""
MAX_PROVIDERS_OFF = 200
"""Providers of which anything is switched off in a session."""
TOOLS_QUIET = 0.2
"""`tools.changed` is sent at most once per this quiet period."""
TOOLS_QUIET_MAX = 1.0
"""... and is not put off longer than this by a steady flow of changes."""

PAIRING_TIMEOUT = 120.0
MAX_PAIRINGS = 3
PAIRING_ATTEMPTS_PER_MINUTE = 5
ORIGIN_REQUESTS_PER_MINUTE = 5
"""Pairing requests of one Origin; local programs, which have none, count as one."""
PAIRING_REQUESTS_PER_MINUTE = 10
"""Pairing requests over the whole gateway."""
PAIRING_LINE_INTERVAL = 30.0
"""Without a tower at most one pairing code goes to the timeline in this time."""
BIND_ALL_TIMEOUT = 120.0
HOST_APPROVAL_TIMEOUT = 24 * 3600.0
"""A host's request without a `timeout` lives until it is settled, or so long."""
MAX_WAITED = 365 * 24 * 3600.0
"""How long a request may have waited before the gateway hears of it."""
MODE_SET_TIMEOUT = 10.0
"""How long a host may take to answer `mode.set`."""

MAX_TELL = 64 * 1024
"""Characters of a text that the person sends to a session."""
MAX_HELD_ANSWERS = 64
"""Messages of one connection that wait until the process behind it is known."""
MAX_ASKED_BY_COMMANDS = 8
"""Terminals and commands that the person is asked about at a time."""
MAX_ORDERS = 20
"""Orders of a session that are under way, texts that wait for its turn's end too."""
ORDER_TIMEOUT = 15.0
"""How long a host may take to say that it has begun with an order."""
ORDER_WORK_TIMEOUT = 600.0
"""How long a host may then take. A text that waits for the turn's end waits as long as it takes."""
MAX_ABILITIES = 20
"""Things that a host says it can or cannot do in a session; efforts that a model knows."""
MAX_MODELS = 200
"""Models that a session can be switched to."""
TOOL_SESSIONS_PER_MINUTE = 60
"""Sessions that all tool hosts together may open: each has a folder for its records."""

MAX_STARTS = 20
"""Sessions that are being started at once."""
START_TIMEOUT = 90.0
"""How long a start may take: a process of the CLI begins with it, perhaps its first on a machine.
"""
MAX_STARTED_NAME = 100
"""Characters of the name with which a session is started."""
MAX_GIVEN_RULES = 2_000
"""Rules that a session is started with."""
MAX_ATTACHMENTS = 20
"""Files and folders that go along with a text."""
MAX_RUNNING = 50
"""Commands that go on in the background, as an order's result names them."""
RECENT_ORDERS = 50
"""Orders that are over, in the live state."""

MAX_EMITTERS = 200
"""Emitters of a gateway."""
MAX_FOLDER_EMITTERS = 100
"""Of them, those that one folder's file may have, its providers in each session counted."""
MAX_MCP_SERVERS = 64
"""MCP servers of a gateway."""
MAX_MCP_TOOLS = 100
"""Tools that are listed of each of them."""
MAX_EMITTER_STREAMS = 64
"""Streams of tapui's own in a session, those of emitters among them."""
MAX_INTERVAL = 366 * 24 * 3600
"""Between two runs of an emitter."""
CRON_LOOK = 30.0
"""An emitter that waits for a time of a cron expression looks at the calendar again in this time,
since clocks are set and machines sleep."""
MAX_PROPOSED = 64 * 1024
"""Characters of a command or a prompt of which the person is asked."""
FAILURE_PAUSE = 300.0
"""How long the pause after runs that fail in a row becomes; each doubles it, up to this or to what
the schedule says."""
LOST_PAUSE = 5.0
"""How long it takes until what was lost with the runner runs again; doubled each time, as above."""
PROVIDER_PAUSE = 1.0
"""How long it takes until a provider of the project that has ended is started again; doubled with
each that ended soon."""
PROVIDER_PAUSE_MOST = 60.0
PROVIDER_STEADY = 60.0
"""How long a provider runs that has not ended soon."""
IDLE_PAUSE = 2.0
"""How long a session has to be idle until a prompt that waits for this is sent."""
MAX_HELD_LINES = 20
"""Lines of an emitter that wait for the session; the oldest go first, and are counted."""
MAX_HELD_LINE = 2_000
"""Characters of such a line; it is cut there, and whole in its stream."""
SURFACED_PER_SECOND = 10
"""Lines of an emitter that are shown in the session's timeline; more are in the stream alone."""
COUNTED_INTERVAL = 2.0
"""Seconds between two events that only tell an emitter's counts."""
MODEL_PROMPT_RUNS = 10
"""Runs of prompts that a session's agent has asked for, in all."""
ASKED_AGAIN = 10
"""How often the person is asked within `ASKED_AGAIN_SECONDS` about what a folder's file says, and
three times more for each of its entries; what changes more often waits until they start it."""
ASKED_AGAIN_SECONDS = 600.0
MODEL_REQUESTS = 5
"""Commands of a session's agent that wait for the person's yes to run as emitters."""
MODEL_DENIALS = 5
"""Such commands that the person denies within `MODEL_DENIALS_SECONDS` until no more are shown."""
MODEL_DENIALS_SECONDS = 600.0

REBINDS_PER_MINUTE = 10
RECONNECT_TTL = 30.0
MAX_DEPARTED = 50
"""Providers that left and may come back with their reconnect token; the oldest is forgotten."""
MAX_FORMER_IDS = 100
"""Former ids that a session, or a provider that was moved, still answers to; the newest stay."""
MAX_SESSION_TOKENS = 1_000
"""Tokens for single sessions that are in force at once; the oldest goes first."""

OUTBOX_BYTES = 8 * 1024 * 1024
"""A provider whose unread output exceeds this is dropped."""

CUT_HEAD = 1024
"""Characters kept of arguments or a result too large to be recorded whole."""
DETAIL_BYTES = 4 * 1024
"""Arguments and results are kept whole in the live state up to this size."""
HEAD_BYTES = 2 * 1024
"""Other text is kept in the live state up to this size; `detail.read` gives all of it."""
RECENT_STREAMS = 500
"""Streams that the live state keeps, by when their last line came."""
RECENT_CALLS = 200
"""Finished calls that the live state keeps."""
RECENT_APPROVALS = 100
"""Settled approvals that the live state keeps."""
MAX_ALARMS = 200
"""Alarms that the live state keeps; the oldest goes first."""
RECENT_PROVIDERS = 20
"""Gone providers that the live state keeps."""
ENDED_SESSIONS = 20
"""Ended sessions that the live state keeps."""

TURNS = 50
"""Turns of a session that the live state keeps."""
TURN_STEPS = 200
"""Steps of a turn that are kept; the oldest that ended goes first."""
SUBAGENT_STEPS = 50
"""Steps of a subagent that are kept within its turn."""
SESSION_STEPS = 1_000
"""Steps of all turns of a session that are kept; those of its oldest turns go first."""
TURN_FILES = 20
"""Changed files that a turn's head names; the one that was changed longest ago goes first."""
MAX_USED_MODELS = 20
"""Models of a session whose use is counted apart; what others use is counted together."""
CHANGED_FILES = 2_000
"""Files of an answer to `changes.read`."""
MAX_CHANGES_BYTES = 4 * 1024 * 1024
"""An answer to `changes.read`: the first files that fit."""
MAX_DIFF_BYTES = 5 * 1024 * 1024
"""An answer to `diff.read`; the rest is cut. A file that is larger is not compared by lines."""
MAX_HUNK_LINES = MAX_DIFF_BYTES // 4
"""Lines of a hunk: as many as an answer has room for."""
MAX_DIFF_LINE = 2_000
"""Characters of a line of a diff, but for a patch."""
MAX_STATE_ID = 64
"""Characters of what names a file's state."""
MAX_SEEN_FILES = 1_000
"""Files of a session that the person has marked as seen; the one marked longest ago goes first."""
MAX_NOTES = 200
"""Notes on a session's changes; with that many the next one is refused."""
MAX_NOTE_BODY = 4_000
"""Characters of such a note."""
MAX_NOTE_QUOTE = 400
"""Characters that it quotes."""
FILE_WRITERS = 4
"""Writers of a changed file, the newest."""
MAX_SUMMARY = 300
"""Characters of a step's summary, of a prompt and of a message in a turn."""
MAX_TURNS_READ_BYTES = 1024 * 1024
"""An answer to `turns.read`: the newest turns that fit, one at least."""
NOW_INTERVAL = 0.1
"""`session.now` of a session is handed on to towers once in this time; what comes between is
dropped."""
MAX_RESTORED_BYTES = 512 * 1024
"""Turns that are read back for a session, as JSON; the steps of the oldest go first."""

MAX_INSPECTIONS = 8
"""Connections that a tower inspects at a time."""
INSPECT_LINES = 500
"""Messages of an inspected connection that wait for a tower; the oldest goes first."""
INSPECT_BYTES = 256 * 1024
"""Characters of their texts together."""
INSPECT_HEAD = 4 * 1024
"""Characters of a message that an inspection shows."""
