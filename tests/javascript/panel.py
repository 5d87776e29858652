"""The panel of a page that connects it to tapui, as the person sees and uses it."""

from typing import Any

from tests.rig.chromium import Page
from tests.rig.waiting import HUNG

_ROOT = "document.querySelector('tap-connect').shadowRoot"


class Panel:
    """`<tap-connect>` on an open page."""

    def __init__(self, page: Page) -> None:
        self.page = page

    async def ready(self) -> None:
        """Wait until the panel is there."""
        await self.page.until("!!document.querySelector('tap-connect')?.shadowRoot")

    async def connect(self, gateway: str) -> None:
        """Ask the gateway at this address to be let in."""
        await self.ready()
        await self.page.eval(f"{_ROOT}.querySelector('[name=gateway]').value = {gateway!r}")
        await self.click(".start .main")

    async def click(self, selector: str) -> None:
        """Press a button, where the person would see it."""
        place = await self.page.eval(
            f"(() => {{ const b = {_ROOT}.querySelector({selector!r}).getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            await self.page.do(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )

    async def enter(self, code: str) -> None:
        """Type the code where the panel has put the focus, and confirm it."""
        await self.shows("code")
        await self.page.until(f"{_ROOT}.activeElement?.id === 'digits'")
        await self.page.type(code)
        await self.page.press_enter()

    async def shows(self, part: str, text: str = "", *, within: float = HUNG) -> None:
        """Wait until a part is shown (start, code, busy or bound), with `text` in the panel."""
        # A page that was just loaded has its panel a moment later.
        panel = "document.querySelector('tap-connect')?.shadowRoot?.querySelector('.panel')"
        await self.page.until(
            f"(() => {{ const panel = {panel}; return panel?.dataset.part === {part!r} &&"
            f" panel.textContent.includes({text!r}); }})()",
            within=within,
        )

    async def text(self, selector: str) -> Any:
        """Return the text of a part of the panel."""
        return await self.page.eval(f"{_ROOT}.querySelector({selector!r}).textContent")

    async def place(self) -> tuple[float, float]:
        """Return where the panel begins and ends, from left to right."""
        left, right = await self.page.eval(
            f"(() => {{ const b = {_ROOT}.querySelector('.panel').getBoundingClientRect();"
            " return [b.left, b.right]; })()"
        )
        return left, right
