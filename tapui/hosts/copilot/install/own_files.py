"""tapui's extension of Copilot CLI and its skills as files, and whether extensions are loaded."""

from importlib import resources
from pathlib import Path

import msgspec

from tapui.emitters.config.document import plain_json
from tapui.files.foreign_file import decoded
from tapui.files.private_file import SealedFile
from tapui.hosts.copilot.finding.discovery import DOORS

_HERE = resources.files("tapui.hosts.copilot")
_EXTENSION = "extension.mjs"
_SKILL = "SKILL.md"
SKILLS = ("tap-loop", "tap-monitor", "tap-goal", "ci-fix", "create-provider")


class ExtensionFile(SealedFile):
    """The extension in one `COPILOT_HOME`."""

    def __init__(self, copilot_home: Path) -> None:
        super().__init__(copilot_home, ("extensions", "tapui"), _EXTENSION, comment=("// ", ""))

    def body(self) -> bytes:
        return _HERE.joinpath(_EXTENSION).read_bytes()

    def folders(self) -> tuple[Path, ...]:
        """Return its folder, and those of the files by which it is found."""
        found = self.copilot_home.joinpath(*DOORS)
        return *super().folders(), found, found.parent


def is_experimental(copilot_home: Path) -> bool:
    """Return whether the CLI loads extensions: its experimental features are switched on."""
    try:
        text = decoded((copilot_home / "settings.json").read_bytes(), "replace")
        found = msgspec.json.decode(plain_json(text))
    except (OSError, msgspec.DecodeError, RecursionError):
        return False  # it was never started here, or says nothing that can be read
    return isinstance(found, dict) and found.get("experimental") is True


class SkillFile(SealedFile):
    """One skill in one `COPILOT_HOME`, by its name."""

    def __init__(self, copilot_home: Path, skill: str) -> None:
        super().__init__(copilot_home, ("skills", skill), _SKILL, comment=("<!-- ", " -->"))
        self._skill = skill

    def body(self) -> bytes:
        return _HERE.joinpath("skills", self._skill, _SKILL).read_bytes()


def skill_files(copilot_home: Path) -> list[SkillFile]:
    return [SkillFile(copilot_home, skill) for skill in SKILLS]
