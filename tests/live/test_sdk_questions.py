"""What the SDK's documents leave open (`tapui/hosts/copilot/README.md`), answered by its server.

Without an account: what only a signed-in CLI could show is named there as not possible offline.
"""

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from tests.rig.gateway import Home
from tests.rig.model_server import ALWAYS, ModelServer, Rule
from tests.rig.waiting import HUNG, LONGEST, until_async

if TYPE_CHECKING:
    from copilot import CopilotClient, CopilotSession
    from copilot.session_events import SessionEvent

START_SECONDS = 60.0
pytestmark = pytest.mark.asyncio(loop_scope="module")


class Own:
    """Servers of the SDK's own in one scratch home: `client` is the one that all tests share."""

    client: "CopilotClient"

    def __init__(self, cli: Path, home: Home, model: ModelServer, stack: AsyncExitStack) -> None:
        self._cli = cli
        self.home = home
        self.model = model
        self._stack = stack
        self._folders = count(1)
        self.folder: Path

    def begin(self) -> None:
        """Have an empty folder to work in, and a model without rules."""
        self.folder = self.home.root / f"work-{next(self._folders)}"
        self.folder.mkdir()
        self.model.script()
        self.model.requests.clear()

    @property
    def provider(self) -> Any:
        """The scripted model as a provider of one's own."""
        return {
            "type": "openai",
            "wire_api": "completions",
            "base_url": self.model.url,
            "api_key": "no-key-that-is-a-word",
        }

    async def start(self, **options: Any) -> "CopilotClient":
        """Start a server: offline it wants the provider in its environment, too."""
        from copilot import CopilotClient, RuntimeConnection

        env = {
            "HOME": str(self.home.root),
            "COPILOT_HOME": str(self.home.copilot),
            "PATH": os.environ["PATH"],
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_BASE_URL": self.model.url,
            "COPILOT_MODEL": "scripted",
        }
        runtime = RuntimeConnection.for_stdio(path=str(self._cli))
        client = CopilotClient(
            connection=runtime, env=env, **{"use_logged_in_user": False, **options}
        )
        self._stack.push_async_callback(end, client)
        async with asyncio.timeout(START_SECONDS):
            await client.start()
        return client

    async def session(self, client: "CopilotClient", **options: Any) -> "CopilotSession":
        """Make a session with the provider."""
        return await client.create_session(
            **{
                "model": "scripted",
                "provider": self.provider,
                "working_directory": str(self.folder),
                **options,
            }
        )


async def end(client: "CopilotClient") -> None:
    """End a server, as its owner's death would; the SDK leaves its pipes open."""
    process = client._cli_process
    await client.force_stop()
    if process is not None:
        with process:
            pass


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers(cli: Path, cli_cache: Path) -> AsyncIterator[Own]:
    """Servers of the SDK's own, one of which runs."""
    root = Path(tempfile.mkdtemp(prefix="tapui-home-"))
    (root / ".cache").symlink_to(cli_cache)
    with ModelServer() as model:
        async with AsyncExitStack() as stack:
            own = Own(cli, Home(root), model, stack)
            own.client = await own.start()
            yield own
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def own(servers: Own) -> Own:
    """The servers, for a test."""
    servers.begin()
    return servers


@pytest.fixture
def model(own: Own) -> ModelServer:
    """The scripted model of the servers."""
    return own.model


class Heard:
    """The events of a session."""

    def __init__(self, session: "CopilotSession") -> None:
        self.events: list[SessionEvent] = []
        self._news = asyncio.Event()
        self._leave = session.on(self._came)

    def _came(self, event: "SessionEvent") -> None:
        self.events.append(event)
        self._news.set()

    def of(self, name: str) -> list[Any]:
        """Return the data of the events of a name, oldest first."""
        return [one.data for one in self.events if one.type.value == name]

    async def wait(self, name: str, *, times: int = 1) -> Any:
        """Wait for an event; return its data."""
        async with asyncio.timeout(HUNG):
            while len(self.of(name)) < times:
                self._news.clear()
                await self._news.wait()
        return self.of(name)[times - 1]


TOUCH = ("bash", {"command": "touch made", "description": "make a file"})


@asynccontextmanager
async def never_answering() -> AsyncIterator[Any]:
    """Give a handler that does not return, until the test is over."""
    is_over = asyncio.Event()
    asked: asyncio.Queue[Any] = asyncio.Queue()
    waiting: set[asyncio.Task[Any]] = set()

    async def handler(request: Any, _invocation: Any = None) -> Any:
        if task := asyncio.current_task():
            waiting.add(task)
        asked.put_nowait(request)
        await is_over.wait()
        raise RuntimeError("the test is over")

    handler.asked = asked  # type: ignore[attr-defined]
    try:
        yield handler
    finally:
        is_over.set()
        for task in waiting:
            task.cancel()


async def test_1_a_permission_handler_gets_all_fields_of_the_kind(
    own: Own, model: ModelServer
) -> None:
    from copilot.rpc import PermissionDecisionApproveOnce

    model.script(Rule(calls=[TOUCH], when="make it"), Rule(text="made it", role="tool"))
    seen: list[dict[str, Any]] = []

    def handler(request: Any, _invocation: Any) -> Any:
        seen.append(request.to_dict())
        return PermissionDecisionApproveOnce()

    session = await own.session(own.client, on_permission_request=handler)
    heard = Heard(session)
    await session.send("make it")
    await heard.wait("session.idle")
    (request,) = seen
    assert request["kind"] == "shell"
    assert request["fullCommandText"] == "touch made"
    assert {"commands", "intention", "possiblePaths", "canOfferSessionApproval"} <= request.keys()
    assert (own.folder / "made").exists()


async def test_2_a_permission_has_no_end_of_its_own_and_goes_with_its_turn(
    own: Own, model: ModelServer
) -> None:
    model.script(Rule(calls=[TOUCH], when="make it"), Rule(text="and on", when="go on"))
    async with never_answering() as handler:
        session = await own.session(own.client, on_permission_request=handler)
        heard = Heard(session)
        await session.send("make it")
        await asyncio.wait_for(handler.asked.get(), HUNG)
        assert (await session.rpc.metadata.is_processing()).processing
        await session.abort()
        assert (await heard.wait("session.idle")).aborted is True
        (completed,) = heard.of("permission.completed")
        assert completed.result.to_dict() == {"kind": "cancelled", "reason": "Session aborted"}
        await session.send("go on")  # the session is none the worse for it
        await heard.wait("session.idle", times=2)
    assert heard.of("assistant.message")[-1].content == "and on"
    assert not (own.folder / "made").exists()


async def test_3_a_question_has_no_end_of_its_own_and_goes_with_its_turn(
    own: Own, model: ModelServer
) -> None:
    question = {"question": "Which colour?", "choices": ["red", "blue"]}
    model.script(Rule(calls=[("ask_user", question)], when="ask me"), Rule(text="on", when="go on"))
    async with never_answering() as handler:
        session = await own.session(own.client, on_user_input_request=handler)
        heard = Heard(session)
        await session.send("ask me")
        asked = await asyncio.wait_for(handler.asked.get(), HUNG)
        assert "Which colour?" in str(asked)
        await session.abort()
        assert (await heard.wait("session.idle")).aborted is True
        assert heard.of("user_input.completed") == []
        await session.send("go on")
        await heard.wait("session.idle", times=2)
    assert heard.of("assistant.message")[-1].content == "on"


async def test_4_two_servers_share_a_home(own: Own, model: ModelServer) -> None:
    model.script(Rule(text="here", times=ALWAYS))
    clients = [own.client, await own.start()]
    sessions = [
        await own.session(client, session_id=f"own-{number}-{at}")
        for at in range(3)
        for number, client in enumerate(clients)
    ]
    heard = [Heard(session) for session in sessions]
    await asyncio.gather(*(session.send("hello") for session in sessions))
    await asyncio.gather(*(one.wait("session.idle") for one in heard))
    ids = {session.session_id for session in sessions}

    async def listed(client: "CopilotClient") -> bool:
        return ids <= {one.session_id for one in await client.list_sessions()}

    async with asyncio.timeout(HUNG):
        while not all([await listed(client) for client in clients]):  # noqa: ASYNC110
            await asyncio.sleep(LONGEST)  # a list is made only when it is asked for
    for id_ in ids:
        events = own.home.copilot / "session-state" / id_ / "events.jsonl"
        kinds = [json.loads(line)["type"] for line in events.read_text().splitlines()]
        assert kinds.count("user.message") == kinds.count("assistant.message") == 1


OF_A_HOME = frozenset(
    {
        "command-history-state.json",
        "config.json",
        "ide",
        "installed-plugins",
        "logs",
        "mcp-config.json",
        "open-sessions-state.json",
        "permissions-config.json",
        "servers",
        "session-state",
        "session-store.db",
        "session-store.db-shm",
        "session-store.db-wal",
        "settings.json",
        "settings.json.lock",
        "sidebar-sessions-state",
    }
)
"""What the CLI makes in its home, on a screen or without one; `config.json` is the person's, the
rest is the client's own but for `session-state`."""
OF_A_SESSION = frozenset(
    {
        ".workspace-fork.lock",
        "checkpoints",
        "events.jsonl",
        "files",
        "plan.md",
        "research",
        "rewind-file-snapshots",
        "workspace.yaml",
    }
)
"""What it makes for a session, beside the locks of those that hold it."""


async def test_5_what_a_home_holds(own: Own, model: ModelServer) -> None:
    model.script(Rule(text="here", times=ALWAYS))
    session = await own.session(own.client)
    heard = Heard(session)
    await session.send("hello")
    await heard.wait("session.idle")
    of_all = {one.name for one in own.home.copilot.iterdir()}
    assert {"logs", "session-state"} <= of_all <= OF_A_HOME
    workspace = own.home.copilot / "session-state" / session.session_id
    of_one = {one.name for one in workspace.iterdir() if not one.name.startswith("inuse.")}
    assert {"events.jsonl", "workspace.yaml"} <= of_one <= OF_A_SESSION


TOKEN = "ghp_" + 36 * "0"


NOBODY = "No GitHub OAuth token"
BOTH = "Cannot specify both gitHubToken and provider"


@pytest.mark.parametrize(
    ("of_client", "answers"),
    [
        ({}, ("here", NOBODY)),
        ({"use_logged_in_user": True}, ("here",)),
        ({"github_token": TOKEN}, ("here", NOBODY)),
        ({"github_token": TOKEN, "use_logged_in_user": True}, ("here",)),
    ],
)
async def test_6_which_ways_of_signing_in_go_with_a_provider(
    own: Own, model: ModelServer, of_client: Any, answers: tuple[str, ...]
) -> None:
    model.script(Rule(text="here", times=ALWAYS))
    client = await own.start(**of_client) if of_client else own.client
    for provider, answer in zip((own.provider, None), answers, strict=False):
        heard = Heard(session := await own.session(client, provider=provider))
        await session.send("hello")
        await heard.wait("session.idle")
        told = [one.content for one in heard.of("assistant.message")]
        told += [one.message for one in heard.of("session.error")]
        assert answer in " ".join(told)


async def test_6_a_session_has_a_provider_or_a_token(own: Own) -> None:
    from copilot._jsonrpc import JsonRpcError

    with pytest.raises(JsonRpcError, match=BOTH):
        await own.session(own.client, github_token=TOKEN)


async def test_7_what_was_thought_is_there_in_another_server(own: Own, model: ModelServer) -> None:
    model.script(Rule(text="it is four", thought="two and two", when="what is it"))
    client = await own.start()
    session = await own.session(client, session_id="thinker", streaming=True)
    heard = Heard(session)
    await session.send("what is it")
    await heard.wait("session.idle")
    assert [one.content for one in heard.of("assistant.reasoning")] == ["two and two"]
    await end(client)
    model.script(Rule(text="as before", when="and now"))
    resumed = await own.client.resume_session(
        "thinker", model="scripted", provider=own.provider, working_directory=str(own.folder)
    )
    before: list[Any] = [
        one.data for one in await resumed.get_events() if one.type.value.endswith(".message")
    ]
    (message,) = [one for one in before if hasattr(one, "reasoning_text")]
    assert (message.content, message.reasoning_text) == ("it is four", "two and two")
    assert (message.encrypted_content, message.reasoning_opaque) == (None, None)
    heard = Heard(resumed)
    await resumed.send("and now")
    await heard.wait("session.idle")
    assert "it is four" in str(model.requests[-1].messages)


async def test_9_a_call_that_was_under_way_is_answered_after_a_cold_resume(
    own: Own, model: ModelServer
) -> None:
    from copilot.rpc import HandlePendingToolCallRequest
    from copilot.tools import Tool

    model.script(Rule(calls=[("hold", {})], when="begin"), Rule(text="held at last", role="tool"))
    began = asyncio.Event()
    async with never_answering() as never:

        async def hold(invocation: Any) -> Any:
            began.set()
            return await never(invocation)

        tool = Tool(
            name="hold",
            description="Hold it.",
            handler=hold,
            parameters={"type": "object", "properties": {}},
            skip_permission=True,
        )
        client = await own.start()
        session = await own.session(client, session_id="pending", tools=[tool])
        await session.send("begin")
        await asyncio.wait_for(began.wait(), HUNG)
        stored = own.home.copilot / "session-state/pending/events.jsonl"
        await until_async(
            lambda: stored.exists() and "external_tool.requested" in stored.read_text(),
            what="the call in the session's file",
        )
        process: Any = client._cli_process
        process.kill()
        await end(client)
    resumed = await own.client.resume_session(
        "pending",
        model="scripted",
        provider=own.provider,
        working_directory=str(own.folder),
        continue_pending_work=True,
    )
    heard = Heard(resumed)
    (pending,) = (await resumed.rpc.tools.list_pending_requests()).items
    answer = HandlePendingToolCallRequest(request_id=pending.request_id, result="it was held")
    assert (await resumed.rpc.tools.handle_pending_tool_call(answer)).success
    await heard.wait("session.idle")
    assert model.requests[-1].text == "it was held"
    assert heard.of("assistant.message")[-1].content == "held at last"


@pytest.mark.parametrize(
    ("status", "handling", "requests"),
    [(400, "retry", 1), (500, "abort", 2), (500, "skip", 2)],
)
async def test_what_a_hook_answers_about_an_error_changes_nothing(
    own: Own, model: ModelServer, status: int, handling: str, requests: int
) -> None:
    """Fails with a CLI that heeds it: then rules about errors can be built."""
    refused = Rule(text="refused", status=status)
    model.script(refused, Rule(text="after all", times=ALWAYS))
    asked: list[Any] = []

    async def hook(given: Any, _context: Any) -> Any:
        asked.append(given)
        return {"errorHandling": handling, "retryCount": 3}

    session = await own.session(own.client, hooks={"on_error_occurred": hook})
    heard = Heard(session)
    await session.send("hello")
    await heard.wait("session.idle")
    assert [(one["errorContext"], one["recoverable"]) for one in asked] == [("model_call", True)]
    assert len(model.requests) == requests
    assert len(heard.of("session.error")) == (requests == 1)


async def test_10_models_of_a_provider_of_ones_own(own: Own, model: ModelServer) -> None:
    from copilot._jsonrpc import JsonRpcError

    with pytest.raises(JsonRpcError, match="Not authenticated"):
        await own.client.list_models()
    session = await own.session(own.client)
    assert (await session.rpc.model.list()).list == []
    assert (await session.rpc.model.get_current()).model_id == "scripted"
