"""Providers that come with tapui. `python -P -m tapui.shipped NAME` runs one, as a provider of the
project runs: below the person's consent, with a token for its session."""

from typing import NamedTuple


class Shipped(NamedTuple):
    """A provider that `tapui provider add NAME` adds to a folder. Its module's `provider()` makes
    it."""

    module: str
    about: str
    """What it gives an agent, on one line."""


SHIPPED: dict[str, Shipped] = {
    "changed-files": Shipped(
        "tapui.shipped.changed_files",
        "what git has as staged, unstaged and untracked",
    ),
    "ci": Shipped(
        "tapui.shipped.ci.watcher",
        "wakes agents when CI turns red; holds pushes of red branches",
    ),
    "docs": Shipped(
        "tapui.shipped.docs.answers",
        "documents of libraries, and of the packages that are installed",
    ),
    "memory": Shipped(
        "tapui.shipped.memory",
        "notes that agents save and read; see `tapui memory`",
    ),
    "sast": Shipped(
        "tapui.shipped.sast.finding_tools",
        "what security scanners found (SARIF); see `tapui findings`",
    ),
}
"""By name, in the order of the help."""
SERVICES = (
    "GITHUB_API_URL",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "JIRA_BASE_URL",
    "JIRA_EMAIL",
    "JIRA_API_TOKEN",
)
"""Variables with addresses of services and tokens: the providers here have those of the person, and
none that a folder's file sets."""
ARGUMENTS = ("-P", "-m", "tapui.shipped")
"""What Python is given to run one; its name follows. `-P` keeps modules of the folder away."""
