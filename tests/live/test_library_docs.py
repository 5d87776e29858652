"""A question on an installed library, in a session of the real Copilot CLI."""

from collections.abc import Callable

from tests.rig.copilot import Copilot
from tests.rig.gateway import Gateway, Home
from tests.rig.model_server import ModelServer, Rule
from tests.rig.taken import wait_for_tools
from tests.shipped.docs_places import install


def test_the_model_reads_what_is_installed(
    copilot: Copilot, serve: Callable[..., Gateway], home: Home, model: ModelServer
) -> None:
    work = copilot.cwd
    install(work, "boats", {"boats.py": 'def sail(boat):\n    "Sail with the wind behind."\n'})
    gateway = serve()
    added = gateway.home.run("provider", "add", "docs", "--yes", "--folder", str(work))
    assert added.returncode == 0, added.stderr
    wait_for_tools(home, copilot, providers=1)
    docs = {"libraryId": "pypi/boats", "query": "how do I sail a boat"}
    model.script(
        Rule(
            calls=[("resolve_library_id", {"libraryName": "boats"})],
            when="sail with boats",
            needs="resolve_library_id",
        ),
        Rule(calls=[("get_library_docs", docs)], role="tool", when="pypi/boats"),
        Rule(text="Put the wind behind you.", role="tool", when="Sail with the wind behind"),
    )
    copilot.prompt("sail with boats")
    copilot.choose_first("Run extension tool")
    copilot.choose_first("Run extension tool")
    copilot.screen.wait_for("Put the wind behind you.")
