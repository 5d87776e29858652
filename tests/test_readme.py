"""What the README shows is run; what it names exists."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from tapui.cli.parser import build
from tests.rig.gateway import Gateway, Home

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def snippet(language: str) -> str:
    """Return the README's only code block in a language."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    assert len(found) == 1, f"{len(found)} blocks of {language}"
    return str(found[0])


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    with Gateway(Home(tmp_path), "--no-attach") as running:
        yield running


def test_provider_of_the_readme_answers_a_call(gateway: Gateway) -> None:
    code = snippet("python")
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= 20
    provider = subprocess.Popen(
        [sys.executable, "-c", code], env=gateway.home.env(TAP_GATEWAY=gateway.url)
    )
    try:
        called = gateway.home.run(
            "call", "greet", "--args", '{"name": "Ada"}', "--port", str(gateway.port)
        )
        tries = 0
        while called.returncode and tries < 50:  # until the provider has said hello
            assert provider.poll() is None, "the provider ended"
            tries += 1
            called = gateway.home.run(
                "call", "greet", "--args", '{"name": "Ada"}', "--port", str(gateway.port)
            )
        assert "Hello, Ada!" in called.stdout, called.stderr
    finally:
        provider.kill()
        provider.wait()


def test_every_command_of_the_readme_exists_and_none_is_missing() -> None:
    shown = set(re.findall(r"^\| .*", README, re.MULTILINE))
    named = {name for row in shown for name in re.findall(r"`tapui ([a-z]+)", row.split("|")[1])}
    (choices,) = [
        set(action.choices) for action in build()._actions if isinstance(action.choices, dict)
    ]
    assert named == choices


@pytest.mark.parametrize("target", re.findall(r"\]\((?!https?:)([^)#]+)\)", README))
def test_links_of_the_readme_lead_somewhere(target: str) -> None:
    assert (ROOT / unquote(target)).exists()


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(tests/[\w/.]+)`", README))))
def test_proofs_that_the_readme_names_exist(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("module", sorted(set(re.findall(r"`python -m (tests[\w.]+)", README))))
def test_programs_that_the_readme_names_exist(module: str) -> None:
    path = ROOT / module.replace(".", "/")
    assert path.with_suffix(".py").exists() or (path / "__main__.py").exists()
