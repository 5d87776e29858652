"""The smallest Textual app: what a first frame costs before tapui does anything."""

from textual.app import App, ComposeResult
from textual.widgets import Footer, Header, Static


class BareApp(App[None]):
    """One line of text between a header and a footer."""

    def compose(self) -> ComposeResult:
        """The three widgets."""
        yield Header()
        yield Static("bare app on screen")
        yield Footer()


if __name__ == "__main__":
    BareApp().run()
