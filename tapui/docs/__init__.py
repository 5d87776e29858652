"""The pages that users read: `tapui help TOPIC`, and the help of the tower."""

import re
from pathlib import Path

TOPICS = {
    "start": "installing, the demo, how tapui ends",
    "attaching": "finding sessions, port, extension",
    "approving": "requests, and who may answer them",
    "proof": "done: checked, failed, unchecked",
    "steering": "prompts, stops, modes, models",
    "headless": "`tapui run`: sessions without a screen",
    "alarms": "when you are called; budgets",
    "rules": "what rules match",
    "agents": "tapui's tools for agents; skills",
    "emitters": "commands and prompts beside a session",
    "mcp": "MCP servers and MCP clients",
    "providers": "writing, running, trying providers",
    "tools": "tool files of a folder; memory",
    "services": "CI for agents: runs, failures, pushes",
    "findings": "what security scanners found",
    "browser": "web pages that an agent sees",
    "records": "what is kept; search, usage, replay",
    "query": "questions to the records; SQL",
    "keys": "the tower's keys",
    "commands": "the command line",
    "settings": "the settings, with their defaults",
    "changes": "what changed for users",
    "kit": "providers in Python and JavaScript",
    "tap-config": "every key of `tap.config.json`",
    "mcp-servers": "every key of an MCP server",
    "interface": "the wire: connections, rules, messages",
    "messages": "the wire in tables; shapes, limits",
    "threats": "who could do harm, what stops them",
    "census": "the source, counted before and after",
}
"""Each topic and what it is about, in the order in which they are listed."""

_ELSEWHERE = {
    "kit": "provider/README.md",
    "tap-config": "emitters/README.md",
    "mcp-servers": "mcp_servers/README.md",
    "interface": "wire/README.md",
    "messages": "wire/APPENDIX.md",
    "threats": "THREATS.md",
}


def path_of(topic: str) -> Path:
    """Return the file of a topic. Raises `KeyError` for an unknown one."""
    if topic not in TOPICS:
        raise KeyError(topic)
    package = Path(__file__).resolve().parent.parent
    return package / _ELSEWHERE.get(topic, f"docs/{topic}.md")


def page(topic: str) -> str:
    """Return a topic's Markdown for a terminal: no pictures, and links name topics.

    Raises `KeyError` for an unknown topic.
    """
    path = path_of(topic)
    text = path.read_text(encoding="utf-8")
    for left_out in (
        r"<!--.*?-->\n?",
        r"""<a id="[^"]*"></a>""",
        r"^!\[[^\]]*\]\([^)]*\)\n+",
    ):
        text = re.sub(left_out, "", text, flags=re.DOTALL | re.MULTILINE)
    topics = {path_of(one): one for one in TOPICS}

    def named(link: re.Match[str]) -> str:
        words, target = link[1], link[2].partition("#")[0]
        other = topics.get((path.parent / target).resolve()) if target else None
        is_clear = other in (None, topic, words.strip("`*").lower())
        return words if is_clear else f"{words} (`tapui help {other}`)"

    return re.sub(r"\[([^\]]+)\]\((?!https?:)([^)]+)\)", named, text)
