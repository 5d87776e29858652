"""Commands in a real folder: links and patterns in them lead to nothing that is always asked."""

import asyncio
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tapui.hosts.copilot.asks.permissions import Permissions, describe
from tapui.hosts.word_leads import word_leads
from tapui.policies.guards import Guards
from tapui.policies.leads import UNKNOWN, WrittenPlace, leads_of
from tapui.policies.requests import of_permission
from tapui.policies.rules import PolicyRule
from tapui.policies.verdicts import Judgement, judge
from tapui.wire.host import ApprovalRequest
from tests.policies.judged import allow
from tests.rig.waiting import HUNG

FREELY = allow(
    *("cat", "cp", "rsync", "tar", "grep", "mv", "ln", "install", "unzip", "patch", "cpio", "rm"),
    *("cd", "ls", "dd", "tee", "touch", "wc", "diff", "rg", "scp", "frob", "find", "git apply"),
    *("git log", "npm ci", "curl", "7z", "git", "zip", "rsync *", "curl *", "scp *", "frob *"),
)
DOCS = allow("cat docs/*", "touch docs/*", "cat ./docs/*", "cd")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in a home that has a token of tapui's."""
    home, work = tmp_path / "home", tmp_path / "home" / "src" / "app"
    run = home / ".local" / "state" / "tapui" / "run" / "19400"
    for folder in (run, home / ".config" / "tapui", home / ".ssh", home / ".copilot"):
        folder.mkdir(parents=True)
    for folder in (".git/hooks", "docs/sub", "build", "packages/web/.git", ".hidden"):
        (work / folder).mkdir(parents=True)
    for file in ("docs/a.txt", "docs/b.md", "docs/.bashrc", "package.json", "h.tar"):
        (work / file).write_text("one\n")
    (run / "internal-token").write_text("secret")
    (home / ".bashrc").write_text("true\n")
    (work / "docs" / "st").symlink_to(run.parent)
    (work / "docs" / "lnk").symlink_to("/etc/hostname")
    (work / "docs" / "up").symlink_to("..")
    (work / "docs" / "same.md").symlink_to("b.md")
    (work / "docs" / "proc").symlink_to("/proc/self")
    (work / "docs" / "cwd").symlink_to("proc/cwd")
    (work / "rc").symlink_to(home / ".bashrc")
    (work / "key").symlink_to(home / ".ssh" / "id")
    (work / "home").symlink_to(home)
    monkeypatch.setenv("HOME", str(home))
    return work


def guards() -> Guards:
    home = Path.home()
    folders = (".local/state/tapui", ".config/tapui", ".copilot")
    return Guards(frozenset({19400}), tuple(str(home / one) for one in folders))


def verdict(text: str, rules: list[PolicyRule], folder: Path) -> Judgement:
    leads = word_leads(text.replace("HOME", str(Path.home())), str(folder))
    detail = {
        "kind": "shell",
        "fullCommandText": text.replace("HOME", str(Path.home())),
        "leads": leads and leads.as_detail(),
    }
    return judge(of_permission(detail, str(folder)), rules, str(folder), guards())


PRINTS_A_TOKEN = [
    "cat HOME/.l*/st*/t*/run/*/i*",
    "cat docs/a.txt HOME/.l*/st*/t*/run/*/i*",
    "cat ~/.local/sta*/*/run/*/*tok*",
    "cat ~/.local/sta*/*/run/*/*",
    "cat HOME/.*/s*/*/*/*/*-t*",
    "cat HOME/.[l]*/s*/*/*/*/*",
    "cat HOME/.[^a]ocal/state/*/*/*/*",
    "cat ~/.local/**/in*",
    "cat ../../.l*/s*/t*/r*/*/*",
    "cat docs/../../../.l*/s*/t*/r*/*/*",
    "cat docs/st/*/*",
    "cat docs/s?/*/i*",
    "cat docs/st/194??/i*",
    "cat ./docs/st/*/*",
    "cat docs//st/*/*",
    "cat 'docs/st'/*/*",
    "cat home/.l*/s*/t*/r*/*/*",
    "cd docs && cat st/*/*",
    "cd docs; cd st; cat */*",
    "cd ~/.local && cat s*/t*/run/*/i*",
    "cd ~/.local/state/ && wc -l t*/run/*/i*",
    "cd && cat .l*/s*/t*/run/*/i*",
    "(cd docs; ls); cat st/*/*",
    "grep -r . ~/.local",
    "grep -r secret /",
    "grep -rfHOME/.local x",
    "rg . home",
    "diff -r ~/.local docs",
    "cp -r ~/.local docs",
    "cp -r home/.local docs",
    "tar cf x.tar ~/.local",
    "tar cf x.tar ../..",
    "tar -cf x.tar home",
    "zip -r x.zip ~",
    "frob ~",
    "frob --from=HOME",
    "frob -iHOME",
    "frob @HOME",
    "dd if=docs/st/19400/int*",
    "curl 'file://HOME/.local/state/[t-t]apu[i-i]/x'",
    "ls ~/.l*/s*/t*/run",
    "grep -R . docs",
    "timeout 5 grep -R . docs",
    "nohup cat docs/st/*/*",
    "grep -nR secret .",
    "grep --dereference-recursive . docs",
    "cd docs && grep -R .",
    "rg -L secret",
    "rg --follow . docs",
    "diff -r docs build",
    "cp -rL docs build",
    "cp -r --dereference docs build",
    "cp -RH docs/st build",
    "rsync -aL docs/ build/",
    "tar chf x.tar docs",
    "tar -c --dereference -f x.tar docs",
    "zip -r x.zip docs",
    "cat /proc/self/cwd/docs/a.txt",
    "cat /proc/self/root/etc/hostname",
    "cat /proc/1/environ",
    "cat /proc/[1-9]*/environ",
    "cat /pro?/se*/cwd/docs/a.txt",
    "cat docs/proc/cwd/docs/a.txt",
    "cat docs/cwd/docs/a.txt",
    "cat docs/../docs/cwd/docs/a.txt",
    "cat /dev/fd/3/x",
    "ln -s ~/.local docs/x",
    "ln -s / docs/x",
    "mv ~/.local docs",
]
WRITES_CONFIGURATION = [
    "cp -r docs/. ~",
    "cp -r docs/. ~/",
    "cp -r docs/. HOME",
    "cp -r docs/. ../..",
    "cp -r docs/. home",
    "cp -a docs/. home/",
    "cp docs/.b* ../..",
    "cp docs/.bash[r]c build",
    "cp -R docs/. .",
    "cp -r docs/. packages",
    "cp -r docs/. packages/web",
    "cp -vr docs/. ./",
    "cp --recursive docs/. .",
    "cp -r docs/. build -t .",
    "cp -r docs/. ~/.config",
    "rsync -a docs/ ~",
    "rsync -a docs/ HOME/",
    "rsync -a docs/ .",
    "rsync docs/ home -a",
    "scp -r host:x .",
    "tar xf h.tar",
    "tar -xf h.tar",
    "tar -zxf h.tar",
    "tar --extract -f h.tar",
    "tar --get -f h.tar",
    "cd docs && tar xf ../h.tar",
    "cd packages/web && tar xf h.tar",
    "timeout 5 tar xf h.tar",
    "nice cp -r docs/. packages",
    "sh -c 'tar xf h.tar'",
    "tar -oxf h.tar",
    "tar xof h.tar",
    "tar xf h.tar -C packages/web",
    "tar xf h.tar --dir=.",
    "tar -xf h.tar -C build -C ..",
    "unzip a.zip",
    "unzip a.zip -d packages",
    "7z x a.7z -opackages",
    "7z x a.7z",
    "cpio -i -F x.cpio",
    "patch -p1 -i x.patch",
    "patch -d packages/web -i x.patch",
    "git apply x.patch",
    "install docs/a.txt ~",
    "install -D docs/a.txt rc",
    "mv docs/sub ~",
    "mv docs/a.txt rc",
    "mv docs/* home",
    "ln -s HOME docs/h",
    "cp docs/a.txt rc",
    "cp docs/a.txt key",
    "dd of=rc",
    "dd of=HOME/.bash?c",
    "tee rc",
    "touch home/.bash*",
    "rm -rf ~",
    "rm -rf ../../.*",
    "rm home/../home/.bash*",
]
HARMLESS = [
    "cat docs/a.txt",
    "cat docs/*.txt",
    "cat docs/*.md package.json",
    "ls",
    "cd docs && cat a.txt",
    "find . -name '*.py'",
    "grep -rn one .",
    "grep -rn one docs package.json",
    "grep -R one build packages",
    "rg -L one build",
    "diff -r build packages",
    "zip -r x.zip build",
    "cat /dev/null",
    "rg one",
    "cp -r docs/sub build",
    "cp -r docs new",
    "cp docs/a.txt .",
    "rsync -a docs/sub/ build/",
    "tar xf h.tar -C build",
    "tar tf h.tar",
    "tar cf x.tar docs/sub",
    "unzip -l a.zip",
    "mv docs/a.txt build",
    "mkdir -p a/b",
    "git log --oneline HEAD~3 -- docs",
    "npm ci",
    "curl -sS https://x.test/a",
    "diff docs/a.txt docs/b.md",
    "rm build/x",
    "touch docs/same.md",
    "dd if=docs/a.txt",
]


@pytest.mark.parametrize("text", PRINTS_A_TOKEN)
def test_nothing_that_may_read_a_token_is_allowed(work: Path, text: str) -> None:
    rules = [*FREELY, *allow("mkdir", *([text] if "'" not in text else []), is_exact=True)]
    assert verdict(text, [*rules, *DOCS], work).effect is None


@pytest.mark.parametrize("text", WRITES_CONFIGURATION)
def test_nothing_that_may_write_configuration_is_allowed(work: Path, text: str) -> None:
    found = verdict(text, [*FREELY, *allow(text.replace("&&", ""), is_exact=True)], work)
    assert found.effect is None
    assert found.unkeepable, found


@pytest.mark.parametrize("text", HARMLESS)
def test_what_leads_nowhere_else_is_allowed(work: Path, text: str) -> None:
    found = verdict(text, [*FREELY, *allow("mkdir", "tar xf h.tar -C build")], work)
    assert found.effect == "allow", found


@pytest.mark.parametrize(
    "text",
    [
        "cat /etc/hostname",
        "cat docs/lnk",
        "ls ~",
        "ls -la ../..",
        "cd ~",
        "cd .. && ls",
        "cat /proc/meminfo",
        "cp docs/a.txt /var",
    ],
)
def test_paths_out_of_the_folder_are_asked(work: Path, text: str) -> None:
    found = verdict(text, FREELY, work)
    assert found.effect is None
    assert "does not name" in "".join(part.why for part in found.parts)


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("cat docs/a.txt", "allow"),
        ("cat docs/*.txt docs/b.md", "allow"),
        ("cat docs/same.md", "allow"),
        ("cat ./docs/same.md", "allow"),
        ("cat docs/lnk", None),
        ("cat docs/l*", None),
        ("cat docs/*", None),
        ("cat docs/up/package.json", None),
        ("cat docs/up/docs/a.txt", "allow"),
        ("touch docs/up/x", None),
        ("touch docs/lnk", None),
        ("cat ./docs/up/package.json", None),
        ("cd build && cat docs/lnk", None),
    ],
)
def test_a_star_stands_for_no_link_that_leaves_the_folder(
    work: Path, text: str, effect: str | None
) -> None:
    assert verdict(text, DOCS, work).effect == effect


def test_a_star_behind_the_home_folder_means_its_files(work: Path) -> None:
    rules = allow("cat ~/src/app/docs/*", f"wc {work}/docs/*")
    assert verdict("cat ~/src/app/docs/a.txt", rules, work).effect == "allow"
    assert verdict("cat ~/src/app/docs/*.txt", rules, work).effect == "allow"
    assert verdict("cat ~/src/app/docs/lnk", rules, work).effect is None
    assert verdict(f"wc {work}/docs/a.txt", rules, work).effect == "allow"
    assert verdict(f"wc {work}/docs/up/package.json", rules, work).effect is None


def test_the_person_reads_where_a_word_leads(work: Path) -> None:
    token = work.parents[1] / ".local/state/tapui/run/19400/internal-token"
    why = f"docs/st/*/* leads to {token}: it is a file with a token"
    assert verdict("cat docs/st/*/*", DOCS, work).why == why
    why = "it writes files below ., which holds configuration of the shell, git or Copilot"
    assert verdict("tar xf h.tar", FREELY, work).why == why


def test_in_the_home_folder_patterns_and_folders_of_names_are_asked(work: Path) -> None:
    home = work.parents[1]
    for text in ("cat .l*/s*/t*/*/*/*", "grep -r x", "grep -r x .", "cp -r src .", "rg x"):
        assert verdict(text, FREELY, home).effect is None, text
    assert verdict("cat src/app/package.json", FREELY, home).effect == "allow"
    assert verdict("cat .local/state/t*/run/x", FREELY, home).effect is None


@pytest.mark.parametrize(
    "text",
    [
        "cd - && cat a",
        "popd && cat a",
        "pushd && cat a",
        "cat many/*",
        "cd docs; cd sub; cd ../build; cat " + " ".join(map(str, range(800))),
    ],
)
def test_what_takes_long_or_is_not_known_is_asked(work: Path, text: str) -> None:
    (work / "many").mkdir()
    for number in range(300):
        (work / "many" / f"{number}").symlink_to(f"/etc/x{number}")
    found = verdict(text, [*FREELY, *allow("popd", "pushd")], work)
    assert found.effect is None
    assert found.why == UNKNOWN


def test_a_folder_of_many_files_is_not_read_to_its_end(work: Path) -> None:
    for number in range(8_001):
        (work / "docs" / f"n{number}").touch()
    assert word_leads("cat docs/*", str(work)) is None


def test_a_pattern_of_many_stars_takes_no_longer(work: Path) -> None:
    (work / "docs" / ("a" * 200)).touch()
    look = f"import sys, {word_leads.__module__} as all; all.word_leads(*sys.argv[1:])"
    pattern = "cat docs/" + "*a" * 60 + "b"
    done = subprocess.run([sys.executable, "-c", look, pattern, work], timeout=HUNG, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(
    "leads", [None, 1, {}, {"words": {"a": [1]}}, {"words": [], "folders": []}]
)
def test_without_what_is_known_of_the_words_they_are_asked(leads: object) -> None:
    def on(text: str) -> Judgement:
        detail = {"kind": "shell", "fullCommandText": text, "leads": leads}
        return judge(of_permission(detail, "/w"), FREELY, "/w", Guards(paths=("/home/me/.x",)))

    assert on("cat docs").why == UNKNOWN
    assert on("git log docs/a").why == UNKNOWN
    assert on("npm ci").effect == "allow"


def test_a_file_with_hard_links_is_asked(work: Path) -> None:
    token = work.parents[1] / ".local/state/tapui/run/19400/internal-token"
    (work / "docs" / "hl.txt").hardlink_to(token)
    for text in ("cat docs/hl.txt", "cat docs/*.txt", "cp docs/hl.txt build", "wc -l docs/hl*"):
        found = verdict(text, [*FREELY, *DOCS], work)
        assert found.effect is None, text
        assert "hard links" in found.why
    rules = [PolicyRule("allow", kind, "/**", targets=("/**",)) for kind in ("read", "write")]
    for kind, name in (("read", "path"), ("write", "fileName")):
        for file, effect in (("docs/a.txt", "allow"), ("docs/hl.txt", None), ("new", "allow")):
            detail = describe({"kind": kind, name: f"{work}/{file}", "hardLinks": False})
            asked_for = of_permission(detail, str(work))
            assert judge(asked_for, rules, str(work), guards()).effect == effect


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("find . -not -path '*/.git/*'", "allow"),
        ("grep -n x --exclude='packages/*/.git' docs/b.md", "allow"),
        ("ls packages/*/.git", None),
        ("find . -path '*/web/.git/*' -delete", None),
        ("find . -not -path '*/.git/*'; cat */web/.git/*", None),
        ("cat docs/.gitattributes", "allow"),
        ("cat .gitattributes", None),
    ],
)
def test_what_is_left_out_leads_nowhere_and_what_is_shown_does(
    work: Path, text: str, effect: str | None
) -> None:
    (work / ".gitattributes").symlink_to(
        Path.home() / ".local/state/tapui/run/19400/internal-token"
    )
    assert verdict(text, FREELY, work).effect == effect


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        *((f"cd {goal} && npm test", "allow") for goal in ("WORK", ".", "~/src/app", '"WORK"')),
        *((f"cd {goal} && npm test", "allow") for goal in ("docs", "docs/sub/", "docs/up")),
        ("cd WORK; npm test", "allow"),
        ("(cd WORK || npm ci; npm test)", "allow"),
        ("npm test && cd docs", "allow"),
        ("cd WORK && git status", "allow"),
        ("cd docs && git status", None),
        ("cd packages/web && git status", None),
        ("cd docs && npm test && git status", None),
        *(
            (f"cd {goal} && npm test", None)
            for goal in ("..", "/tmp", "docs/st", "home", "new", "-")
        ),
        ("cd && npm test", None),
        ("cd docs && cd sub && cd ../../.. && npm test", None),
        ("mkdir new && cd new && npm test", None),
        ("popd && npm test", None),
    ],
)
def test_a_rule_of_a_folder_holds_behind_a_move_to_it_or_below(
    work: Path, text: str, effect: str | None
) -> None:
    rules = allow("npm test", "npm ci", "cd", "git status", "mkdir", "popd", folder=str(work))
    found = verdict(text.replace("WORK", str(work)), rules, work)
    assert found.effect == effect, found
    is_moved = "the command changes its folder before" in {part.why for part in found.parts}
    assert is_moved or found.why or effect


# The request


class Sent:
    """What a host sends, and its tasks."""

    id = "s1"

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.tasks: list[asyncio.Task[None]] = []

    def send(self, message: Any) -> None:
        self.messages.append(message)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.get_running_loop().create_task(work))


async def asked(work: Path, request: dict[str, Any], *, folder: bool = True) -> list[Any]:
    sent = Sent()
    permissions = Permissions(sent)  # type: ignore[arg-type]
    permissions.folder = str(work) if folder else None
    shown = asyncio.Event()
    send = sent.send
    sent.send = lambda message: (send(message), shown.set())  # type: ignore[method-assign,assignment]
    permissions.requested("r1", request)
    await asyncio.wait_for(shown.wait(), HUNG)
    return sent.messages


async def test_a_request_says_where_the_words_of_a_command_lead(work: Path) -> None:
    request = {"kind": "shell", "fullCommandText": "cat docs/lnk", "leads": {"words": {}}}
    (message,) = await asked(work, request)
    assert isinstance(message, ApprovalRequest)
    detail = msgspec.json.decode(message.detail)
    assert detail["leads"]["words"] == {"docs/lnk": ["/etc/hostname"]}
    assert detail["leads"]["folders"] == [str(work)]
    (message,) = await asked(work, request, folder=False)
    assert "leads" not in msgspec.json.decode(message.detail)


def test_where_redirections_write_is_looked_up(work: Path) -> None:
    text = "a > new.txt; b >> docs/a.txt; c > /etc/x; d > docs/lnk; e > ~/.bashrc; f > $g; h > i*"
    found = word_leads(text, str(work))
    assert found is not None
    assert found.written == {
        "new.txt": WrittenPlace(existing=False, outside=False),
        "docs/a.txt": WrittenPlace(existing=True, outside=False),
        "/etc/x": WrittenPlace(existing=False, outside=True),
        "docs/lnk": WrittenPlace(existing=True, outside=True),
        "~/.bashrc": WrittenPlace(existing=True, outside=True),
    }
    assert leads_of(found.as_detail()) == found
    assert leads_of({**found.as_detail(), "written": {"x": 1}}) is None
