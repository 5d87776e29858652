"""Chromium without a window, driven over its DevTools protocol."""

import asyncio
import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import websockets
from websockets.asyncio.client import ClientConnection

from tests.conftest import missing
from tests.rig.peers import Json
from tests.rig.waiting import HUNG, LONGEST, until_async

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_QUIET = (
    "--headless=new",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    "--password-store=basic",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
)


class BrowserProcess:
    """Chromium, with a profile of its own; used as a context manager."""

    def __init__(self) -> None:
        program = next(filter(None, map(shutil.which, _NAMES)), None)
        if program is None:
            missing("Chromium is not installed")
        self._program = str(program)
        self._profile = Path(tempfile.mkdtemp(prefix="tapui-chromium-"))

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    async def address(self) -> str:
        """Return where it is driven, once it is ready."""
        return await until_async(self._address, what=self._said)

    def _start(self) -> None:
        sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
        places = ("--remote-debugging-port=0", f"--user-data-dir={self._profile}", "about:blank")
        with (self._profile / "err").open("wb") as err:
            self._process = subprocess.Popen(
                [self._program, *_QUIET, *sandbox, *places],
                env={"PATH": os.environ["PATH"], "HOME": str(self._profile), "LANG": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=err,
                stderr=err,
                start_new_session=True,
            )

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _address(self) -> str | None:
        if self._process.poll() is not None:
            raise AssertionError(f"Chromium ended with {self._process.returncode}: {self._said()}")
        file = self._profile / "DevToolsActivePort"
        lines = file.read_text().splitlines() if file.exists() else []
        return f"ws://127.0.0.1:{lines[0]}{lines[1]}" if len(lines) == 2 else None

    def _said(self) -> str:
        return (self._profile / "err").read_text(errors="replace")[-2000:]


class Chromium:
    """Tabs that share what pages keep, in a browser of their own or in one that runs; used as an
    async context manager."""

    def __init__(self, process: BrowserProcess | None = None) -> None:
        self._process = process
        self._open = contextlib.AsyncExitStack()
        self._numbers = count(1)
        self._answers: dict[int, asyncio.Future[Json]] = {}

    async def __aenter__(self) -> Self:
        async with self._open:
            process = self._process or self._open.enter_context(BrowserProcess())
            address = await process.address()
            self._socket: ClientConnection = await websockets.connect(address, max_size=None)
            self._reading = asyncio.create_task(self._read())
            self._open.push_async_callback(self._leave)
            self._context = (await self.do("Target.createBrowserContext"))["browserContextId"]
            self._open = self._open.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        async with self._open:
            await self.do("Target.disposeBrowserContext", browserContextId=self._context)

    async def _leave(self) -> None:
        await self._socket.close()
        await asyncio.wait([self._reading])

    async def _read(self) -> None:
        with contextlib.suppress(websockets.ConnectionClosed):
            async for frame in self._socket:
                message = json.loads(frame)
                answer = self._answers.pop(message.get("id"), None)
                if answer is not None and not answer.done():
                    answer.set_result(message)

    async def do(self, method: str, session: str | None = None, **params: Any) -> Json:
        """Send a command of the protocol; return its result."""
        id_ = next(self._numbers)
        answer = self._answers[id_] = asyncio.get_running_loop().create_future()
        about = {} if session is None else {"sessionId": session}
        await self._socket.send(
            json.dumps({"id": id_, "method": method, "params": params, **about})
        )
        async with asyncio.timeout(30):
            message = await answer
        if "error" in message:
            raise AssertionError(f"{method}: {message['error']}")
        result: Json = message["result"]
        return result

    async def open(self, url: str) -> "Page":
        """Open a page in a tab of its own, and wait until it has loaded."""
        blank = {"url": "about:blank", "browserContextId": self._context}
        target = (await self.do("Target.createTarget", **blank))["targetId"]
        attached = await self.do("Target.attachToTarget", targetId=target, flatten=True)
        page = Page(self, target, attached["sessionId"])
        await page.do("Page.enable")
        await page.go(url)
        return page


class Page:
    """A tab."""

    def __init__(self, browser: Chromium, target: str, session: str) -> None:
        self._browser = browser
        self._target = target
        self._session = session

    async def do(self, method: str, **params: Any) -> Json:
        """Send a command of the protocol to this tab."""
        return await self._browser.do(method, self._session, **params)

    async def go(self, url: str) -> None:
        """Load a page."""
        said = await self.do("Page.navigate", url=url)
        assert "errorText" not in said, said
        await self.until("document.readyState === 'complete'")

    async def eval(self, expression: str) -> Any:
        """Return what an expression is, a promise's value too; raises where it throws."""
        said = await self.do(
            "Runtime.evaluate",
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        if "exceptionDetails" in said:
            raise AssertionError(f"{expression}: {said['exceptionDetails']}")
        return said["result"].get("value")

    async def until(self, expression: str, *, within: float = HUNG) -> Any:
        """Wait until an expression is truthy; return what it is."""
        try:
            async with asyncio.timeout(within):
                while True:
                    if found := await self._looked(expression):
                        return found
                    await asyncio.sleep(LONGEST)
        except TimeoutError:
            text = await self.eval("document.body.innerText")
            raise AssertionError(f"not within {within:g} s: {expression}\n{text}") from None

    async def _looked(self, expression: str) -> Any:
        try:
            return await self.eval(expression)
        except AssertionError as error:
            if "context" in str(error):  # the page is being replaced
                return None
            raise

    async def type(self, text: str) -> None:
        """Type a text, key by key, where the focus is."""
        for one in text:
            await self.do("Input.dispatchKeyEvent", type="keyDown", text=one)
            await self.do("Input.dispatchKeyEvent", type="keyUp")

    async def press_enter(self) -> None:
        """Press Enter where the focus is."""
        key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
        await self.do("Input.dispatchKeyEvent", type="keyDown", text="\r", **key)
        await self.do("Input.dispatchKeyEvent", type="keyUp", **key)

    async def size(self, width: int, height: int) -> None:
        """Give the window another size."""
        await self.do(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2,
            mobile=False,
        )

    async def picture(self) -> bytes:
        """Return a screenshot (PNG)."""
        said = await self.do("Page.captureScreenshot", format="png")
        return base64.b64decode(said["data"])

    async def close(self) -> None:
        """Close the tab."""
        await self._browser.do("Target.closeTarget", targetId=self._target)
