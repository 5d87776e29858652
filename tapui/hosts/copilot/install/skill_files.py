"""tapui's skills for Copilot CLI as files: what they teach an agent is in `skills/`."""

from importlib import resources
from pathlib import Path

from tapui.files.private_file import SealedFile

SKILLS = ("tap-loop", "create-provider")
_NAME = "SKILL.md"


class SkillFile(SealedFile):
    """One skill in one `COPILOT_HOME`, by its name."""

    def __init__(self, copilot_home: Path, skill: str) -> None:
        super().__init__(copilot_home, ("skills", skill), _NAME, comment=("<!-- ", " -->"))
        self._skill = skill

    def body(self) -> bytes:
        """Return the skill, as `skills/` has it."""
        here = resources.files("tapui.hosts.copilot")
        return here.joinpath("skills", self._skill, _NAME).read_bytes()


def skill_files(copilot_home: Path) -> list[SkillFile]:
    """Return all of them."""
    return [SkillFile(copilot_home, skill) for skill in SKILLS]
