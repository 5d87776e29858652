"""What the page for users shows is run: the tool, by tapui and by its own test with pytest."""

import re
import subprocess
import sys
from pathlib import Path

import tapui
from tapui.testing import tool_context
from tests.folder_tools.folder import files_of, folder_with

PAGE = (Path(tapui.__file__).parent / "docs" / "tools.md").read_text()
TOOL, TEST = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_tool_and_its_test_of_the_page_run(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, word_count=TOOL)
    assert files_of(folder).tool_files() == ["tools/word_count.py"]
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_tools.py").write_text(TEST)
    argv = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout
    assert [one.name for one in (tmp_path / "tools").iterdir()] == ["word_count.py"]


def test_a_context_for_tests_keeps_what_a_tool_says(tmp_path: Path) -> None:
    ctx = tool_context(tmp_path)
    ctx.sync_file_to_server("a", "A")
    ctx.open_document("file:///a", "python", "A")
    ctx.progress("half")
    ctx.log("a line")
    said = ctx.synced, ctx.opened, ctx.told, ctx.logged
    assert said == ([("a", "A")], [("file:///a", "python", "A")], ["half"], ["a line"])
    assert (ctx.workspace_root, ctx.cancelled()) == (str(tmp_path), False)
    ctx.is_cancelled = True
    assert ctx.cancelled()
