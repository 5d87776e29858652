"""The parts of a gateway, each made with the collaborators that it uses.

Only the gateway holds all of them; no part is given this object.
"""

from collections.abc import Callable
from functools import cache
from inspect import signature
from typing import Any, TypeVar

from tapui.core.approvals.approvals import Approvals
from tapui.core.approvals.modes import Modes
from tapui.core.approvals.note_writes import NoteWrites
from tapui.core.approvals.part_questions import PartQuestions
from tapui.core.approvals.policies import Policies
from tapui.core.approvals.spending import Spending
from tapui.core.calls.calls import Calls
from tapui.core.calls.native import NativeCalls
from tapui.core.context import CoreContext, IdSource
from tapui.core.conversations.builtin import BuiltinConversation
from tapui.core.conversations.caller import CallerConversation
from tapui.core.conversations.comparisons import Comparisons
from tapui.core.conversations.connections import BadFrames, Connections
from tapui.core.conversations.hello import Admission, Hellos
from tapui.core.conversations.host import HostConversation, SessionEvents
from tapui.core.conversations.person_marks import PersonMarks
from tapui.core.conversations.provider import ProviderConversation
from tapui.core.conversations.reading import History, Inspecting, Reading
from tapui.core.conversations.session_states import SessionStates
from tapui.core.conversations.tool_hosts import ToolHosts
from tapui.core.conversations.tower import TowerConversation
from tapui.core.emitters.agent_requests import AgentEmitters
from tapui.core.emitters.folders import EmitterFolders, ProjectProviders
from tapui.core.emitters.introduction import Introduction
from tapui.core.emitters.orders import EmitterOrders
from tapui.core.emitters.registry import Emitters
from tapui.core.emitters.start_requests import StartRequests
from tapui.core.goals.file_goals import FileGoals
from tapui.core.goals.goal_deadlines import GoalDeadlines
from tapui.core.goals.goals import Goals
from tapui.core.goals.objectives import Objectives
from tapui.core.goals.person import GoalQuestions
from tapui.core.goals.requests import GoalRequests
from tapui.core.goals.sending_back import SendingBack
from tapui.core.goals.turn_ends import TurnEnds
from tapui.core.goals.verifying import Verifying
from tapui.core.hooks.gates import Gates
from tapui.core.hooks.matching import Matcher
from tapui.core.hooks.prompts import Prompts
from tapui.core.mcp_servers import McpServers
from tapui.core.proof.person_checks import PersonChecks
from tapui.core.proof.watching import Proof
from tapui.core.providers.binding import Binding
from tapui.core.providers.identity import Providers
from tapui.core.providers.switches import ToolSwitches
from tapui.core.providers.tools import ToolTable
from tapui.core.reviews.reviews import Reviews
from tapui.core.runs.lines import EmitterLines
from tapui.core.runs.runs import Runs
from tapui.core.sessions.alarms import Alarms
from tapui.core.sessions.ending import Endings
from tapui.core.sessions.membership import Membership
from tapui.core.sessions.orders import Orders
from tapui.core.sessions.sessions import Announcements, OpenSessions, Subagents
from tapui.core.sessions.starts import Starts
from tapui.core.streams.injects import Injects
from tapui.core.streams.pushes import Budgets, Pushes
from tapui.core.streams.streams import Streams
from tapui.core.traces import Traces
from tapui.core.trust.grants import Trustees
from tapui.core.trust.guard import PersonGuard
from tapui.core.trust.pairing import Pairings
from tapui.core.trust.person import SessionShell
from tapui.core.trust.places import Places
from tapui.settings.settings import Settings
from tapui.wire.limits import MAX_CONNECTIONS
from tapui.wire.tower import GatewayStart

Made = TypeVar("Made")


class Parts:
    """Makes the parts, what knows before what uses it.

    A part's constructor names its collaborators as they are named here; they are not listed a
    second time (`tests/core/test_parts.py` holds their types against each other).
    """

    def __init__(
        self,
        *,
        run: str,
        ids: IdSource,
        settings: Settings,
        persist_dir: Callable[[str], str],
        matcher: Matcher,
        most_connections: int = MAX_CONNECTIONS,
        started: GatewayStart | None = None,
        shell: SessionShell | None = None,
    ) -> None:
        self.context = CoreContext(run, ids, settings.records.inline)
        self.matcher = matcher
        self.persist_dir = persist_dir
        self.most_tools = settings.provider_tools
        make = self._make

        # What is known
        self.connections = make(Connections)
        self.places = make(Places, most=most_connections)
        self.sessions = make(OpenSessions)
        self.announcements = make(Announcements)
        self.trustees = Trustees()
        self.traces = make(Traces, is_on=settings.records.traces)
        self.subagents = make(Subagents)
        # The rules of each concept
        self.providers = make(Providers)
        self.tools = make(ToolTable)
        self.calls = make(Calls, timeout=settings.timeouts.call)
        self.native = make(NativeCalls)
        self.gates = make(Gates)
        self.proof = make(Proof, setting=settings.checks, run=run)
        self.tool_switches = make(ToolSwitches)
        self.turn_ends = make(TurnEnds)
        self.prompts = make(Prompts)
        self.streams = make(Streams)
        self.budgets = make(Budgets)
        self.injects = make(Injects)
        self.approvals = make(Approvals)
        self.part_questions = make(PartQuestions)
        self.mcp_servers = make(McpServers)
        self.policies = make(Policies)
        self.modes = make(Modes, setting=settings.modes, patience=settings.timeouts.mode_approval)
        self.note_writes = make(NoteWrites, setting=settings.memory)
        self.alarms = make(Alarms, setting=settings.alarms)
        self.spending = make(Spending, setting=settings.budget)
        self.orders = make(Orders)
        self.emitters = make(Emitters)
        self.lines = make(EmitterLines)
        self.start_requests = make(StartRequests)
        self.runs = make(Runs)
        self.project_providers = make(ProjectProviders)
        self.verifying = make(Verifying)
        self.goals = make(Goals)
        self.file_goals = make(FileGoals, setting=settings.proof)
        self.emitter_folders = folders = make(EmitterFolders)
        introduction = make(Introduction, settings=settings.agent, folders=folders)
        self.prompts.introduce = introduction.of
        self.emitter_orders = make(EmitterOrders, folders=folders)
        self.person_checks = make(PersonChecks, folders=folders, setting=settings.proof)
        self.goal_deadlines = make(GoalDeadlines)
        self.objectives = make(Objectives)
        self.goal_questions = make(GoalQuestions)
        self.sending_back = make(SendingBack, setting=settings.proof)
        self.goal_requests = make(GoalRequests)
        self.starts = make(Starts)
        # Rules that join several concepts
        self.guard = make(PersonGuard, setting=settings.approvals, shell=shell)
        self.membership = make(Membership)
        self.binding = make(Binding)
        self.pushes = make(Pushes)
        self.endings = make(Endings)
        self.pairings = make(Pairings)
        # The conversations
        self.admission = make(Admission)
        self.bad_frames = make(BadFrames)
        self.hellos = make(Hellos)
        self.provider = make(ProviderConversation)
        self.inspecting = make(Inspecting)
        self.history = make(History)
        self.host = make(HostConversation)
        self.tool_hosts = make(ToolHosts)
        self.session_events = make(SessionEvents)
        self.tower = make(TowerConversation, started=started)
        self.reading = make(Reading)
        self.person_marks = make(PersonMarks)
        self.comparisons = make(Comparisons)
        self.reviews = make(Reviews)
        self.caller = make(CallerConversation)
        self.agent_emitters = make(
            AgentEmitters, folders=folders, patience=settings.timeouts.emitter_approval
        )
        self.builtin = make(BuiltinConversation)
        self.session_states = make(SessionStates)

    def _make(self, part: Callable[..., Made], **other: Any) -> Made:
        """Make a part with the collaborators that its constructor names, and what else it takes."""
        named = _collaborators(part) - other.keys()
        return part(**{name: getattr(self, name) for name in named}, **other)


@cache
def _collaborators(part: Callable[..., object]) -> frozenset[str]:
    """Return what a constructor names; read once, for that takes longer than to make the part."""
    return frozenset(signature(part).parameters)
