"""`tapui`: the tower on this terminal, with a gateway of its own or on the one that runs."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tapui import times
from tapui.client import gateways
from tapui.client.gateways import NoGateway
from tapui.home.paths import Home, short_path
from tapui.home.tokens import default_token_file
from tapui.runtime import tuning
from tapui.runtime.websocket.listening import ListenError, PortTaken, open_loopback
from tapui.settings import toml_file
from tapui.station import terminal
from tapui.station.faults import StartFault, faults_logged, start_fault
from tapui.station.gateway_host import GatewayHost
from tapui.station.notify_command import NotifyCommand
from tapui.station.options import Options
from tapui.station.process_end import Signals, refuse_stop
from tapui.station.session_store import CopilotSessions
from tapui.station.terminal import Screen
from tapui.text import safe_text
from tapui.tower.app.services import EarlierFault, EarlierRequests
from tapui.tower.themes import theme_files

if TYPE_CHECKING:
    from tapui.client.remote_feed import RemoteFeed
    from tapui.index.search import Search
    from tapui.policies.suggestions import SuggestedRules
    from tapui.tower.app.app import TowerApp
    from tapui.tower.app.feed import Feed
    from tapui.tower.app.header import Note
    from tapui.tower.app.services import Finder, RecordQuestions
    from tapui.tower.app.view import View
    from tapui.wire.subjects import Approval


def run(options: Options) -> int:
    """Show the tower until the person leaves; return the exit code."""
    with faults_logged(Home.at(options.home, options.copilot_home)) as log:
        return asyncio.run(_run(options, log))


async def _run(options: Options, log: Path) -> int:
    with options.parent.watched() if options.parent is not None else nullcontext():
        while True:
            outcome = await _once(options, log)
            if isinstance(outcome, int):
                return outcome
            # The second tower lost its gateway, and the person wants one started here.


async def _once(options: Options, log: Path) -> int | None:
    """Run one tower. Returns the exit code, or None to begin again with a gateway here."""
    home = Home.at(options.home, options.copilot_home)
    running_one = _gateway_to_join(home, options)
    if running_one is not None:
        return await _second_tower(options, home, running_one, log)
    try:
        sockets = await open_loopback(options.port)
    except PortTaken as error:
        # Another process was faster: perhaps a gateway of this person's.
        running_one = _gateway_to_join(home, options)
        if running_one is not None:
            return await _second_tower(options, home, running_one, log)
        return _refuse(start_fault(error), log)
    except (ListenError, OSError) as error:
        return _refuse(start_fault(error), log)
    return await _own_gateway(options, GatewayHost(options, sockets, log), log)


def _refuse(fault: StartFault, log: Path) -> int:
    terminal.tell(f"tapui: {fault.text}")
    if log.exists():
        terminal.tell(f"tapui: its log is {safe_text(str(log))}")
    return fault.code


def _gateway_to_join(home: Home, options: Options) -> gateways.FoundGateway | None:
    if options.port == 0:
        return None
    try:
        return gateways.find(home, options.port, is_explicit=True)
    except NoGateway:
        return None


async def _own_gateway(options: Options, host: GatewayHost, log: Path) -> int:
    """The tower on the main thread, its gateway on another: the screen first, then the gateway.

    When the terminal vanishes, or the person wants it, the gateway goes on by itself for as long
    as a client is attached; the shell that waits for this process gets its prompt back.
    """

    def shown() -> None:
        refuse_stop(partial(app.notify, severity="warning", timeout=12))
        host.begin(app)

    app = _app(
        options,
        host.feed,
        log,
        note="",
        on_shown=shown,
        give_way=host.give_way,
        can_go_on=options.parent is not None,
    )
    screen = Screen(app)

    def came(number: signal.Signals) -> None:
        if screen.is_shown:
            screen.leave(number)
        else:
            host.signalled(number)

    with tuning.switching_often(), Signals(came):
        try:
            code = await screen.show()
            is_left = screen.is_lost or screen.is_left_on
            if is_left and not options.is_demo and await host.goes_on():
                screen.detach()
                if options.parent is not None:
                    options.parent.leave()
                await host.over()
        finally:
            await host.end()
    return code if host.fault is None else _refuse(host.fault, log)


async def _second_tower(
    options: Options, home: Home, first: gateways.FoundGateway, log: Path
) -> int | None:
    from tapui.client.remote_feed import RemoteFeed

    feed = RemoteFeed(first, lambda: gateways.find(home, first.port, is_explicit=True))
    starts_here: list[bool] = []
    app = _app(
        options,
        feed,
        log,
        note=lambda view: note_of(feed, view),
        notices=[] if (warning := gateways.warning_of(first)) is None else [warning],
        on_start_here=lambda: starts_here.append(True),
    )
    code = await _shown_to_its_end(app, feed)
    return None if starts_here else code


async def _shown_to_its_end(app: "TowerApp", feed: "Feed") -> int:
    """Show an app whose gateway, if there is one, is not ours; return the exit code."""
    screen = Screen(app)
    with Signals(screen.leave):
        try:
            return await screen.show()
        finally:
            await feed.stop(1.0)


def note_of(feed: "RemoteFeed", view: "View") -> str:
    """Return what the header says of a tower whose gateway is another process: which one, as of
    now, who started it, and whether another tower was there before it."""
    gateway, started = f"gateway: pid {feed.pid}", view.started
    who = ""
    if started is not None:
        at = times.hour_and_minute(times.epoch(started.at) or 0)
        who = f"{started.command}, {started.terminal or 'no terminal'}, since {at}"
        who += f", by {started.by}" if started.by else ""
    if not view.is_first:
        return f"second tower ({', '.join(filter(None, (gateway, who)))})"
    return f"{gateway} ({who})" if who else gateway


def run_next(options: Options, gateway: gateways.FoundGateway) -> int:
    """Show only what waits at a gateway until nothing is left; return the exit code."""
    home = Home.at(options.home, options.copilot_home)
    with faults_logged(home) as log:
        return asyncio.run(_next(options, home, gateway, log))


async def _next(options: Options, home: Home, gateway: gateways.FoundGateway, log: Path) -> int:
    from tapui.client.remote_feed import RemoteFeed
    from tapui.tower.app.next_app import NextApp

    feed = RemoteFeed(gateway, lambda: gateways.find(home, gateway.port, is_explicit=True))
    return await _shown_to_its_end(_app(options, feed, log, note="", kind=NextApp), feed)


def _app(
    options: Options,
    feed: "Feed",
    log: Path,
    *,
    note: "Note",
    notices: Sequence[str] = (),
    on_start_here: Callable[[], None] | None = None,
    on_shown: Callable[[], None] | None = None,
    give_way: Callable[[], None] | None = None,
    can_go_on: bool = False,
    kind: "type[TowerApp] | None" = None,
) -> "TowerApp":
    from tapui.tower.app.app import TowerApp

    home = Home.at(options.home, options.copilot_home)

    def tell(text: str) -> None:
        app.notify(text, severity="warning", timeout=12)

    app = (kind or TowerApp)(
        feed,
        theme=options.theme,
        theme_folders=theme_files.folders_of(options.config_path),
        bell=options.settings.bell,
        note=note,
        notices=notices,
        on_theme=partial(toml_file.keep_theme, options.config_path),
        on_rule=None if options.is_demo else partial(toml_file.keep_rules, options.config_path),
        on_start_here=on_start_here,
        on_shown=on_shown,
        give_way=give_way,
        on_notice=NotifyCommand(options.settings.notify.command, tell),
        log_file=log,
        token_file=short_path(default_token_file(options.copilot_home)),
        is_demo=options.is_demo,
        on_demo=options.on_demo,
        can_go_on=can_go_on,
        keys=options.settings.keys,
        glyphs=options.settings.glyphs,
        copies=home.state / "copied",
        finder=finder_of(home.state),
        questions=questions_of(home),
        earlier_requests=earlier_requests_of(home.state),
        suggestions=(
            None if options.is_demo else RecordedSuggestions(home.state, options.config_path)
        ),
        store=None if options.is_demo else CopilotSessions(home.copilot, os.environ),
    )
    return app


def run_replay(options: Options, folders: list[Path], name: str) -> int:
    """Show the records of one session until the person leaves; return the exit code."""
    home = Home.at(options.home, options.copilot_home)
    with faults_logged(home) as log:
        return asyncio.run(_replay(options, home, folders, name, log))


async def _replay(options: Options, home: Home, folders: list[Path], name: str, log: Path) -> int:
    from tapui.replay.feed import ReplayFeed
    from tapui.tower.app.replay_app import ReplayApp

    feed = ReplayFeed(folders, home.state, name)
    app = ReplayApp(
        feed,
        theme=options.theme,
        theme_folders=theme_files.folders_of(options.config_path),
        bell=False,
        note="replay",
        on_theme=partial(toml_file.keep_theme, options.config_path),
        log_file=log,
        keys=options.settings.keys,
        glyphs=options.settings.glyphs,
        copies=home.state / "copied",
        finder=finder_of(home.state),
        questions=questions_of(home),
    )
    return await _shown_to_its_end(app, feed)


def finder_of(state_dir: Path) -> "Callable[[], Finder]":
    """Return what makes a finder in the records of a home, on the thread that calls it."""

    def make() -> "Finder":
        from tapui.station.index_finder import IndexFinder

        return IndexFinder(state_dir)

    return make


def questions_of(home: Home) -> "Callable[[], RecordQuestions]":
    """Return what makes the way to ask the records of a home."""

    def make() -> "RecordQuestions":
        from tapui.station.index_questions import IndexQuestions

        return IndexQuestions(home.state, home.config)

    return make


def earlier_requests_of(state_dir: Path) -> EarlierRequests:
    """Return what reads the permissions that were asked for, on the thread that calls it."""

    def asked(folder: str, most: int) -> "Iterator[Approval]":
        from tapui.index.search import permissions_asked

        with _searching(state_dir) as search:
            yield from permissions_asked(search, folder, most)

    return asked


@dataclass(frozen=True, slots=True)
class RecordedSuggestions:
    """The rules that the answers on record suggest, for the tower (`RuleSuggestions`)."""

    state: Path
    config: Path
    clock: Callable[[], float] = time.time

    def found(self) -> "list[SuggestedRules]":
        from tapui.station.suggestions import DAY, DAYS, suggestions

        with _searching(self.state) as search:
            return suggestions(search, self.state, self.config, self.clock() - DAYS * DAY)

    def take(self, suggestion: "SuggestedRules") -> str | None:
        return toml_file.keep_rules(self.config, suggestion.as_toml())

    def refuse(self, suggestion: "SuggestedRules") -> str | None:
        from tapui.station.suggestions import refuse

        try:
            refuse(self.state, suggestion.key)
        except OSError as error:
            return f"It will be shown again: {error.strerror or error}."
        return None


@contextmanager
def _searching(state_dir: Path) -> "Iterator[Search]":
    """Yield the index of a home; why it cannot be read is an `EarlierFault`."""
    from tapui.index.search import Search
    from tapui.index.store import IndexMissing, IndexUnusable

    search = Search(state_dir)
    try:
        yield search
    except IndexMissing:
        raise EarlierFault("Nothing is indexed of the records yet.") from None
    except IndexUnusable as error:
        said = safe_text(str(error), limit=200)
        raise EarlierFault(f"The index of the records cannot be read ({said}).") from None
    finally:
        search.close()
