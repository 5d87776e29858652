"""The parts of a gateway, each made with the collaborators that it uses.

Only the gateway holds all of them; no part is given this object.
"""

from collections.abc import Callable

from tapui.core.approvals.approvals import Approvals
from tapui.core.approvals.modes import Modes
from tapui.core.approvals.part_questions import PartQuestions
from tapui.core.approvals.policies import Policies
from tapui.core.approvals.spending import Spending
from tapui.core.calls.calls import Calls
from tapui.core.calls.native import NativeCalls
from tapui.core.context import CoreContext, IdSource
from tapui.core.conversations.builtin import BuiltinConversation
from tapui.core.conversations.caller import CallerConversation
from tapui.core.conversations.connections import BadFrames, Connections
from tapui.core.conversations.hello import Admission, Hellos
from tapui.core.conversations.host import HostConversation, SessionEvents
from tapui.core.conversations.provider import ProviderConversation
from tapui.core.conversations.reading import History, Inspecting, Reading
from tapui.core.conversations.tool_hosts import ToolHosts
from tapui.core.conversations.tower import TowerConversation
from tapui.core.emitters.agent_requests import AgentEmitters
from tapui.core.emitters.folders import EmitterFolders, ProjectProviders
from tapui.core.emitters.inputs import EmitterInputs
from tapui.core.emitters.introduction import Introduction
from tapui.core.emitters.orders import EmitterOrders
from tapui.core.emitters.registry import Emitters
from tapui.core.emitters.start_requests import StartRequests
from tapui.core.hooks.gates import Gates
from tapui.core.hooks.matching import Matcher
from tapui.core.hooks.prompts import Prompts
from tapui.core.mcp_servers import McpServers
from tapui.core.providers.binding import Binding
from tapui.core.providers.identity import Providers
from tapui.core.providers.tools import ToolTable
from tapui.core.runs.lines import EmitterLines
from tapui.core.runs.runs import Runs
from tapui.core.sessions.alarms import Alarms
from tapui.core.sessions.ending import Endings
from tapui.core.sessions.membership import Membership
from tapui.core.sessions.orders import Orders, Starts
from tapui.core.sessions.sessions import Announcements, OpenSessions, Subagents
from tapui.core.streams.injects import Injects
from tapui.core.streams.pushes import Budgets, Pushes
from tapui.core.streams.streams import Streams
from tapui.core.traces import Traces
from tapui.core.trust.grants import Trustees
from tapui.core.trust.guard import PersonGuard
from tapui.core.trust.pairing import Pairings
from tapui.core.trust.places import Places
from tapui.settings.settings import Settings
from tapui.wire.limits import MAX_CONNECTIONS


class Parts:
    """Makes the parts, what knows before what uses it."""

    def __init__(
        self,
        *,
        run: str,
        ids: IdSource,
        settings: Settings,
        persist_dir: Callable[[str], str],
        matcher: Matcher,
        most_connections: int = MAX_CONNECTIONS,
    ) -> None:
        self.context = context = CoreContext(run, ids, settings.records.inline)

        # What is known
        self.connections = connections = Connections(context)
        self.places = places = Places(context, connections=connections, most=most_connections)
        self.sessions = sessions = OpenSessions(context)
        self.subagents = subagents = Subagents(context, sessions=sessions)
        self.announcements = announcements = Announcements(
            context, connections=connections, sessions=sessions
        )
        self.trustees = trustees = Trustees()
        traces = Traces(context, is_on=settings.records.traces)
        # The rules of each concept
        self.providers = providers = Providers(context)
        self.tools = tools = ToolTable(context)
        self.calls = calls = Calls(context, traces=traces, timeout=settings.timeouts.call)
        self.native = native = NativeCalls(context)
        self.gates = gates = Gates(context, traces)
        self.prompts = prompts = Prompts(context, traces)
        self.streams = streams = Streams(context)
        self.budgets = budgets = Budgets(context)
        self.injects = injects = Injects(context, traces)
        self.approvals = approvals = Approvals(context)
        self.part_questions = PartQuestions(context, approvals=approvals, sessions=sessions)
        self.mcp_servers = mcp_servers = McpServers(context, sessions=sessions, trustees=trustees)
        self.policies = policies = Policies(
            context, connections=connections, sessions=sessions, approvals=approvals
        )
        self.modes = modes = Modes(context)
        self.alarms = Alarms(context, setting=settings.alarms)
        self.spending = spending = Spending(
            context,
            sessions=sessions,
            approvals=approvals,
            prompts=prompts,
            setting=settings.budget,
        )
        self.orders = orders = Orders(context, sessions=sessions)
        self.starts = starts = Starts(
            context, connections=connections, sessions=sessions, orders=orders
        )
        self.emitters = emitters = Emitters(context)
        lines = EmitterLines(context, emitters=emitters, streams=streams, injects=injects)
        start_requests = StartRequests(context, emitters=emitters, approvals=approvals)
        self.runs = runs = Runs(
            context,
            emitters=emitters,
            lines=lines,
            start_requests=start_requests,
            streams=streams,
            injects=injects,
            traces=traces,
        )
        project_providers = ProjectProviders(
            context, emitters=emitters, runs=runs, trustees=trustees
        )
        self.emitter_folders = emitter_folders = EmitterFolders(
            context,
            connections=connections,
            sessions=sessions,
            emitters=emitters,
            runs=runs,
            providers=project_providers,
            streams=streams,
        )
        prompts.introduce = Introduction(
            settings.agent, emitters=emitters, folders=emitter_folders, streams=streams
        ).of
        self.emitter_orders = EmitterOrders(
            context,
            emitters=emitters,
            folders=emitter_folders,
            runs=runs,
            streams=streams,
            matcher=matcher,
        )
        self.emitter_inputs = EmitterInputs(
            begin=emitter_folders.begin,
            folder_changed=emitter_folders.changed,
            files_changed=emitter_folders.files_changed,
            reported=runs.reported,
        )
        # Rules that join several concepts
        self.guard = guard = PersonGuard(
            context, connections=connections, approvals=approvals, setting=settings.approvals
        )
        self.membership = membership = Membership(
            context,
            connections=connections,
            sessions=sessions,
            tools=tools,
            gates=gates,
            prompts=prompts,
            streams=streams,
            budgets=budgets,
            injects=injects,
            policies=policies,
        )
        self.binding = binding = Binding(
            context,
            connections=connections,
            sessions=sessions,
            membership=membership,
            providers=providers,
            calls=calls,
        )
        self.pushes = pushes = Pushes(
            context, providers=providers, streams=streams, budgets=budgets, injects=injects
        )
        self.endings = endings = Endings(
            context,
            connections=connections,
            sessions=sessions,
            announcements=announcements,
            membership=membership,
            providers=providers,
            tools=tools,
            binding=binding,
            calls=calls,
            native=native,
            gates=gates,
            prompts=prompts,
            streams=streams,
            budgets=budgets,
            injects=injects,
            approvals=approvals,
            modes=modes,
            orders=orders,
            trustees=trustees,
            traces=traces,
            emitter_folders=emitter_folders,
            mcp_servers=mcp_servers,
        )
        self.pairings = pairings = Pairings(
            context,
            connections=connections,
            sessions=sessions,
            approvals=approvals,
            trustees=trustees,
        )
        # The conversations
        self.admission = Admission(
            context, sessions=sessions, trustees=trustees, pairings=pairings, places=places
        )
        self.bad_frames = BadFrames(
            connections=connections, calls=calls, gates=gates, prompts=prompts
        )
        self.hellos = Hellos(
            context,
            connections=connections,
            sessions=sessions,
            membership=membership,
            providers=providers,
            binding=binding,
            calls=calls,
            matcher=matcher,
            approvals=approvals,
            announcements=announcements,
            most_tools=settings.provider_tools,
            persist_dir=persist_dir,
        )
        self.provider = ProviderConversation(
            context,
            connections=connections,
            sessions=sessions,
            membership=membership,
            endings=endings,
            providers=providers,
            tools=tools,
            binding=binding,
            calls=calls,
            gates=gates,
            prompts=prompts,
            matcher=matcher,
            streams=streams,
            pushes=pushes,
            policies=policies,
            most_tools=settings.provider_tools,
            persist_dir=persist_dir,
        )
        self.inspecting = Inspecting(context, sessions=sessions, providers=providers)
        self.history = History(context, sessions=sessions)
        self.host = HostConversation(
            context,
            connections=connections,
            sessions=sessions,
            announcements=announcements,
            membership=membership,
            endings=endings,
            providers=providers,
            tools=tools,
            binding=binding,
            streams=streams,
            injects=injects,
            approvals=approvals,
            modes=modes,
            pairings=pairings,
            policies=policies,
            spending=spending,
            history=self.history,
            starts=starts,
            emitter_folders=emitter_folders,
            mcp_servers=mcp_servers,
        )
        self.tool_hosts = ToolHosts(
            context,
            connections=connections,
            sessions=sessions,
            endings=endings,
            trustees=trustees,
            host=self.host,
        )
        self.session_events = SessionEvents(
            context,
            sessions=sessions,
            native=native,
            subagents=subagents,
            injects=injects,
            spending=spending,
            traces=traces,
            runs=runs,
        )
        self.tower = TowerConversation(
            context,
            connections=connections,
            sessions=sessions,
            announcements=announcements,
            providers=providers,
            binding=binding,
            calls=calls,
            native=native,
            injects=injects,
            approvals=approvals,
            modes=modes,
            trustees=trustees,
            pairings=pairings,
            policies=policies,
            starts=starts,
            emitters=emitters,
            guard=guard,
            places=places,
        )
        self.reading = Reading(
            context,
            sessions=sessions,
            streams=streams,
            tools=tools,
            calls=calls,
            approvals=approvals,
            providers=providers,
            emitters=emitters,
            emitter_folders=emitter_folders,
        )
        self.caller = CallerConversation(
            context,
            sessions=sessions,
            providers=providers,
            calls=calls,
            gates=gates,
            spending=spending,
            policies=policies,
        )
        self.agent_emitters = AgentEmitters(
            context,
            sessions=sessions,
            approvals=approvals,
            policies=policies,
            caller=self.caller,
            calls=calls,
            emitters=emitters,
            folders=emitter_folders,
            runs=runs,
            lines=lines,
            streams=streams,
            matcher=matcher,
            patience=settings.timeouts.emitter_approval,
        )
        self.builtin = BuiltinConversation(
            context,
            connections=connections,
            sessions=sessions,
            streams=streams,
            pushes=pushes,
            approvals=approvals,
            modes=modes,
            calls=calls,
            emitters=emitters,
            emitter_folders=emitter_folders,
            mode_approval=settings.timeouts.mode_approval,
        )
