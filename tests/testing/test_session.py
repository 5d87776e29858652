"""Sessions in memory: what a test of a provider can do, and what it is shown."""

import asyncio
import time
from pathlib import Path

import msgspec
import pytest

from tapui.provider import Allow, Context, Deny, GateCall, Image, Provider, Session, ToolError
from tapui.testing.faults import CallFailed, NoAnswer, ProviderFault
from tapui.wire.limits import MAX_STREAMS

PNG = b"\x89PNG\r\n\x1a\n" + bytes(24)


def new_greeter() -> Provider:
    greeter = Provider("greeter")

    @greeter.tool
    def greet(name: str, times: int = 1) -> str:
        """Greet somebody."""
        return ", ".join([f"Hello, {name}!"] * times)

    return greeter


async def test_a_call_goes_through_the_gateway_and_back() -> None:
    async with new_greeter().test() as session:
        result = await session.call("greet", name="Ada", times=2)
        assert result.is_ok
        assert result.data == result.text == "Hello, Ada!, Hello, Ada!"
        assert result.error_code is None


async def test_the_agent_sees_the_tools() -> None:
    async with new_greeter().test() as session:
        offered = session.tools["greet"]
        assert offered.provider == "greeter"
        assert offered.description == "Greet somebody."
        assert msgspec.json.decode(offered.parameters)["required"] == ["name"]


async def test_arguments_can_be_given_as_a_dict() -> None:
    async with new_greeter().test() as session:
        assert (await session.call("greet", {"name": "Ada"}, times=1)).data == "Hello, Ada!"


async def test_arguments_that_do_not_fit_are_an_error_of_the_call() -> None:
    async with new_greeter().test() as session:
        result = await session.call("greet", name=3)
        assert result.error_code == "INVALID_ARGS"
        assert "name" in (result.error or "")


async def test_data_of_a_failed_call_says_why_there_is_none() -> None:
    provider = Provider("failing")

    @provider.tool
    def find() -> str:
        raise ToolError("NOT_FOUND", "no such page", retryable=True)

    async with provider.test() as session:
        result = await session.call("find")
        assert (result.error_code, result.error) == ("NOT_FOUND", "no such page")
        assert result.is_retryable
        with pytest.raises(CallFailed, match="'find' failed: NOT_FOUND: no such page"):
            _ = result.data


async def test_a_tool_that_is_not_there_is_not_found() -> None:
    async with new_greeter().test() as session:
        assert (await session.call("great")).error_code == "NOT_FOUND"


async def test_results_in_files_are_copied_into_the_session() -> None:
    provider = Provider("files")

    @provider.tool
    def picture() -> Image:
        return Image(PNG)

    @provider.tool
    def raw() -> bytes:
        return b"\x00\x01"

    async with provider.test() as session:
        image = (await session.call("picture")).file
        assert image.mime_type == "image/png"
        assert image.read() == PNG
        assert image.size == len(PNG)
        result = await session.call("raw")
        assert result.file.read() == b"\x00\x01"
        with pytest.raises(CallFailed, match="is in a file"):
            _ = result.data
        folder = image.path.parents[3]
        assert folder.is_dir()
    assert not folder.exists()


# Calls under way


def new_worker() -> Provider:
    worker = Provider("worker")

    @worker.tool
    async def work(context: Context, steps: int = 2) -> str:
        for step in range(1, steps + 1):
            context.progress(step, steps, "steps")
        return "done"

    @worker.tool(timeout=30)
    async def hang() -> None:
        await asyncio.Event().wait()

    @worker.tool
    def wait(context: Context) -> str:
        """Wait in a thread until the call is given up."""
        context.wait(60)
        return "given up" if context.cancelled else "never"

    return worker


async def test_progress_comes_line_by_line() -> None:
    async with new_worker().test() as session:
        call = session.start("work")
        assert await call.progress() == "1/2 steps"
        assert await call.progress() == "2/2 steps"
        result = await call.result
        assert result.data == "done"
        assert result.progress == ["1/2 steps", "2/2 steps"]
        with pytest.raises(CallFailed, match="without further progress"):
            await call.progress()


@pytest.mark.parametrize("tool", ["hang", "wait"])
async def test_a_call_can_be_given_up(tool: str) -> None:
    async with new_worker().test() as session:
        call = session.start(tool)
        call.cancel("no longer needed")
        result = await call
        assert result.error_code == "CANCELLED"
        assert result.error == "no longer needed"


async def test_a_time_out_comes_when_the_clock_is_turned() -> None:
    async with new_worker().test() as session:
        call = session.start("hang")
        await session.advance(29.9)
        assert not call.is_done
        await session.advance(0.2)
        assert (await call.result).error_code == "TIMEOUT"


async def test_calls_under_way_end_when_the_connection_breaks() -> None:
    async with new_worker().test() as session:
        call = session.start("hang")
        await session.disconnect()
        assert (await call).error_code == "DISCONNECTED"
        await session.reconnected()
        assert (await session.call("work")).data == "done"


async def test_what_does_not_answer_is_named_with_the_line_where_it_is() -> None:
    async with new_worker().test(patience=1.0) as session:
        call = session.start("hang")
        with pytest.raises(NoAnswer, match=r"'hang' has not answered within 1 s") as caught:
            await call
        assert f"{Path(__file__).name}:" in str(caught.value)
        assert "await asyncio.Event().wait()" in str(caught.value)
        call.cancel()


# Gates, rules, transforms, context


def new_guard() -> Provider:
    guard = Provider("guard", context="main is frozen", startup_context="be careful")
    guard.deny(tool="bash", args="rm -rf", reason="no")
    guard.context_rule("it is a migration", tool="edit", file="*.sql")
    guard.append("tone", "Be brief.")

    @guard.gate(tool="bash", args="git push", reason="CI is red")
    def pushes(call: GateCall) -> Deny | Allow | bool:
        command = call.args["command"]
        assert "git push" in command, "it is asked about what matches alone"
        if "--force" in command:
            return Deny("never by force")
        if command == "git push":
            return (call.tool, call.session.id) != ("bash", "test")
        return Allow("CI is green") if "main" in command else True

    @guard.gate(tool="hangs")
    async def hangs(call: GateCall) -> bool:
        await asyncio.Event().wait()
        return True

    @guard.transform("rules")
    def rules(current: str) -> str:
        return current.upper()

    return guard


async def test_gates_and_rules_decide_over_the_sessions_own_tools() -> None:
    async with new_guard().test() as session:
        assert (await session.native("bash", command="ls")).is_allowed
        denied = await session.native("bash", command="rm -rf /")
        assert (denied.is_denied, denied.reason) == (True, "no")
        assert (await session.native("bash", command="git push --force")).reason == "never by force"
        assert (await session.native("bash", command="git push")).reason == "CI is red"
        assert (await session.native("bash", command="git push --tags")).is_allowed
        allowed = await session.native("bash", command="git push origin main")
        assert (allowed.is_allowed, allowed.context) == (True, "CI is green")
        assert (await session.native("edit", path="a.sql")).context == "it is a migration"


async def test_a_gate_that_does_not_answer_is_a_no_after_five_seconds() -> None:
    async with new_guard().test() as session:
        asked = asyncio.ensure_future(session.native("hangs"))
        await session.advance(4.9)
        assert not asked.done()
        await session.advance(0.2)
        verdict = await asked
        assert verdict.is_denied
        assert "did not respond in time" in (verdict.reason or "")


async def test_a_turn_has_the_context_of_providers() -> None:
    async with new_guard().test() as session:
        assert (await session.turn("hello")).context == ["be careful", "main is frozen"]
        turn = await session.turn("again", tone="Friendly.")
        assert turn.context == ["main is frozen"]
        assert turn.sections["tone"] == "Friendly.\n\nBe brief."


async def test_sections_are_transformed() -> None:
    async with new_guard().test() as session:
        assert await session.transformed("rules", "no tabs") == "NO TABS"
        assert await session.transformed("tone", "Kind.") == "Kind.\n\nBe brief."
        assert await session.transformed("other", "as it was") == "as it was"


# Pushes and prompts


def new_watcher() -> Provider:
    watcher = Provider("watcher")
    watcher.filter("ci", [("^noise", "drop"), ("red", "inject")])

    @watcher.tool
    def report(context: Context, line: str, level: str = "keep") -> None:
        context.push(line, level=level, stream="ci", metadata={"by": "ci"})

    @watcher.tool
    def smile(context: Context) -> None:
        context.log("half a smile: \ud83d")

    @watcher.tool
    async def wake(context: Context) -> None:
        context.prompt("please look")

    @watcher.on("session.idle")
    def rested(news: object) -> None:
        if "said" not in said:
            said.append("said")
            news.session.push("rested", stream="life")  # type: ignore[attr-defined]

    said: list[str] = []
    return watcher


async def test_pushes_are_seen_as_filters_leave_them() -> None:
    async with new_watcher().test() as session:
        await session.call("report", line="green")
        await session.call("report", line="noise from afar")
        await session.call("report", line="all red")
        lines = session.stream("ci")
        assert [(line.event, line.level) for line in lines] == [
            ("green", "keep"),
            ("all red", "inject"),
        ]
        assert lines[0].metadata == {"by": "ci"}
        assert lines == session.stream("ci@watcher")
        assert [prompt.text for prompt in session.prompts] == ["all red"]


async def test_a_prompt_wakes_the_session() -> None:
    async with new_watcher().test() as session:
        await session.call("wake")
        prompt = await session.next_prompt()
        assert (prompt.text, prompt.provider) == ("please look", "watcher")


async def test_the_next_line_is_waited_for() -> None:
    provider = Provider("slow")

    @provider.background
    async def tell(session: Session) -> None:
        for number in (1, 2):
            await asyncio.to_thread(session.push, f"line {number}")

    async with provider.test() as session:
        assert [(await session.next_push()).event for _ in range(2)] == ["line 1", "line 2"]


async def test_prompts_wait_while_the_agent_works() -> None:
    async with new_watcher().test() as session:
        await session.busy()
        await session.call("wake")
        assert session.prompts == []
        await session.idle()
        assert len(session.prompts) == 1


async def test_the_brake_on_prompts_without_the_person_holds_in_tests_too() -> None:
    async with new_watcher().test() as session:
        for _ in range(5):
            await session.call("wake")
        assert len(session.prompts) == 3
        assert "holds further prompts" in session.timeline[-1]
        await session.turn("go on")
        assert len(session.prompts) > 3


async def test_idle_returns_when_handlers_are_done() -> None:
    async with new_watcher().test() as session:
        await session.idle()
        assert [line.event for line in session.stream("life")] == ["rested"]


async def test_a_surfaced_line_is_in_the_timeline() -> None:
    async with new_watcher().test() as session:
        await session.call("report", line="look here", level="surface")
        assert session.timeline == ["ci@watcher: look here"]
        await session.call("smile")
        assert session.timeline[-1].endswith("half a smile: \ufffd")


# The connection


async def test_a_provider_comes_back_after_the_gateway_was_restarted() -> None:
    async with new_greeter().test() as session:
        await session.restart_gateway()
        assert not session.is_bound
        await session.reconnected()
        assert (await session.call("greet", name="Ada")).data == "Hello, Ada!"


async def test_what_a_session_is_told_with_every_prompt_outlives_connection_and_gateway() -> None:
    provider = Provider("notes", context="for all")

    @provider.tool
    def note(context: Context, text: str) -> None:
        context.session.set_context(text)

    @provider.tool
    def note_for_all(text: str) -> None:
        provider.set_context(text)

    async with provider.test() as session:
        await session.call("note", text="for this one")
        for lose in (session.disconnect, session.restart_gateway):
            await lose()
            await session.reconnected()
            assert (await session.turn("go on")).context == ["for this one"]
        await session.call("note_for_all", text="for all again")
        await session.restart_gateway()
        await session.reconnected()
        assert (await session.turn("go on")).context == ["for all again"]


async def test_a_provider_of_all_sessions_serves_those_that_begin_later() -> None:
    everywhere = Provider("everywhere", session="all")

    @everywhere.tool
    def where(context: Context) -> str:
        return context.session.id

    async with everywhere.test() as session:
        assert (await session.call("where")).data == "test"
        other = await session.another("other")
        assert (await other.call("where")).data == "other"


async def test_shutdown_waits_for_the_clean_up() -> None:
    provider = Provider("tidy")
    cleaned: list[str] = []

    @provider.on("session.ending")
    async def clean(news: object) -> None:
        cleaned.append("done")

    async with provider.test() as session:
        assert await session.shutdown()
        assert cleaned == ["done"]


async def test_a_clean_up_that_does_not_end_is_not_waited_for() -> None:
    provider = Provider("slow")

    @provider.on("session.ending")
    async def clean(news: object) -> None:
        await asyncio.Event().wait()

    async with provider.test() as session:
        assert not await session.shutdown()


# What fails a test


async def test_a_handler_that_does_not_return_is_named() -> None:
    provider = Provider("slow")

    @provider.on("plan.changed")
    async def hang(news: object) -> None:
        await asyncio.Event().wait()

    async with provider.test(patience=1.0) as session:
        with pytest.raises(NoAnswer, match="a handler has not returned") as caught:
            await session.happens("plan.changed")
        assert "await asyncio.Event().wait()" in str(caught.value)


@pytest.mark.expects_error_log("the background function crash failed")
async def test_an_exception_of_a_background_function_fails_the_test() -> None:
    provider = Provider("crashing")

    @provider.background
    async def crash(session: Session) -> None:
        raise ValueError("no such queue")

    with pytest.raises(ProviderFault, match="no such queue"):
        async with provider.test() as session:
            await session.idle()


async def test_a_refusal_of_the_gateway_fails_the_test_with_its_words() -> None:
    provider = Provider("flooding")

    @provider.tool
    async def flood(context: Context) -> None:
        for number in range(MAX_STREAMS + 1):
            context.push("a line", stream=f"stream-{number}")

    async with provider.test() as session:
        with pytest.raises(ProviderFault, match="refused its push: PAYLOAD_TOO_LARGE"):
            await session.call("flood")


@pytest.mark.expects_error_log("the background function crash failed")
async def test_the_tests_own_failure_is_not_hidden_by_one_of_the_provider() -> None:
    provider = Provider("crashing")

    @provider.background
    async def crash(session: Session) -> None:
        raise ValueError("no such queue")

    with pytest.raises(KeyError) as caught:
        async with provider.test():
            raise KeyError("mine")
    assert any("no such queue" in note for note in caught.value.__notes__)


async def test_nothing_is_left_behind() -> None:
    before = asyncio.all_tasks()
    async with new_worker().test() as session:
        session.start("hang")
        session.start("wait")
        await session.advance(1)
    assert asyncio.all_tasks() == before


async def test_a_thousand_calls_are_quick() -> None:
    async with new_greeter().test() as session:
        began = time.process_time()
        for _ in range(1000):
            await session.call("greet", name="Ada")
        assert time.process_time() - began < 5


@pytest.mark.expects_error_log("the background function crash failed")
async def test_sessions_beside_each_other_do_not_mix() -> None:
    crashing = Provider("crashing")

    @crashing.background
    async def crash(session: Session) -> None:
        raise ValueError("no such queue")

    async with new_greeter().test() as sound:
        with pytest.raises(ProviderFault, match="no such queue"):
            async with crashing.test():
                assert (await sound.call("greet", name="Ada")).is_ok
        await sound.idle()


async def test_one_provider_in_two_sessions_at_once() -> None:
    greeter = new_greeter()
    async with greeter.test() as first, greeter.test(session="other") as second:
        results = await asyncio.gather(
            *(one.call("greet", name=one.id) for one in (first, second) for _ in range(20))
        )
        assert {result.data for result in results} == {"Hello, test!", "Hello, other!"}
        await first.restart_gateway()
        assert second.is_bound


@pytest.mark.expects_error_log("the tool fail failed")
async def test_the_traceback_of_a_tool_comes_with_the_missing_data() -> None:
    provider = Provider("failing")

    @provider.tool
    async def fail() -> None:
        raise LookupError("row 7")

    async with provider.test() as session:
        result = await session.call("fail")
        assert (result.error_code, "row 7" in (result.error or "")) == ("INTERNAL", False)
        with pytest.raises(CallFailed) as caught:
            _ = result.data
        assert isinstance(caught.value.__cause__, LookupError)


async def test_lines_that_were_pushed_while_the_gateway_was_away_come_in_order() -> None:
    provider = Provider("away")
    sessions: list[Session] = []

    @provider.background
    async def keep(session: Session) -> None:
        sessions.append(session)

    async with provider.test() as session:
        await session.disconnect(keep_out=True)
        for number in range(40):
            sessions[0].push(f"line {number}")
            await session.advance(0.5)
        await session.reconnected()
        sessions[0].push("line 40")
        await session.advance(10)
        assert [line.event for line in session.pushes] == [f"line {number}" for number in range(41)]
